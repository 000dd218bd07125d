"""Inductor without Dynamo: functions of tensors traced, split into forward and backward, compiled.

What is imported here takes a second or two, so `stator.inductor` imports it for the first
compilation only.
"""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from unittest import mock

import torch
from torch import manual_seed
from torch._dynamo.source import ConstantSource
from torch._functorch.aot_autograd import aot_export_joint_simple
from torch._inductor import config, cpu_vec_isa
from torch._inductor.compile_fx import _recursive_joint_graph_passes, compile_fx_inner, partition_fn
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

__all__ = [
    "BackwardGraphs",
    "DynamicSizes",
    "Graph",
    "compile_graph",
    "is_portable",
    "library_runner",
    "trace_forward",
    "trace_training",
    "write_library",
    "write_results",
]

torch.manual_seed = manual_seed  # importing Dynamo puts another function in its place
X86 = ("x86_64", "AMD64")
OF_FEW = ("vnni", "amx")  # instructions that not every processor of a capability has
# Linked by name: where a compiler has only the archive of the C++ library, a copy of it in each
# library would mix with the one that the process has, and crash it.
CXX_LIBRARY = ":libstdc++.so.6"
Graph = torch.fx.GraphModule
Boxed = Callable[[list[Any]], Sequence[Any]]  # takes a list of arguments, which it empties


class DynamicSizes:
    """Sizes that only a run knows, and what compiled code has assumed of them."""

    def __init__(self) -> None:
        self._shapes = ShapeEnv(duck_shape=False)
        self._sizes: list[torch.SymInt] = []
        self.mode = FakeTensorMode(shape_env=self._shapes)

    def new(self, example: int) -> torch.SymInt:
        """One more size, which is at least 2; `example` is typical of it."""
        source = ConstantSource(f"size_{len(self._sizes)}")
        symbol = self._shapes.create_symbol(example, source, dynamic_dim=DimDynamic.DYNAMIC)
        size = self._shapes.create_symintnode(symbol, hint=example, source=source)
        assert isinstance(size, torch.SymInt)
        self._sizes.append(size)
        return size

    def tensor(
        self,
        sizes: Sequence[Any],
        strides: Sequence[Any],
        dtype: torch.dtype,
        device: torch.device,
        *,
        requires_grad: bool,
    ) -> torch.Tensor:
        """A tensor without data."""
        with self.mode:
            return torch.empty_strided(
                sizes, strides, dtype=dtype, device=device, requires_grad=requires_grad
            )

    def check(self) -> Callable[[Sequence[int]], bool]:
        """Tells of other sizes, in the order of `new`, whether the compiled code holds for them."""
        code, shapes = self.assumptions(), self._shapes
        if code is None:
            return lambda _: True
        return lambda sizes: bool(shapes.evaluate_guards_expression(code, sizes))

    def assumptions(self) -> str | None:
        """What was assumed, as an expression of Python in which sizes are `L['t0']`, `L['t1']`."""
        found: str | None = self._shapes.produce_guards_expression(self._sizes)
        return found


class BackwardGraphs(NamedTuple):
    """A function as two graphs: what the forward one gives beyond the results, the other takes."""

    forward: Graph
    backward: Graph
    saved: tuple[int, ...]  # of the inputs of `backward`: the output of `forward`, or -1
    orders: tuple[tuple[int, ...], ...]  # of each gradient that it takes: its dimensions as they
    # are in memory, innermost first, without gaps


def _unpadded() -> contextlib.AbstractContextManager[None]:
    """Inside, no matrix product is padded.

    Torch would time that on random tensors, which it draws from the generator of the caller, who is
    at work meanwhile.
    """
    patched: contextlib.AbstractContextManager[None] = config.patch(shape_padding=False)
    return patched


def trace_forward(function: Callable[..., Any], inputs: Sequence[Any]) -> Graph:
    """`function`, which gives a list of new tensors, as a graph for runs without gradients."""
    graph: Any = aot_export_joint_simple(
        function, tuple(inputs), trace_joint=False, decompositions=select_decomp_table()
    )
    with _unpadded():
        made = _recursive_joint_graph_passes(graph, input_device=_device(inputs))
    _mark_results(made, len(_outputs(made)))
    return made


def trace_training(
    function: Callable[..., Any], inputs: Sequence[Any], results: int
) -> BackwardGraphs:
    """`function`, which gives so many new tensors, as graphs for runs with gradients."""
    joint: Any = aot_export_joint_simple(
        function, tuple(inputs), trace_joint=True, decompositions=select_decomp_table()
    )
    given = [node.meta["val"] for node in _placeholders(joint)]
    with _unpadded():
        forward, backward = partition_fn(joint, given, num_fwd_outputs=results)
    _mark_results(forward, results)
    names = [getattr(node, "name", "") for node in _outputs(forward)]
    wanted = _placeholders(backward)
    places = {name: place for place, name in enumerate(names) if place >= results}
    tangents = [node for node in wanted if node.name.startswith("tangents_")]
    order = sorted(tangents, key=lambda node: int(node.name.removeprefix("tangents_")))
    saved = tuple(-1 if node in tangents else places[node.name] for node in wanted)
    if tangents != order:
        raise NotImplementedError("the gradients come in another order than the results")
    return BackwardGraphs(
        forward, backward, saved, tuple(_order(node.meta["val"]) for node in tangents)
    )


def _order(tangent: torch.Tensor) -> tuple[int, ...]:
    """The dimensions of a tensor without data, innermost first."""
    sizes, strides = (list(map(_example, part)) for part in (tangent.shape, tangent.stride()))
    order = sorted(range(len(sizes)), key=lambda d: (strides[d], -d))
    expected = 1
    for dimension in order:
        if sizes[dimension] != 1 and strides[dimension] != expected:
            raise NotImplementedError("a gradient that is not dense")
        expected *= sizes[dimension]
    return tuple(order)


def _example(size: int | torch.SymInt) -> int:
    """A typical value; nothing is assumed by asking."""
    return size if isinstance(size, int) else int(size.node.hint)


def write_results(graph: Graph, places: Sequence[int | None]) -> None:
    """Results are written where inputs are; `places` has the number of the input for each.

    Numbers from the count of inputs on are inputs that are added for it, in their order. What is
    written to is no result any more.
    """
    (end,) = (node for node in graph.graph.nodes if node.op == "output")
    inputs, outputs = _placeholders(graph), list(end.args[0])
    pairs = [
        (node, place) for node, place in zip(outputs, places, strict=True) if place is not None
    ]
    added = sorted({place for _, place in pairs if place >= len(inputs)})
    values = {place: node.meta["val"] for node, place in pairs}
    last = inputs[-1]
    for place in added:
        with graph.graph.inserting_after(last):
            last = graph.graph.placeholder(f"place_{place}")
        last.meta["val"] = values[place]
        inputs.append(last)
    with graph.graph.inserting_before(end):
        for node, place in pairs:
            written = graph.graph.call_function(torch.ops.aten.copy_.default, (inputs[place], node))
            written.meta["val"] = inputs[place].meta["val"]
    kept = [node for node, place in zip(outputs, places, strict=True) if place is None]
    end.args = (kept,)
    _mark_results(graph, len(kept))
    graph.recompile()


def compile_graph(graph: Graph, *, is_inference: bool = False, is_backward: bool = False) -> Boxed:
    """Compiled code for a graph; torch keeps it on disk, by what the graph is made of."""
    given = [node.meta["val"] for node in _placeholders(graph)]
    compiled: Any = compile_fx_inner(
        graph, given, is_inference=is_inference, is_backward=is_backward
    )
    run: Boxed = compiled
    return run


def write_library(graph: Graph, sizes: DynamicSizes, file: str) -> None:
    """Compiles a graph to a library, for any number of threads.

    Where torch can do that, it is for all processors of the capability that ATen has found here;
    elsewhere for those that have whatever this one has (`is_portable`).
    """
    given = [node.meta["val"] for node in _placeholders(graph)]
    settings: dict[str, Any] = {
        "cpp_wrapper": True, "cpp.dynamic_threads": True, "aot_inductor.output_path": file,
        "aot_inductor.custom_op_libs": [CXX_LIBRARY],
    }  # fmt: skip
    if _device(given).type != "cpu":
        settings |= {
            "aot_inductor.embed_kernel_binary": True,
            # as torch sets them for code that calls kernels of Triton from C++
            "triton.autotune_at_compile_time": True, "triton.autotune_cublasLt": False,
            "triton.cudagraphs": False, "triton.store_cubin": True,
        }  # fmt: skip
    usual = cpu_vec_isa.valid_vec_isa_list
    if is_portable():
        has_vectors = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")
        settings["cpp.march"] = "x86-64-v3" if has_vectors else "x86-64"

    def portable() -> list[Any]:
        return [isa for isa in usual() if not any(part in str(isa) for part in OF_FEW)]

    with (
        V.set_aot_compilation(True),
        V.set_fake_mode(sizes.mode),
        config.patch(settings),
        mock.patch.object(cpu_vec_isa, "valid_vec_isa_list", portable if is_portable() else usual),
    ):
        compile_fx_inner(graph, given, is_inference=True, cpp_wrapper=True)


def is_portable() -> bool:
    """Whether torch can compile for other processors than the one that it runs on."""
    return platform.machine() in X86 and hasattr(config.cpp, "march")


def library_runner(
    file: str, device: str
) -> Callable[[Sequence[torch.Tensor]], list[torch.Tensor]]:
    """Loads a library, which runs code of it, and gives what calls it."""
    if device == "cpu":
        loaded: Any = torch._C._aoti.AOTIModelContainerRunnerCpu(file, 1)
    else:
        loaded = torch._C._aoti.AOTIModelContainerRunnerCuda(file, 1, device)
    return lambda inputs: list(loaded.run(list(inputs)))


def _placeholders(graph: Graph) -> list[torch.fx.Node]:
    return [node for node in graph.graph.nodes if node.op == "placeholder"]


def _outputs(graph: Graph) -> list[Any]:
    (node,) = (node for node in graph.graph.nodes if node.op == "output")
    return list(node.args[0])


def _mark_results(graph: Graph, results: int) -> None:
    """The first outputs keep the strides that they have in eager code."""
    (node,) = (node for node in graph.graph.nodes if node.op == "output")
    node.meta["user_visible_output_idxs"] = list(range(results))


def _device(inputs: Sequence[Any]) -> torch.device:
    return next(each.device for each in inputs if isinstance(each, torch.Tensor))
