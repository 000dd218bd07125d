"""Runs a model or a function as it is and converted, from the same seed, and compares everything.

Compared are results, errors, the gradients of parameters and arguments, buffers, and the state of
torch's random generator afterwards: the static form must have drawn as many numbers as eager.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

import stator

Call = tuple[Any, ...]


@dataclass(frozen=True)
class Outcome:
    """What one call gave, and what it left behind."""

    result: Any
    gradients: dict[str, Any]
    state: dict[str, Any]
    random: torch.Tensor


def outcome(function: Callable[..., Any], model: nn.Module | None, args: Call) -> Outcome:
    """Call, take the gradients of everything that has some, and note the state."""
    torch.manual_seed(3)
    args = pytree.tree_map_only(torch.Tensor, _copy, args)
    result = function(*args)
    _backward(result)
    return Outcome(
        pytree.tree_map_only(torch.Tensor, lambda t: t.detach().clone(), result),
        _gradients(model, args),
        {} if model is None else {k: v.clone() for k, v in model.state_dict().items()},
        torch.get_rng_state(),
    )


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _backward(result: Any) -> None:
    """Backward of a sum that weighs each output differently."""
    outputs = [t for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
    losses = [
        (t.float() * torch.linspace(0.5, 1.5, t.numel()).reshape(t.shape)).sum()
        for t in outputs
        if t.requires_grad
    ]
    if losses:
        torch.stack(losses).sum().backward()


def _gradients(model: nn.Module | None, args: Call) -> dict[str, Any]:
    named = dict(model.named_parameters()) if model is not None else {}
    tensors = [a for a in pytree.tree_leaves(args) if isinstance(a, torch.Tensor)]
    named |= {f"argument {k}": tensor for k, tensor in enumerate(tensors)}
    found = {name: tensor.grad for name, tensor in named.items() if tensor.is_leaf}
    return {name: None if grad is None else grad.clone() for name, grad in found.items()}


def assert_equal(eager: Any, static: Any) -> None:
    """Equal to the last bit, dtypes and kinds of containers included."""
    one, one_spec = pytree.tree_flatten(eager)
    other, other_spec = pytree.tree_flatten(static)
    assert one_spec == other_spec
    for a, b in zip(one, other, strict=True):
        assert type(a) is type(b), (a, b)
        if isinstance(a, torch.Tensor):
            torch.testing.assert_close(b, a, rtol=0, atol=0, equal_nan=True)
            assert a.requires_grad == b.requires_grad
        else:
            assert a == b


def assert_same(eager: Outcome, static: Outcome) -> None:
    assert_equal(eager.result, static.result)
    assert_equal(eager.gradients, static.gradients)
    assert_equal(eager.state, static.state)
    assert torch.equal(eager.random, static.random), "another number of random numbers was drawn"


def compare_module(model: nn.Module, *calls: Call) -> nn.Module:
    """Each call on `model` and on its static copy; gives the static copy."""
    eager = copy.deepcopy(model)
    static: nn.Module = stator.to_static(copy.deepcopy(model))
    compare_pair(eager, static, *calls)
    return static


def compare_pair(eager: nn.Module, static: nn.Module, *calls: Call) -> None:
    """Two models that started alike stay alike through these calls; gradients accumulate."""
    for call in calls:
        assert_same(outcome(eager, eager, call), outcome(static, static, call))


def compare_function(function: Callable[..., Any], *calls: Call) -> Any:
    """Each call of `function` and of its static form; gives the static form."""
    static = stator.to_static(function)
    for call in calls:
        assert_same(outcome(function, None, call), outcome(static, None, call))
    return static
