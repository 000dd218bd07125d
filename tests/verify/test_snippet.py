"""Snippets: run, they give the same inputs again."""

import pytest
import torch

from stator.api.example import Example
from stator_verify.snippet import call_name, snippet

TENSORS = [
    torch.tensor([1.1, -2.0, float("inf"), float("nan")]),
    torch.zeros(0, 3),
    torch.full((2, 3), 7),
    torch.tensor(True),
    torch.tensor([1 + 2j]),
    torch.tensor(0.1, dtype=torch.bfloat16),
    torch.arange(24.0).reshape(2, 3, 4).transpose(0, 2),
    torch.linspace(-1, 1, 400).reshape(20, 20),
]


def rebuilt(text):
    """What `function` is called with by the snippet."""
    given = []
    exec(text, {"function": lambda *args, **kwargs: given.append((args, kwargs))})
    return given


@pytest.mark.parametrize("tensor", TENSORS, ids=range(len(TENSORS)))
def test_a_tensor_is_made_again(tensor):
    ((args, _),) = rebuilt(snippet("function", [Example(tensor)], ["x"]))
    assert args[0].dtype == tensor.dtype
    assert args[0].shape == tensor.shape
    assert torch.equal(torch.isnan(args[0]), torch.isnan(tensor))
    assert torch.equal(args[0].nan_to_num(), tensor.nan_to_num())


def test_containers_numbers_and_names_are_made_again():
    example = Example([1, (2.5,)], {"a": None}, mask=float("-inf"))
    text = snippet("function", [example, Example("b")], ["x", "y"])
    assert rebuilt(text) == [
        (([1, (2.5,)], {"a": None}), {"mask": float("-inf")}),
        (("b",), {}),
    ]  # fmt: skip


def test_what_requires_grad_does_so_again():
    ((args, _),) = rebuilt(snippet("function", [Example(torch.ones(2))], ["x"], learns=True))
    assert args[0].requires_grad


def test_what_has_no_text_is_named():
    text = snippet("function", [Example(torch.randn(200, 200))], ["x"])
    assert "x = ...  # torch.float32, shape (200, 200): `failures[...].inputs` has it" in text


def test_a_function_has_a_name_that_can_be_called():
    assert call_name("Model.forward") == "forward"
    assert call_name("make.<locals>.<lambda>") == "function"
