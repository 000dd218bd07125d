"""device_of_run(): where a loaded program runs; check_devices(): that its arguments are there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from stator.errors import SpecMismatch
from stator.program.program import Program
from stator.program.types import ListType, OptionalType, TensorType, Type


class Placed(NamedTuple):
    """A tensor of a call or of the model: where it was captured, where it is, its name."""

    captured: torch.device
    found: torch.device
    name: str
    may_differ: bool = False  # on the CPU without dimensions: torch's ops take it on any device


def device_of_run(stored: Sequence[Placed], arguments: Sequence[Placed]) -> str:
    """The device to run on, if it is not the one of the capture: that of the tensors it has."""
    placed = stored or arguments
    if all(one.captured == one.found for one in placed):
        return ""
    names = {str(one.found): one.name for one in placed}
    if len(names) > 1:
        first, second = sorted(names.items())[:2]
        raise SpecMismatch(
            f"`{first[1]}` is on {first[0]}, and `{second[1]}` on {second[0]}",
            fix="move the whole model to one device" if stored else "move them to one device",
        )
    return next(iter(names))


def check_devices(
    arguments: Sequence[Placed],
    own: Collection[torch.device],
    device: str,
    in_words: Callable[[str], str],
) -> None:
    """SpecMismatch for an argument on another device than the program takes it on.

    `device` is where the program runs instead of on the devices of `own`, if that differs;
    `in_words` gives what an error calls an input.
    """
    for captured, found, name, may_differ in arguments:
        if may_differ:
            continue
        wanted = torch.device(device) if device and captured in own else captured
        if wanted.type != found.type or (wanted != found and wanted.index is not None):
            raise SpecMismatch(
                f"{in_words(name)} is on {found}, and the model takes it on {wanted}",
                fix=f"pass it there, with `.to('{wanted}')`, or move the model",
            )


def placed_arguments(program: Program, leaves: Sequence[Any]) -> Iterator[Placed]:
    """The tensors of a call."""
    for value, leaf in zip(program.call_inputs, leaves, strict=True):
        kind = _tensor_type(value.type)
        for one in leaf if isinstance(leaf, list) else (leaf,):
            if kind is not None and isinstance(one, torch.Tensor):
                may_differ = one.dim() == 0 and one.device.type == "cpu"
                yield Placed(torch.device(kind.device), one.device, value.name, may_differ)


def _tensor_type(kind: Type) -> TensorType | None:
    while isinstance(kind, ListType | OptionalType):
        kind = kind.element
    return kind if isinstance(kind, TensorType) else None
