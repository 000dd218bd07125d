"""Arrays of the caller's that code knows by name: read as they are now, and written in each run."""

import numpy
import pytest
import torch

import stator
from stator.errors import UnsupportedCall
from stator.state import callers_arrays

READS = {
    "a method": lambda a: a.mean(),
    "an item": lambda a: a[1],
    "an operator": lambda a: (a * 2)[0] - (-a)[1],
    "a loop": lambda a: sum(one for one in a),
    "a comparison": lambda a: 2.0 if (a > 2).any() else 1.0,
    "a search": lambda a: 2.0 if 5.0 in a else 1.0,
    "an unpacking": lambda a: [*a][0],
    "a function of numpy": lambda a: numpy.sum(a),
    "an attribute": lambda a: a.T[0] + a.shape[0],
    "a list": lambda a: a.tolist()[0],
    "a copy": lambda a: a.copy()[1],
}


@pytest.mark.parametrize("compared", [True, False], ids=["compared", "live"])
@pytest.mark.parametrize("name", READS)
def test_each_call_sees_what_the_array_holds_now(name, compared, monkeypatch):
    if not compared:
        monkeypatch.setattr(callers_arrays, "MOST_COMPARED", 0)
    check_reads(numpy.ones(3), READS[name])


def test_a_large_array_is_live():
    assert numpy.ones(5000).nbytes > callers_arrays.MOST_COMPARED
    check_reads(numpy.ones(5000), READS["a method"])


def check_reads(array, read):
    """A function that reads the array, before and after changes, next to eager code."""

    def scaled(x):
        return x * float(read(array))

    static, x = stator.to_static(scaled), torch.ones(2)
    for value in (1.0, 5.0, 7.0, 1.0):
        array[:] = value
        assert torch.equal(static(x), scaled(x))


def set_item(array, x):
    array[1] = x.sum().item()


def add_by_data(array, x):
    array[int(x[0])] += x.sum().item()


def add_to_all(array, x):
    if x.sum() > 0:
        array[0] = 9.0
    array += 1


def fill(array, x):
    array.fill(x[0].item())


def write_out(array, x):
    numpy.add(array, 1, out=array)
    array[:2] = x.numpy()


@pytest.mark.parametrize("write", [set_item, add_by_data, add_to_all, fill, write_out])
def test_each_run_writes_to_the_array(write):
    def outcome(function):
        array = numpy.zeros(4)

        def step(x):
            write(array, x)
            return x * float(array.mean())

        called = function(step)
        results = [called(torch.tensor([k, 2.0])).tolist() for k in (1.0, 0.0, 3.0, 1.0)]
        return results, array.tolist()

    assert outcome(stator.to_static) == outcome(lambda function: function)


def test_what_library_code_would_write_is_refused_and_not_written():
    array = numpy.zeros(3)

    def counted(x):
        numpy.add.at(array, [0, 1], 1)
        return x

    with pytest.raises(UnsupportedCall) as caught:
        stator.to_static(counted)(torch.ones(2))
    assert caught.value.problem == (
        "library code, `at`, writes to an ndarray from outside, which would happen only during "
        "the capture"
    )
    assert caught.value.fix == "write to its items: `a[k] = ...`"
    assert not array.any()


def test_an_array_of_objects_cannot_be_written_to():
    array = numpy.array([None, None])

    def kept(x):
        array[0] = "a"
        return x

    with pytest.raises(UnsupportedCall, match="an ndarray from outside is written to"):
        stator.to_static(kept)(torch.ones(2))


def masked():
    return numpy.ma.array(numpy.ones(3))


def swapped():
    return numpy.ones(3, dtype=">f8")


@pytest.mark.parametrize(
    "make",
    [masked, swapped, lambda: numpy.ones(3).view(numpy.recarray), lambda: numpy.ones(3)[::-1]],
)
def test_an_array_that_no_tensor_can_be_is_read_at_each_call_too(make):
    array = make()

    def scaled(x):
        return x * float(array.mean())

    static = stator.to_static(scaled)
    for value in (1.0, 5.0):
        array[:] = value
        assert static(torch.ones(1)).item() == value


@pytest.mark.parametrize("make", [masked, lambda: numpy.ones(3).view(numpy.recarray)])
def test_a_write_to_an_array_of_another_class_is_refused(make):
    array = make()

    def added(x):
        nonlocal array
        array += 1
        return x

    with pytest.raises(UnsupportedCall, match="an ndarray from outside is written to"):
        stator.to_static(added)(torch.ones(1))


def write_a_view(array, x):
    part = array[:2]
    part[0] += x.item()


def write_a_tensor(array, x):
    tensor = torch.from_numpy(array)
    tensor += x


@pytest.mark.parametrize("write", [write_a_view, write_a_tensor])
def test_what_is_written_by_another_name_is_read(write):
    def outcome(function):
        array = numpy.ones(3)

        def step(x):
            before = float(array.mean())
            for _ in range(int(x)):
                write(array, x)
                x = x + float(array[0])
            return x, before, float(array.sum())

        called = function(step)
        return [called(torch.tensor(k)) for k in (1.0, 2.0)], array.tolist()

    assert outcome(stator.to_static) == outcome(lambda function: function)


def test_an_array_over_the_memory_of_a_tensor_is_read_after_the_tensor_is_written():
    tensor = torch.ones(3)
    array = tensor.numpy()

    def step(x):
        tensor.add_(1)
        return x * float(array[0])

    static = stator.to_static(step)
    assert [static(torch.ones(1)).item() for _ in range(3)] == [2.0, 3.0, 4.0]
