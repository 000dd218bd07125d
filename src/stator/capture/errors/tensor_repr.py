"""How a captured tensor is printed while the program is made: what it is, and where it comes from.

A debugger, a log and an error message show `repr(x)`. Torch's own text for such a tensor tells
neither the line nor what its sizes mean.
"""

from __future__ import annotations

import contextlib
import linecache
from collections.abc import Iterator
from typing import Any

import torch

from stator.capture.recorder import Recorder
from stator.capture.size_words import size_in_words
from stator.location import Location
from stator.program.ir import Op, Value
from stator.torch_private.fake import FakeTensor


@contextlib.contextmanager
def tensors_shown(recorder: Recorder) -> Iterator[None]:
    """Inside, the tensors of `recorder` say what they are."""
    cls: Any = FakeTensor  # its text is replaced as long as this capture lasts
    before = cls.__repr__

    def shown(self: Any, *, tensor_contents: object = None) -> str:
        if self.fake_mode is not recorder.fake:
            return str(before(self, tensor_contents=tensor_contents))
        return describe_tensor(recorder, self)

    shown.__name__ = "__repr__"
    own = "__repr__" in vars(cls)
    cls.__repr__ = shown
    try:
        yield
    finally:
        if own:
            cls.__repr__ = before
        else:
            del cls.__repr__


def describe_tensor(recorder: Recorder, tensor: torch.Tensor) -> str:
    """`<captured f32[u0, 3], u0 is x.shape[0], from model.py:12: y = x * 2>`."""
    parts = [f"captured {recorder.tensor_type(tensor)}"]
    parts += [f"{symbol} is {words}" for symbol, words in _symbols(recorder, tensor).items()]
    value = recorder.find(tensor)
    if value is not None:
        op = _made_by(recorder, value)
        if op is not None and op.place is not None:
            parts.append(f"from {_line(op.place)}")
        elif (place := recorder.carried.get(value)) is not None:
            parts.append(f"carried by the loop at {_line(place)}")
        elif not value.name.isdigit():
            parts.append(f"the input {value.name}")
    return f"<{', '.join(parts)}>"


def _symbols(recorder: Recorder, tensor: torch.Tensor) -> dict[str, str]:
    sizes: list[Any] = [size for size in tensor.shape if isinstance(size, torch.SymInt)]
    symbols = dict.fromkeys(symbol for size in sizes for symbol in size.node.expr.free_symbols)
    named = {str(symbol): size_in_words(recorder, symbol) for symbol in symbols}
    return {s: words for s, words in sorted(named.items()) if not words.startswith(("a ", "(a "))}


def _made_by(recorder: Recorder, value: Value) -> Op | None:
    for scope in recorder.scope.chain():
        for op in reversed(scope.block.ops):
            if any(result is value for result in op.results):
                return op
    return None


def _line(place: Location) -> str:
    text = linecache.getline(place.file, place.line).strip()
    return f"{place.short}: {text}" if text else place.short
