"""Plan: every option of the strategies does something, and changes no result."""

import gc

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakIdKeyDictionary

from stator import TracedLayer
from stator.program.ir import ops_in
from stator.static import BuildStrategy, ExecutionStrategy

OFF = {"constant_folding": False, "merge_equal_ops": False, "enable_inplace": False}


class Net(nn.Module):
    """A mask of constants, an op done twice, and a chain of pointwise ops."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(64, 64)

    def forward(self, x):
        mask = torch.tril(torch.ones(64, 64))
        y = self.fc(x)
        z = torch.exp(y) * 0.1 + torch.exp(y) * 0.2
        return torch.tanh(torch.sigmoid(z) + 1) @ mask


class Bytes(TorchDispatchMode):
    """The most bytes of tensors that were alive at once, and how many were made."""

    def __init__(self):
        super().__init__()
        self.alive, self.most, self.made = WeakIdKeyDictionary(), 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for one in result if isinstance(result, tuple | list) else (result,):
            if isinstance(one, torch.Tensor) and one.untyped_storage() not in self.alive:
                self.alive[one.untyped_storage()] = one.nbytes
                self.made += one.nbytes
        self.most = max(self.most, sum(self.alive.values()))
        return result


def traced(strategy):
    torch.manual_seed(0)
    layer = Net()
    _, made = TracedLayer.trace(layer, [torch.randn(4, 64)])
    made.set_strategy(strategy)
    return layer, made


def names(form):
    return [op.name for op in ops_in(form.program.body)]


def run_quietly(made, x):
    gc.collect()
    with torch.no_grad(), Bytes() as measured:
        (given,) = made([x])
    return given, measured


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("option", [*OFF, "memory_reuse"])
def test_no_option_changes_a_result_or_a_gradient(option, gradients):
    _, plain = traced(None)
    _, made = traced(BuildStrategy(**{**OFF, option: option != "memory_reuse"}))
    x = torch.randn(7, 64)
    with torch.set_grad_enabled(gradients):
        given, wanted = made([x])[0], plain([x])[0]
    assert torch.equal(given, wanted)
    if gradients:
        given.sum().backward()
        wanted.sum().backward()
        for one, other in zip(made._layer.parameters(), plain._layer.parameters(), strict=True):
            assert torch.equal(one.grad, other.grad)


def test_constant_folding_does_ops_on_constants_once():
    _, made = traced(BuildStrategy(**{**OFF, "constant_folding": True}))
    before, after = names(made._plan.plain), names(made._plan.quiet)
    assert {"aten::ones", "aten::tril"} <= set(before)
    assert not {"aten::ones", "aten::tril"} & set(after)
    assert names(made._plan.recording) == after


def test_merging_does_equal_ops_once():
    _, made = traced(BuildStrategy(**{**OFF, "merge_equal_ops": True}))
    counts = {
        kind: names(getattr(made._plan, kind)).count("aten::exp")
        for kind in ("plain", "recording", "quiet")
    }
    assert counts == {"plain": 2, "recording": 2, "quiet": 1}


@pytest.mark.slow
def test_in_place_makes_fewer_tensors_and_leaves_gradients_alone():
    _, plain = traced(BuildStrategy(**OFF))
    _, made = traced(BuildStrategy(**{**OFF, "enable_inplace": True}))
    assert "aten::tanh_" in names(made._plan.quiet)
    assert "aten::tanh_" not in names(made._plan.recording)
    x = torch.randn(512, 64)
    (wanted, before), (given, after) = run_quietly(plain, x), run_quietly(made, x)
    assert torch.equal(given, wanted)
    assert after.made <= before.made - 3 * x.nbytes


@pytest.mark.slow
def test_memory_reuse_frees_a_tensor_after_its_last_use():
    _, made = traced(BuildStrategy(**OFF))
    _, hoarding = traced(BuildStrategy(**OFF, memory_reuse=False))
    x = torch.randn(512, 64)
    (wanted, less), (given, more) = run_quietly(made, x), run_quietly(hoarding, x)
    assert torch.equal(given, wanted)
    assert less.most <= more.most - 3 * x.nbytes


def test_without_a_strategy_the_program_is_the_recorded_one():
    _, made = traced(None)
    assert made._plan.plain.program is made.program
    with torch.no_grad():
        assert made._plan._form([]) is made._plan.plain


class Threads(nn.Module):
    def forward(self, x):
        return x * 2


def seen_threads(made, x):
    """The number of torch's threads while an op of the run runs."""
    found = []

    class Look(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            found.append(torch.get_num_threads())
            return func(*args, **(kwargs or {}))

    with Look():
        made([x])
    return set(found)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_number_of_threads_holds_for_the_run_alone(count):
    x = torch.ones(3)
    _, made = TracedLayer.trace(Threads(), [x])
    before = torch.get_num_threads()
    made.set_strategy(exec_strategy=ExecutionStrategy(num_threads=count))
    assert seen_threads(made, x) == {count}
    assert torch.get_num_threads() == before
    made.set_strategy()
    assert seen_threads(made, x) == {before}


def test_the_number_of_threads_is_restored_after_an_error():
    _, made = TracedLayer.trace(nn.Linear(4, 2), [torch.ones(3, 4)])
    made.set_strategy(exec_strategy=ExecutionStrategy(num_threads=1))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(ValueError, match="this needs"):
            made([torch.ones(3, 5)])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_inference_mode_records_nothing():
    layer, x = nn.Linear(4, 2), torch.ones(3, 4)
    _, made = TracedLayer.trace(layer, [x])
    assert made([x])[0].requires_grad
    made.set_strategy(exec_strategy=ExecutionStrategy(inference_mode=True))
    (given,) = made([x])
    assert given.is_inference()
    assert not given.requires_grad
    assert torch.equal(given, layer(x))


def test_a_program_that_turns_gradients_on_is_not_run_in_place():
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            with torch.enable_grad():
                return torch.sigmoid(self.fc(x) * 2)

    layer, x = Inner(), torch.ones(2, 4)
    with torch.no_grad():
        _, made = TracedLayer.trace(layer, [x])
        made.set_strategy(BuildStrategy(enable_inplace=True))
        given, wanted = made([x])[0], layer(x)
    given.sum().backward()
    first = layer.fc.weight.grad.clone()
    layer.zero_grad()
    wanted.sum().backward()
    assert torch.equal(first, layer.fc.weight.grad)


def test_a_literal_of_the_code_is_folded_and_a_tensor_of_the_user_is_not():
    shared = torch.ones(4)

    class Scaled(nn.Module):
        def forward(self, x):
            return x * torch.tensor([1.0, 2.0, 3.0, 4.0]).exp() * shared.exp()

    _, made = TracedLayer.trace(Scaled(), [torch.ones(2, 4)])
    made.set_strategy(BuildStrategy())
    assert names(made._plan.quiet).count("aten::exp") == 1
    shared.zero_()
    assert torch.equal(made([torch.ones(2, 4)])[0], Scaled()(torch.ones(2, 4)))
