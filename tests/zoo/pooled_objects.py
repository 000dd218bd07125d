"""Objects of user classes in lists whose length only a run knows: known by reference."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace

import torch

from tests.zoo.programs import f, i, program, r

ANY = ({0},)
VALUES = ((i(3, 1, 2),), (i([4]),), (i(2, 2, 9, 1, 5),))


@dataclass
class Hypothesis:
    """One path of a beam search."""

    tokens: list[int]
    score: float
    done: bool = False

    @property
    def mean(self):
        """The score of a token."""
        return self.score / len(self.tokens)

    def extended(self, token, score):
        """A new one, with one token more."""
        return Hypothesis([*self.tokens, token], self.score + score, token == 0)


@program((r(3, 4), i(2)), (r(1, 4, seed=1), i(1)), (r(5, 4, seed=2), i(3)), dynamic=({0}, None))
def beam_of_dataclasses(scores, width):
    """Sorted by a key, cut, and searched for the best."""
    beam = [Hypothesis([1], 0.0)]
    for t in range(scores.shape[0]):
        found = []
        for one in beam:
            if one.done:
                found.append(one)
                continue
            values, tokens = scores[t].topk(2)
            for k in range(2):
                found.append(one.extended(int(tokens[k]), float(values[k])))
        found.sort(key=lambda one: one.score, reverse=True)
        beam = found[: int(width)]
        if all(one.done for one in beam):
            break
    best = max(beam, key=lambda one: one.mean)
    return best.tokens, best.score, best.done


class Track:
    """Changed by its methods."""

    def __init__(self, number, position):
        self.number, self.position, self.hits, self.history = number, position, 1, [position]

    def update(self, position):
        """One more hit."""
        self.position = position
        self.hits += 1
        self.history.append(position)


@program((f(0.0, 5.0, 0.5, 5.2, 9.0),), (f([1.0]),), (f(3.0, 3.1, 3.2, 0.0),), dynamic=ANY)
def nearest_track(positions):
    """Objects are found, changed and created in one loop; another list holds some of them."""
    tracks, updated = [], []
    for position in positions.tolist():
        best = None
        for track in tracks:
            if abs(track.position - position) < 1.0:
                best = track
        if best is None:
            tracks.append(Track(len(tracks), position))
        else:
            best.update(position)
            updated.append(best)
    for one in updated:
        one.number += 10
    same = [k for k, one in enumerate(tracks) if len(updated) > 0 and one is updated[-1]]
    return [(t.number, t.hits, t.position) for t in tracks], [t.history for t in tracks], same


class Node:
    """Of a list that is linked."""

    def __init__(self, value, following=None):
        self.value, self.following = value, following


@program(*VALUES, dynamic=ANY)
def linked_list_reversed(x):
    """Objects that hold objects."""
    head = None
    for value in x.tolist():
        head = Node(value, head)
    previous = None
    while head is not None:
        following = head.following
        head.following = previous
        previous, head = head, following
    out = []
    while previous:
        out.append(previous.value)
        previous = previous.following
    return out


class Letter:
    """A node of a trie."""

    def __init__(self):
        self.children, self.count = {}, 0


@program((i([[1, 2], [1, 3]]), i(1, 2)), (i([[1, 2], [2, 1], [1, 2]]), i(2, 1)),
         dynamic=({0}, None), stages=("captured",))  # fmt: skip
def trie_of_objects(words, query):
    """Objects in dicts of objects."""
    root = Letter()
    for word in words.tolist():
        node = root
        for letter in word:
            if letter not in node.children:
                node.children[letter] = Letter()
            node = node.children[letter]
            node.count += 1
    node, total = root, 0
    for letter in query.tolist():
        if letter not in node.children:
            break
        node = node.children[letter]
        total += node.count
    return total


@dataclass(order=True)
class Job:
    """Compared by its generated methods."""

    priority: float
    index: int = field(compare=False)


@program((f(3.0, 1.0, 2.0),), (f(2.0, 2.5, 9.0, 1.0),), dynamic=ANY, stages=("captured",))
def heap_of_dataclasses(x):
    """`heapq` compares them."""
    heap = []
    for k, value in enumerate(x.tolist()):
        heapq.heappush(heap, Job(value, k))
    order = []
    while heap:
        order.append(heapq.heappop(heap).index)
    return order


@program(*VALUES, dynamic=ANY)
def objects_returned(x):
    """A copy of each object; `replace` makes a new one."""
    jobs = []
    for k, value in enumerate(x.tolist()):
        jobs.append(Job(value * 1.0, k))
        if value > 1:
            jobs.append(replace(jobs[-1], index=-k))
    jobs[0].priority += 0.5
    return jobs, jobs[-1], type(jobs[0]) is Job, isinstance(jobs[-1], Job), jobs[0] == jobs[-1]


@program((i(3, 1, 2), i(2)), (i(1, 0), i(0)), (i(2, 2, 3, 0, 1), i(4)), dynamic=({0}, ()))
def replaced_in_a_beam(x, steps):
    """Each step makes new hypotheses of the last; `replace` copies the other fields."""
    beams, k = [Hypothesis([0], 0.0)], 0
    while k < steps:
        pool = []
        for beam in beams:
            for token in x.tolist():
                new = replace(beam, tokens=[*beam.tokens, token], score=beam.score - token)
                new.done = token == 0
                pool.append(new)
        beams = sorted(pool, key=lambda beam: beam.score, reverse=True)[:2]
        k += 1
    return [(beam.tokens, beam.score, beam.done) for beam in beams]


@program(*VALUES, dynamic=ANY, may_raise=True)
def objects_of_two_classes(x):
    """Which class it is only a run knows."""
    made = [Job(1.0, 0)]
    for value in x.tolist():
        made.append(Job(value * 2.0, value) if value > 2 else Node(value))
    total = torch.zeros(())
    for one in made:
        total = total + (one.priority if isinstance(one, Job) else one.value)
    return total


@program((f(0.2, 0.9, 0.6, 1.4),), (f([0.1]),), (f(2.0, 0.3),), dynamic=ANY, stages=("captured",))
def events_that_follow_events(x):
    """A simulation: what is taken from the heap may put something new into it."""
    queue = []
    for k, value in enumerate(x.tolist()):
        heapq.heappush(queue, Job(value, k))
    order = []
    while queue:
        job = heapq.heappop(queue)
        order.append(job.index)
        if job.priority > 0.5:
            heapq.heappush(queue, Job(job.priority - 0.4, job.index + 10))
    return order


class Branch:
    """A node of a search tree."""

    def __init__(self, key):
        self.key, self.left, self.right = key, None, None

    def insert(self, key):
        """Put `key` where it belongs below this node."""
        if key < self.key:
            if self.left is None:
                self.left = Branch(key)
            else:
                self.left.insert(key)
        elif self.right is None:
            self.right = Branch(key)
        else:
            self.right.insert(key)

    def walk(self, out):
        """The keys in order."""
        if self.left is not None:
            self.left.walk(out)
        out.append(self.key)
        if self.right is not None:
            self.right.walk(out)

    def depth(self):
        """How many levels there are."""
        left = self.left.depth() if self.left else 0
        right = self.right.depth() if self.right else 0
        return 1 + max(left, right)


@program(
    (i(4, 2, 7, 1, 3, 9),), (i(1, 2, 3, 4, 5, 6),), (i(6, 6, 1, 5, 2, 3),), stages=("captured",)
)
def tree_by_recursive_insert(x):
    """The data decides where each node hangs."""
    first, *rest = x.tolist()
    root = Branch(first)
    for key in rest:
        root.insert(key)
    out = []
    root.walk(out)
    return out, root.depth()


@program((f(1.0),), (f(-1.0),))
def two_names_on_one_path(x):
    """One object under two names, or two objects."""
    one = Branch(1)
    if x.sum() > 0:
        one = Branch(2)
        other = one
    else:
        one, other = Branch(3), Branch(4)
    other.key = 5
    return one.key, other.key, one is other


@program((i(3, 1, 2),), (i(-4, 1, -1),), (i(-2, 2, 9),))
def compared_by_identity(x):
    """Objects without `__eq__` are equal to themselves only, also inside tuples."""
    found = [Cell(value) for value in x.tolist() if value > 0]
    kept = found[0]
    return kept == found[-1], kept != found[0], (1, found[0]) == (1, kept), kept in found


class Cell:
    def __init__(self, value, following=None):
        self.value, self.following = value, following


@program((f(1.0, -2.0),), (f(3.0, 1.0),), (f(-1.0, -1.0),))
def linked_list_turned_around(x):
    """Cells that some paths make only, whose links change places."""
    head = None
    for value in x.tolist():
        if value > 0:
            head = Cell(value, head)
    before = None
    while head is not None:
        head.following, before, head = before, head, head.following
    values = []
    while before:
        values.append(before.value)
        before = before.following
    return values
