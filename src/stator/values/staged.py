"""Staged containers: the lists, dicts and sets of converted code.

As long as `columns` is None, each is a plain Python container. Once a recorded block changes its
length, or it gets a key that only a run knows, its items live in the program, one list for each
leaf of an item, and only staging knows how to use it.
"""

from __future__ import annotations

import collections
import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from stator.english import with_article
from stator.program.ir import Value
from stator.values.containers import DICT, LIST, TUPLE, Containers, ContainerType
from stator.values.kinds import Kind
from stator.values.symbolic import Undefined, needs_a_value

ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_ticks = itertools.count(1)


def tick() -> int:
    """A number greater than any given before: when a container or a block was created."""
    return next(_ticks)


class Columns:
    """A runtime list: one list value for each leaf of an item.

    It may represent a tuple, a set (its items, each once) or a dict (its pairs, in order).
    """

    def __init__(self, item: Kind, values: tuple[Value, ...], form: type = list) -> None:
        self.item, self.values, self.form = item, values, form


class StagedContainer:
    """What the containers of converted code have in common."""

    plain: ClassVar[type]
    unknown: ClassVar[str]  # what Python code cannot have once the items live in the program
    columns: Columns | None = None
    frozen: str | None = None  # why it must not be changed any more
    sites: frozenset[Any] = frozenset()  # where it was created (see `values.pooled`)
    is_stand_in = False  # represents a container of the caller's, and is known as that object
    is_live = False  # such a one that every run reads again
    is_given = False  # represents a list that every call gives, of any length

    def __init__(self, items: object = ()) -> None:
        super().__init__(items)  # type: ignore[call-arg]  # of the plain container
        self.created_at = tick()

    @property
    def is_open(self) -> bool:
        """Do its items live in the program?"""
        return self.columns is not None

    def _check(self) -> None:
        if self.is_open:
            raise needs_a_value(self.unknown)

    def __repr__(self) -> str:
        if self.is_open:
            return f"<{self.plain.__name__} of the program>"
        shown: str = self.plain.__repr__(self)  # type: ignore[call-arg]  # not of `object`
        return shown

    def __reduce_ex__(self, protocol: object) -> Any:
        self._check()
        return self.plain, (self.plain(self),)


class StagedList(StagedContainer, list[Any]):
    """A list in converted code."""

    plain = list
    unknown = "the items of a list of data-dependent length"

    @property
    def is_tuple(self) -> bool:
        """Does it represent a tuple of unknown length?"""
        return self.columns is not None and self.columns.form is tuple

    def __bool__(self) -> bool:
        return len(self) > 0


class StagedSet(StagedContainer, set[Any]):
    """A set made by converted code."""

    plain = set
    unknown = "the items of a data-dependent set"
    is_in_order = True  # does it give its items in the order that Python would?
    order: tuple[Any, ...] | None = None  # that order, if it is another one, until a change

    def __init__(self, items: Any = ()) -> None:
        super().__init__(plain_dict(items))

    def __repr__(self) -> str:
        """Without the name of this class, which `set` would add."""
        return super().__repr__() if self.is_open else repr(set(self))


class StagedDict(StagedContainer, dict[Any, Any]):
    """A dict made by converted code."""

    plain = dict
    unknown = "the items of a dict with data-dependent keys"


class StagedDeque(StagedList):
    """A `collections.deque` made by converted code; it stays the object it is."""

    def __init__(self, items: object = (), maxlen: int | None = None) -> None:
        super().__init__(items)
        self.maxlen = maxlen

    def __repr__(self) -> str:
        most = "" if self.maxlen is None else f", maxlen={self.maxlen}"
        return f"deque([{', '.join(map(repr, self))}]{most})"


def _own_method(name: str) -> Callable[..., object]:
    """A method that the plain container does not have: staging runs it."""

    def method(*_: object) -> Any:
        raise needs_a_value("the methods of a deque or a Counter")

    method.__name__ = name
    return method


class StagedDefaultDict(StagedDict):
    """A `collections.defaultdict` made by converted code; it stays the object it is."""

    def __init__(self, default_factory: object = None, items: object = ()) -> None:
        super().__init__(items)
        self.default_factory = default_factory

    def __repr__(self) -> str:
        return f"defaultdict({self.default_factory!r}, {super().__repr__()})"


class StagedCounter(StagedDict):
    """A `collections.Counter` of captured values; it stays the object it is."""

    def __missing__(self, key: object) -> int:
        return 0

    def __repr__(self) -> str:
        is_known = not self.is_open and all(isinstance(count, int) for count in self.values())
        return repr(collections.Counter(self)) if is_known else f"Counter({super().__repr__()})"


class StagedOrderedDict(StagedDict):
    """A `collections.OrderedDict` with captured keys; it stays the object it is."""

    def __repr__(self) -> str:
        return super().__repr__() if self.is_open else repr(collections.OrderedDict(self))


def is_seen_before(obj: object) -> bool:
    """Does it represent a container of the caller's, which was read when it was first seen?"""
    return isinstance(obj, StagedList | StagedSet) or (
        isinstance(obj, StagedDict) and obj.is_stand_in
    )


def plain_dict(value: Any) -> Any:
    """A dict of Python's own for a staged one: a set made of one has an order of its own."""
    return dict(value) if type(value) is StagedDict else value


def _in_order(result: Any, operands: tuple[Any, ...]) -> Any:
    """`result`, of a method of sets, has an order of its own where an operand has."""
    if isinstance(result, set) and not all(getattr(one, "is_in_order", True) for one in operands):
        result = StagedSet(result)
        result.is_in_order = False
    return result


def _checked(cls: Any, name: str) -> Callable[..., Any]:
    """The method `name` of the plain container, which works as long as the items are known."""
    plain = getattr(cls.plain, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        for one in (self, *args):
            if one is self or isinstance(one, StagedDict | StagedSet):
                one._check()
        if isinstance(self, StagedSet):
            return _in_order(plain(self, *map(plain_dict, args)), (self, *args))
        return plain(self, *args, **kwargs)

    method.__name__ = name
    return method


CHECKED: dict[type[StagedContainer], tuple[str, ...]] = {
    StagedList: ("__iter__", "__len__", "__getitem__", "__contains__"),
    StagedDict: ("__iter__", "__len__", "__contains__", "__eq__", "__ne__", "__getitem__", "keys",
                 "values", "items", "get", "__or__", "__ror__"),
    StagedSet: ("__iter__", "__len__", "__contains__", "__eq__", "__ne__", "__or__", "__and__",
                "__sub__", "__xor__", "__le__", "__lt__", "__ge__", "__gt__", "copy", "difference",
                "intersection", "symmetric_difference", "union"),
}  # fmt: skip
for _cls, _names in CHECKED.items():
    for _name in _names:
        setattr(_cls, _name, _checked(_cls, _name))
_items_of_a_set = StagedSet.__iter__


def _ordered_items(self: StagedSet) -> Any:
    """The items in the order that Python has, which is another one if the set was larger once."""
    items = _items_of_a_set(self)
    if self.is_in_order:
        return items
    if self.order is None or set(self.order) != set(items):
        raise needs_a_value("the order of a set from outside that was once larger")
    return iter(self.order)


def _reordering(name: str) -> Callable[..., Any]:
    """The method `name` of a set, which changes it: where its items go, only Python's own knows."""
    plain = getattr(set, name)

    def method(self: StagedSet, *args: Any) -> Any:
        self.order = None
        if name == "pop":
            iter(self)  # an error if the order is not known
        return plain(self, *map(plain_dict, args))

    method.__name__ = name
    return method


StagedSet.__iter__ = _ordered_items  # type: ignore[assignment, method-assign]
for _name in ("add", "clear", "difference_update", "discard", "intersection_update", "pop",
              "remove", "symmetric_difference_update", "update", "__iand__", "__ior__", "__isub__",
              "__ixor__"):  # fmt: skip
    setattr(StagedSet, _name, _reordering(_name))
for _name in ("appendleft", "extendleft", "popleft", "rotate"):
    setattr(StagedDeque, _name, _own_method(_name))
for _name in ("elements", "most_common", "subtract", "total"):
    setattr(StagedCounter, _name, _own_method(_name))
for _name in ("move_to_end", "popitem"):
    setattr(StagedOrderedDict, _name, _own_method(_name))


class Locals:
    """The names of a running function that code elsewhere changes: a loop over a generator."""

    def __init__(
        self,
        names: tuple[str, ...],
        read: Callable[[], tuple[Any, ...]],
        write: Callable[[tuple[Any, ...]], object],
    ) -> None:
        self.names, self.read, self.write = names, read, write

    def state(self) -> dict[str, Any]:
        """The values of the names now."""
        return dict(zip(self.names, self.read(), strict=True))

    def restore(self, state: dict[str, object]) -> None:
        """Give the names the values of `state`; one that it lacks is unbound."""
        self.write(tuple(state.get(name, Undefined(name)) for name in self.names))


def is_copied(value: object) -> bool:
    """Does a list of the program hold a copy of `value`, where that is a container?"""
    return not (isinstance(value, StagedContainer) and value.is_stand_in)


def is_table(value: object) -> bool:
    """Is `value` a dict or a set with data-dependent items?"""
    return isinstance(value, StagedDict | StagedSet) and value.is_open


def _is_known(value: StagedContainer) -> bool:
    return not value.is_open


# ---- as containers of walks

STAGED_LIST = replace(
    LIST, covers=lambda cls: issubclass(cls, StagedList), is_known=_is_known,
    new=lambda _, contents: StagedList(contents.items), like=lambda _, items: StagedList(items),
)  # fmt: skip
STAGED_DICT = replace(
    DICT, covers=lambda cls: issubclass(cls, StagedDict), is_known=_is_known,
    like=lambda value, items: StagedDict(zip(value, items, strict=True)),
)  # fmt: skip


def exactly(entry: ContainerType, *types: type) -> ContainerType:
    """`entry` for instances of these very classes, not of subclasses."""
    return replace(entry, covers=lambda cls: cls in types)


# what library code is given: a union anywhere in it is looked for
ARGUMENTS = Containers(
    exactly(TUPLE, tuple), exactly(LIST, list), exactly(STAGED_LIST, StagedList),
    exactly(DICT, dict), exactly(STAGED_DICT, StagedDict),
)  # fmt: skip


def plain_containers(tree: object) -> Any:
    """`tree` with plain lists and dicts for staged ones."""
    return PLAIN.map(lambda leaf: leaf, tree)


PLAIN = Containers(
    exactly(TUPLE, tuple),
    replace(exactly(LIST, list, StagedList), like=lambda _, items: list(items)),
    replace(exactly(DICT, dict, StagedDict),
            like=lambda value, items: dict(zip(value, items, strict=True))),
)  # fmt: skip


# ---- for messages


def shown(value: object) -> str:
    """`repr(value)`; where that has an address, or captured tensors, what it is."""
    text = repr(value)
    if isinstance(value, list | tuple | dict | set) and "<" in text:
        known = not getattr(value, "is_open", False)
        return (
            f"{python_name(value)} of {len(value)}"
            if known
            else f"{with_article(python_name(value))}"
        )
    return f"{with_article(python_name(value))}" if ADDRESS.search(text) else text


def python_class_name(cls: type) -> str:
    """The same for a class."""
    theirs = (one for one in cls.__mro__[:-1] if not one.__module__.startswith("stator."))
    return next(theirs, cls).__name__.removeprefix("Staged")


def python_name(obj: object) -> str:
    """`list` for a staged list, and so on: the name that the user knows."""
    if isinstance(obj, StagedContainer):
        return type(obj).__name__.removeprefix("Staged").removeprefix("Pooled").lower()
    return python_class_name(type(obj))
