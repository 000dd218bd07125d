"""What functionalize refuses: the words, and the line that they name."""

import linecache

import pytest
import torch

from stator.errors import ExportError
from stator.optimize.functionalize import functionalize
from tests.optimize.captured import capture

X = torch.arange(12.0).reshape(3, 4) - 5


def refused(function, *tensors):
    """The error that functionalize raises."""
    with pytest.raises(ExportError) as caught:
        functionalize(capture(function, *tensors).program)
    return caught.value


def line_of(error):
    """The code at the place that the error names."""
    assert error.at.file == __file__
    return linecache.getline(__file__, error.at.line).strip()


def test_an_op_that_torch_has_only_in_place():
    def diagonal(x):
        y = x.clone()
        y.fill_diagonal_(1.0)
        return y

    error = refused(diagonal, X)
    assert error.problem == "aten::fill_diagonal_ has no form that writes nothing"
    assert line_of(error) == "y.fill_diagonal_(1.0)"


def counted(x, n):
    if n > 0:
        x.add_(1)
        counted(x, n - 1)
    return x


def test_a_function_that_writes():
    error = refused(counted, X, torch.tensor(3))
    assert error.problem == "the function counted_0 writes to tensors in place"


def test_an_op_that_writes_to_another_argument():
    def largest(x):
        values, places = torch.empty(3), torch.empty(3, dtype=torch.int64)
        torch.max(x, 1, out=(values, places))
        return values

    error = refused(largest, X)
    assert error.problem == "aten::max.dim_max writes to more than its first argument"
    assert line_of(error) == "torch.max(x, 1, out=(values, places))"


def test_a_write_inside_try():
    def divided(x, n):
        y = x.clone()
        try:
            y.add_(1)
            k = 6 // n.item()
        except ZeroDivisionError:
            k = 0
        return y * k

    error = refused(divided, X, torch.tensor(2))
    assert error.problem == "stator::try has a block that writes to tensors in place"


def test_a_tensor_that_may_be_another():
    def chosen(x):
        one, two = x * 2, x * 3
        either = one if x.sum() > 0 else two
        either.add_(1)
        return one + two

    error = refused(chosen, X)
    written = f"{__file__}:{chosen.__code__.co_firstlineno + 3}, in chosen"
    assert error.problem.splitlines()[0] == (
        f"%1 is used after memory that it may share was written at {written}"
    )
    assert line_of(error) == "return one + two"


def test_a_write_to_what_may_be_a_copy():
    def flat(x):
        y = x * 2
        y.reshape(12).add_(1)
        return y

    error = refused(flat, X)
    assert error.problem == "aten::add_.Tensor writes to memory that other tensors may share"
    assert line_of(error) == "y.reshape(12).add_(1)"


def test_a_write_from_the_end_of_a_size_that_a_run_has():
    def last(x):
        y = x * 2
        y.narrow(0, -1, 1).add_(1)
        return y

    error = refused(last, X)
    assert error.problem == (
        "aten::add_.Tensor writes through aten::narrow at a place that only a run knows"
    )
    assert line_of(error) == "y.narrow(0, -1, 1).add_(1)"
