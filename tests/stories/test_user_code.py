"""Stories about code of the user's that Python or a library calls: descriptors, classes, keys."""

from __future__ import annotations

import abc
import collections
import contextlib
import copy
import functools
import itertools
import operator
import re
import weakref

import pytest

import stator
from stator.errors import StatorError
from tests.stories.book import Book, X

CHANGES = "without conversion, which changes"
story = Book(
    finalizer="a program cannot call its `__del__`",
    compared_by_a_function=CHANGES,
    replaced_by_a_function=CHANGES,
    accumulated_by_a_function=CHANGES,
    attribute_by_getattribute=CHANGES,
    subclass_is_registered=CHANGES,
    class_body=CHANGES,
    metaclass_makes_a_class=CHANGES,
    list_with_an_init=CHANGES,
    object_behind_a_weak_reference="a weak reference from outside is used",
    weak_set="a WeakSet from outside is used",
    key_that_the_call_makes="a dict whose key is a Key that the call makes",
)


class Counted:
    """A descriptor with a count of its own."""

    def __init__(self):
        self.count = 0

    def __get__(self, obj, cls=None):
        self.count += 1
        return obj.__dict__.get("held", 0) + self.count

    def __set__(self, obj, value):
        self.count += 10
        obj.__dict__["held"] = value

    def __delete__(self, obj):
        self.count += 100
        obj.__dict__.pop("held", None)


@story
def state_of_a_descriptor():
    class Holder:
        field = Counted()

    holder = Holder()

    def f(x):
        holder.field = holder.field + 1
        if x.sum() > 0:
            del holder.field
        return x * holder.field

    return f, X, lambda: (dict(vars(holder)), vars(Holder)["field"].count)


@story
def descriptor_is_replaced():
    class Holder:
        field = Counted()

    def exchange(f):
        Holder.field = Counted()
        Holder.field_count = 5
        return f(X[0])

    def f(x):
        return x * Holder().field

    return f, (X[0], X[1], exchange, X[0]), lambda: vars(Holder)["field"].count


@story
def deleter_of_a_property():
    log = []

    class Holder:
        @property
        def field(self):
            return 1

        @field.deleter
        def field(self):
            log.append(len(log))

    holder = Holder()

    def f(x):
        if x.sum() > 0:
            del holder.field
        return x * len(log)

    return f, X, lambda: list(log)


@story
def only_one_object():
    class One:
        made = None
        calls = 0

        def __new__(cls):
            if cls.made is None:
                cls.made = super().__new__(cls)
            cls.calls += 1
            return cls.made

        def __init__(self):
            self.last = One.calls

    def f(x):
        one, other = One(), One()
        return x * one.last, one is other

    return f, X, lambda: (One.calls, vars(One.made))


@story
def called_by_a_metaclass():
    class Meta(type):
        calls = 0

        def __call__(cls, *args):
            Meta.calls += 1
            return super().__call__(*args)

        def __getattr__(cls, name):
            return 42

    class Made(metaclass=Meta):
        def __init__(self, value):
            self.value = value

    def f(x):
        return Made(x).value + Made.anything + Meta.calls

    return f, X, lambda: Meta.calls


@story
def named_tuple_with_a_new():
    class Pair(collections.namedtuple("Pair", "one two")):
        made = 0

        def __new__(cls, one, two=2):
            Pair.made += 1
            return super().__new__(cls, one, two)

    def f(x):
        return x * Pair(1).two + Pair.made

    return f, X, lambda: Pair.made


@story
def list_in_a_named_tuple():
    pair = collections.namedtuple("pair", "items table")([], {})

    def f(x):
        pair.items.append(1)
        pair.table[len(pair.items)] = 1
        return x * len(pair.items)

    return f, X, lambda: (list(pair.items), dict(pair.table))


@story
def object_behind_a_weak_reference():
    class Box:
        count = 1

    box = Box()
    reference = weakref.ref(box)

    def grow(f):
        box.count += 10
        return f(X[0])

    def f(x):
        reference().count += 1
        return x * reference().count

    return f, (X[0], X[1], grow, X[0]), lambda: box.count


@story
def object_behind_a_weak_reference_that_is_known():
    class Box:
        count = 1

    box = Box()
    reference = weakref.ref(box)

    def grow(f):
        box.count += 10
        return f(X[0])

    def f(x):
        assert box is not None
        reference().count += 1
        return x * reference().count

    return f, (X[0], X[1], grow, X[0]), lambda: box.count


@story
def object_that_is_gone():
    class Thing:
        size = 2

    gone = weakref.ref(Thing())

    def f(x):
        thing = gone()
        return x * (3 if thing is None else thing.size)

    return f, X


@story
def abstract_class_gets_a_subclass():
    class Base(abc.ABC):  # noqa: B024
        pass

    class Thing:
        pass

    thing = Thing()

    def register(f):
        Base.register(Thing)
        return f(X[0])

    def f(x):
        return x * (2 if isinstance(thing, Base) else 1), issubclass(Thing, Base)

    return f, [X[0], register, X[0]]


@story
def weak_set():
    class Box:
        pass

    box = Box()
    boxes = weakref.WeakSet([box])

    def f(x):
        return x * len(boxes)

    return f, X, lambda: box is None


@story
def objects_that_library_code_finds():
    class Box:
        pass

    outer, first = Box(), Box()
    outer.inner, first.count = Box(), 1
    outer.inner.items = [1]
    boxes, table = [first], {"a": {"b": [1]}}
    items_of, first_of = operator.attrgetter("inner.items"), operator.itemgetter(0)

    def f(x):
        first_of(boxes).count += 1
        items_of(outer).append(3)
        functools.reduce(operator.getitem, ["a", "b"], table).append(9)
        return x * first.count + len(outer.inner.items)

    return f, X, lambda: (first.count, outer.inner.items[:], copy.deepcopy(table))


@story
def decorators_of_inner_functions():
    seen = collections.Counter()

    def registered(made):
        seen[made.__name__] += 1
        return made

    def f(x):
        @registered
        def double(v):
            return v * 2

        @registered
        class Two:
            value = 2

        return double(x) * Two.value + seen["double"]

    return f, X, lambda: dict(seen)


@story
def key_of_max_and_function_of_reduce():
    log = []

    def key(value):
        log.append(value)
        return -value

    def add(one, other):
        log.append(one)
        return one + other

    def f(x):
        return x * max([1, 2], key=key) + functools.reduce(add, [1, 2, 3]) + len(log)

    return f, X, lambda: list(log)


@story
def key_of_sorted_values_of_the_run():
    log = []

    def key(value):
        log.append(value)
        return -value

    def f(x):
        return sorted([1.0, x.sum().item()], key=key)

    return f, X, lambda: list(log)


@story
def texts_of_objects():
    log = []

    class Said:
        def __str__(self):
            log.append("str")
            return f"said {len(log)}"

        def __repr__(self):
            log.append("repr")
            return "Said()"

        def __format__(self, spec):
            log.append(spec)
            return spec * 2

    said = Said()

    def f(x):
        return str(said), repr(said), f"{said!r:>8}{said:-}", x.sum()

    return f, X, lambda: list(log)


@story
def search_through_a_name_that_may_be_unbound():
    def f(x):
        if x.sum() > 0:
            bound = 3
        return x + next(r for r in [0, bound] if r)

    return f, X


@story
def number_of_a_dict():
    def f(x):
        table = {}
        return x + int(table)

    return f, X


# ---- refused


@story
def finalizer():
    class Ended:
        def __del__(self):
            pass

    def f(x):
        Ended()
        return x

    return f, X


@story
def compared_by_a_function():
    calls = [0]

    def compare(one, other):
        calls[0] += 1
        return one - other

    def f(x):
        return x * sorted([3, 1, 2], key=functools.cmp_to_key(compare))[0]

    return f, X


@story
def replaced_by_a_function():
    log = []

    def digit(found):
        log.append(found[0])
        return str(len(log))

    def f(x):
        return x * int(re.sub("a", digit, "aa"))

    return f, X


@story
def accumulated_by_a_function():
    log = []

    def add(one, other):
        log.append(one)
        return one + other

    def f(x):
        return x * sum(itertools.accumulate([1, 2, 3], add))

    return f, X


@story
def dispatched_by_class():
    log = []

    @functools.singledispatch
    def shown(value):
        log.append(value)
        return 1

    def f(x):
        return x * shown(3)

    return f, X


@story
def copied_by_a_method():
    class Sheet:
        copies = 0

        def __deepcopy__(self, memo):
            Sheet.copies += 1
            return self

    sheet = Sheet()

    def f(x):
        copy.deepcopy(sheet)
        return x

    return f, X


@story
def attribute_by_getattribute():
    class Watched:
        reads = 0
        value = 2

        def __getattribute__(self, name):
            Watched.reads += 1
            return object.__getattribute__(self, name)

    watched = Watched()

    def f(x):
        return x * watched.value

    return f, X


@story
def subclass_is_registered():
    known = []

    class Base:
        def __init_subclass__(cls):
            known.append(cls)

    def f(x):
        class Inner(Base):
            value = 2

        return x * Inner.value

    return f, X


@story
def class_body():
    log = []

    def f(x):
        class Inner:
            log.append(1)
            value = 2

        return x * Inner.value

    return f, X


@story
def metaclass_makes_a_class():
    class Meta(type):
        made = 0

        def __new__(cls, name, bases, names):
            Meta.made += 1
            return super().__new__(cls, name, bases, names)

    def f(x):
        class Inner(metaclass=Meta):
            value = 2

        return x * Inner.value

    return f, X


@story
def list_with_an_init():
    class Items(list):
        made = 0

        def __init__(self, first):
            super().__init__([first])
            Items.made += 1

    def f(x):
        return x * len(Items(1))

    return f, X


@story
def deep_copy_of_a_changed_object():
    class Box:
        pass

    box = Box()
    box.items = [1]

    def f(x):
        box.items.append(2)
        return x * len(copy.deepcopy(box).items)

    return f, X


@story
def key_that_the_call_makes():
    class Key:
        def __init__(self, value):
            self.value = value

        def __hash__(self):
            return hash(self.value)

        def __eq__(self, other):
            return self.value == other.value

    table = {}

    def f(x):
        table[Key(1)] = 2
        return x

    return f, X


@story.right()
def test_story(name):
    story.check(name)


@pytest.mark.parametrize("name", story.refused)
def test_what_is_not_modelled_is_refused(name):
    story.check_refused(name)


def test_what_a_refused_call_has_changed_is_put_back():
    calls = [0]

    def compare(one, other):
        calls[0] += 1
        return one - other

    def f(x):
        return x * sorted([3, 1, 2], key=functools.cmp_to_key(compare))[0]

    with pytest.raises(stator.StatorError, match=CHANGES):
        stator.to_static(f)(X[0])
    assert calls == [0]


CLOSED = []


def closed_at_the_end(x):
    with contextlib.ExitStack() as stack:
        stack.callback(CLOSED.append, x.shape[0])
        stack.push(lambda *_: CLOSED.append(-1))
        return x + len(CLOSED)


def test_what_an_exit_stack_calls_is_called_by_each_call():
    given = []
    for function in (closed_at_the_end, stator.to_static(closed_at_the_end)):
        CLOSED.clear()
        results = [function(X[0]).tolist() for _ in range(3)]
        given.append((results, list(CLOSED)))
    assert given[0] == given[1]
    assert len(CLOSED) == 6


def fails_at_the_end(x):
    with contextlib.ExitStack() as stack:
        stack.callback(CLOSED.append, 1)
        stack.callback({}.pop, "missing")
        return x + 1


def test_an_exit_stack_whose_callback_raises_is_refused_before_anything_is_called():
    CLOSED.clear()
    with pytest.raises(
        StatorError, match="an exception may leave the `with` block of an ExitStack"
    ):
        stator.to_static(fails_at_the_end)(X[0])
    assert CLOSED == []
