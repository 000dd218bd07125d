"""Errors about what stands in for the user's values while capturing: whose are they?

`None > k` fails in eager code too, and its text only needs the right names. What fails because a
stand-in cannot do what the value could must not pass for an exception of the user's.
"""

from __future__ import annotations

import re

from stator.capture.values import Symbolic

PYTHON = {
    "SymInt": "int", "SymFloat": "float", "SymBool": "bool", "FakeTensor": "Tensor",
    "StagedList": "list", "StagedDict": "dict", "StagedSet": "set", "StagedDeque": "deque",
    "CapturedComplex": "complex", "CapturedText": "str",
}  # fmt: skip
STAND_INS = re.compile(
    rf"\b({'|'.join(PYTHON)}|CapturedArray|CapturedRange|CaughtError|Variant|Indexed"
    r"|StagedGenerator|StagedIterator)\b"
)
PAIR = re.compile(r"'(\w+)' and '(\w+)'")
NUMBERS = frozenset({"int", "float", "bool", "complex"})
PLAIN = NUMBERS | {"NoneType", "str", "list", "dict", "set", "tuple", "Tensor", "function", "type"}
OF_ONE = re.compile(
    r"is not iterable|is not callable|is not subscriptable|bad operand type|has no len\(\)"
    r"|does not support item"
)
ASKS_LITTLE = frozenset({"SymInt", "SymFloat", "SymBool", "FakeTensor", "StagedList", "StagedDict"})


def says_captured(error: Exception) -> bool:
    """Does what `error` says depend on the run?"""
    return any(isinstance(arg, Symbolic) for arg in (*error.args, *vars(error).values()))


def is_not_the_users(error: Exception) -> bool:
    """Would eager code, with the values themselves, perhaps do without this error?"""
    if type(error).__module__.startswith("torch."):
        return True
    if says_captured(error):
        return False
    text = str(error)
    if isinstance(error, NotImplementedError) and re.search("meta|fake", text, re.IGNORECASE):
        return True
    named = {found[1] for found in STAND_INS.finditer(text)}
    return bool(named) and not _fails_for_python_too(error, text, named)


def _fails_for_python_too(error: Exception, text: str, named: set[str]) -> bool:
    """Is it a TypeError that Python has for the plain types as well?"""
    if not isinstance(error, TypeError):
        return False
    pair = PAIR.search(text)
    if pair is not None:
        types = {PYTHON.get(name, name) for name in pair.groups()}
        return types <= PLAIN and not types <= NUMBERS | {"Tensor"} and len(types) == 2
    return named <= ASKS_LITTLE and OF_ONE.search(text) is not None


def users_text(text: str) -> str:
    """`text` with the names of the types that eager code has."""
    return STAND_INS.sub(lambda found: PYTHON.get(found[1], found[1]), text)
