"""The text ops on captured strings: slices, searches, characters, case and numbers."""

from __future__ import annotations

import torch

from stator.capture.conditions import raise_if
from stator.capture.numbers import either
from stator.capture.recorder import Recorder
from stator.program.ir import Arg
from stator.program.types import NumberKind, TextType
from stator.values.annotations import Staged
from stator.values.symbolic import CapturedText

Text = str | CapturedText


def text_op(recorder: Recorder, name: str, *args: Arg) -> CapturedText:
    """What the op `name` gives, a string of the program."""
    value = recorder.new_value(TextType())
    recorder.emit(f"stator::{name}", args, [value])
    return CapturedText(value)


def number_of_text(recorder: Recorder, name: str, kind: NumberKind, *args: Arg) -> Staged:
    """What the op `name` gives, a number."""
    return recorder.number(kind, recorder.emit_number(f"stator::{name}", args, kind))


def operand(text: Text) -> Arg:
    """A string as an argument of an op."""
    return text.value if isinstance(text, CapturedText) else text


def as_captured(recorder: Recorder, text: Text) -> CapturedText:
    """A string as one of the program."""
    return text if isinstance(text, CapturedText) else text_op(recorder, "join", text)


def text_length(recorder: Recorder, text: CapturedText) -> Staged:
    """`len(text)`."""
    return number_of_text(recorder, "text_length", "int", text.value)


def text_slice(recorder: Recorder, text: Text, key: slice) -> CapturedText:
    """`text[start:stop:step]`, of bounds that are integers or None."""
    bounds = [None if one is None else recorder.arg(one) for one in (key.start, key.stop, key.step)]
    while bounds and bounds[-1] is None:
        bounds.pop()
    return text_op(recorder, "text_slice", operand(text), *bounds)


def text_item(recorder: Recorder, text: CapturedText, key: int | torch.SymInt) -> CapturedText:
    """`text[key]`."""
    count = text_length(recorder, text)
    outside = either(key >= count, key < -count)
    raise_if(recorder, outside, IndexError("string index out of range"))
    return character(recorder, text, key if isinstance(key, int) else key % count)


def character(recorder: Recorder, text: CapturedText, key: int | torch.SymInt) -> CapturedText:
    """`text[key]`, of a position that is there."""
    stop = None if isinstance(key, int) and key == -1 else key + 1
    return text_slice(recorder, text, slice(key, stop))
