"""internal(): the capture's own code. An exception inside is a bug of Stator's, not the user's.

User code that is captured may catch exceptions, and what it raises becomes part of the program. A
bug in the recorder must do neither. So the functions of the recorder that run no user code are
marked, and what fails in one leaves it as a ProgramError, which no `except` of user code catches.

The modules above the recorder do what user code asks Python for, so Python's errors in them are the
user's as a rule. `refuse_bug` finds those that cannot be, before one passes for the user's.

An exception of a class that neither Python, torch nor Stator raises there is no bug: another thread
has put it into this one (`PyThreadState_SetAsyncExc`, as a time limit does). It ends the capture.
"""

from __future__ import annotations

import dis
import functools
import linecache
import os
import re
import types
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from stator.english import with_article
from stator.errors import ProgramError, StatorError
from stator.frames import OWN_FOLDER, is_own_file, is_users, place_of, traces_of, within

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
RAISES = frozenset({dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"]})
# these do what converted code does, on its values
AS_PYTHON = tuple(os.path.join(OWN_FOLDER, name) for name in ("staging", "library", "containers"))
STAGED = os.path.join(OWN_FOLDER, "values", "staged.py")
OF_THE_CAPTURE = re.compile(r"(self\.)?(session|recorder|provenance|journal|reads)\.|self\.\w+\(")
ATTRIBUTES = os.path.join(OWN_FOLDER, "staging", "attributes.py")
OWN_PACKAGES = frozenset({"builtins", "stator", "torch", "numpy", "sympy"})


class PutIn(BaseException):
    """Carries an exception that another thread has put in to the end of the capture."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def _is_put_in(error: Exception) -> bool:
    package = type(error).__module__.partition(".")[0]
    return isinstance(error, OSError) or package not in OWN_PACKAGES


def internal(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """`function`, whose exceptions are refusals of Stator's or bugs."""

    @functools.wraps(function)
    def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except StatorError:
            raise
        except Exception as error:
            if _is_put_in(error):
                raise PutIn(error) from None
            raise ProgramError(
                f"{function.__name__} raises {type(error).__name__}: {error}"
            ) from error

    return called


def refuse_bug(error: Exception) -> None:
    """A ProgramError if `error` comes from a bug of Stator's, and is no error of user code."""
    steps = list(traces_of(error))
    if steps and is_own_file(steps[-1].tb_frame.f_code.co_filename) and _is_bug(error, steps):
        raise ProgramError(
            f"the capture fails with {with_article(type(error).__name__)} of its own",
            at=place_of(error),
        ) from error


def _is_bug(error: Exception, steps: list[types.TracebackType]) -> bool:
    """Python's own error in a file of Stator's: can user code have asked for what failed?"""
    last = steps[-1]
    code = last.tb_frame.f_code
    if isinstance(error, AssertionError):  # an `assert`; one of the user's is raised by its name
        return "AssertionError" not in code.co_names
    if code.co_code[last.tb_lasti] in RAISES or isinstance(error, RecursionError):
        return False
    if isinstance(error, AttributeError) and error.name is not None:
        return code.co_filename != ATTRIBUTES and not any(
            is_users(step.tb_frame) and _names(step.tb_frame.f_code, error.name) for step in steps
        )
    if isinstance(error, NameError):
        return True
    if isinstance(error, TypeError) and str(error).startswith("unhashable type"):
        return False  # a key of the user's
    if not within(code.co_filename, AS_PYTHON) and code.co_filename != STAGED:
        return True
    return OF_THE_CAPTURE.match(_failed_text(last)) is not None


def _failed_text(step: types.TracebackType) -> str:
    """What a call on one line looks like, if that is what failed; `call(*args)` is the user's."""
    code = step.tb_frame.f_code
    name = dis.opname[code.co_code[step.tb_lasti]]
    line, end, start, stop = list(code.co_positions())[step.tb_lasti // 2]
    if "CALL" not in name or name == "CALL_FUNCTION_EX" or line is None or line != end:
        return ""
    return linecache.getline(code.co_filename, line).encode()[start:stop].decode()


def _names(code: types.CodeType, name: str) -> bool:
    """Does user code have the name, rewritten or as it was?"""
    return name in code.co_names or name in code.co_consts
