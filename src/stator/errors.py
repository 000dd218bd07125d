"""Every exception Stator raises.

    StatorError                ST000
      ConversionError          ST100  before user code runs: the source cannot be converted
        SourceUnavailable      ST101  no source text (a C function, an exec'd string)
        UnsupportedSyntax      ST102  this construct, at this place
      CaptureError             ST200  while user code runs: this run cannot be recorded
        BranchMismatch         ST201  the two sides of an `if` disagree
        LoopStateChanged       ST202  a loop variable never settles to one type
        DataDependent          ST203  Python needs a value that only a run can give
        UnsupportedCall        ST204  a call that would not mean the same in a program
        UntrackedTensor        ST205  a tensor that was made behind the recorder's back
      InputError               ST300  a call does not fit the program
        SpecMismatch           ST301  an argument does not fit its InputSpec
        DemandViolated         ST302  sizes that the program was captured for do not hold
        UnknownOption          ST303  a strategy is given an option, or a value, that it lacks
      FormatError              ST400  a saved model is missing, damaged or from elsewhere
      ProgramError             ST900  a Program broke a rule: always a bug in Stator

An error raised by user code passes through unchanged. Every class also is the builtin
exception that a caller would expect, so `except ValueError` keeps working.
"""

from __future__ import annotations

from stator.location import Location


class StatorError(Exception):
    """Base of the tree; catch this to catch them all."""

    code = "ST000"

    def __init__(self, problem: str, *, at: Location | None = None, fix: str = "") -> None:
        self.problem, self.at, self.fix = problem, at, fix
        lines = [f"[{self.code}] {problem}"]
        if at:
            lines.append(f"  at {at}")
        if fix:
            lines.append(f"  fix: {fix}")
        super().__init__("\n".join(lines))


class ConversionError(StatorError):
    """The source of a function cannot be turned into staged code."""

    code = "ST100"


class SourceUnavailable(ConversionError, OSError):
    """There is no source text to convert."""

    code = "ST101"


class UnsupportedSyntax(ConversionError, NotImplementedError):
    """A construct of Python that Stator does not convert."""

    code = "ST102"


class CaptureError(StatorError):
    """A run of the converted function cannot be recorded as a program."""

    code = "ST200"


class BranchMismatch(CaptureError, TypeError):
    """The two sides of a branch leave a variable in forms that have no common one."""

    code = "ST201"


class LoopStateChanged(CaptureError, TypeError):
    """A loop variable changes its form on every trip."""

    code = "ST202"


class DataDependent(CaptureError, ValueError):
    """Python code needs a concrete value where only a run of the program has one."""

    code = "ST203"


class UnsupportedCall(CaptureError, NotImplementedError):
    """A call whose effect a program cannot express."""

    code = "ST204"


class UntrackedTensor(CaptureError, RuntimeError):
    """A tensor was made by code that the recorder could not see."""

    code = "ST205"


class InputError(StatorError):
    """A call does not fit the program it is made to."""

    code = "ST300"


class SpecMismatch(InputError, ValueError):
    """An argument does not fit its InputSpec."""

    code = "ST301"


class DemandViolated(InputError, ValueError):
    """The captured code demanded something of its sizes, and this call breaks it."""

    code = "ST302"
    before_running = False  # True where nothing of the program had run yet


class UnknownOption(InputError, AttributeError, ValueError):
    """A strategy has no such option, or the option cannot have such a value."""

    code = "ST303"


class FormatError(StatorError, ValueError):
    """A saved model is missing, damaged, or not one of ours."""

    code = "ST400"


class ProgramError(StatorError, AssertionError):
    """A program broke one of its own rules: always a bug in Stator, please report it."""

    code = "ST900"
