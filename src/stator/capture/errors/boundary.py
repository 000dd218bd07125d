"""internal(): the capture's own code. An exception inside is a bug of Stator's, not the user's.

User code that is captured may catch exceptions, and what it raises becomes part of the program. A
bug in the recorder must do neither. So the functions of the recorder that run no user code are
marked, and what fails in one leaves it as a ProgramError, which no `except` of user code catches.

The modules above the recorder do what user code asks Python for, so Python's errors in them are the
user's as a rule: what failed is an operation on values that the function was given. `refuse_bug`
finds what cannot be one, before it passes for the user's: an item of a table or an attribute of
Stator's own, a call of a function of Stator's, an unpacking.

An exception of a class that neither Python, torch nor Stator raises there is no bug: another thread
has put it into this one (`PyThreadState_SetAsyncExc`, as a time limit does). It ends the capture.
"""

from __future__ import annotations

import ast
import dis
import functools
import linecache
import os
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
OF_THE_CAPTURE = frozenset({"self", "session", "recorder", "provenance", "journal", "reads"})
ATTRIBUTES = os.path.join(OWN_FOLDER, "staging", "attributes.py")
OWN_PACKAGE = "stator"
OWN_PACKAGES = frozenset({"builtins", OWN_PACKAGE, "torch", "numpy", "sympy"})


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
    """A ProgramError if `error` comes from a bug of Stator's, and is no error of user code.

    One that another thread has put in ends the capture as it is.
    """
    steps = list(traces_of(error))
    if steps and is_own_file(steps[-1].tb_frame.f_code.co_filename) and _is_bug(error, steps):
        if _is_put_in(error):
            raise PutIn(error) from None
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
    return _is_of_stator(last)


def _is_of_stator(step: types.TracebackType) -> bool:
    """Did an operation on objects of Stator's fail? `call(*args)` is the user's."""
    frame = step.tb_frame
    name = dis.opname[frame.f_code.co_code[step.tb_lasti]]
    if name.startswith("UNPACK"):
        return True
    failed = _failed(step)
    if isinstance(failed, ast.Subscript) and "SUBSCR" in name:
        root = _root(failed.value)
        return root is not None and (root in OF_THE_CAPTURE or root not in frame.f_locals)
    if isinstance(failed, ast.Call) and "CALL" in name and name != "CALL_FUNCTION_EX":
        root = _root(failed.func)
        return isinstance(failed.func, ast.Attribute | ast.Name) and (
            root in OF_THE_CAPTURE or _is_own({**frame.f_globals, **frame.f_locals}.get(root or ""))
        )
    return False


def _root(node: ast.expr) -> str | None:
    """The variable that an attribute or an item is read from; None if it is none."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_own(called: object) -> bool:
    """Is it a function, a class or a module of Stator's?"""
    if isinstance(called, types.FunctionType):
        return is_own_file(called.__code__.co_filename)
    name = called.__module__ if isinstance(called, type) else getattr(called, "__name__", "")
    return isinstance(called, type | types.ModuleType) and name.partition(".")[0] == OWN_PACKAGE


def _failed(step: types.TracebackType) -> ast.expr | None:
    """The expression that failed, if it is one."""
    code = step.tb_frame.f_code
    line, end, start, stop = list(code.co_positions())[step.tb_lasti // 2]
    if line is None or end is None:
        return None
    lines = [linecache.getline(code.co_filename, at).encode() for at in range(line, end + 1)]
    lines[-1] = lines[-1][:stop]
    lines[0] = lines[0][start:]
    try:
        return ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
    except SyntaxError:
        return None


def _names(code: types.CodeType, name: str) -> bool:
    """Does user code have the name, rewritten or as it was?"""
    return name in code.co_names or name in code.co_consts
