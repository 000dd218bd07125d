"""truth(): Python's bool where the value is known, a symbolic one where a run decides."""

import pytest
import torch

from tests.capture.oracle import check

ONE, NONE = torch.ones(1), torch.zeros(1)


@pytest.mark.parametrize(
    "test",
    [
        lambda x: x, lambda x: x.sum(), lambda x: x.sum() > 0, lambda x: x.bool(),
        lambda x: x.item(), lambda x: int(x), lambda x: x.item() > 0, lambda x: x.sum().item() - 1,
        lambda x: None if x.sum() > 0 else x, lambda x: bool(x), lambda x: not x,
        lambda x: [x] if x.sum() > 0 else [], lambda x: x.detach().numpy() > 0,
    ],
)  # fmt: skip
def test_a_captured_value_is_true_when_python_says_so(test):
    check(lambda x: 1 if test(x) else 2, (ONE,), (NONE,))


@pytest.mark.parametrize("value", [0, 0.0, "", (), [], {}, None, False, 1, "a", (0,), object()])
def test_a_python_value_is_decided_while_capturing(value):
    static = check(lambda x: x + 1 if value else x - 1, (ONE,))
    assert all(op.name != "stator::if" for op in static.program.body.ops)


def test_a_tensor_of_several_elements_has_no_truth():
    check(lambda x: 1 if x else 2, (torch.ones(2),), (torch.ones(0),))


def test_an_item_of_several_elements_raises_as_in_eager():
    check(lambda x: x.item(), (torch.ones(2),), (torch.ones(0),))


def test_a_list_of_the_program_is_true_when_it_has_items():
    def f(x):
        found = []
        for row in range(int(x)):
            found.append(x + row)
        return 1 if found else 2

    check(f, (torch.tensor(0),), (torch.tensor(2),))


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.uint8])
def test_an_integer_tensor_is_an_index(dtype):
    check(
        lambda x: [10, 20, 30][x], (torch.tensor(1, dtype=dtype),), (torch.tensor(0, dtype=dtype),)
    )


def test_a_float_tensor_is_no_index():
    check(lambda x: list(range(x)), (torch.tensor(1.0),))


class Full:
    """Its truth is that of a captured value."""

    def __init__(self, x):
        self.x = x

    def __bool__(self):
        return bool(self.x.sum() > 0)


def test_a_users_bool_method_decides_an_if():
    check(lambda x: 1 if Full(x) else 2, (ONE,), (NONE,))


@pytest.mark.parametrize(
    "function",
    [lambda x: not Full(x), lambda x: 1 if Full(x) and True else 2, lambda x: bool(Full(x)),
     lambda x: 1 if Full(x) or False else 2],
)  # fmt: skip
def test_a_users_bool_method_decides_everywhere(function):
    check(function, (ONE,), (NONE,))
