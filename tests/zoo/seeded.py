"""`random.Random` made by the function, and dicts whose keys come in an order that data decides."""

from __future__ import annotations

import random
from collections import defaultdict, deque

import torch

from tests.zoo.programs import f, i, program

ROWS = ((f(1.0, -2.0, 3.0),), (f(-1.0, -1.0, -1.0),), (f(-3.0, 0.5, 0.0),))
LABELS = ((i(1, 0, 2, 1),), (i(2, 2, 2, 2),), (i(0, 1, 0, 2),))


@program(*ROWS)
def numbers_of_a_known_seed(x):
    """They are the same in every call."""
    generator = random.Random(5)
    order = [1, 2, 3, 4]
    generator.shuffle(order)
    drawn = generator.choice([1, 2, 3]), generator.sample(range(10), 3), generator.gauss(0, 1)
    return x * generator.random() + generator.randint(1, 10), order, drawn


@program(*ROWS, refused_saved="ST204")
def numbers_drawn_in_a_branch(x):
    """What comes next depends on how many were drawn."""
    generator = random.Random("seed")
    factor = generator.random()
    if x.sum() > 1:
        factor = generator.uniform(1, 2)
    while x.sum() > 0:
        x = x - generator.random()
    return x * factor + generator.random(), generator.choice([5, 6, 7])


@program(*ROWS, refused_saved="ST204")
def seed_of_the_run(x):
    """A seed that is known only at run time."""
    generator = random.Random(int(x.sum()))
    return generator.randint(0, 100), generator.random()


@program(*ROWS)
def groups_by_a_name(x):
    """Which of two keys is the first is for the data to say."""
    groups = defaultdict(list)
    for value in x:
        groups["low" if value < 0 else "high"].append(value)
    means = {name: torch.stack(values).mean() for name, values in sorted(groups.items())}
    return means, len(groups)


@program(*LABELS)
def setdefault_in_any_order(labels):
    """`setdefault` and `update` of keys that some paths have set."""
    places = {}
    if labels[0] > 1:
        places.setdefault("big", []).append(0)
    if labels[1] > 0:
        places.setdefault("small", []).append(1)
    places.setdefault("big", []).append(2)
    return places["big"], len(places), list(places)


@program(*LABELS)
def queues_by_label(labels):
    """A breadth-first search over lists that data fills."""
    following = defaultdict(list)
    for at, label in enumerate(labels.tolist()):
        following[at % 3].append(label)
    seen, queue, order = {0}, deque([0]), []
    while queue:
        at = queue.popleft()
        order.append(at)
        for label in following[at]:
            if label not in seen:
                seen.add(label)
                queue.append(label)
    return order


@program(*ROWS)
def means_of_a_window(x):
    """The window is never empty where its mean is taken."""
    window, means = deque(maxlen=2), []
    for value in x:
        window.append(value)
        means.append(sum(window) / len(window))
        if len(window) == 2 and window[0] > window[-1]:
            window.clear()
    return torch.stack(means)
