"""and, or, not, comparisons: Python's values, and only as much as Python evaluates."""

import pytest
import torch

import stator
from stator.program.ir import ops_in
from stator.program.types import OptionalType
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


# ---- test positions: one `if`, and a plain truth value


def settle(x, limit):
    seen = []
    while x.sum() < 100:
        x = x * 2
        seen.append(x)
        if x.max() > limit:
            break
    return x, seen


SETTLE = """\
program settle(%x: f32[3], %limit: f32[]) {
  %1: f32[] = aten::sum(%x)
  %2: b8[] = aten::lt.Scalar(%1, 100)
  %3: bool = aten::is_nonzero(%2)
  %4: list<f32[3]> = stator::list_make()
  %20: f32[3], %21: list<f32[3]> = stator::while(%3, %x, %4) (%6: f32[3], %7: list<f32[3]>) {
    %8: f32[3] = aten::mul.Tensor(%6, 2)
    %9: list<f32[3]> = stator::list_append(%7, %8)
    %10: f32[] = aten::max(%8)
    %11: b8[] = aten::gt.Tensor(%10, %limit)
    %12: bool = aten::is_nonzero(%11)
    %18: bool = stator::if(%12) {
      yield False
    } {
      %15: f32[] = aten::sum(%8)
      %16: b8[] = aten::lt.Scalar(%15, 100)
      %17: bool = aten::is_nonzero(%16)
      yield %17
    }
    yield %18, %8, %9
  }
  return %20, %21
}"""


def printed(function, *args):
    """The program of `function` for these arguments, without the places of its ops."""
    static = stator.to_static(function)
    static(*args)
    return "\n".join(line.partition("  #")[0] for line in str(static.program).splitlines())


def test_a_break_costs_one_if(keep_text):
    text = printed(settle, torch.ones(3), torch.tensor(7.0))
    keep_text(text)
    assert text == SETTLE


def ifs_and_types(function, *args):
    """How many `if`s the program has, and the types of everything in it."""
    static = stator.to_static(function)
    static(*args)
    ops = list(ops_in(static.program.body))
    types = {value.type for op in ops for value in op.results}
    return sum(op.name == "stator::if" for op in ops), types


def conjunction(x, y):
    if x.sum() > 0 and y.sum() > 0:
        x = x + 1
    return x


def either_of_three(x, y):
    return x + 1 if x.sum() > 0 or y.sum() > 0 or x.max() > y else x


def negated(x, y):
    while not (x.sum() > 0 and y.sum() > 0):
        x = x + 1
    return x


def chained(x, y):
    assert 0 < x.sum() < 100 * y
    return x


def by_choice(x, y):
    if x.sum() > 0 if y.sum() > 0 else x.max() > 0:
        x = x + 1
    return x


@pytest.mark.parametrize(
    ("function", "ifs"),
    [(conjunction, 2), (either_of_three, 3), (negated, 2), (chained, 2), (by_choice, 2)],
)
def test_logic_in_a_test_makes_one_if_for_each_operand_that_may_be_skipped(function, ifs):
    count, types = ifs_and_types(function, torch.ones(3), torch.tensor(2.0))
    assert count == ifs
    assert not any(isinstance(one, OptionalType) for one in types)


def skipping(x):
    total = x.sum() * 0
    for row in x:
        if row < 0:
            continue
        if row > 8 and total > 3:
            break
        total = total + row
    return total


def test_the_flags_of_jumps_are_plain_truth_values():
    _, types = ifs_and_types(skipping, torch.ones(3))
    assert not any(isinstance(one, OptionalType) for one in types)


def first_large(x):
    for row in x:
        if row > 8:
            return row
    return x.sum()


def test_a_return_value_is_not_checked_for_being_undefined():
    static = stator.to_static(first_large)
    static(torch.ones(3))
    static(torch.ones(4))
    assert "stator::raise" not in str(static.program)
