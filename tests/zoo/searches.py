"""Algorithms that zip iterators of a run, mix types in one dict, and compare objects."""

from __future__ import annotations

import collections
import dataclasses
import functools
import heapq
import itertools

import numpy
import torch

from tests.zoo.programs import f, i, program, r

NUMBERS = ((i(3),), (i(-2),), (i(0),), (i(7),))


@program((f(1.0, 2.0, -1.0),), (f(0.1, 0.0, 3.0),))
def two_loop_recursion(x):
    """L-BFGS: both histories backwards, then forwards beside the steps."""
    matrix = torch.diag(torch.tensor([1.0, 5.0, 10.0]))
    target = torch.tensor([1.0, -1.0, 2.0])
    moves, changes = collections.deque(maxlen=3), collections.deque(maxlen=3)
    gradient, count = matrix @ x - target, 0
    while gradient.norm() > 1e-3 and count < 20:
        direction, steps = gradient.clone(), []
        for s, y in zip(reversed(moves), reversed(changes), strict=False):
            steps.append((s @ direction) / (y @ s))
            direction = direction - steps[-1] * y
        for (s, y), step in zip(zip(moves, changes, strict=False), reversed(steps), strict=False):
            direction = direction + s * (step - (y @ direction) / (y @ s))
        length = (gradient @ direction) / (direction @ matrix @ direction)
        new = x - length * direction
        after = matrix @ new - target
        moves.append(new - x)
        changes.append(after - gradient)
        x, gradient, count = new, after, count + 1
    return x, count


@program((i(3, 1, 4),), (i([7]),), dynamic=({0},))
def trie_with_ends(x):
    """Inner nodes are dicts, ends are True: what holds is known by the key."""
    root = {}
    for value in x.tolist():
        node = root
        for letter in str(value * 37):
            node = node.setdefault(letter, {})
        node["$"] = True

    def count(node):
        return sum(1 if key == "$" else count(child) for key, child in node.items())

    return count(root)


@program((i(3),), (i(5),), (i(0),))
def reversed_beside_itself(y):
    """`zip` of `reversed` and of other sequences of the run."""
    items = []
    while len(items) < y:
        items.append(len(items) * 2)
    pairs = [a - b for a, b in zip(reversed(items), items, strict=False)]
    return pairs, list(zip(reversed(items), range(10), strict=False))


class Job:
    def __init__(self, cost):
        self.cost = cost

    def __lt__(self, other):
        return self.cost < other.cost

    def __call__(self):
        return self.cost


@dataclasses.dataclass(order=True)
class Ranked:
    rank: int
    name: str = dataclasses.field(default="", compare=False)


@program(*NUMBERS)
def objects_in_order(t):
    """`sorted` and `max` ask `__lt__`, of the user's or a generated one."""
    jobs = [Job(int(t)), Job(2), Job(5)]
    ranked = sorted([Ranked(int(t), "t"), Ranked(1, "one"), Ranked(3, "three")])
    return [job() for job in sorted(jobs)], max(jobs[0], jobs[1]).cost, [r.name for r in ranked]


@program((f(1.0, 2.0),), (f(3.0, -1.0),))
def dtype_of_an_array(x):
    """It is a dtype of numpy's, by its name too."""
    array = x.numpy()
    halves = numpy.zeros(2, dtype=array.dtype) + array / 2
    return str(array.dtype), array.dtype == numpy.float32, halves.tolist()


@program(*NUMBERS)
def rest_of_a_mapping(t):
    """`**rest`, and an attribute that an object does not have."""
    found = []
    for value in ({"k": int(t), "a": 1, "b": t}, {"a": int(t)}, Job(int(t))):
        match value:
            case {"k": k, **rest}:
                found.append((k, rest))
            case {"a": a, **rest} if a > 0:
                found.append((a, rest))
            case Job(missing=1):
                found.append("missing")
            case Job(cost=cost):
                found.append(cost)
            case _:
                found.append(None)
    return found


class Countdown:
    def __init__(self, count):
        self.count, self.at = count, 0

    def __iter__(self):
        self.at = self.count
        return self

    def __next__(self):
        if self.at <= 0:
            raise StopIteration
        self.at -= 1
        return self.at * 10


@program(*NUMBERS)
def items_of_a_users_iterator(t):
    """Builtins and displays take them from an object that has `__next__`."""
    items = Countdown(int(t))
    several = sorted(items), max(items, default=-1), sum(items), tuple(items), any(items)
    return several, [0, *items], dict(enumerate(items, int(t)))


@program(*NUMBERS)
def counts_in_order(t):
    """`most_common` of counts from data, and an OrderedDict of their pairs."""
    counts = collections.Counter("abca")
    counts["b"] += int(t)
    groups = collections.defaultdict(list)
    groups[int(t) % 2].append(int(t))
    groups[0].append(1)
    return counts.most_common(2), list(collections.OrderedDict(sorted(groups.items())).items())


@functools.total_ordering
class Version:
    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return self.number == other.number

    def __lt__(self, other):
        return self.number < other.number

    __hash__ = None


@program(*NUMBERS)
def generated_comparisons(t):
    """`functools.total_ordering` makes the others of `__lt__`."""
    one, two = Version(int(t)), Version(2)
    return one <= two, one > two, one >= two, one != two, max(one, two).number


@program(*NUMBERS)
def repeated_tuple(t):
    """A tuple a data-dependent number of times, and the last item of a dict of some paths."""
    table = {"a": 1}
    if t > 0:
        table["b"] = int(t)
    last = table.popitem()
    return (0, 1) * max(int(t), 0), int(t) * (t,), last, table


@program((r(3, 3),), (torch.eye(3),), (f([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),))
def pivoted(a):
    """Rows are exchanged by the largest entry of a column, until a pivot is too small."""
    a = a.clone()
    for k in range(3):
        pivot = max(range(k, 3), key=lambda row: abs(float(a[row, k])))
        if pivot != k:
            a[[k, pivot]] = a[[pivot, k]]
        if a[k, k].abs() < 1e-8:
            return None
        for row in range(k + 1, 3):
            a[row] -= a[row, k] / a[k, k] * a[k]
    return a


class Task:
    def __init__(self, cost):
        self.cost = cost


@program((f(2.0, 1.0, 3.0),), (f(-1.0, 4.0, 0.5),), (f(-1.0, -2.0, -0.5),))
def ties_are_broken(x):
    """The items of a heap that cannot be compared come after a number that decides."""
    count, jobs, tables = itertools.count(), [], []
    for v in [*x.tolist(), 0.5]:
        if v > 0:
            heapq.heappush(jobs, (v, next(count), Task(v)))
        heapq.heappush(tables, (v, next(count), {"cost": v}))
    order = [heapq.heappop(tables)[2]["cost"] for _ in range(len(tables))]
    first = heapq.heappop(jobs)[2].cost
    try:
        return order, first, ({"a": 1}, v) < ({"a": first}, v)
    except TypeError as error:
        return order, first, str(error)


@program(*NUMBERS, stages=("rewritten", "captured", "unoptimised"))
def slices_as_values(t):
    """A slice is returned, and one with bounds from the data too."""
    return slice(int(t), None), [slice(None, 3, 2)]
