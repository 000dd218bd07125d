"""Feeds: what a run is given, checked by name; fetches, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
import torch

from stator.errors import SpecMismatch
from stator.execute.arguments import check_type
from stator.program.ir import Value


def feed_values(
    inputs: tuple[Value, ...], used: set[Value], feed: Mapping[str, Any], device: torch.device
) -> list[Any]:
    """The inputs in order; SpecMismatch names what is missing, too many or of another kind.

    An input that nothing uses may be left out.
    """
    names = ", ".join(f"`{value.name}`" for value in inputs) or "none"
    known = {value.name for value in inputs}
    for name in feed:
        if name not in known:
            raise SpecMismatch(f"the feed `{name}` is not an input of the program, which takes "
                               f"{names}", fix="leave it out")  # fmt: skip
    sizes: dict[str, int] = {}
    return [_value(value, used, feed, device, sizes) for value in inputs]


def _value(
    value: Value, used: set[Value], feed: Mapping[str, Any], device: torch.device,
    sizes: dict[str, int],
) -> Any:  # fmt: skip
    if value.name not in feed:
        if value in used:
            raise SpecMismatch(f"the feed `{value.name}` is missing; it must be {value.type}",
                               fix=f"feed={{{value.name!r}: ...}}")  # fmt: skip
        return None
    given = _tensor(feed[value.name], device)
    check_type(value.type, given, f"the feed `{value.name}`", sizes)
    return given


def _tensor(given: Any, device: torch.device) -> Any:
    """An array as a tensor of its own: a program that writes in place does not reach the array."""
    if isinstance(given, numpy.ndarray | numpy.generic):
        given = numpy.asarray(given)
        if given.dtype.kind not in "biufc":
            return given
        native = given.astype(given.dtype.newbyteorder("="), copy=False)
        return torch.from_numpy(numpy.array(native, order="C")).to(device)
    return given.to(device) if isinstance(given, torch.Tensor) else given


def as_array(name: str, result: Any) -> Any:
    """A tensor as a numpy array; numbers and strings as they are."""
    if isinstance(result, list):
        return [as_array(name, item) for item in result]
    if not isinstance(result, torch.Tensor):
        return result
    if (
        result.dtype in (torch.bfloat16,)
        or result.dtype.itemsize < 1
        or "float8" in str(result.dtype)
    ):
        dtype = str(result.dtype).removeprefix("torch.")
        raise SpecMismatch(f"`{name}` is of {dtype}, which numpy does not have",
                           fix="run with return_numpy=False, or fetch a cast of it")  # fmt: skip
    return result.detach().cpu().resolve_conj().resolve_neg().numpy()
