"""The first error of a run counts, also where a later node of ONNX fails by itself."""

import pytest
import torch

import stator
from stator import InputSpec

INT = "int64"


def brackets(tokens):
    stack, depth = [], 0
    for k in range(tokens.shape[0]):
        if tokens[k] == 1:
            stack.append(k)
            depth = max(depth, len(stack))
        elif tokens[k] == 2:
            if not stack:
                raise ValueError("unbalanced")
            stack.pop()
    return depth


def calculator(tokens):
    stack = []
    for k in range(tokens.shape[0]):
        token = int(tokens[k])
        if token < 10:
            stack.append(token)
        else:
            assert len(stack) >= 2, "stack underflow"
            stack.append(stack.pop() + stack.pop())
    assert len(stack) == 1, "one result"
    return stack[0]


def first_or_largest(x):
    if x.sum() <= 0:
        if x.numel() == 0:
            raise ValueError("empty")
        return x[0]
    return x.max()


def added(x, y):
    assert x.shape[0] == y.shape[0], "sizes differ"
    return x + y


def looked_up(x, indices):
    assert bool((indices < x.shape[0]).all()), "index too large"
    return x[indices]


CASES = (
    (brackets, [InputSpec([None], INT)], (torch.tensor([1, 2, 1, 1]),),
     [(torch.tensor([2]), ValueError, "unbalanced"), (torch.tensor([1, 2, 2]), ValueError, "un")]),
    (calculator, [InputSpec([None], INT)], (torch.tensor([1, 2, 10]),),
     [(torch.tensor([1, 10]), AssertionError, "underflow"),
      (torch.tensor([], dtype=torch.int64), AssertionError, "one result")]),
    (first_or_largest, [InputSpec([None])], (torch.ones(2),),
     [(torch.zeros(0), ValueError, "empty")]),
    (added, [InputSpec([None]), InputSpec([None])], (torch.ones(2), torch.ones(2)),
     [((torch.ones(2), torch.ones(3)), AssertionError, "sizes differ")]),
    (looked_up, [InputSpec([None]), InputSpec([None], INT)], (torch.ones(2), torch.tensor([1])),
     [((torch.ones(2), torch.tensor([2])), AssertionError, "too large")]),
)  # fmt: skip


@pytest.mark.parametrize(("function", "spec", "fine", "failing"), CASES)
def test_the_error_is_the_first_one(tmp_path, function, spec, fine, failing):
    stator.save(function, tmp_path / "f", input_spec=spec, onnx=True, search_paths=False)
    run = stator.load(tmp_path / "f", backend="onnxruntime")
    torch.testing.assert_close(run(*fine), function(*fine))
    for given, error, text in failing:
        with pytest.raises(error, match=text):
            run(*(given if isinstance(given, tuple) else (given,)))


class Scored(torch.nn.Module):
    """The assertion is about what the weights give."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2, bias=False)
        torch.nn.init.eye_(self.layer.weight)

    def forward(self, x, y):
        assert self.layer(x).sum() > 0, "must be positive"
        return x + y


def test_the_status_may_need_weights_beside_the_file(tmp_path):
    spec = [InputSpec([None, 2]), InputSpec([None, 2])]
    stator.save(Scored(), tmp_path / "f", input_spec=spec, onnx=True)
    run = stator.load(tmp_path / "f", backend="onnxruntime")
    with pytest.raises(AssertionError, match="must be positive"):
        run(-torch.ones(2, 2), torch.ones(3, 2))
