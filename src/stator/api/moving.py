"""moved(): a program for another device: what it makes, it makes there."""

from __future__ import annotations

from stator.errors import SpecMismatch
from stator.export.decoding import decode_program
from stator.export.encoding import Json, encode_program
from stator.export.op_calls import TORCH_DIALECT
from stator.program.program import Program
from stator.program.types import TensorType


def moved(program: Program, device: str) -> Program:
    """`program` with its own device replaced by `device` wherever it names it."""
    if any(op.name == "stator::set_autocast" for op in program.ops()):
        raise SpecMismatch(
            f"this program sets autocast for the device it was captured on, not for {device}",
            fix="move the model that was saved to this device, and save it again",
        )
    values = [stored.value for stored in program.stored] or list(program.inputs)
    own = {value.type.device for value in values if isinstance(value.type, TensorType)}
    return decode_program(
        _replaced(encode_program(program), own, device), "the program", TORCH_DIALECT
    )


def _replaced(data: Json, own: set[str], device: str) -> Json:
    if isinstance(data, list):
        return [_replaced(item, own, device) for item in data]
    if not isinstance(data, dict):
        return data
    return {
        key: device if _names_own(key, item, own) else _replaced(item, own, device)
        for key, item in data.items()
    }


def _names_own(key: str, item: Json, own: set[str]) -> bool:
    return key == "device" and isinstance(item, str) and item in own
