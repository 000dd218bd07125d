"""Every exception Stator raises.

    StatorError                ST000
      ConversionError          ST100  before user code runs: the source cannot be converted
        SourceUnavailable      ST101  no source text (a C function, an exec'd string)
        UnsupportedSyntax      ST102  this construct, at this place
      CaptureError             ST200  while user code runs: this run cannot be recorded
        BranchMismatch         ST201  the two sides of an `if` cannot be joined
        LoopStateChanged       ST202  a loop variable has a different type in each iteration
        DataDependent          ST203  Python needs a value that is known only at run time
        UnsupportedCall        ST204  a call whose effect a program cannot express
        UntrackedTensor        ST205  a tensor that the recorder did not see being created
      InputError               ST300  the arguments of a call do not match the program
        SpecMismatch           ST301  an argument does not match its InputSpec
        SizeCheckFailed        ST302  a size check failed
        UnknownOption          ST303  an option, or a value for it, that does not exist
        IntegerOverflow        ST304  a run computed an integer of more than 64 bits
      FormatError              ST400  a saved model is missing or damaged, or cannot be saved
      ExportError              ST401  the export format cannot express this program
      VerificationFailed       ST500  a program differs from eager code
      ProgramError             ST900  a program is not well-formed: always a bug in Stator

An error raised by user code passes through unchanged. Every class is also a subclass of the builtin
exception that a caller would expect, so `except ValueError` keeps working.

The docstring of a class is its page: `explain("ST204")` prints it, and docs/errors/ is generated
from it. A test runs its examples: the one under `Fails` raises that error, the one under `Instead`
does not.
"""

from __future__ import annotations

from stator.errors.base import Edit, StatorError, nearest
from stator.errors.capturing import (
    BranchMismatch,
    CaptureError,
    DataDependent,
    LoopStateChanged,
    UnsupportedCall,
    UntrackedTensor,
)
from stator.errors.conversion import ConversionError, SourceUnavailable, UnsupportedSyntax
from stator.errors.exporting import ExportError
from stator.errors.inputs import (
    InputError,
    IntegerOverflow,
    SizeCheckFailed,
    SpecMismatch,
    UnknownOption,
)
from stator.errors.pages import all_errors, explain, page
from stator.errors.programs import FormatError, ProgramError, VerificationFailed

__all__ = [
    "BranchMismatch",
    "CaptureError",
    "ConversionError",
    "DataDependent",
    "Edit",
    "ExportError",
    "FormatError",
    "InputError",
    "IntegerOverflow",
    "LoopStateChanged",
    "ProgramError",
    "SizeCheckFailed",
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
    SizeCheckFailed,
    UnknownOption,
    IntegerOverflow,
    FormatError,
    ExportError,
    VerificationFailed,
    ProgramError,
):
    _class.__module__ = __name__
del _class
