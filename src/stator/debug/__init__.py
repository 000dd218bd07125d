"""Looking inside: reports, the page of a program, running it as written, or step by step."""

from stator.debug.eager import eager
from stator.debug.report import Report
from stator.debug.stepping import Breakpoint, Frame, Seen, Stepper, step
from stator.debug.view import view
from stator.debugger import Pdb, set_trace

__all__ = [
    "Breakpoint",
    "Frame",
    "Pdb",
    "Report",
    "Seen",
    "Stepper",
    "eager",
    "set_trace",
    "step",
    "view",
]
