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
    assert error.problem == "aten::fill_diagonal_ has no out-of-place form"
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
        "aten::add_.Tensor writes through aten::narrow at a data-dependent place"
    )
    assert line_of(error) == "y.narrow(0, -1, 1).add_(1)"


def first_of_several(x, n):
    first, count, y = None, 0, x * 2
    while count < n:
        if first is None:
            first = y
        y.add_(1)
        count += 1
    return first


def listed(x, n):
    items = [x * 1]
    while len(items) <= n:
        items.append(x * 2)
    return items


def last_written(x, n):
    items = listed(x, n)
    items[-1].add_(1)
    return items[0]


def all_written(x, n):
    items = listed(x, n)
    for item in items:
        item.add_(1)
    return items


def held_and_written(x, n):
    y = x * 1
    items = [y]
    while len(items) <= n:
        items.append(x * 2)
    y.add_(1)
    return items[0]


def kept_and_written(x, n):
    y, items, count = x * 1, [x * 3], 0
    while count < n:
        y.add_(1)
        y = y * 2
        items.append(y)
        count += 1
    return items


@pytest.mark.parametrize(
    "function", [last_written, all_written, held_and_written, kept_and_written]
)
def test_a_write_to_what_a_list_holds(function):
    error = refused(function, X, torch.tensor(2))
    assert error.problem == "aten::add_.Tensor writes to a tensor that may be absent, or in a list"
    assert line_of(error).endswith(".add_(1)")


def test_a_write_to_what_may_be_absent():
    def maybe(x):
        y, z = x * 2, None
        if x.sum() > 0:
            z = y
        if z is not None:
            z.add_(1)
        return y

    error = refused(maybe, X)
    assert error.problem == "aten::add_.Tensor writes to a tensor that may be absent, or in a list"


def chosen_in_a_branch(x):
    if x.sum() > 0:
        one, two = x * 2, x * 3
        either = one if x[0, 0] > 0 else two
    else:
        one, either = x * 4, x * 5
    either.add_(1)
    return one


def outer_or_inner(x):
    one = x * 7
    if x.sum() > 0:
        either = one if x[0, 0] > 0 else x * 3
    else:
        either = x * 5
    either.add_(1)
    return one


def one_of_the_inputs(x, y):
    either = x if x.sum() > 0 else y
    either.add_(1)
    return either * 2


@pytest.mark.parametrize(
    ("function", "tensors"),
    [
        (chosen_in_a_branch, (X,)),
        (outer_or_inner, (X,)),
        (one_of_the_inputs, (X, X + 1)),
        (first_of_several, (X, torch.tensor(2))),
    ],
)
def test_a_write_to_what_may_be_another_tensor_by_several_steps(function, tensors):
    problem = refused(function, *tensors).problem
    assert "is used after memory that it may share was written" in problem


def test_instance_norm_with_statistics_of_another_dtype_is_refused():
    mean, variance = torch.zeros(2).double(), torch.ones(2).double()

    def normalized(x):
        return torch.nn.functional.instance_norm(x, mean, variance, use_input_stats=True)

    with pytest.raises(ExportError) as caught:
        functionalize(capture(normalized, torch.ones(2, 2, 3)).program)
    assert caught.value.problem == "aten::instance_norm with statistics of another dtype"
