"""Tags of unions that are parts of others, and so are absent where another alternative holds.

An op that computes with such a tag would fail in a run where it is absent, although nothing looks
at what it gives there. So where a tag must be a number, an absent one becomes any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stator.capture.recorder import Recorder
from stator.program.ir import Arg, Value
from stator.program.types import NumberType, OptionalType, Type


def retagged(recorder: Recorder, tag: Arg, table: Sequence[int]) -> Arg:
    """The tag that `table` has for `tag`."""
    if not _may_be_absent(tag):
        return recorder.emit_number("stator::select", (tag, tuple(table)), "int")
    return _looked_up(recorder, tag, table, 0)


def present_tags(recorder: Recorder, args: list[Arg], types: Iterable[Type]) -> list[Arg]:
    """`args`, which are to be of `types`: a tag that is always there is a number in every run."""
    if not any(map(_may_be_absent, args)):
        return args
    return [_present(recorder, *pair) for pair in zip(args, types, strict=True)]


def _present(recorder: Recorder, arg: Arg, wanted: Type) -> Arg:
    tag = wanted.tag if isinstance(wanted, NumberType) else None
    if tag is None or not _may_be_absent(arg):
        return arg
    return _looked_up(recorder, arg, range(tag.count), 0)


def _looked_up(recorder: Recorder, tag: Arg, table: Sequence[int], start: int) -> Arg:
    """Item `tag` of `table`, from `start` on; the last one for any other tag."""
    if start == len(table) - 1:
        return table[start]
    condition = recorder.emit_number("stator::eq", (tag, start), "bool")
    with recorder.open() as scope:
        scope.block.outputs = (table[start],)
    with recorder.open() as other:
        other.block.outputs = (_looked_up(recorder, tag, table, start + 1),)
    result = recorder.new_value(NumberType("int"))
    recorder.emit("stator::if", (condition,), [result], blocks=[scope.block, other.block])
    return result


def _may_be_absent(tag: Arg) -> bool:
    return isinstance(tag, Value) and isinstance(tag.type, OptionalType)
