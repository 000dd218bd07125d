"""The workloads in AOTInductor and in ONNX Runtime: what else runs them without Python.

AOTInductor takes what `torch.export` takes, so no work that values decide. ONNX Runtime runs the
file that Stator writes, since torch's exporter does not take such work either.
"""

from __future__ import annotations

import contextlib
import io
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

import stator
from bench.onnx import runner
from bench.workloads import Workload
from stator import InputSpec

Contender = Callable[..., object]


class FunctionModule(nn.Module):
    """A function as a module, which `torch.export` asks for."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> object:
        """What the function gives."""
        return self.function(*inputs)


def aot_inductor(function: Contender, inputs: tuple[Tensor, ...]) -> Contender | None:
    """A library for these sizes; None if `torch.export` or the compiler refuses."""
    module = function if isinstance(function, nn.Module) else FunctionModule(function)
    with quiet():
        try:
            exported = torch.export.export(module, inputs)
            file = torch._inductor.aoti_compile_and_package(exported)
            return torch._inductor.aoti_load_package(file)
        except Exception:  # noqa: BLE001  # whatever it raises, the cell stays empty
            return None


def onnx_runtime(function: Contender, inputs: tuple[Tensor, ...]) -> Contender | None:
    """A session over the file of Stator; None if it cannot be an ONNX file."""
    spec = [InputSpec(list(x.shape), x.dtype) for x in inputs]
    with quiet(), tempfile.TemporaryDirectory() as folder:
        try:
            stator.save(function, Path(folder) / "work", input_spec=spec, onnx=True)
        except stator.StatorError:
            return None
        run = runner(Path(folder) / "work.onnx", inputs)
    return lambda *_: run()  # the inputs of a workload are the same in each call


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing is printed, warned of or logged, and no gradient is recorded."""
    logging.disable(logging.WARNING)
    try:
        with (
            warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()), torch.no_grad(),
        ):  # fmt: skip
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def peers(workload: Workload, fresh: Callable[[], Contender]) -> dict[str, Contender]:
    """The workload in each of the two that takes it; neither trains."""
    if workload.trains:
        return {}
    made = {"AOT": aot_inductor(fresh(), workload.inputs())}
    made["ONNX"] = onnx_runtime(fresh(), workload.inputs())
    return {name: one for name, one in made.items() if one is not None}
