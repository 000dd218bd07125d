"""CudaTarget: recordings as CUDA graphs; branches are IF nodes in them, and loops WHILE nodes.

torch records straight-line ops (`torch.cuda.CUDAGraph`). A conditional node is added to the graph
that is being recorded by CUDA's own API (`cuda.bindings`, which torch's CUDA builds bring). Its
body is recorded by a second stream straight into the graph of the node. The condition is set on the
device, by a kernel of a few instructions, so the host never waits for it.

NOTE: why each body has a memory pool of its own. torch gives the memory of a pool to the stream
that records; a body is recorded by another stream than what is around it.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch

from stator.garbage import no_collections
from stator.torch_private.cuda import allocating_from, release_pool

Result = TypeVar("Result")
Pool = tuple[int, int]

# void set_condition(cudaGraphConditionalHandle handle, const bool* value)
KERNEL = b"""
.version 8.3
.target sm_75
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry set_condition(.param .u64 handle, .param .u64 value)
{
    .reg .b64 %handle, %address;
    .reg .b32 %value;
    ld.param.u64 %handle, [handle];
    ld.param.u64 %address, [value];
    cvta.to.global.u64 %address, %address;
    ld.global.u8 %value, [%address];
    {
        .param .b64 first;
        .param .b32 second;
        st.param.b64 [first], %handle;
        st.param.b32 [second], %value;
        call.uni cudaGraphSetConditional, (first, second);
    }
    ret;
}
"""


def why_not_here() -> str:
    """Why there are no CUDA graphs with conditions in this process; empty if there are."""
    if not torch.cuda.is_available():
        return "torch sees no CUDA device"
    try:
        driver, _ = _libraries()
    except ImportError:
        return "the package `cuda-bindings` is not installed"
    version = _checked(driver.cuDriverGetVersion())
    return "" if version >= 12040 else f"the driver is for CUDA {version // 1000}, 12.4 is needed"


@functools.cache
def _libraries() -> tuple[Any, Any]:
    """CUDA's driver and runtime API."""
    return (
        importlib.import_module("cuda.bindings.driver"),
        importlib.import_module("cuda.bindings.runtime"),
    )


def _checked(answer: tuple[Any, ...]) -> Any:
    """What a call of CUDA gave; RuntimeError if it failed."""
    status, *results = answer
    if int(status) != 0:
        raise RuntimeError(f"CUDA: {status.name}")
    return results[0] if len(results) == 1 else tuple(results)


@functools.cache
def _set_condition(_device: int) -> Any:
    """The kernel, loaded in the context of a device, which is the current one."""
    driver, _ = _libraries()
    module = _checked(driver.cuModuleLoadData(KERNEL))
    return _checked(driver.cuModuleGetFunction(module, b"set_condition"))


@dataclass(eq=False)
class CudaRecording:
    """A CUDA graph, and the memory of its conditional bodies."""

    graph: torch.cuda.CUDAGraph
    device: int
    pools: list[Pool] = field(default_factory=list)  # one for each depth
    uses: list[Pool] = field(default_factory=list)

    def pool_at(self, depth: int) -> Pool:
        """The pool for bodies at this depth. They run one after the other, and so may share it."""
        while len(self.pools) <= depth:
            self.pools.append(torch.cuda.graph_pool_handle())
        self.uses.append(self.pools[depth])
        return self.pools[depth]

    def replay(self) -> None:
        """Launch the graph on the current stream."""
        self.graph.replay()

    def __del__(self) -> None:
        for pool in self.uses:
            release_pool(self.device, pool)


@dataclass(eq=False)
class CudaTarget:
    """Records CUDA graphs, one at a time."""

    device: int
    _streams: list[torch.cuda.Stream] = field(default_factory=list)  # one for each depth
    _recording: CudaRecording | None = None  # None while a trial is made
    _depth: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)  # several regions share a target

    def record(self, ops: Callable[[], Result]) -> tuple[CudaRecording, Result]:
        """A graph of the ops that `ops` calls, and what it gives.

        They are recorded twice, at first without conditional nodes, as a trial. CUDA recovers from
        an op that cannot be recorded, but not inside the body of such a node.
        """
        with self._lock:
            _set_condition(self.device)  # before anything is recorded: it loads code
            self._recorded(torch.cuda.CUDAGraph(), ops)
            graph = torch.cuda.CUDAGraph()
            self._recording = CudaRecording(graph, self.device)
            try:
                return self._recording, self._recorded(graph, ops)
            finally:
                self._recording = None

    def _recorded(self, graph: torch.cuda.CUDAGraph, ops: Callable[[], Result]) -> Result:
        generator = torch.cuda.default_generators[self.device]
        before = generator.clone_state()
        first: list[Exception] = []  # to end a recording that has failed is an error as well
        try:
            with (
                no_collections(),  # a graph that is freed here makes CUDA end the recording
                torch.cuda.device(self.device),
                torch.cuda.graph(graph, stream=self._stream(0), capture_error_mode="thread_local"),
            ):
                try:
                    return ops()
                except Exception as error:
                    first.append(error)
                    raise
        except BaseException:
            generator.graphsafe_set_state(before)  # torch leaves it as if it still recorded
            if first:
                raise first[0] from None
            raise

    def call(
        self,
        code: Callable[[list[torch.Tensor]], Sequence[torch.Tensor]],
        given: Sequence[torch.Tensor],
    ) -> list[torch.Tensor]:
        """Its kernels are recorded as those of torch are."""
        return list(code([*given]))

    def branch(
        self, condition: torch.Tensor, then: Callable[[], None], orelse: Callable[[], None] | None
    ) -> None:
        """An IF node with one or two bodies."""
        sides = [then] if orelse is None else [then, orelse]
        if self._recording is None:
            for ops in sides:
                ops()
            return
        _, runtime = _libraries()
        kind = runtime.cudaGraphConditionalNodeType.cudaGraphCondTypeIf
        _, bodies = self._node(condition, kind, len(sides))
        for graph, ops in zip(bodies, sides, strict=True):
            with self._recording_into(graph):
                ops()

    def loop(self, condition: torch.Tensor, body: Callable[[], None]) -> None:
        """A WHILE node; its body ends by setting the condition again."""
        if self._recording is None:
            body()
            return
        _, runtime = _libraries()
        kind = runtime.cudaGraphConditionalNodeType.cudaGraphCondTypeWhile
        handle, (graph,) = self._node(condition, kind, 1)
        with self._recording_into(graph):
            body()
            self._set(handle, condition)

    def _stream(self, depth: int) -> torch.cuda.Stream:
        """The stream that records bodies at this depth."""
        while len(self._streams) <= depth:
            stream: torch.cuda.Stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
            self._streams.append(stream)
        return self._streams[depth]

    def _node(self, condition: torch.Tensor, kind: Any, count: int) -> tuple[Any, list[Any]]:
        """A conditional node after all that the stream has recorded: its handle, its graphs."""
        _, runtime = _libraries()
        stream = torch.cuda.current_stream(self.device).cuda_stream
        graph, _ = _captured(stream)
        handle = _checked(runtime.cudaGraphConditionalHandleCreate(graph, 0, 0))
        self._set(handle, condition)
        graph, before = _captured(stream)
        node = runtime.cudaGraphNodeParams()
        node.type = runtime.cudaGraphNodeType.cudaGraphNodeTypeConditional
        node.conditional.handle = handle
        node.conditional.type = kind
        node.conditional.size = count
        added = _checked(runtime.cudaGraphAddNode(graph, before, None, len(before), node))
        flags = runtime.cudaStreamUpdateCaptureDependenciesFlags
        _checked(
            runtime.cudaStreamUpdateCaptureDependencies(
                stream, [added], None, 1, flags.cudaStreamSetCaptureDependencies
            )
        )
        return handle, [node.conditional.phGraph_out[n] for n in range(count)]

    def _set(self, handle: Any, condition: torch.Tensor) -> None:
        """Record that the condition of a node becomes what a tensor holds."""
        driver, _ = _libraries()
        stream = torch.cuda.current_stream(self.device).cuda_stream
        values = (int(handle), condition.data_ptr())
        _checked(
            driver.cuLaunchKernel(
                _set_condition(self.device), 1, 1, 1, 1, 1, 1, 0, stream,
                (values, (ctypes.c_uint64, ctypes.c_uint64)), 0,
            )
        )  # fmt: skip

    @contextmanager
    def _recording_into(self, graph: Any) -> Iterator[None]:
        """Ops are recorded into the graph of a conditional node."""
        _, runtime = _libraries()
        recording = self._recording
        assert recording is not None
        self._depth += 1
        stream = self._stream(self._depth)
        pool = recording.pool_at(self._depth)
        mode = runtime.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
        _checked(
            runtime.cudaStreamBeginCaptureToGraph(stream.cuda_stream, graph, None, None, 0, mode)
        )
        try:
            with torch.cuda.stream(stream), allocating_from(self.device, pool):
                yield
        finally:
            self._depth -= 1
            _checked(runtime.cudaStreamEndCapture(stream.cuda_stream))


def _captured(stream: int) -> tuple[Any, list[Any]]:
    """The graph that a stream records into, and the nodes that the next one comes after."""
    _, runtime = _libraries()
    _, _, graph, before, *_, count = _checked(runtime.cudaStreamGetCaptureInfo(stream))
    return graph, list(before[:count]) if before else []
