"""Gradients of users: what is captured of them, and the exact text of what is refused."""

import pytest
import torch

import stator
from stator.library.gradients import is_function_apply


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 5


class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Unmaterialized(Doubled):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2


class TooMany(Doubled):
    @staticmethod
    def backward(ctx, gradient):
        return gradient, gradient


def test_apply_of_a_function_is_told_from_other_methods():
    assert is_function_apply(Doubled.apply)
    assert not is_function_apply(torch.nn.Module().apply)


def test_the_backward_is_a_block_of_the_program():
    static = stator.to_static(lambda x: Doubled.apply(x))
    static(torch.ones(2, requires_grad=True))
    (op,) = [op for op in static.program.body.ops if op.name == "stator::custom_gradient"]
    assert [inner.name for inner in op.blocks[0].ops] == ["aten::mul.Tensor"]


def test_a_parameter_unfrozen_later_has_the_gradient_of_the_function():
    weight = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    static = stator.to_static(lambda x: Doubled.apply(x * weight))
    static(torch.ones(2))
    weight.requires_grad_()
    static(torch.ones(2)).sum().backward()
    assert torch.equal(weight.grad, torch.full((2,), 5.0))


@pytest.mark.parametrize(
    ("cls", "text"),
    [
        (Dirty, "`ctx.mark_dirty` is not supported"),
        (Unmaterialized, "`ctx.set_materialize_grads(False)` is not supported"),
    ],
)
def test_what_a_program_cannot_do_is_refused_with_its_line(cls, text):
    with pytest.raises(stator.StatorError) as refusal:
        stator.to_static(lambda x: cls.apply(x))(torch.ones(2, requires_grad=True))
    assert text in str(refusal.value)
    assert "ctx." in str(refusal.value)


def test_a_keyword_for_apply_is_refused():
    with pytest.raises(stator.StatorError, match="receives keyword arguments"):
        stator.to_static(lambda x: Doubled.apply(x=x))(torch.ones(2))


def test_a_hook_that_is_removed_is_refused():
    def removed(x):
        y = x * 2
        y.register_hook(lambda gradient: gradient).remove()
        return y

    with pytest.raises(stator.StatorError) as refusal:
        stator.to_static(removed)(torch.ones(2, requires_grad=True))
    assert "a hook is removed inside the program" in str(refusal.value)


def test_a_hook_on_a_tensor_without_gradient_is_the_error_of_eager():
    def hooked(x):
        x.register_hook(lambda gradient: gradient)
        return x * 2

    for function in (hooked, stator.to_static(hooked)):
        with pytest.raises(RuntimeError, match="cannot register a hook on a tensor"):
            function(torch.ones(2))


class Counted(torch.autograd.Function):
    """Gives its argument back; its backward cannot be part of a program."""

    @staticmethod
    def forward(ctx, x, log):
        ctx.log = log
        return x

    @staticmethod
    def backward(ctx, gradient):
        ctx.log.append(1)
        return gradient, None


def test_without_gradients_a_backward_is_no_part_of_the_program():
    def used(x, log=()):
        y = Counted.apply(x, log)
        return y is x, y.requires_grad, y * 2

    def used_inside(x):
        with torch.no_grad():
            y = Counted.apply(x, [])
        return y is x, y.requires_grad, x * y

    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        assert str(stator.to_static(used)(x)) == str(used(x))
    assert str(stator.to_static(used_inside)(x)) == str(used_inside(x))
