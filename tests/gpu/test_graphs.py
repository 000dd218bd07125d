"""CUDA graphs on a GPU: nodes, memory, streams, threads, and what a failure leaves behind."""

import copy
import gc
import threading
import warnings

import pytest
import torch

import stator
from bench import gpu
from stator.cudagraph.cuda import CudaTarget, why_not_here
from stator.regions.operators import REGIONS

pytestmark = pytest.mark.skipif(bool(why_not_here()), reason=why_not_here())
torch.manual_seed(0)
EXACT = {
    "backend": "cudagraph", "build_strategy": stator.static.BuildStrategy(fuse_ops=False),
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_grad():
    with torch.no_grad():
        yield


def cuda(*values):
    return tuple(torch.tensor(value, device="cuda") for value in values)


@pytest.mark.parametrize("workload", gpu.WORKLOADS, ids=[one.name for one in gpu.WORKLOADS])
def test_a_workload_gives_what_eager_gives(workload):
    function = workload.make()
    static = stator.to_static(copy.deepcopy(function), **EXACT)
    for _ in range(4):
        inputs = workload.inputs()
        assert gpu.same(static(*inputs), function(*inputs))


def nested(x, limit):
    total, i = torch.zeros_like(x), 0
    while i < 10:
        if x > 0:
            j = torch.zeros_like(x)
            while j < limit:
                for _ in range(6):
                    total = torch.sin(total) + x
                j = j + 1
        else:
            for _ in range(6):
                total = torch.cos(total) - x
        x = -x
        i += 1
        if total > 100:
            break
    return total, i


def test_nodes_inside_nodes():
    static = stator.to_static(nested, **EXACT)
    for value, limit in ((1.0, 3.0), (1.0, 3.0), (-2.0, 0.0), (0.5, 7.0), (1.0, 3.0)):
        assert gpu.same(static(*cuda(value, limit)), nested(*cuda(value, limit)))
    assert any(region.state == "ready" for region in stator.compiled())


def test_a_failed_recording_leaves_nothing_behind():
    target, x = CudaTarget(0), torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError):
        target.record(lambda: x.sum().item())
    torch.cuda.synchronize()
    assert torch.rand(3, device="cuda").sum() > 0  # the generator does not think that it records
    y = torch.zeros(3, device="cuda")
    recording, _ = target.record(lambda: y.copy_(x * 2))
    recording.replay()
    assert y.tolist() == [2.0, 2.0, 2.0]


def test_a_failure_inside_a_body_is_found_by_the_trial():
    target, x = CudaTarget(0), torch.ones((), device="cuda")
    with pytest.raises(RuntimeError):
        target.record(lambda: target.loop(x > 0, lambda: x.item()))
    torch.cuda.synchronize()


def test_streams_and_threads():
    static = stator.to_static(gpu.twenty_ifs, **EXACT)
    inputs = [torch.randn(4, device="cuda") for _ in range(8)]
    expected = [gpu.twenty_ifs(x) for x in inputs]
    static(inputs[0]), static(inputs[0])
    wrong = []

    def work(number):
        with torch.cuda.stream(torch.cuda.Stream()), torch.no_grad():
            for _ in range(50):
                found = static(inputs[number])
                torch.cuda.current_stream().synchronize()
                if not torch.equal(found, expected[number]):
                    wrong.append(number)

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_memory_does_not_grow_with_the_calls():
    static = stator.to_static(gpu.scalar_loop, **EXACT)
    for _ in range(3):
        static(*cuda(0.5, 20.0))
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for n in range(200):
        static(*cuda(0.5, float(n % 7)))
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() <= before + 4096


def test_what_cannot_be_recorded_is_a_warning_and_runs():
    def solved(a, b):
        for _ in range(4):
            b = torch.tanh(torch.linalg.lstsq(a, b).solution)
        return b

    static = stator.to_static(solved, **EXACT)
    a, b = torch.randn(4, 4, device="cuda"), torch.randn(4, 2, device="cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            torch.testing.assert_close(static(a, b), solved(a, b))
    assert torch.rand(2, device="cuda").sum() >= 0


@pytest.mark.parametrize("workload", gpu.WORKLOADS, ids=[one.name for one in gpu.WORKLOADS])
def test_fused_kernels_give_what_eager_gives(workload):
    torch.manual_seed(0)
    function = workload.make()
    static = stator.to_static(copy.deepcopy(function), backend="cudagraph")
    inputs = workload.inputs()
    state = torch.cuda.get_rng_state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where rounding grows, code that differs is not used
        for _ in range(3):
            static(*inputs)
        stator.compiled(wait=True)
        for _ in range(2):
            assert gpu.same(static(*inputs), function(*inputs), 1e-3)
    assert torch.equal(torch.cuda.get_rng_state(), state)


def test_the_body_of_a_loop_is_one_kernel():
    static = stator.to_static(gpu.scalar_loop, backend="cudagraph")
    for _ in range(2):
        static(*cuda(0.5, 30.0))
    stator.compiled(wait=True)
    for limit in (30.0, 3.0, 0.0):
        found, expected = static(*cuda(0.5, limit)), gpu.scalar_loop(*cuda(0.5, limit))
        assert gpu.same(found, expected, 1e-5)
    (region,) = {one for one in REGIONS.values() if one.program.name == "scalar_loop"}
    assert region.fusion.layouts == 2
    assert not region.fusion.failure


def test_a_graph_is_not_collected_while_another_one_is_recorded():
    lost = torch.cuda.CUDAGraph()
    with torch.cuda.graph(lost):
        torch.zeros(4, device="cuda").add_(1)
    cycle = [lost]
    cycle.append(cycle)
    del lost, cycle
    target, made = CudaTarget(torch.cuda.current_device()), []

    def ops():
        made.extend([object()] for _ in range(5000))  # enough for the collector to start
        return torch.ones(4, device="cuda") * 2

    before = gc.get_threshold()
    gc.set_threshold(100, 1, 1)
    try:
        recording, found = target.record(ops)
    finally:
        gc.set_threshold(*before)
    recording.replay()
    assert found.tolist() == [2.0] * 4
