"""The variables on the line of an error, and what they are: for its message."""

from __future__ import annotations

import linecache
import re

import torch

from stator.capture.any_recorder import AnyRecorder
from stator.capture.blocks import describe_value
from stator.capture.size_words import names_of_sizes
from stator.errors import StatorError
from stator.frames import place_of, traces_of
from stator.location import Location
from stator.values.describe import first_forms
from stator.values.staged import StagedDict, StagedList, StagedSet, python_name
from stator.values.symbolic import CapturedText, Undefined
from stator.values.union import Symbolic

_NAME = re.compile(r"(?<![\w.'\"])[A-Za-z_]\w*")  # no attribute, no text
_SYMBOL = re.compile(r"\bu\d+\b")  # as torch names a size during a capture
_CONTAINERS = (StagedList, StagedDict, StagedSet, list, tuple, dict, set)
_NUMBERS = (bool, int, float, complex)


def attach_line_variables(error: Exception, recorder: AnyRecorder) -> None:
    """Add the variables on the error's line to its message, unless it has them."""
    sizes = names_of_sizes(recorder)
    if not isinstance(error, StatorError):
        place = place_of(error)
        if place is not None:
            found = _variables_of(error, place, sizes)
            error.add_note(f"  while it was captured, at {place}")
            if found:
                error.add_note(
                    f"  with {', '.join(f'{name}: {kind}' for name, kind in found.items())}"
                )
        known = [f"{one} is {sizes[one]}" for one in _symbols_in(str(error)) if one in sizes]
        if known:
            error.add_note(f"  where {', '.join(known)}")
    elif not error.involved and error.at is not None:
        error.involved = _variables_of(error, error.at, sizes)


def _symbols_in(text: str) -> list[str]:
    return list(dict.fromkeys(_SYMBOL.findall(text)))


def _variables_of(error: Exception, place: Location, sizes: dict[str, str]) -> dict[str, str]:
    at = (place.file, place.line)
    frames = [
        trace.tb_frame
        for trace in traces_of(error)
        if (trace.tb_frame.f_code.co_filename, trace.tb_lineno) == at
    ]
    if not frames:
        return {}
    known = frames[-1].f_locals
    names = dict.fromkeys(_NAME.findall(linecache.getline(*at).partition("#")[0]))
    named = {name: in_words(known[name]) for name in names if name in known}
    return {
        name: _SYMBOL.sub(lambda one: sizes.get(one[0], "?"), words)
        for name, words in named.items()
        if words
    }


def in_words(value: object) -> str:
    """The form of a captured value, a number or a container; nothing of anything else."""
    if isinstance(value, CapturedText):
        return "a data-dependent string"
    if isinstance(value, Symbolic | Undefined | torch.Tensor):
        return first_forms(describe_value(value))
    if isinstance(value, _CONTAINERS):
        plain = python_name(value)
        known = not getattr(value, "is_open", False)
        return f"{plain} of {len(value)}" if known else f"{plain} of data-dependent length"
    return repr(value) if isinstance(value, _NUMBERS) else ""
