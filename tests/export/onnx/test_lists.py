"""Lists in ONNX: tensors where the items have one shape, else sequences."""

import onnx
import pytest
import torch

import stator
from stator import InputSpec

X = torch.tensor([1.0, 2.0])
COUNTS = [torch.tensor(n) for n in (3, 0, 1, 5)]


def outcome(function, *args):
    """What a call gives; the type of the error if it raises."""
    try:
        return function(*(arg.clone() for arg in args))
    except (IndexError, RuntimeError, ValueError) as error:
        return type(error)


def check(function, tmp_path, spec, calls):
    """Eager and ONNX Runtime agree, errors included; the types of the values in the model."""
    stator.save(function, tmp_path / "f", input_spec=spec, onnx=True)
    loaded = stator.load(tmp_path / "f", backend="onnxruntime")
    for call in calls:
        wanted, found = outcome(function, *call), outcome(loaded, *call)
        assert str(found) == str(wanted)
    return "Sequence" in str(onnx.load(tmp_path / "f.onnx").graph)


def changed(x, n):
    items = []
    for k in range(n):
        items.append(x * k)
    items.insert(-1, x - 1)
    items.insert(9, x - 2)
    items[0] = x + 7
    items[-1] = x + 8
    del items[-2]
    last = items.pop()
    return items, items[::-1], items[-9::-1], items[1:-1], last, len(items)


@pytest.mark.parametrize("sizes", [[2], [None]])
def test_a_list_of_tensors_of_one_shape_is_a_tensor(tmp_path, sizes):
    spec = [InputSpec(sizes), InputSpec([], "int64")]
    calls = [(X, n) for n in COUNTS]
    if sizes == [None]:
        calls += [(X[:1], torch.tensor(2)), (X[:0], torch.tensor(2))]
    assert not check(changed, tmp_path, spec, calls)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("join", [torch.stack, torch.cat])
def test_a_list_that_is_joined(tmp_path, join, dim):
    def joined(x, n):
        items = []
        for k in range(n):
            items.append(x + k)
        return join(items, dim)

    spec = [InputSpec([None, 2]), InputSpec([], "int64")]
    rows = torch.arange(6.0).reshape(3, 2)
    calls = [(x, n) for x in (rows, rows[:1], rows[:0]) for n in COUNTS]
    assert not check(joined, tmp_path, spec, calls)


def test_an_index_that_is_out_of_range(tmp_path):
    def taken(x, n):
        items = [x, x + 1]
        for k in range(n):
            items.append(x * k)
        return items[n - 1 if n > 2 else n + 2]

    spec = [X, InputSpec([], "int64")]
    assert not check(taken, tmp_path, spec, [(X, torch.tensor(n)) for n in (0, 1, 2, 3, -9)])


def test_tensors_of_several_shapes_are_a_sequence(tmp_path):
    def parts(x, n):
        items = []
        for k in range(n):
            items.append(x[: k + 1])
        return items, items[-3::-1], torch.cat([x, *items])

    spec = [InputSpec([None]), InputSpec([], "int64")]
    x = torch.arange(4.0)
    assert check(parts, tmp_path, spec, [(x, n) for n in COUNTS])


def test_a_list_of_lists_is_a_sequence_of_tensors(tmp_path):
    def table(x, n):
        rows = [[0] * 3 for _ in range(n)]
        for k in range(n):
            rows[k][k % 3] = k + 1
            rows[k].append(k)
        found = x.tolist()
        return rows, found, len(found), [len(row) for row in rows]

    spec = [InputSpec([None, 2]), InputSpec([], "int64")]
    rows = torch.arange(6.0).reshape(3, 2)
    calls = [(x, n) for x in (rows, rows[:1], rows[:0]) for n in COUNTS]
    assert check(table, tmp_path, spec, calls)


def test_lists_that_are_arguments(tmp_path):
    def total(items):
        found = items[0] * 0
        for item in items:
            found = found + item
        return found, items[-1]

    spec = [[InputSpec([2]), InputSpec([2])]]
    stator.save(total, tmp_path / "f", input_spec=spec, onnx=True)
    loaded = stator.load(tmp_path / "f", backend="onnxruntime")
    torch.testing.assert_close(loaded([X, X * 3]), total([X, X * 3]))


def test_numbers_of_a_list_in_order(tmp_path):
    def ordered(x, n):
        items = []
        for k in range(n):
            items.append((x[k % 2] * (k - 2)).item())
        flags = [item > 0 for item in items]
        return sorted(items), sorted(items, reverse=True), flags, torch.tensor(items), any(flags)

    spec = [X, InputSpec([], "int64")]
    assert not check(ordered, tmp_path, spec, [(X, n) for n in COUNTS])
