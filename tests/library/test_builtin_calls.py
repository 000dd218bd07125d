"""Python's builtins on captured values."""

import operator

import pytest
import torch

import stator
from stator import InputSpec
from tests.capture.oracle import check
from tests.zoo.comparison import compare

X = torch.tensor([3.0, -1.0, 2.0])
CALLS = ((X,), (-X,), (X * 0,))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: int(x[0]), lambda x: float(x[0]), lambda x: bool(x[0]), lambda x: len(x),
        lambda x: abs(x.sum().item()), lambda x: max(x[0].item(), 1.0), lambda x: min(x.tolist()),
        lambda x: max(x), lambda x: sum(x), lambda x: sum(x.tolist(), 5), lambda x: any(x > 2),
        lambda x: all(x > -5), lambda x: round(x[0].item(), 1), lambda x: divmod(int(x[0]), 2),
        lambda x: list(x), lambda x: tuple(x), lambda x: list(map(abs, x)),
        lambda x: [a + b for a, b in zip(x, -x)], lambda x: list(enumerate(x, 1)),
        lambda x: list(reversed(x)), lambda x: [v for v in x.tolist() if v > 0],
        lambda x: list(filter(lambda v: v > 0, x.tolist())), lambda x: isinstance(x, torch.Tensor),
        lambda x: isinstance(x[0].item(), float), lambda x: isinstance(int(x[0]), (int, str)),
        lambda x: type(x[0].item()) is float, lambda x: type(int(x[0])).__name__,
        lambda x: callable(x),
        lambda x: hasattr(x, "shape"), lambda x: getattr(x, "nothing", 3), lambda x: dict(a=x),  # noqa: C408
        lambda x: max(x.tolist(), key=lambda v: -v), lambda x: max([], default=x.sum()),
        lambda x: sorted([3, 1], key=lambda k: -k), lambda x: isinstance(bool(x[0] > 0), int),
    ],
)  # fmt: skip
def test_a_builtin_gives_what_python_gives(function):
    check(function, *CALLS)


@pytest.mark.parametrize("classes", [int | float, (str, (int, float))])
def test_isinstance_takes_unions_and_nested_tuples(classes):
    check(lambda x: isinstance(x[0].item(), classes), *CALLS)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: len(x), lambda x: sum(x), lambda x: list(x),
        lambda x: [v * k for k, v in enumerate(x)],
        lambda x: sum(range(len(x))), lambda x: x.tolist(),
        lambda x: [v + 1 for v in reversed(x)], lambda x: len(range(1, len(x), 2)),
    ],
)  # fmt: skip
def test_a_builtin_over_an_unknown_number_of_items(function):
    calls = tuple((torch.arange(float(k)),) for k in (3, 1, 5))
    check(function, *calls, spec=[InputSpec([None])])


def test_a_negative_float_has_powers():
    check(lambda x: (pow(x[0].item(), 2), x[0].item() ** 3.0, int(x[0]) ** -2), *CALLS)


def test_a_root_is_a_whole_number_where_it_is_real():
    def root(x):
        number = int(x[0])
        try:
            return int(number**0.5), pow(number, -1, 7)
        except TypeError as error:
            return str(error)

    check(root, *((torch.tensor([value]),) for value in (2.0, -2.0, 9.0)))


def test_a_range_beside_rows_of_unknown_number_is_zipped():
    calls = tuple((torch.arange(float(k)),) for k in (3, 1, 5))
    check(lambda x: list(zip(x, range(100), strict=False)), *calls, spec=[InputSpec([None])])


def test_max_of_nothing_raises_value_error():
    check(lambda x: max(v for v in x.tolist() if v > 5), *CALLS)


def test_functions_of_operator_do_what_the_operators_do():
    def f(x):
        items, table = [], {}
        for value in x:
            if value > 0:
                items.append(value)
                operator.setitem(table, "last", value)
        number = 1 if x.sum() > 0 else 2.5
        joined = operator.add(items, [x[0]])
        return joined, operator.mul(number, x), operator.lt(number, 2), operator.getitem(joined, 0)

    static = stator.to_static(f)
    for x in (torch.tensor([1.0, -2.0, 3.0]), torch.tensor([-1.0, -2.0, 1.0])):
        assert compare(f(x), static(x)) is None
