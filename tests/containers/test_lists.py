"""Lists: Python's while their length is known, the program's after."""

import pytest
import torch

import stator
from stator.errors import UnsupportedCall
from tests.capture.oracle import check, refusal

CALLS = tuple((torch.full((2,), float(k)),) for k in (1, 3, 20))


def grown(x):
    """A list whose length only a run knows: x, 2x, 4x, ... while small."""
    items = [x]
    while x.sum() < 10:
        x = x * 2
        items.append(x)
    return items


def test_append_in_a_loop_gives_a_list():
    check(grown, *CALLS)


@pytest.mark.parametrize(
    "change",
    [
        lambda items, x: items.append(x), lambda items, x: items.insert(0, x),
        lambda items, x: items.insert(len(items), x), lambda items, x: items.insert(-1, x),
        lambda items, x: items.extend([x, x]), lambda items, x: items.extend(grown(x)),
        lambda items, x: items.reverse(), lambda items, x: items.clear(),
        lambda items, x: items.pop(),
        lambda items, x: items.pop(0),
    ],
)  # fmt: skip
def test_a_method_changes_a_captured_list_as_python_does(change):
    def f(x):
        items = grown(x)
        change(items, x + 1)
        return items, len(items)

    check(f, *CALLS)


def test_pop_gives_the_item():
    def f(x):
        items = grown(x)
        last, first = items.pop(), items[0]
        return last, first, len(items), items

    check(lambda x: f(x) if len(grown(x)) > 1 else None, *CALLS)


def test_pop_of_an_empty_captured_list_raises_as_in_eager():
    def f(x):
        items = grown(x)
        while len(items) > 0:
            items.pop()
        return items.pop()

    static = stator.to_static(f)
    with pytest.raises(IndexError, match="pop from empty list"):
        static(torch.ones(2))


def test_items_are_set_and_deleted_by_number():
    def f(x):
        items = grown(x)
        items[0] = x - 1
        items[-1] = x - 2
        del items[0]
        return items

    check(f, *CALLS)


@pytest.mark.parametrize(
    "where", [slice(1, None), slice(None, 1), slice(None, -1), slice(None, None, 2),
              slice(None, None, -1), slice(5, 9)],
)  # fmt: skip
def test_slices_of_a_captured_list_are_lists(where):
    check(lambda x: (grown(x)[where], len(grown(x)[where])), *CALLS)


def test_a_captured_list_is_copied_and_added():
    def f(x):
        items = grown(x)
        other = items.copy()
        other.append(x)
        both = items + other
        return len(items), len(other), len(both)

    check(f, *CALLS)


def test_a_captured_list_can_be_looped_over():
    def f(x):
        total = x * 0
        for k, item in enumerate(grown(x)):
            total = total + item * k
        return total

    check(f, *CALLS)


def test_items_of_several_parts_stay_together():
    def f(x):
        items = []
        while x.sum() < 10:
            x = x * 2
            items.append((x, x.sum().item(), "step"))
        return items

    check(f, *CALLS)


@pytest.mark.parametrize(
    "function",
    [lambda n: list(range(n)), lambda n: [k * k for k in range(n)]],
)
def test_a_list_of_numbers_of_a_captured_range(function):
    check(lambda x: function(int(x)), (torch.tensor(3),), (torch.tensor(0),), (torch.tensor(1),))


def test_a_python_list_is_indexed_by_a_captured_number():
    values = [1.0, 2.0, 3.0]
    check(lambda x: values[int(x)], *((torch.tensor(k),) for k in (0, 2, -1, -3, 3, -4)))


def test_a_python_list_is_written_by_a_captured_number():
    def f(x):
        items = [0.0, 1.0, 2.0]
        items[int(x)] = 9.0
        return items

    check(f, *((torch.tensor(k),) for k in (0, 2, -1, 3)))


def test_a_list_put_into_a_captured_list_is_changed_after():
    def f(x):
        items = []
        while x.sum() < 10:
            row = [x]
            items.append(row)
            row.append(x)
            x = x * 2
        return items

    check(f, *CALLS)


def test_an_item_of_a_captured_list_is_changed():
    def f(x):
        items = []
        while x.sum() < 10:
            items.append([x])
            x = x * 2
        if items:
            items[0].append(x)
        return items

    check(f, *CALLS)


def test_a_dict_cannot_be_put_into_a_captured_list():
    def f(x):
        items = []
        while x.sum() < 10:
            items.append(dict(a=x))  # noqa: C408
            x = x * 2
        return items

    try:
        check(f, *CALLS)
    except UnsupportedCall as error:
        assert error.problem.endswith("is put into a list of data-dependent length")


def test_a_slice_with_a_step_of_a_captured_list_cannot_be_assigned():
    def f(x):
        items = grown(x)
        items[::2] = [x]
        return items

    error = refusal(UnsupportedCall, f, torch.ones(2))
    assert error.problem == ("a slice with a step of a list of data-dependent length is assigned")
    assert error.fix == "assign the items in a loop"


def test_a_slice_of_a_captured_list_cannot_be_deleted_backwards():
    def f(x):
        items = grown(x)
        del items[::-2]
        return items

    error = refusal(UnsupportedCall, f, torch.ones(2))
    assert error.problem == "a slice with a captured or negative step is deleted"
    assert error.fix == "delete it forwards, or build a new list"


def test_a_list_that_a_captured_list_holds_is_changed_in_the_same_branch():
    def f(x):
        row = [1]
        rows = [row]
        if x.sum() > 0:
            row.append(2)
            rows.append([3])
        return rows

    check(f, *CALLS)


def test_a_list_searched_for_nan_is_refused_by_the_run():
    def f(x):
        values = x.tolist()
        return values.index(values[1])

    static = stator.to_static(f)
    assert static(torch.tensor([1.0, 2.0])) == 1
    with pytest.raises(stator.errors.SizeCheckFailed, match="a list is searched for nan"):
        static(torch.tensor([float("nan"), float("nan")]))


@pytest.mark.parametrize("put", [True, False])
def test_an_item_is_changed_after_a_branch_or_a_loop(put):
    def f(x):
        rows, row = [[1]], [0]
        for k in range(int(x.sum())):
            rows.append([k])
        if put and x[0] > 0:
            row = [7]
            rows.append(row)
        if not put:
            row = rows[0] if x[0] > 0 else rows[1]
        row.append(5)
        return rows, row

    check(f, (torch.ones(2),), (torch.tensor([-1.0, 3.0]),), (torch.tensor([3.0, -1.0]),))
