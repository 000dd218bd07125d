"""What autograd makes of a block: the gradient of results, a hook, gradients inside."""

import torch

from stator.execute.gradients import CustomGradient, add_hook, run_gradients


def test_results_have_the_gradient_that_the_block_computes():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.no_grad():
        result = x * 3
    (out,) = CustomGradient.apply(
        lambda kept, grads: [grads[0] * kept[0] * kept[1]], [x, 10], [result], x
    )
    out.sum().backward()
    assert torch.equal(x.grad, torch.tensor([10.0, 20.0]))


def test_a_value_kept_for_the_gradient_may_not_be_changed_meanwhile():
    x = torch.tensor([1.0], requires_grad=True)
    kept = torch.tensor([2.0])
    (out,) = CustomGradient.apply(lambda kept, grads: [grads[0] * kept[0]], [kept], [x * 1], x)
    kept.add_(1)
    try:
        out.backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
    else:
        raise AssertionError("the gradient was computed with another value")


def test_a_hook_replaces_the_gradient():
    x = torch.tensor([1.0], requires_grad=True)
    y = x * 2
    add_hook(y, lambda kept, grads: [grads[0] + kept[0]], [4])
    y.sum().backward()
    assert torch.equal(x.grad, torch.tensor([10.0]))


def test_gradients_of_values_can_be_differentiated_again():
    x = torch.tensor([3.0], requires_grad=True)
    (first,) = run_gradients([x**3], [x], None, retain=True, create=True, materialize=False)
    first.backward()
    assert torch.equal(x.grad, torch.tensor([18.0]))
