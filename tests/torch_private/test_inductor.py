"""Inductor without Dynamo: what Stator relies on in it."""

import importlib
import subprocess
import sys

import pytest
import torch

from stator.torch_private import dispatch


@pytest.fixture
def inductor():
    """Imported late: it takes seconds."""
    return importlib.import_module("stator.torch_private.inductor")


def function(x, w):
    return [torch.ops.aten.tanh(torch.ops.aten.mm(x, w)), torch.ops.aten.exp(x)]


def given(sizes, *, requires_grad):
    n = sizes.new(7)
    device = torch.device("cpu")
    return [
        sizes.tensor(shape, strides, torch.float32, device, requires_grad=requires_grad)
        for shape, strides in (((n, 4), (4, 1)), ((4, 3), (3, 1)))
    ]


@pytest.mark.slow
def test_importing_it_leaves_torch_as_it_was():
    code = "import torch; before = torch.manual_seed; import stator.torch_private.inductor; "
    code += "assert torch.manual_seed is before"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_graph_without_gradients_serves_all_sizes(inductor):
    sizes = inductor.DynamicSizes()
    graph = inductor.trace_forward(function, given(sizes, requires_grad=False))
    holds = sizes.check()
    assert [holds([n]) for n in (1, 2, 50)] == [False, True, True]
    x, w = torch.randn(9, 4), torch.randn(4, 3)
    for found, expected in zip(graph(x, w), function(x, w), strict=True):
        assert torch.equal(found, expected)


def test_graphs_with_gradients_are_a_forward_and_a_backward_one(inductor):
    sizes = inductor.DynamicSizes()
    made = inductor.trace_training(function, given(sizes, requires_grad=True), 2)
    x, w = (t.requires_grad_() for t in (torch.randn(9, 4), torch.randn(4, 3)))
    expected = function(x, w)
    gradients = [torch.randn_like(one) for one in expected]
    with torch.no_grad():
        found = list(made.forward(x, w))
        tangents = iter(gradients)
        args = [next(tangents) if place < 0 else found[place] for place in made.saved]
        back = made.backward(*args)
    for one, other in zip(found, expected, strict=False):
        assert torch.allclose(one, other)
    for one, other in zip(back, torch.autograd.grad(expected, [x, w], gradients), strict=True):
        assert torch.allclose(one, other)
    assert made.orders == ((1, 0), (1, 0))


def test_a_size_that_is_relied_on_is_checked(inductor):
    sizes = inductor.DynamicSizes()
    n, m = sizes.new(4), sizes.new(8)
    device = torch.device("cpu")
    x = sizes.tensor((n, 2), (2, 1), torch.float32, device, requires_grad=False)
    y = sizes.tensor((m,), (1,), torch.float32, device, requires_grad=False)
    inductor.trace_forward(lambda x, y: [torch.ops.aten.add(x.view(-1), y)], [x, y])
    holds = sizes.check()
    assert holds([5, 10])
    assert not holds([5, 11])


def test_calls_that_are_not_torchs_kernels_alone_are_seen():
    x = torch.ones(2)
    assert dispatch.is_plain_call([x, torch.nn.Parameter(x)])
    assert not dispatch.is_plain_call([x.to(torch.complex64).conj()])
    assert not dispatch.is_plain_call([torch.nn.Buffer(x).as_subclass(Tagged)])
    with torch.autocast("cpu"):
        assert not dispatch.is_plain_call([x])
    with torch.inference_mode():
        inside = torch.ones(2)
        assert dispatch.is_plain_call([inside])
    assert not dispatch.is_plain_call([inside])
    with torch.autograd.forward_ad.dual_level():
        assert not dispatch.is_plain_call([x])
    seen = []
    torch.func.vmap(lambda one: seen.append(dispatch.is_plain_call([x])) or one)(x)
    assert seen == [False]
    with EveryOp():
        assert not dispatch.is_plain_call([x])


class Tagged(torch.Tensor):
    pass


class EveryOp(dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@pytest.mark.slow
def test_a_graph_is_compiled(inductor):
    sizes = inductor.DynamicSizes()
    graph = inductor.trace_forward(function, given(sizes, requires_grad=False))
    run = inductor.compile_graph(graph, is_inference=True)
    x, w = torch.randn(9, 4), torch.randn(4, 3)
    for found, expected in zip(run([x, w]), function(x, w), strict=True):
        assert torch.allclose(found, expected)


@pytest.mark.slow
def test_a_library_needs_no_python_and_serves_all_sizes(inductor, tmp_path):
    sizes = inductor.DynamicSizes()
    graph = inductor.trace_forward(function, given(sizes, requires_grad=False))
    file = tmp_path / "code.so"
    inductor.write_library(graph, sizes, str(file))
    assert "L['t0']" in sizes.assumptions()
    run = inductor.library_runner(str(file), "cpu")
    for rows in (3, 8):
        x, y = torch.randn(rows, 4), torch.randn(4, 3)
        for found, expected in zip(run([x, y]), function(x, y), strict=True):
            assert torch.allclose(found, expected, atol=1e-6)
