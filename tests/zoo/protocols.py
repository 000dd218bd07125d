"""What Python asks objects for: operators and their reflections, attributes that code computes."""

from __future__ import annotations

from tests.zoo.programs import f, program

ASKED: list[str] = []


def asked():
    """Which methods were called so far."""
    return list(ASKED)


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def reflected_operator_of_a_subclass(x):
    """The class of the right operand comes first where it is a subclass with its own method."""

    class Amount:
        def __init__(self, value):
            self.value = value

        def __add__(self, other):
            return self.value + 1

        def __radd__(self, other):
            return self.value + 2

    class Debt(Amount):
        def __radd__(self, other):
            return self.value - other.value if self.value.sum() > 0 else self.value

    return Amount(x) + Debt(x * 2), Debt(x) + Amount(x), 1 + Amount(x)


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def operators_that_do_not_know(x):
    """NotImplemented leaves the answer to the other operand, or to Python."""

    class Left:
        def __add__(self, other):
            return NotImplemented

        def __iadd__(self, other):
            return NotImplemented

        def __eq__(self, other):
            return NotImplemented

        def __lt__(self, other):
            return NotImplemented

        __hash__ = None

    class Right:
        def __radd__(self, other):
            return x * 3

        def __gt__(self, other):
            return x.sum() > 0

    left = both = Left()
    both += Right()
    try:
        both = both + (left + 1)
    except TypeError as error:
        text = str(error)
    equal = 1 if left == 5 else 2
    return left + Right(), both, text, equal, left != 5, left < Right()


@program(
    (f(1.0, 2.0),),
    (f(-1.0, -2.0),),
    watch=asked,
    reset=ASKED.clear,
    refused_saved="ST200",
)
def effects_of_reflected_operators(x):
    """What reflected methods change, each run changes."""

    class Logged:
        def __rsub__(self, other):
            ASKED.append("rsub")
            return other - x

        def __gt__(self, other):
            ASKED.append("gt" if x.sum() > 0 else "lt")
            return True

    return 5 - Logged(), 1 < Logged()


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def comparisons_of_subclasses(x):
    """A tuple and a string whose classes say how they are compared and added."""

    class Pair(tuple):
        __slots__ = ()

        def __eq__(self, other):
            return "same"

        def __hash__(self):
            return 1

        def __lt__(self, other):
            return x * 2

    class Word(str):
        __slots__ = ()

        def __add__(self, other):
            return "added"

    return Pair((x, 1)) == Pair((x, 2)), Pair((x, 1)) < Pair((1, 2)), Word("a") + "b"


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def contains_comes_before_items(x):
    """A sequence without `__iter__` that has its own `__contains__`."""

    class Row:
        def __getitem__(self, place):
            if place > 1:
                raise IndexError
            return x[place]

        def __contains__(self, wanted):
            return x[0] > wanted

        def __lt__(self, other):
            return False

        def __gt__(self, other):
            return False

    first = Row()
    return 0 in first, 5 in first, [one * 2 for one in first], max(first, Row()) is first


class Counting:
    """Its attributes are computed, and it counts how often they are."""

    def __init__(self):
        self.count = 0

    def __getattr__(self, name):
        self.count += 1
        if name == "absent":
            raise AttributeError(name)
        return self.count

    @property
    def odd(self):
        """None, every second time."""
        self.count += 1
        if self.count % 2:
            raise AttributeError("odd")
        return self.count


COUNTING = Counting()


@program(
    (f(1.0),),
    (f(-1.0),),
    (f(1.0),),
    watch=lambda: COUNTING.count,
    reset=COUNTING.__init__,
    stages=("captured", "unoptimised"),
)
def attributes_that_are_asked_for(x):
    """`hasattr` and `getattr` with a default ask once, and each call asks again."""
    if hasattr(COUNTING, "absent"):
        return x
    first = getattr(COUNTING, "other", 0)
    return x * getattr(COUNTING, "odd", 10), first, hasattr(COUNTING, "odd")


@program((f(1.0, 2.0),), (f(-1.0, -2.0),), (f(float("nan")),), (f(float("inf")),))
def comparisons_with_nan(x):
    """Nothing is less than nan, or equal to it."""
    total, unknown = x.sum().item(), float("nan")
    tests = (total < unknown, total >= unknown, total == unknown, total != unknown)
    return tests, max(total, unknown), min(unknown, total), int(total > 0) < unknown


@program(
    (f(1.0, 2.0),),
    (f(-1.0, -2.0),),
    watch=asked,
    reset=ASKED.clear,
    refused_saved="ST200",
)
def effects_of_indices_and_searches(x):
    """`__index__` is called at each use; a search ends where the item is found."""

    class Second:
        def __index__(self):
            ASKED.append("index")
            return 1

    class Items:
        def __iter__(self):
            ASKED.append("first")
            yield 1
            ASKED.append("second")
            yield 2

    place = Second()
    return x[place], [1, 2, 3][place], [1, 2, 3][place:], list(range(place)), 1 in Items()


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def mapping_without_iter(x):
    """What has `keys` is unpacked by them; its items are not counted."""

    class Options:
        def keys(self):
            return ["scale", "shift"]

        def __getitem__(self, name):
            return 2 if name == "scale" else 1

    def applied(scale, shift):
        return x * scale + shift

    return applied(**Options()), {**Options()}, dict(Options())
