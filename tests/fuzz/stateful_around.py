"""STATEFUL_AROUND: the module text before a random program with state, what it may change."""

from __future__ import annotations

from tests.fuzz.around import AROUND

STATEFUL_AROUND = (
    AROUND
    + """

import collections
import contextlib
import itertools
import logging
import types


class Kept:
    total = 0
    names = ["one"]

    def __init__(self):
        self.count = 0
        self.rows = [[1], [2, 3]]
        self.value = None

    def grow(self, by):
        self.count += by
        self.rows[-1].append(self.count)
        return self.count


class Slotted:
    __slots__ = ("low", "high")

    def __init__(self):
        self.low = 1


class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(1.5))
        self.register_buffer("mean", torch.zeros(()))
        self.calls = 0
        self.last = None
        self.history = []
        self.table = {}

    def forward(self, r):
        self.calls += 1
        return r * self.weight.detach() + self.mean


class Messages(logging.Handler):
    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


messages = Messages()
LOG = logging.getLogger(f"tests.fuzz.{id(messages)}")
LOG.addHandler(messages)
LOG.propagate = False


def remember(value, seen=[]):
    seen.append(value)
    return len(seen)


def scaled(r, by=2, *, uses={}):
    uses[by % 3] = uses.get(by % 3, 0) + 1
    return r * uses[by % 3]


@functools.lru_cache(maxsize=None)
def squared(n):
    return n * n


@contextlib.contextmanager
def busy():
    kept.count += 1
    try:
        yield kept.count
    finally:
        kept.count -= 1


class Raised(ValueError):
    pass


class Made:
    made = 0

    def __init__(self, value):
        Made.made += 1
        self.number, self.value = Made.made, value


class Counted:
    def __init__(self):
        self.reads = 0

    def __get__(self, obj, cls=None):
        self.reads += 1
        return obj.__dict__.get("held", 0)

    def __set__(self, obj, value):
        obj.__dict__["held"] = value


class Holder:
    field = Counted()


def noted(value):
    notes.append(value)
    return -value


def numbered(values):
    total = 0
    for value in values:
        sent = yield total
        total += value if sent is None else sent
    kept.count += total


def tick():
    number = 0
    while True:
        ticked.append(number)
        sent = yield number
        number = number + 1 if sent is None else int(sent)


class Hooked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.offset, self.log = 1, []
        self.register_forward_hook(self.noted)

    def forward(self, r):
        return r + self.offset

    def noted(self, module, args, result):
        self.log.append(result.dim())
        return result * 2


Pair = collections.namedtuple("Pair", "items table")


def begin():
    global kept, slotted, cell, numbers, items, rows, grid, table, groups, counter, queue, seen
    global nest, pair, counts, holder, notes
    global pairs, ordered, stacks, ticks, ticked, settings, hooked
    pairs, ordered = {("one", 0): 1}, collections.OrderedDict(two=1)
    stacks = {"one": [], "two": [[]]}
    ticked, settings, hooked = [], types.SimpleNamespace(scale=1, names=[]), Hooked()
    ticks = tick()
    nest, pair, counts = Kept(), Pair([], {}), collections.defaultdict(collections.Counter)
    nest.inner, holder, notes = Kept(), Holder(), []
    Made.made, vars(Holder)["field"].reads = 0, 0
    kept, slotted, cell = Kept(), Slotted(), Cell()
    numbers, items = itertools.count(3), iter([4, 1, 3, 2, 6, 5, 9, 8])
    rows = iter([torch.tensor(1.0), torch.tensor(-2.0), torch.tensor(0.5)])
    grid, table = [[0, 1], [2, 3]], {"one": [1], "two": []}
    groups, counter = collections.defaultdict(list), collections.Counter()
    queue, seen = collections.deque([1, 2], maxlen=4), {1}
    Kept.total, Kept.names = 0, ["one"]
    remember.__defaults__[0].clear()
    scaled.__kwdefaults__["uses"].clear()
    squared.cache_clear()
    messages.texts.clear()


begin()
"""
)
