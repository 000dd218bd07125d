"""Unions: one of several Python values; a run decides which."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import torch

from stator.english import with_article
from stator.errors import BranchMismatch
from stator.values.sites import Shared
from stator.values.staged import ARGUMENTS, StagedList, python_name, shown
from stator.values.symbolic import CapturedComplex, CapturedText, Undefined

Function = TypeVar("Function", bound=Callable[..., Any])


class Branches(Protocol):
    """Records a branch for each alternative of a union. The recorder does."""

    def apply(self, union: Union, function: Callable[[Any], Any], /) -> Any:
        """`function` of the alternative that a run has; an undefined one raises."""

    def apply_all(self, union: Union, function: Callable[[Any], Any], /) -> Any:
        """The same, and an undefined alternative is given to `function` as it is."""


class Union:
    """One of `alternatives`: number `tag` says which. A use of it uses each in a branch."""

    def __init__(self, tag: object, alternatives: tuple[Any, ...], branches: Branches) -> None:
        self.__dict__.update(tag=tag, alternatives=alternatives, branches=branches)

    def __getattr__(self, name: str) -> Any:
        return self.branches.apply(self, lambda value: getattr(value, name))

    def __setattr__(self, name: str, new: object) -> None:
        self.branches.apply(self, lambda value: setattr(value, name, new))

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """A method of a union, called by code that is not converted."""
        return self.branches.apply(self, lambda value: value(*args, **kwargs))

    def __repr__(self) -> str:
        return f"<one of {', '.join(repr(value) for value in self.alternatives)}>"

    def __bool__(self) -> bool:
        raise self._mismatch("the truth")

    def __hash__(self) -> int:
        raise self._mismatch("the hash")

    def __iter__(self) -> Iterator[Any]:
        raise self._mismatch("the items")

    def __instancecheck__(self, _: object) -> bool:
        raise self._mismatch("the class")

    __subclasscheck__ = __instancecheck__

    def _mismatch(self, what: str) -> BaseException:
        """The error; lists that can be known by reference are one form, in another capture."""
        refusal = BranchMismatch(
            f"library code needs {what} of a variable that is, depending on the path taken, "
            + " or ".join(_in_words(value) for value in self.alternatives),
            fix="give the variable one type on every path",
        )  # fmt: skip
        held = self.alternatives
        if all(isinstance(one, StagedList) and (one.sites or one.is_open) for one in held):
            sites = frozenset[Any]().union(*(one.sites for one in held))
            return Shared(sites, refusal) if sites else refusal
        return refusal

    @classmethod
    def __torch_function__(
        cls, func: Any, types: object, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return distribute(func, args, kwargs or {})


def _in_words(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"a {str(value.dtype).removeprefix('torch.')} tensor of rank {value.dim()}"
    return (
        shown(value)
        if not isinstance(value, list | dict)
        else f"{with_article(python_name(value))}"
    )


def distribute(func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """`func(*args, **kwargs)`, for each alternative of the first Union among the arguments."""
    union = first_union((args, kwargs))
    if union is None:
        return func(*args, **kwargs)

    def with_alternative(value: object) -> Any:
        new_args, new_kwargs = replace_union(union, value, (args, kwargs))
        return distribute(func, new_args, new_kwargs)

    return union.branches.apply(union, with_alternative)


def over_unions(*names: str, undefined: bool = False) -> Callable[[Function], Function]:
    """Make a function take unions for its parameters `names`: it is called for each alternative.

    With `undefined`, an alternative that is undefined is given to the function too; otherwise a run
    that has it raises.
    """

    def decorate(function: Function) -> Function:
        parameters = inspect.signature(function).parameters
        where = {name: at for at, name in enumerate(parameters) if name in names}
        assert len(where) == len(names), f"{function.__qualname__} has no parameter of that name"
        starred = any(parameters[name].kind is inspect.Parameter.VAR_POSITIONAL for name in names)
        positions = tuple(where.values())

        @functools.wraps(function)
        def for_each(*args: Any, **kwargs: Any) -> Any:
            asked = range(positions[-1], len(args)) if starred else positions
            at = next((k for k in asked if k < len(args) and isinstance(args[k], Union)), None)
            if at is None:
                return function(*args, **kwargs)
            union, before, after = args[at], args[:at], args[at + 1 :]
            apply = union.branches.apply_all if undefined else union.branches.apply
            return apply(union, lambda one: for_each(*before, one, *after, **kwargs))

        return for_each  # type: ignore[return-value]

    return decorate


def first_union(tree: object) -> Union | None:
    """The first union in `tree`, containers opened; None where there is none."""
    return next((leaf for leaf in ARGUMENTS.leaves(tree) if isinstance(leaf, Union)), None)


def replace_union(old: Union, new: object, tree: object) -> Any:
    """`tree` with `new` wherever it has `old`; a part without it stays the object it is."""
    return ARGUMENTS.map(lambda leaf: new if leaf is old else leaf, tree, keep=True)


def _binary(function: Callable[[object, object], object]) -> Callable[[object, object], object]:
    return lambda self, other: distribute(function, (self, other), {})


def _reflected(function: Callable[[object, object], object]) -> Callable[[object, object], object]:
    return lambda self, other: distribute(function, (other, self), {})


def _unary(function: Callable[[object], object]) -> Callable[[object], object]:
    return lambda self: distribute(function, (self,), {})


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor",
           "lshift", "rshift")  # fmt: skip
for _name in _BINARY:
    _bare = _name.rstrip("_")
    setattr(Union, f"__{_bare}__", _binary(getattr(operator, _name)))
    setattr(Union, f"__r{_bare}__", _reflected(getattr(operator, _name)))
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "getitem"):
    setattr(Union, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ("neg", "pos", "invert", "abs"):
    setattr(Union, f"__{_name}__", _unary(getattr(operator, _name)))

Symbolic = (
    torch.Tensor | torch.SymInt | torch.SymFloat | torch.SymBool | Union | CapturedText
    | CapturedComplex
)  # fmt: skip


def maybe_absent(value: object) -> bool:
    """Is there a path on which `value` is not set?"""
    return isinstance(value, Union) and any(isinstance(v, Undefined) for v in value.alternatives)
