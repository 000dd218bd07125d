"""internal(): the capture's own code. An exception inside is a bug of Stator's, not the user's.

User code that is captured may catch exceptions, and what it raises becomes part of the program. A
bug in the recorder must do neither. So the functions of the recorder that run no user code are
marked, and what fails in one leaves it as a ProgramError, which no `except` of user code catches.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from stator.errors import ProgramError, StatorError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def internal(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """`function`, whose exceptions are refusals of Stator's or bugs."""

    @functools.wraps(function)
    def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except StatorError:
            raise
        except Exception as error:
            raise ProgramError(
                f"{function.__name__} raises {type(error).__name__}: {error}"
            ) from error

    return called
