"""Values that stand for what a program computes, where a tensor or a symbolic number cannot.

Undefined      a name that is not bound
Variant        one of several Python values; a run decides which
StagedDict     a dict; once it has a key that only a run knows, one of the program
StagedSet      a set; likewise
StagedList     a list; once a recorded block changes its length, a list of the program
CapturedText   a string made when the program runs
CaughtError    the exception that a recorded handler has caught
CapturedComplex  a complex number that the program computes: torch has no symbolic one
Diverged       raised through a recorded block that always raises
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from stator.capture.places import current_place
from stator.errors import BranchMismatch, DataDependent, UnsupportedCall
from stator.program.ir import Value

if TYPE_CHECKING:  # kinds describe these values
    from stator.capture.kinds import Kind


ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class Diverged(BaseException):
    """This block raises at run time: nothing after this point in it is ever reached."""


def raise_for_user(error: Exception) -> None:
    """Raise what the user's own code would have raised here."""
    raise error


class Undefined:
    """The value of a name that is not bound."""

    def __init__(self, name: str) -> None:
        self.name = name

    def error(self) -> UnboundLocalError:
        """What Python raises where the name is read."""
        return UnboundLocalError(
            f"cannot access local variable '{self.name}' where it is not associated with a value"
        )

    def __repr__(self) -> str:
        return f"<undefined {self.name}>"


Apply = Callable[["Variant", Callable[[Any], Any]], Any]


class Variant:
    """One of `alternatives`: number `tag` says which. A use of it uses each in a branch."""

    def __init__(self, tag: Any, alternatives: tuple[Any, ...], apply: Apply) -> None:
        self.__dict__.update(tag=tag, alternatives=alternatives, apply=apply)

    def __getattr__(self, name: str) -> Any:
        return self.apply(self, lambda value: getattr(value, name))

    def __setattr__(self, name: str, new: Any) -> None:
        self.apply(self, lambda value: setattr(value, name, new))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A method of a union, called by code that is not converted."""
        return self.apply(self, lambda value: value(*args, **kwargs))

    def __repr__(self) -> str:
        return f"<one of {', '.join(repr(value) for value in self.alternatives)}>"

    def __bool__(self) -> bool:
        raise self._mismatch("the truth")

    def __hash__(self) -> int:
        raise self._mismatch("the hash")

    def __iter__(self) -> Iterator[Any]:
        raise self._mismatch("the items")

    def _mismatch(self, what: str) -> BranchMismatch:
        return BranchMismatch(
            f"library code needs {what} of a variable that is, depending on the path taken, "
            + " or ".join(_in_words(value) for value in self.alternatives),
            at=current_place(), fix="give the variable one form on every path",
        )  # fmt: skip

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return distribute(func, args, kwargs or {})


def _in_words(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"a {str(value.dtype).removeprefix('torch.')} tensor of rank {value.dim()}"
    return shown(value) if not isinstance(value, list | dict) else f"a {python_name(value)}"


def distribute(func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """`func(*args, **kwargs)`, for each alternative of the first Variant among the arguments."""
    variant = first_variant((args, kwargs))
    if variant is None:
        return func(*args, **kwargs)

    def with_alternative(value: Any) -> Any:
        new_args, new_kwargs = replace(variant, value, (args, kwargs))
        return distribute(func, new_args, new_kwargs)

    return variant.apply(variant, with_alternative)


def is_table(value: Any) -> bool:
    """Is `value` a dict or a set whose items only a run knows?"""
    return isinstance(value, StagedDict | StagedSet) and value.columns is not None


def first_variant(tree: Any) -> Variant | None:
    """The first Variant in `tree`, containers opened; None where there is none."""
    if isinstance(tree, Variant):
        return tree
    if type(tree) in (list, tuple) or (type(tree) is StagedList and tree.columns is None):
        items: Any = tree
    elif type(tree) in (dict, StagedDict) and not is_table(tree):
        items = tree.values()
    else:
        return None
    return next((found for item in items if (found := first_variant(item)) is not None), None)


def replace(old: Variant, new: Any, tree: Any) -> Any:
    """`tree` with `new` wherever it has `old`; a part without it stays the object it is."""
    if tree is old:
        return new
    if type(tree) in (list, tuple) or (type(tree) is StagedList and tree.columns is None):
        items = [replace(old, new, item) for item in tree]
        return tree if _same_items(items, tree) else type(tree)(items)
    if type(tree) in (dict, StagedDict) and not is_table(tree):
        values = [replace(old, new, item) for item in tree.values()]
        if _same_items(values, tree.values()):
            return tree
        return type(tree)(zip(tree, values, strict=True))
    return tree


def _same_items(new: list[Any], old: Any) -> bool:
    return all(a is b for a, b in zip(new, old, strict=True))


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: distribute(function, (self, other), {})


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: distribute(function, (other, self), {})


def _unary(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda self: distribute(function, (self,), {})


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor",
           "lshift", "rshift")  # fmt: skip
for _name in _BINARY:
    _bare = _name.rstrip("_")
    setattr(Variant, f"__{_bare}__", _binary(getattr(operator, _name)))
    setattr(Variant, f"__r{_bare}__", _reflected(getattr(operator, _name)))
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "getitem"):
    setattr(Variant, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ("neg", "pos", "invert", "abs"):
    setattr(Variant, f"__{_name}__", _unary(getattr(operator, _name)))


class CapturedText:
    """A string that only a run of the program makes."""

    def __init__(self, value: Value) -> None:
        self.value = value

    def __str__(self) -> str:
        raise _needs_a_value("a string made from captured values")

    def __repr__(self) -> str:
        return "<captured text>"

    def __eq__(self, other: object) -> bool:
        raise _needs_a_value("to compare a string made from captured values")

    __bool__ = __hash__ = __str__  # type: ignore[assignment]


class CapturedComplex:
    """A complex number that only a run of the program computes."""

    def __init__(self, value: Value) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "<captured complex>"

    def __complex__(self) -> complex:
        raise _needs_a_value("a captured complex number")

    def __eq__(self, other: object) -> bool:
        raise _needs_a_value("to compare a captured complex number")

    __bool__ = __hash__ = __complex__  # type: ignore[assignment]


class CaughtError:
    """The exception that a recorded handler has caught: only a run has it."""

    def __init__(self, name: CapturedText, text: CapturedText, ask: Callable[[Any], Any]) -> None:
        self.__dict__.update(_name=name, _text=text, _ask=ask)

    def __repr__(self) -> str:
        return "<the caught exception>"

    def text(self, is_seen: Callable[[Value], bool]) -> CapturedText:
        """`str(error)`."""
        if not is_seen(self._text.value):
            raise self.refused()
        found: CapturedText = self._text
        return found

    def is_a(self, names: tuple[str, ...]) -> Any:
        """Is it of one of these classes?"""
        return self._ask(names)

    def class_name(self) -> CapturedText:
        """`type(error).__name__`."""
        found: CapturedText = self._name
        return found

    def __getattr__(self, name: str) -> Any:
        raise self.refused()

    def refused(self) -> UnsupportedCall:
        """The error for any other use."""
        return UnsupportedCall(
            "the caught exception is looked at, and only a run has it", at=current_place(),
            fix="use its text (`str(error)`) or its class (`isinstance`) inside the handler",
        )  # fmt: skip


class CaughtType:
    """`type(error)` of an exception that only a run has: its name is known then."""

    def __init__(self, error: CaughtError) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Any:
        if name in ("__name__", "__qualname__"):
            return self.error.class_name()
        raise self.error.refused()

    def __eq__(self, other: object) -> bool:
        raise self.error.refused()

    __hash__ = None  # type: ignore[assignment]


class Columns:
    """A list of the program: one list value for each leaf of an item.

    It may stand for a tuple, a set (its items, each once) or a dict (its pairs, in order).
    """

    def __init__(self, item: Kind, values: tuple[Value, ...], form: type = list) -> None:
        self.item, self.values, self.form = item, values, form


_stamps = itertools.count(1)


def now() -> int:
    """A number greater than any given before: the age of containers, and of blocks."""
    return next(_stamps)


class StagedList(list[Any]):
    """A list in converted code.

    While `columns` is None it is a plain list; afterwards its items live in the program, and only
    staging knows how to use it.
    """

    columns: Columns | None = None
    frozen: str | None = None  # why it must not be changed any more
    is_live = False  # stands for a list of the caller's that every run reads anew

    @property
    def is_tuple(self) -> bool:
        """Does it stand for a tuple of unknown length?"""
        return self.columns is not None and self.columns.form is tuple

    def __init__(self, items: Any = ()) -> None:
        super().__init__(items)
        self.stamp = now()

    def _check(self) -> None:
        if self.columns is not None:
            raise _needs_a_value("the items of a list whose length only a run knows")

    def __iter__(self) -> Iterator[Any]:
        self._check()
        return super().__iter__()

    def __len__(self) -> int:
        self._check()
        return super().__len__()

    def __getitem__(self, index: Any) -> Any:
        self._check()
        return super().__getitem__(index)

    def __bool__(self) -> bool:
        self._check()
        return super().__len__() > 0

    def __contains__(self, item: object) -> bool:
        self._check()
        return super().__contains__(item)

    def __repr__(self) -> str:
        return super().__repr__() if self.columns is None else "<list of the program>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._check()
        return list, (list(self),)


class StagedSet(set[Any]):
    """A set made by converted code; with `columns`, one whose items only a run knows."""

    columns: Columns | None = None
    frozen: str | None = None

    def __init__(self, items: Any = ()) -> None:
        super().__init__(items)
        self.stamp = now()

    def _check(self) -> None:
        if self.columns is not None:
            raise _needs_a_value("the items of a set that only a run knows")

    def __repr__(self) -> str:
        return set.__repr__(set(self)) if self.columns is None else "<set of the program>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._check()
        return set, (list(self),)


class StagedDeque(StagedList):
    """A `collections.deque` made by converted code; it stays the object it is."""

    def __init__(self, items: Any = (), maxlen: int | None = None) -> None:
        super().__init__(items)
        self.maxlen = maxlen

    def _of_a_deque(self, *_: Any) -> Any:
        raise _needs_a_value("the methods of a deque")

    def appendleft(self, item: Any) -> Any:
        """Of a deque: staging has it."""
        return self._of_a_deque(item)

    def extendleft(self, items: Any) -> Any:
        """Of a deque: staging has it."""
        return self._of_a_deque(items)

    def popleft(self) -> Any:
        """Of a deque: staging has it."""
        return self._of_a_deque()

    def rotate(self, steps: Any = 1) -> Any:
        """Of a deque: staging has it."""
        return self._of_a_deque(steps)


class Locals:
    """The names of a running function that code elsewhere changes: a loop over a generator."""

    def __init__(self, names: tuple[str, ...], read: Any, write: Any) -> None:
        self.names, self.read, self.write = names, read, write

    def state(self) -> dict[str, Any]:
        """The values of the names now."""
        return dict(zip(self.names, self.read(), strict=True))

    def restore(self, state: dict[str, Any]) -> None:
        """Give the names the values of `state`; one that it lacks is unbound."""
        self.write(tuple(state.get(name, Undefined(name)) for name in self.names))


class StagedDict(dict[Any, Any]):
    """A dict made by converted code.

    Once it gets a key that only a run knows, its pairs are those of `columns`, and only staging
    knows how to use it.
    """

    columns: Columns | None = None
    frozen: str | None = None

    def __init__(self, items: Any = ()) -> None:
        super().__init__(items)
        self.stamp = now()

    def _check(self) -> None:
        if self.columns is not None:
            raise _needs_a_value("the items of a dict whose keys only a run knows")

    def __repr__(self) -> str:
        return super().__repr__() if self.columns is None else "<dict of the program>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (dict(self),)


class StagedDefaultDict(StagedDict):
    """A `collections.defaultdict` made by converted code; it stays the object it is."""

    def __init__(self, default_factory: Any = None, items: Any = ()) -> None:
        super().__init__(items)
        self.default_factory = default_factory


def freeze(item: Any) -> None:
    """A list of the program holds copies: what was put into it must not change any more."""
    if isinstance(item, StagedList | StagedDict | StagedSet):
        item.frozen = "it was put into a list of the program, which holds a copy"
    parts: Any = ()
    if isinstance(item, Variant):
        parts = item.alternatives
    elif isinstance(item, tuple) or (isinstance(item, StagedList) and item.columns is None):
        parts = item
    elif isinstance(item, StagedDict) and not is_table(item):
        parts = item.values()
    for part in parts:
        freeze(part)


def shown(value: Any) -> str:
    """`repr(value)`; where that has an address, or captured tensors, what it is."""
    text = repr(value)
    if isinstance(value, list | tuple | dict | set) and "<" in text:
        known = getattr(value, "columns", None) is None
        return f"{python_name(value)} of {len(value)}" if known else f"a {python_name(value)}"
    return f"a {python_name(value)}" if ADDRESS.search(text) else text


def python_name(obj: Any) -> str:
    """`list` for a staged list, and so on: the name that the user knows."""
    name = type(obj).__name__
    return name.removeprefix("Staged").lower() if name.startswith("Staged") else name


def refuse_frozen(obj: Any) -> None:
    """An error where `obj` must not be changed any more."""
    if isinstance(obj, StagedList | StagedDict | StagedSet) and obj.frozen:
        raise UnsupportedCall(
            f"a {python_name(obj)} cannot be changed here: {obj.frozen}",
            at=current_place(), fix="finish it before putting it into the list",
        )  # fmt: skip


def _needs_a_value(what: str) -> Exception:
    return DataDependent(
        f"Python code needs {what}", at=current_place(),
        fix="let converted code use it (an `if`, a loop, a comparison), or use tensors",
    )  # fmt: skip


def _checked(cls: Any, name: str) -> None:
    """Let the method `name` of a container work as long as its items are known."""
    plain = getattr(cls.__mro__[1], name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        for one in (self, *args):
            if isinstance(one, StagedDict | StagedSet):
                one._check()
        return plain(self, *args, **kwargs)

    method.__name__ = name
    setattr(cls, name, method)


for _name in ("__iter__", "__len__", "__contains__", "__eq__", "__ne__"):
    _checked(StagedDict, _name)
    _checked(StagedSet, _name)
for _name in ("__getitem__", "keys", "values", "items", "get", "__or__", "__ror__"):
    _checked(StagedDict, _name)
for _name in ("__or__", "__and__", "__sub__", "__xor__", "__le__", "__lt__", "__ge__", "__gt__"):
    _checked(StagedSet, _name)

Symbolic = (
    torch.Tensor | torch.SymInt | torch.SymFloat | torch.SymBool | Variant | CapturedText
    | CapturedComplex
)  # fmt: skip
