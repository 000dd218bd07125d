"""snippet(): Python text that makes an input again, and calls the function with it."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Sequence
from typing import Any

import torch

from stator.api.example import Example
from stator.english import with_article

WRITTEN = 256  # elements that are written out as numbers
PACKED = 1 << 15  # bytes that are written at all


def snippet(name: str, calls: Sequence[Example], names: list[str], *, learns: bool = False) -> str:
    """Text to run: one call after the other; what has no text is named as such."""
    lines = ["import torch", ""]
    for example in calls:
        lines += _call(name, example, names, learns)
    return "\n".join(lines)


def _call(name: str, example: Example, names: list[str], learns: bool) -> list[str]:
    lines, given = [], []
    for k, arg in enumerate(example.args):
        variable = _variable(names[k] if k < len(names) else f"arg{k}")
        lines.append(f"{variable} = {_text(arg, learns)}")
        given.append(variable)
    for key, arg in example.kwargs.items():
        lines.append(f"{_variable(key)} = {_text(arg, learns)}")
        given.append(f"{key}={_variable(key)}")
    return [*lines, f"{name}({', '.join(given)})"]


def _variable(name: str) -> str:
    return f"{name}_" if name == "torch" else name


def _text(value: Any, learns: bool) -> str:
    if isinstance(value, torch.Tensor):
        needs = value.requires_grad or (learns and value.is_floating_point())
        return _tensor(value.detach()) + (".requires_grad_()" if needs else "")
    if isinstance(value, tuple) and type(value) is tuple:
        items = ", ".join(_text(item, learns) for item in value)
        return f"({items},)" if len(value) == 1 else f"({items})"
    if type(value) is list:
        return f"[{', '.join(_text(item, learns) for item in value)}]"
    if type(value) is dict:
        return f"{{{', '.join(f'{k!r}: {_text(v, learns)}' for k, v in value.items())}}}"
    if isinstance(value, float):
        return _number(value)
    if value is None or isinstance(value, bool | int | complex | str):
        return repr(value)
    return f"...  # {with_article(type(value).__name__)}: `failures[...].inputs` has it"


def _tensor(value: torch.Tensor) -> str:
    dtype = str(value.dtype)
    place = "" if value.device.type == "cpu" else f", device={str(value.device)!r}"
    if value.layout != torch.strided or type(value) is not torch.Tensor:
        return f"...  # a {dtype} {type(value).__name__}: `failures[...].inputs` has it"
    flat = value.flatten()
    shape = list(value.shape)
    if value.numel() > 1 and not flat.isnan().any() and bool((flat == flat[0]).all()):
        return f"torch.full({tuple(shape)}, {_number(flat[0].item())}, dtype={dtype}{place})"
    if value.numel() <= WRITTEN:
        return (
            f"torch.tensor({_numbers(value.tolist(), shape)}, dtype={dtype}{place}){_empty(shape)}"
        )
    return _packed(value, dtype)


def _empty(shape: list[int]) -> str:
    """A list of nothing does not say all of its sizes."""
    return f".reshape({tuple(shape)})" if 0 in shape else ""


def _numbers(value: Any, shape: list[int]) -> str:
    if 0 in shape:
        return "[]"
    if isinstance(value, list):
        return f"[{', '.join(_numbers(item, shape[1:]) for item in value)}]"
    return _number(value)


def _number(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value!r}")'
    if isinstance(value, complex):
        return f"complex({_number(value.real)}, {_number(value.imag)})"
    return repr(value)


def _packed(value: torch.Tensor, dtype: str) -> str:
    raw = value.contiguous().cpu().flatten().view(torch.uint8).numpy().tobytes()
    shape = tuple(value.shape)
    if len(raw) > PACKED:
        return f"...  # {dtype}, shape {shape}: `failures[...].inputs` has it"
    text = base64.b64encode(raw).decode()
    return (
        f'torch.frombuffer(bytearray(__import__("base64").b64decode("{text}")), '
        f"dtype={dtype}).reshape({shape})"
    )


def call_name(qualified: str) -> str:
    """A name that can be called: `Model.forward` -> `model`, `<lambda>` -> `function`."""
    last = qualified.rpartition(".")[2]
    return last if re.fullmatch(r"\w+", last) else "function"
