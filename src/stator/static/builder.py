"""Builder: ordinary torch calls, written one after another, become the ops of a program.

Values are named after the op that makes them (`linear_0`), so that they can be fetched by name.
The parameters of a module are stored under the name of its class (`linear_0.weight`).
"""

from __future__ import annotations

import re
import sys
import threading
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.modules.module import (
    register_module_forward_pre_hook,
    register_module_parameter_registration_hook,
)

from stator.capture.inputs import TensorSpec
from stator.capture.sizes import Sizes
from stator.english import with_article
from stator.errors import DataDependent, InputError, UnsupportedCall
from stator.location import Location
from stator.program.ir import Arg, Block, Op, Value
from stator.program.naming import SymbolNames
from stator.program.types import TensorType, Type
from stator.static.recorder import StaticRecorder
from stator.torch_private.fake import FakeTensor

NAME = re.compile(r"[A-Za-z_]\w*")
TRAINING_CHECKS = ("_verify_batch_size", "_verify_spatial_size")  # of torch.nn.functional
CONTROL = "use `stator.static.cond`, `case`, `switch_case` or `while_loop`"


class BuildSizes(Sizes):
    """Every answer that Python gets about an open size is a check of the program."""

    def _demand(self, fact: Any) -> None:
        if self.recorder is None or self.recorder.dispatching is not None:
            super()._demand(fact)
            return
        self.facts[-1].add(fact)
        self.recorder.demand(fact)
        self._to_learn.append(fact)
        self.learn()


class Builder(StaticRecorder):
    """Records a program that is written by hand."""

    def __init__(self) -> None:
        super().__init__(BuildSizes())
        self.inputs: list[Value] = []
        self.training_checks: list[Op] = []  # what torch asked for a batch norm in training
        self.written = 0  # counts what is written
        self._symbols = SymbolNames()
        self._names: set[str] = set()
        self._modules: dict[int, torch.nn.Module] = {}
        self._module_names: set[str] = set()

    def new_value(self, value_type: Type) -> Value:
        """A value of this type, with a name of its own; an op that makes it names it again."""
        return super().new_value(self._symbols.of(value_type))

    def tensor_type(self, tensor: torch.Tensor) -> TensorType:
        """The type of `tensor`, its open sizes named `s0`, `s1` and so on."""
        kind = self._symbols.of(super().tensor_type(tensor))
        assert isinstance(kind, TensorType)
        return kind

    def input(self, name: str, shape: Sequence[int | None], dtype: torch.dtype) -> torch.Tensor:
        """A tensor that each run is given."""
        self._check_input(name)
        spec = TensorSpec(tuple(shape), dtype, torch.get_default_device(), False, name)
        sizes = [self.fresh_size() if size is None else size for size in spec.shape]
        with self.quiet():
            tensor = self.new_tensor(spec.dtype, sizes, spec.device, False)
        value = Value(name, self.tensor_type(tensor))
        self.bind(tensor, value)
        self.inputs.append(value)
        self.written += 1
        self._names.add(name)
        return tensor

    def _check_input(self, name: Any) -> None:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise InputError(f"{name!r} is not a name for an input",
                             fix="use letters, digits and `_`, and no digit first")  # fmt: skip
        if name in self._names:
            raise InputError(f"the program has a value `{name}` already", fix="choose another name")
        if self.depth:
            raise InputError(f"the input `{name}` is made inside a branch or a loop",
                             fix="make it before")  # fmt: skip

    def emit(
        self,
        name: str,
        args: Sequence[Arg],
        results: Sequence[Value] = (),
        *,
        attributes: dict[str, Arg] | None = None,
        blocks: Sequence[Block] = (),
        place: Location | None = None,
    ) -> Op:
        """Append an op; its results are named after it."""
        self.written += 1
        base = name.rpartition("::")[2].partition(".")[0].rstrip("_")
        for value in results:
            if value.name.isdigit():
                value.name = _unique(base, self._names)
        return super().emit(name, args, results, attributes=attributes, blocks=blocks, place=place)

    def lift(self, tensor: torch.Tensor) -> Value:
        """A real tensor that the code uses; a parameter of no module is one all the same."""
        if isinstance(tensor, torch.nn.Parameter) and id(tensor) not in self.known_names:
            self.known_names[id(tensor)] = ("parameter", _unique("parameter", self._names))
        elif id(tensor) not in self.known_names:
            self.known_names[id(tensor)] = ("constant", _unique("constant", self._names))
        value = super().lift(tensor)
        value.name = self.known_names[id(tensor)][1]
        return value

    def name_module(self, module: torch.nn.Module) -> None:
        """The tensors of `module` get names, the first time it is called."""
        if id(module) in self._modules:
            return
        prefix = _unique(type(module).__name__.lower(), self._module_names)
        self._modules.update({id(one): one for one in module.modules()})
        for kind, named in (
            ("parameter", module.named_parameters()),
            ("buffer", module.named_buffers()),
        ):
            for name, tensor in named:
                self.known_names.setdefault(id(tensor), (kind, f"{prefix}.{name}"))

    # ---- what torch and Python ask

    def note_checks(self, checks: Sequence[Op]) -> None:
        """Those of a batch norm in training are noted apart: the program for tests has none."""
        if _is_training_check():
            self.training_checks += checks
        else:
            super().note_checks(checks)

    def needs_value(self, what: str) -> DataDependent:
        """The error for Python code that needs what only a run knows."""
        return DataDependent(f"Python code needs {what}, which is known only at run time",
                             fix=CONTROL)  # fmt: skip


def _is_training_check() -> bool:
    """Does torch ask whether a batch is large enough to normalize by itself?"""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_name in TRAINING_CHECKS and code.co_filename.endswith("nn/functional.py"):
            return True
        frame = frame.f_back
    return False


def _unique(base: str, taken: set[str]) -> str:
    """`base_0`, or the first name of that form that is free; it is taken from now on."""
    count = 0
    while f"{base}_{count}" in taken:
        count += 1
    taken.add(f"{base}_{count}")
    return f"{base}_{count}"


@contextmanager
def modules_named(builder: Builder) -> Iterator[None]:
    """Modules called inside are named; a module made inside is refused."""
    thread = threading.get_ident()

    def before_call(module: torch.nn.Module, _: Any) -> None:
        if threading.get_ident() == thread:
            builder.name_module(module)

    def before_parameter(module: torch.nn.Module, name: str, parameter: Any) -> None:
        if threading.get_ident() == thread and isinstance(parameter, FakeTensor):
            raise UnsupportedCall(
                f"{with_article(type(module).__name__)} is made inside `program_guard`: its "
                f"`{name}` would not be a real tensor",
                fix="make the module before `with program_guard(...)`",
            )  # fmt: skip

    hooks = [
        register_module_forward_pre_hook(before_call),
        register_module_parameter_registration_hook(before_parameter),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
