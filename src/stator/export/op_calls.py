"""check_call(): an op of torch is given arguments that its schema has, and as many as it needs.

The kinds of the arguments are left to torch, which checks them at each call; but not those that it
does not check: a number where a dtype belongs.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from stator.export.checking import Damage
from stator.program.ir import Arg, Literal, Op
from stator.program.registry import resolve


@dataclass(frozen=True)
class Form:
    """What a schema says of calls."""

    positional: tuple[str, ...]
    named: frozenset[str]
    literals: Mapping[str, str]  # arguments that only a dtype, layout or memory format fits
    required: tuple[str, ...]
    returns: int
    gives_list: bool


LITERALS = MappingProxyType(
    {"ScalarType": "dtype", "Layout": "layout", "MemoryFormat": "memory_format"}
)


def _plain(kind: str) -> str:
    return kind.removeprefix("Optional[").removesuffix("]")


@functools.cache
def form_of(name: str) -> Form:
    """The form of an op that is registered."""
    schema = resolve(name)._schema
    arguments, returns = schema.arguments, schema.returns
    return Form(
        tuple(a.name for a in arguments if not a.kwarg_only),
        frozenset(a.name for a in arguments),
        {a.name: kind for a in arguments if (kind := LITERALS.get(_plain(str(a.real_type))))},
        tuple(a.name for a in arguments if not a.has_default_value()),
        len(returns),
        len(returns) == 1 and str(returns[0].type).startswith("List["),
    )


def check_call(op: Op, at: str) -> None:
    """Damage if no call of the op can look like this."""
    form, count = form_of(op.name), len(op.args)
    if count > len(form.positional):
        raise Damage(f"{at}.args", f"has {count} items; {op.name} takes {len(form.positional)}")
    given = set(form.positional[:count])
    for name in op.attributes:
        if name not in form.named or name in given:
            raise Damage(f"{at}.attributes", f"has {name!r}, which {op.name} cannot take there")
    for name, arg in (*zip(form.positional, op.args, strict=False), *op.attributes.items()):
        kind = form.literals.get(name)  # torch would take an int, and not look at it
        if kind and arg is not None and not (isinstance(arg, Literal) and arg.kind == kind):
            raise Damage(at, f"gives {op.name} something else than a {kind} for its {name!r}")
    for name in form.required:
        if name not in given and name not in op.attributes:
            raise Damage(at, f"does not give {op.name} its {name!r}")
    if op.results and len(op.results) != form.returns and not form.gives_list:
        problem = f"has {len(op.results)} items; {op.name} gives {form.returns}"
        raise Damage(f"{at}.results", problem)


def check_try(op: Op, at: str) -> None:
    """Damage unless a `stator::try` has names to catch, and questions, for each handler."""
    catches, asks = op.attributes.get("catches"), op.attributes.get("asks")
    if type(op.attributes.get("number")) is not int:
        raise Damage(f"{at}.attributes", "must have a number for stator::try")
    if not isinstance(catches, tuple) or not all(map(_is_names, catches)):
        raise Damage(f"{at}.attributes.catches", "must be lists of names")
    if not isinstance(asks, tuple) or len(asks) != len(catches):
        raise Damage(f"{at}.attributes.asks", "must have a list for each handler")
    if not all(isinstance(asked, tuple) and all(map(_is_names, asked)) for asked in asks):
        raise Damage(f"{at}.attributes.asks", "must be lists of lists of names")


def _is_names(names: Arg) -> bool:
    return isinstance(names, tuple) and all(isinstance(name, str) for name in names)
