"""is_capture_artifact(): does an error exist only because values are symbolic?

`None > k` fails in eager code too, and its message only needs the right type names. What fails
because a stand-in cannot do what the value could must not pass for the user's exception: a handler
of user code would catch it, and the program would be silently wrong.

NOTE: why messages are read. Such an error is a builtin TypeError or RuntimeError that Python or
torch raises in C, on behalf of an operation of the user's; its class and traceback are those of an
error in eager code. Only the message says that a stand-in was involved, by the name of its class.
A message that user code makes may name one too, by `type(x).__name__`: it would be another one in
eager code. The names are those of the classes themselves, so that renaming one changes nothing.
"""

from __future__ import annotations

import dis
import re

import torch

from stator.frames import is_users, traces_of
from stator.torch_private.fake import FakeTensor
from stator.values.staged import StagedDeque, StagedDict, StagedList, StagedSet
from stator.values.symbolic import CapturedComplex, CapturedText, StandIn
from stator.values.union import Symbolic, Union

PYTHON = {  # the class of a stand-in, and what eager code has in its place
    torch.SymInt: "int", torch.SymFloat: "float", torch.SymBool: "bool", FakeTensor: "Tensor",
    StagedList: "list", StagedDict: "dict", StagedSet: "set", StagedDeque: "deque",
    CapturedComplex: "complex", CapturedText: "str",
}  # fmt: skip
PYTHON_NAMES = {cls.__name__: name for cls, name in PYTHON.items()}
RAISE = dis.opmap["RAISE_VARARGS"]
_WORD = re.compile(r"\b\w+\b")
PAIR = re.compile(r"'(\w+)' and '(\w+)'")
NO_ORDER = "not supported between instances of"
NUMBERS = frozenset({"int", "float", "bool", "complex"})
NEW_SUBCLASS = "Creating a new Tensor subclass"  # torch wants to make one of a captured tensor
PLAIN = NUMBERS | {"NoneType", "str", "list", "dict", "set", "tuple", "Tensor", "function", "type"}
OF_ONE = re.compile(
    r"is not iterable|is not callable|is not subscriptable|bad operand type|has no len\(\)"
    r"|does not support item|unhashable type: '|must be an iterable, not"
    r"|must be a mapping, not|is not a mapping|is not an iterator"
)
METHOD = re.compile(r"doesn't define (__\w+__)|for (divmod)\(\)")  # that Python asks a class for
NO_COUNTERPART = re.compile("meta|fake|failed to convert .* to ndarray", re.IGNORECASE | re.DOTALL)
OF_TENSORS = re.compile(r"expected Tensor as element \d+ in argument \d+, but got Sym\w+")
OF_INTS = re.compile(r"must be (?:tuple of ints|int)\W+(?:not|but got) SymFloat")
CONTAINERS = (StagedList, StagedDict, StagedSet, StagedDeque)
ASKS_LITTLE = frozenset(
    cls.__name__ for cls in (torch.SymInt, torch.SymFloat, torch.SymBool, FakeTensor, *CONTAINERS)
)


def says_captured(error: Exception) -> bool:
    """Does what `error` says depend on the run?"""
    return any(isinstance(arg, Symbolic) for arg in (*error.args, *vars(error).values()))


def is_capture_artifact(error: Exception) -> bool:
    """True if the error exists only because values are symbolic."""
    if type(error).__module__.startswith("torch."):
        return True
    if says_captured(error):
        return False
    text = str(error)
    if isinstance(error, RuntimeError) and text.startswith(NEW_SUBCLASS):
        return True
    if isinstance(error, NotImplementedError) and NO_COUNTERPART.search(text):
        return True
    named = set(_WORD.findall(text)) & _stand_in_names()
    if is_raised_by_user_code(error):
        named.discard(Union.__name__)  # an ordinary word in a message of the user's own
    return bool(named) and not _fails_for_python_too(error, text, named)


def is_raised_by_user_code(error: BaseException) -> bool:
    """Does a `raise` statement of the user's raise it?"""
    *_, last = (None, *traces_of(error))
    if last is None or not is_users(last.tb_frame):
        return False
    return last.tb_frame.f_code.co_code[last.tb_lasti] == RAISE


def _stand_in_names() -> set[str]:
    return {*PYTHON_NAMES, Union.__name__, *_names_below(StandIn)}


def _names_below(cls: type) -> set[str]:
    return {one.__name__ for one in _below(cls)}


def _below(cls: type) -> set[type]:
    below: set[type] = {*cls.__subclasses__()}
    return below.union(*map(_below, below))


def _fails_for_python_too(error: Exception, text: str, named: set[str]) -> bool:
    """Is it a TypeError or an AttributeError that Python has for the plain types as well?"""
    if isinstance(error, AttributeError) and isinstance(error.obj, torch.Tensor):
        return not hasattr(torch.Tensor, error.name or "")
    if not isinstance(error, TypeError):
        return False
    if OF_INTS.search(text):  # torch takes no float for an int
        return named <= {torch.SymFloat.__name__, torch.SymInt.__name__}
    if OF_TENSORS.search(text):
        return True
    method = METHOD.search(text)
    if method is not None and named == {FakeTensor.__name__}:
        return not hasattr(torch.Tensor, method[1] or f"__{method[2]}__")
    pair = PAIR.search(users_text(text))
    if pair is not None:
        types = set(pair.groups())
        if types == {"dict"} and NO_ORDER in text:
            return True
        return types <= PLAIN and not types <= NUMBERS | {"Tensor"} and len(types) == 2
    return named <= ASKS_LITTLE and OF_ONE.search(text) is not None


def use_plain_names(error: BaseException) -> None:
    """Give a TypeError or AttributeError of Python's the text that it has in eager code."""
    if isinstance(error, TypeError | AttributeError) and not is_raised_by_user_code(error):
        error.args = tuple(users_text(arg) if isinstance(arg, str) else arg for arg in error.args)


def users_text(text: str) -> str:
    """`text` with the names of the types that eager code has."""
    names = {one.__name__: _python_name(one) for cls in PYTHON for one in (cls, *_below(cls))}
    return _WORD.sub(lambda found: names.get(found[0], found[0]), text)


def _python_name(cls: type) -> str:
    return next(PYTHON[base] for base in cls.__mro__ if base in PYTHON)
