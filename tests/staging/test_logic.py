"""and, or, not, comparisons: Python's values, and only as much as Python evaluates."""

import pytest
import torch

from tests.capture.oracle import check

ONE, NONE = torch.ones(1), -torch.ones(1)


class Counter:
    def __init__(self):
        self.calls = []

    def __call__(self, name, value):
        self.calls.append(name)
        return value


def test_and_stops_at_the_first_false_value():
    def f(x):
        seen = []

        def test(name, value):
            seen.append(name)
            return value

        result = test("a", x.sum() > 0) and test("b", x.sum() > 2) and test("c", x.sum() > 3)
        return bool(result), len(seen)

    check(f, (ONE,), (NONE,), (ONE * 5,), (ONE * 3,))


def test_or_stops_at_the_first_true_value():
    def f(x):
        count = [0]

        def test(value):
            count[0] += 1
            return value

        result = test(x.sum() > 0) or test(x.sum() > -3) or test(x.sum() > -5)
        return bool(result), count[0]

    check(f, (ONE,), (NONE,), (NONE * 4,), (NONE * 9,))


def test_and_gives_the_value_itself():
    check(lambda x: (x.sum() > 0) and x * 2, (ONE,), (NONE,))
    check(lambda x: x.sum().item() and 5, (ONE,), (torch.zeros(1),))


def test_or_gives_the_value_itself():
    check(lambda x: x.sum().item() or 5, (ONE,), (torch.zeros(1),))
    check(lambda x: None or (x if x.sum() > 0 else None) or x - 1, (ONE,), (NONE,))


def test_not_of_a_captured_value_is_a_bool():
    check(lambda x: (not x.sum() > 0, not (not x)), (ONE,), (torch.zeros(1),))


def test_a_chain_evaluates_each_operand_once_and_no_further_than_needed():
    def f(x):
        seen = [0]

        def value(v):
            seen[0] += 1
            return v

        return bool(0 < value(x.sum()) < value(x.sum() * 2) < value(4.0)), seen[0]

    check(f, (ONE,), (NONE,), (ONE * 3,))


@pytest.mark.parametrize(
    "test",
    [
        lambda n: n == 3, lambda n: n != 3, lambda n: n in (1, 3), lambda n: n not in [1, 3],
        lambda n: n in {1: 0, 3: 0}, lambda n: n in range(5), lambda n: n is None,
        lambda n: n is not None, lambda n: n == None, lambda n: n == "a", lambda n: n != "a",  # noqa: E711
        lambda n: (n, 1) == (3, 1), lambda n: [n] == [3], lambda n: (n,) == [3],
        lambda n: (n, 1) != (3, 2), lambda n: (n,) == (3, 4), lambda n: 1 < n <= 3 != 5,
        lambda n: (n > 2) == True, lambda n: n in set(), lambda n: n in (),  # noqa: E712
    ],
)  # fmt: skip
def test_a_captured_number_compares_as_a_python_number(test):
    check(lambda x: test(int(x)), (torch.tensor(3),), (torch.tensor(-1),))


def test_a_captured_bool_equals_the_number_it_is():
    check(lambda x: (int(x) > 2) == 1, (torch.tensor(3),), (torch.tensor(0),))


@pytest.mark.parametrize(
    "test",
    [lambda s: s == "3", lambda s: s != "3", lambda s: s in ("3", "4"), lambda s: "3" == s],  # noqa: SIM300
)
def test_a_captured_string_compares_by_its_text(test):
    check(lambda x: test(str(int(x))), (torch.tensor(3),), (torch.tensor(0),))


def test_is_none_is_decided_by_the_run():
    def f(x):
        y = None
        if x.sum() > 0:
            y = x
        return y is None, y is not None, None is y

    check(f, (ONE,), (NONE,))


def test_a_tensor_is_itself_after_a_branch_that_left_it():
    def f(x):
        y = x
        if x.sum() > 0:
            z = 1
        else:
            z = 2
        return y is x, z

    check(f, (ONE,), (NONE,))


def test_in_a_tensor_asks_its_elements():
    check(lambda x: (2.0 in x, x.sum() in x), (torch.tensor([1.0, 2.0]),), (torch.tensor([0.0]),))


def test_a_users_comparison_is_converted():
    class Box:
        def __init__(self, x):
            self.x = x

        def __eq__(self, other):
            return 1 if self.x.sum() > 0 else 0

        def __lt__(self, other):
            return "yes" if self.x.sum() > 0 else "no"

        def __contains__(self, item):
            return bool(self.x.sum() > item)

        __hash__ = None

    check(lambda x: (Box(x) == 3, Box(x) < 3, 0 in Box(x)), (ONE,), (NONE,))
