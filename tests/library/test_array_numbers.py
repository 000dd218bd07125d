"""Numbers taken out of numpy arrays: copies, of what the array holds when they are taken."""

import numpy
import pytest
import torch

import stator


def swapped(x):
    array = x.numpy().copy()
    array[0], array[1] = array[1], array[0]
    return torch.from_numpy(array)


def sorted_by_bubbles(x):
    array = x.numpy().copy()
    for _ in range(len(array)):
        for k in range(len(array) - 1):
            if array[k] > array[k + 1]:
                held = array[k]
                array[k] = array[k + 1]
                array[k + 1] = held
    return torch.from_numpy(array)


def kept_before_a_write(x):
    known = numpy.arange(4)
    if x.sum() > 0:
        known[1] = 9
    kept = known[1]
    known[1] = 4
    return int(kept), int(known[1])


def a_view_and_a_copy(x):
    array = x.numpy().copy()
    view, copy = array[..., 0], array[0]
    array[0] = 9
    return float(view), float(copy)


def unpacked(x):
    array = x.numpy().copy()
    first, second, *rest = array
    whole, (front, *_) = list(array), tuple(array)
    array[:] = 0
    return [float(one) for one in (first, second, *rest, *whole, front)]


def looped_over(x):
    array, taken = x.numpy().copy(), []
    for one in array:
        taken.append(one)
        array[0] += 5
    return [float(one) for one in taken]


def written_while_looped_over(x):
    known, total = numpy.array([1, 2, 3, 4]), 0
    for one in known:
        total = total * 10 + int(one)
        known[3] = 7
    return x + total


def written_while_counted(x):
    known, taken = numpy.array([1, 2, 3, 4]), []
    for one, k in zip(known, range(4), strict=True):
        taken.append(int(one))
        known[k:] += 1
    for k, one in enumerate(known):
        taken.append(int(one) + k)
        known[3] = 7
    for one in reversed(known):
        taken.append(int(one))
        known[0] += 1
    return x, taken


def written_between_two_items(x):
    known = numpy.array([1, 2, 3])
    items = iter(known)
    first = next(items)
    torch.from_numpy(known).add_(5)
    return x, int(first), [int(one) for one in items]


def items_by_their_places(x):
    array = x.numpy().copy()
    square = array.reshape(2, 2)
    return array.item(1), square.item(1, 0), square.item((1, 1)), square.item(2)


def rows_stay_known(x):
    corners = numpy.array([[0, 0], [1, 2]])
    windows = [tuple(slice(at, at + 2) for _, at in enumerate(row)) for row in corners]
    return x[windows[1][0]], [type(window.start).__name__ for row in windows for window in row]


def the_best_so_far(x):
    table = numpy.zeros(4)
    best = table[0]
    for k in range(4):
        if x[k] > best:
            best = x[k].item()
            table[k] = best
    return torch.from_numpy(table)


@pytest.mark.parametrize(
    "function",
    [
        swapped,
        sorted_by_bubbles,
        kept_before_a_write,
        a_view_and_a_copy,
        unpacked,
        looped_over,
        written_while_looped_over,
        written_while_counted,
        written_between_two_items,
        items_by_their_places,
        rows_stay_known,
        the_best_so_far,
    ],
)
def test_numbers_of_an_array_are_those_of_numpy(function):
    static = stator.to_static(function)
    for values in ([3.0, 1.0, 4.0, 2.0], [-1.0, 2.0, -3.0, 0.5]):
        x = torch.tensor(values)
        assert str(static(x.clone())) == str(function(x.clone()))
