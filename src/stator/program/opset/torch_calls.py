"""call_problem(): is an op of torch given what its schema takes, and does it give what it has?

Types of arguments are checked as far as a schema tells: a tensor, a number, a list, a dtype.
Whether sizes and dtypes of tensors go together is left to torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from stator.program.ir import Arg, Literal, Op, Value
from stator.program.registry import cached_by_op, schema_of
from stator.program.types import ListType, NumberType, TensorType, Type
from stator.program.typing_rules import described, present

Check = Callable[[Arg], bool]


@dataclass(frozen=True, slots=True)
class CallForm:
    """What a schema says about calls."""

    positional: tuple[str, ...]
    checks: Mapping[str, Check]  # by name of the argument
    types: Mapping[str, str]
    required: tuple[str, ...]
    returns: tuple[str, ...]


@cached_by_op
def call_form(name: str) -> CallForm:
    """The form of calls of an op that is registered."""
    schema = schema_of(name)
    arguments = schema.arguments
    return CallForm(
        tuple(one.name for one in arguments if not one.kwarg_only),
        {one.name: _check(one.type) for one in arguments},
        {one.name: one.type for one in arguments},
        tuple(one.name for one in arguments if not one.has_default),
        schema.returns,
    )


def call_problem(op: Op) -> str | None:
    """Why no call of `op` can look like this; None if one can."""
    form, count = call_form(op.name), len(op.args)
    if count > len(form.positional):
        return f"{op.name} is given {count} arguments; it takes {len(form.positional)}"
    for name, arg in zip(form.positional, op.args, strict=False):
        if not form.checks[name](arg):
            return _wrong(op, name, arg, form)
    given = form.positional[:count]
    for name, arg in op.attributes.items():
        if name not in form.checks or name in given:
            return f"{op.name} is given {name!r}, which it cannot take there"
        if not form.checks[name](arg):
            return _wrong(op, name, arg, form)
    for name in form.required:
        if name not in given and name not in op.attributes:
            return f"{op.name} is not given its {name!r}"
    return _result_problem(op, form.returns)


def _wrong(op: Op, name: str, arg: Arg, form: CallForm) -> str:
    return f"{op.name} is given {described(arg)} for its `{name}: {form.types[name]}`"


def _result_problem(op: Op, returns: tuple[str, ...]) -> str | None:
    if not op.results:
        return None
    if len(returns) == 1 and returns[0].startswith("List["):
        return None  # one list, or one result for each tensor: the run checks the number
    if len(op.results) != len(returns):
        return f"{op.name} gives {len(returns)} results, not {len(op.results)}"
    for value, wanted in zip(op.results, returns, strict=True):
        if not _gives(value.type, wanted):
            return f"{op.name} gives `{wanted}`, not {described(value)}"
    return None


def _gives(declared: Type, wanted: str) -> bool:
    found = present(declared)
    if wanted == "Tensor":
        return isinstance(found, TensorType)
    if wanted in ("int", "float", "bool", "number"):
        return isinstance(found, NumberType) and (wanted == "number" or found.kind == wanted)
    return True


# ---- what fits the types of a schema


def _present(arg: Arg) -> Arg | Type:
    """A constant as it is; of a value its type, where it is there."""
    if not isinstance(arg, Value):
        return arg
    return present(arg.type)


def _is_number(*kinds: str) -> Check:
    def check(arg: Arg) -> bool:
        found = _present(arg)
        return (
            found.kind in kinds if isinstance(found, NumberType) else type(found).__name__ in kinds
        )

    return check


def _is_tensor(arg: Arg) -> bool:
    found = _present(arg)
    numbers = bool | int | float | complex | NumberType  # a number is wrapped in a tensor
    return isinstance(found, TensorType | numbers)


def _is_literal(kind: str) -> Check:
    return lambda arg: isinstance(arg, Literal) and arg.kind == kind


def _is_device(arg: Arg) -> bool:
    return isinstance(arg, str) or (isinstance(arg, Literal) and arg.kind == "device")


def _list_of(check: Check) -> Check:
    """A list; one item represents all of them."""

    def check_list(arg: Arg) -> bool:
        if isinstance(arg, tuple):
            return all(map(check, arg))
        found = _present(arg)
        if isinstance(found, ListType):
            return check(Value("item", found.element))
        return arg is not None and check(arg)

    return check_list


def _or_none(check: Check) -> Check:
    return lambda arg: arg is None or check(arg)


CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "Tensor": _is_tensor,
        "int": _is_number("int", "bool"),
        "float": _is_number("float", "int", "bool"),
        "bool": _is_number("bool"),
        "number": _is_number("int", "float", "bool", "complex"),
        "str": lambda arg: isinstance(arg, str),
        "ScalarType": _is_literal("dtype"),
        "Layout": _is_literal("layout"),
        "MemoryFormat": _is_literal("memory_format"),
        "Device": _is_device,
    }
)


def _check(wanted: str) -> Check:
    """The check of a schema's type; a type that a program cannot hold takes None only."""
    if wanted.startswith("Optional["):
        return _or_none(_check(wanted.removeprefix("Optional[").removesuffix("]")))
    if wanted.startswith("List["):
        return _list_of(_check(wanted.removeprefix("List[").removesuffix("]")))
    return CHECKS.get(wanted, lambda _: False)
