"""AnyRecorder: the recorder, as the modules know it that it is built of."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import sympy
import torch

from stator.capture.scope import Scope
from stator.capture.sizes import SizeRecorder, Sizes
from stator.program.ir import Arg, Value
from stator.program.types import NumberKind, TensorType, Type
from stator.torch_private.fake import FakeTensorMode


class AnyRecorder(SizeRecorder, Protocol):
    """What is documented in `Recorder` and `BlockWriter`."""

    scope: Scope
    sizes: Sizes
    fake: FakeTensorMode

    def fresh_size(self) -> torch.SymInt:
        """A size that only a run knows."""

    def sees(self, expression: sympy.Basic) -> bool:
        """Are all symbols of `expression` known in the current block?"""

    def find(self, tensor: torch.Tensor) -> Value | None:
        """The value that `tensor` is in this block; None where none in sight is."""

    def as_fake(self, tensor: torch.Tensor) -> torch.Tensor:
        """What represents `tensor`, which may be a real one, while ops are described."""

    def quiet(self) -> AbstractContextManager[None]:
        """Nothing is recorded inside."""

    def new_value(self, value_type: Type) -> Value:
        """A value that nothing defines yet."""

    def tensor_type(self, tensor: torch.Tensor) -> TensorType:
        """The program's type of `tensor`."""

    def emit(self, name: str, args: Sequence[Arg], results: Sequence[Value] = ()) -> Any:
        """Record an op."""

    def emit_number(self, name: str, args: Sequence[Arg], kind: NumberKind) -> Value:
        """The result of a number op."""

    def arg(self, value: object) -> Arg:
        """The program's form of anything an op can be given."""

    def symbol_arg(self, symbol: sympy.Symbol) -> Arg:
        """The program's form of a bare symbol."""

    def bind(self, tensor: torch.Tensor, value: Value) -> None:
        """`tensor` is `value` from here on."""
