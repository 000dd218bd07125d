"""Stepping: a program runs op by op on real values, with lines and names as the user knows them.

step() ── Stepper ── Trail       where a run is: ops begun, iterations, functions and their lines
                  ── History     what names have held so far
                  ── Frame       one stop: what a callback, or the prompt, is given
                  ── Prompt      commands like pdb's, in a terminal
"""

from stator.debug.stepping.breakpoints import Breakpoint
from stator.debug.stepping.frame import Frame
from stator.debug.stepping.history import Seen
from stator.debug.stepping.prompt import step
from stator.debug.stepping.stepper import Stepper

__all__ = ["Breakpoint", "Frame", "Seen", "Stepper", "step"]
