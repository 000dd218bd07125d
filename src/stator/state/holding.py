"""How guards, slots and effects hold objects: weakly, if those have a static function themselves.

`to_static(model)` and a decorated method leave a static function in the object itself. The programs
of that function are about the object. Were they to hold it, neither would go before the garbage
collector runs. So such an object is an *own* one, and what a capture leaves behind holds it, its
methods and the dict of its attributes by weak references:

    reference(obj)            a function that gives it
    @holding(owner=weakly)    a dataclass whose field `owner` is held so

To call the function of an own object that is gone is an error.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from stator.english import with_article
from stator.errors import ConversionError, UnsupportedCall

Class = TypeVar("Class", bound=type)
Getter = Callable[[], Any]


class _OwnObjects:
    """The own objects, by their ids and by those of their dicts."""

    def __init__(self) -> None:
        self._by_id: dict[int, weakref.ref[Any]] = {}
        self._by_dict: dict[int, weakref.ref[Any]] = {}

    def add(self, obj: object) -> bool:
        """`obj` has a static function of its own; False if it cannot be held weakly."""
        if self.has(obj):
            return True
        ident, names = id(obj), id(vars(obj))

        def forget(gone: weakref.ref[Any]) -> None:
            for table, key in ((self._by_id, ident), (self._by_dict, names)):
                if table.get(key) is gone:
                    del table[key]

        try:
            made = weakref.ref(obj, forget)
        except TypeError:  # a class with slots and no `__weakref__`
            return False
        self._by_id[ident] = self._by_dict[names] = made
        return True

    def has(self, obj: object) -> bool:
        """Is `obj` one of them?"""
        found = self._by_id.get(id(obj))
        return found is not None and found() is obj

    def with_dict(self, names: dict[Any, Any]) -> Any:
        """The one whose attributes are in `names`; None if it is no dict of an own object."""
        found = self._by_dict.get(id(names))
        owner = None if found is None else found()
        return owner if owner is not None and vars(owner) is names else None


_OWN = _OwnObjects()
add_own = _OWN.add
is_own = _OWN.has


def names_for_method(instance: object, method: str) -> dict[str, Any]:
    """The attributes of `instance`, which keep its static `method`."""
    try:
        return vars(instance)
    except TypeError:
        raise ConversionError(
            f"`{method}` of {with_article(type(instance).__name__)}, which has no `__dict__`, "
            "cannot be made static",
            fix='add "__dict__" to its `__slots__`, or make a function static that takes '
            "the object",
        ) from None


class Gone:
    """Represents an own object that was freed: every read of it counts as changed."""


class Weakly:
    """Gives an own object; `GONE` where it is gone."""

    __slots__ = ("_reference", "_what")

    def __init__(self, obj: object) -> None:
        self._reference, self._what = weakref.ref(obj), type(obj).__name__

    def __call__(self) -> Any:
        """The object."""
        obj = self._reference()
        return GONE if obj is None else obj


class _DictOf(Weakly):
    """Gives the dict of the attributes of an own object, which may be another one by now."""

    __slots__ = ()

    def __call__(self) -> Any:
        return vars(super().__call__())


GONE = Gone()


class WeakMethod(Weakly):
    """Gives a method of an own object."""

    __slots__ = ("function",)

    def __init__(self, method: types.MethodType) -> None:
        super().__init__(method.__self__)
        self.function = method.__func__

    def __call__(self) -> types.MethodType:
        """The method; an error where its object is gone."""
        obj = self._reference()
        if obj is None:
            raise UnsupportedCall(
                f"the {self._what} whose method this is does not exist any more",
                fix=f"keep the {self._what}, and call its method by it",
            )
        return types.MethodType(self.function, obj)

    def is_of(self, obj: object) -> bool:
        """Is it a method of `obj`?"""
        return self._reference() is obj


class _ExpectedMethod(WeakMethod):
    """Gives a method of an own object; `GONE` where that is gone."""

    __slots__ = ()

    def __call__(self) -> Any:
        obj = self._reference()
        return GONE if obj is None else types.MethodType(self.function, obj)


class _Each:
    """Gives a tuple of dicts, of which those of own objects are a part."""

    __slots__ = ("_items",)

    def __init__(self, items: tuple[object, ...]) -> None:
        self._items = items

    def __call__(self) -> tuple[object, ...]:
        return tuple(one() if isinstance(one, _DictOf) else one for one in self._items)


def own_object(value: object) -> Any:
    """The own object that `value` is, or whose attributes it has; None for any other value."""
    if is_own(value):
        return value
    return _OWN.with_dict(value) if type(value) is dict else None


def reference(obj: object) -> Getter:
    """A function that gives `obj`, and holds it unless it is an own object."""
    return Weakly(obj) if is_own(obj) else lambda: obj


def own_method(function: object) -> Getter:
    """A function that gives `function`, whose static form its object is to have, if it is a method.

    Its object is an own one from now on.
    """
    if isinstance(function, types.MethodType) and add_own(function.__self__):
        return WeakMethod(function)
    return lambda: function


def dict_reference(names: dict[Any, Any]) -> Getter:
    """A function that gives `names`, and holds it unless it has the attributes of an own object."""
    owner = _OWN.with_dict(names)
    return _DictOf(owner) if owner is not None else lambda: names


def holding(**fields: Callable[[Any], Any]) -> Callable[[Class], Class]:
    """A decorator of a dataclass: its fields hold what they are given by these functions."""

    def decorated(cls: Class) -> Class:
        for name, held in fields.items():
            setattr(cls, name, _Field(name, vars(cls).get(name), held))
        return cls

    return decorated


def weakly(value: object) -> Any:
    """How a field holds an object."""
    return Weakly(value) if is_own(value) else value


def weak_method(value: Any) -> Any:
    """How a field holds what a read gave: a method without its object."""
    is_method = isinstance(value, types.MethodType) and is_own(value.__self__)
    return _ExpectedMethod(value) if is_method else value


def weak_dicts(value: Any) -> Any:
    """How a field holds a tuple of dicts, or None."""
    owners = [own_object(one) for one in value or ()]
    if all(owner is None for owner in owners):
        return value
    pairs = zip(value, owners, strict=True)
    return _Each(tuple(one if owner is None else _DictOf(owner) for one, owner in pairs))


class _Field:
    """A field of a dataclass, which has a slot for it or keeps it in its `__dict__`."""

    def __init__(self, name: str, slot: Any, held: Callable[[Any], Any]) -> None:
        self._name, self._slot = name, slot if hasattr(slot, "__set__") else None
        self._held = held

    def __get__(self, instance: object, _: type | None = None) -> Any:
        if instance is None:
            return self
        slot = self._slot
        held = vars(instance)[self._name] if slot is None else slot.__get__(instance)
        return held() if _is_weak(held) else held

    def __set__(self, instance: object, value: object) -> None:
        if self._slot is None:
            vars(instance)[self._name] = self._held(value)
        else:
            self._slot.__set__(instance, self._held(value))


def _is_weak(held: object) -> bool:
    return isinstance(held, Weakly | _Each)
