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
        UnknownOption          ST303  a setting, or a value for it, that does not exist
        IntegerOverflow        ST304  an integer of a run has more than 64 bits
      FormatError              ST400  a saved model is missing, damaged or from elsewhere
      ExportError              ST401  another format cannot hold this program
      VerificationFailed       ST500  a program was compared with eager code, and differs
      ProgramError             ST900  a Program broke a rule: always a bug in Stator

An error raised by user code passes through unchanged. Every class also is the builtin
exception that a caller would expect, so `except ValueError` keeps working.

The docstring of a class is its page: `explain("ST204")` prints it, and docs/errors/ is made from
it. Its examples are run by a test: what is under `Fails` ends with that error, what is
under `Instead` does not.
"""

from __future__ import annotations

from stator.errors.base import (
    Edit,
    StatorError,
    nearest,
)
from stator.errors.capturing import (
    BranchMismatch,
    CaptureError,
    DataDependent,
    LoopStateChanged,
    UnsupportedCall,
    UntrackedTensor,
)
from stator.errors.conversion import (
    ConversionError,
    SourceUnavailable,
    UnsupportedSyntax,
)
from stator.errors.exporting import ExportError
from stator.errors.inputs import (
    DemandViolated,
    InputError,
    IntegerOverflow,
    SpecMismatch,
    UnknownOption,
)
from stator.errors.pages import (
    all_errors,
    explain,
    page,
)
from stator.errors.programs import (
    FormatError,
    ProgramError,
    VerificationFailed,
)

__all__ = [
    "BranchMismatch",
    "CaptureError",
    "ConversionError",
    "DataDependent",
    "DemandViolated",
    "Edit",
    "ExportError",
    "FormatError",
    "InputError",
    "IntegerOverflow",
    "LoopStateChanged",
    "ProgramError",
    "SourceUnavailable",
    "SpecMismatch",
    "StatorError",
    "UnknownOption",
    "UnsupportedCall",
    "UnsupportedSyntax",
    "UntrackedTensor",
    "VerificationFailed",
    "all_errors",
    "explain",
    "nearest",
    "page",
]

# tracebacks and pickles name the public module
for _class in (
    StatorError,
    ConversionError,
    SourceUnavailable,
    UnsupportedSyntax,
    CaptureError,
    BranchMismatch,
    LoopStateChanged,
    DataDependent,
    UnsupportedCall,
    UntrackedTensor,
    InputError,
    SpecMismatch,
    DemandViolated,
    UnknownOption,
    IntegerOverflow,
    FormatError,
    ExportError,
    VerificationFailed,
    ProgramError,
):
    _class.__module__ = __name__
del _class
