"""refuse_replaced(): no call is made while a builtin that Stator computes by is another function.

A test may replace `print`, `open` or `input` for a while: those are read as any other name is. Were
`len` or `isinstance` replaced, Stator's own code would call the replacement.
"""

from __future__ import annotations

import builtins
import contextlib
import operator
import types
from collections.abc import Iterator

from stator.errors import UnsupportedCall

SEEN = frozenset({"print", "open", "input", "breakpoint"})  # Stator computes nothing by these
TABLE = vars(builtins)
_plain = {
    name: value for name, value in TABLE.items()
    if isinstance(value, type | types.BuiltinFunctionType) and name.islower()
    and not name.startswith("_") and name not in SEEN
}  # fmt: skip
_pick = operator.itemgetter(*_plain)
_values = tuple(_plain.values())


def are_plain() -> bool:
    """Are all builtins those that Python has? It calls none of them."""
    try:
        return _pick(TABLE) == _values
    except KeyError:  # one is deleted
        return False


def refuse_replaced() -> None:
    """An error if a builtin that Stator uses is another function, or is gone."""
    if are_plain():
        return
    with _restored() as names:
        raise replaced_builtin(names[0])


def refuse_replacing(module: object, name: str) -> None:
    """An error if `module.name` is a builtin that Stator uses."""
    if module is builtins and name in _plain:
        raise replaced_builtin(name)


def replaced_builtin(name: str) -> UnsupportedCall:
    """The refusal of a call that meets another builtin of this name."""
    return UnsupportedCall(f"the builtin `{name}` is replaced while a static function is called",
                           fix="replace the name in the module that uses it")  # fmt: skip


@contextlib.contextmanager
def _restored() -> Iterator[list[str]]:
    """Inside, the builtins are Python's; the names of those that are others outside."""
    now = TABLE.copy()
    TABLE.update(_plain)
    try:
        yield [name for name, value in _plain.items() if now.get(name) is not value]
    finally:
        for name in _plain:
            if name in now:
                TABLE[name] = now[name]
            else:
                del TABLE[name]
