"""internal(): the capture's own code. An exception inside is a bug of Stator's, not the user's.

User code that is captured may catch exceptions, and what it raises becomes part of the program. A
bug in the recorder must do neither. So the functions of the recorder that run no user code are
marked, and what fails in one leaves it as a ProgramError, which no `except` of user code catches.

An exception of a class that neither Python, torch nor Stator raises there is no bug: another thread
has put it into this one (`PyThreadState_SetAsyncExc`, as a time limit does). It ends the capture.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from stator.errors import ProgramError, StatorError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
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
