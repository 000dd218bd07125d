"""numpy in converted code: captured arrays, and the same memory."""

import numpy
import pytest
import torch

import stator
from stator.errors import UnsupportedCall
from tests.capture.oracle import check, refusal

CALLS = ((torch.tensor([1.0, 2.0]),), (torch.tensor([-3.0, 1.0]),))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: numpy.sum(a), lambda a: numpy.exp(a), lambda a: a.sum(), lambda a: a + 1,
        lambda a: numpy.maximum(a, 0), lambda a: numpy.where(a > 0, a, -a),
        lambda a: a.astype(numpy.int64), lambda a: numpy.stack([a, a]), lambda a: a.reshape(2, 1),
        lambda a: numpy.concatenate([a, numpy.zeros(2, dtype=numpy.float32)]),
        lambda a: a.mean(axis=0), lambda a: a > 0, lambda a: a.T, lambda a: numpy.clip(a, 0, 1),
    ],
)  # fmt: skip
def test_a_function_of_an_array_gives_what_numpy_gives(function):
    check(lambda x: torch.as_tensor(function(x.numpy())), *CALLS)


def test_an_array_shares_memory_with_its_tensor():
    def f(x):
        x = x.clone()
        a = x.numpy()
        a[0] = 9
        return x

    check(f, *CALLS)


def test_a_tensor_of_an_array_shares_its_memory():
    def f(x):
        a = x.clone().numpy()
        torch.from_numpy(a).add_(1)
        return torch.as_tensor(a)

    check(f, *CALLS)


def test_a_condition_on_an_array_is_recorded():
    check(lambda x: x + 1 if x.numpy().sum() > 0 else x, *CALLS)


def test_item_and_tolist_of_an_array_are_numbers():
    check(lambda x: (x.numpy().tolist(), x.numpy()[0].item()), *CALLS)


def test_an_array_is_looped_over():
    def f(x):
        total = 0.0
        for value in x.numpy():
            total = total + float(value)
        return total

    check(f, *CALLS)


def test_an_array_from_outside_is_read_at_every_run():
    table = numpy.array([1.0, 2.0], dtype=numpy.float32)

    def f(x):
        return x * torch.from_numpy(table)

    static = check(f, *CALLS)
    table[0] = 7
    assert torch.equal(static(torch.ones(2)), f(torch.ones(2)))


def test_a_tensor_that_requires_grad_has_no_array():
    def f(x):
        return torch.as_tensor((x * 1).numpy())

    x = torch.ones(2, requires_grad=True)
    check(f, (x,))
    check(lambda x: torch.as_tensor(x.numpy(force=True)), (x,))


def test_random_numbers_of_numpy_for_a_captured_size_are_refused():
    error = refusal(UnsupportedCall, lambda x: numpy.random.rand(int(x[0])), torch.ones(1))
    assert error.problem == (
        "numpy draws random numbers while the function is captured, not when it runs"
    )
    assert error.fix == "use torch's random functions"


def test_a_list_that_a_numpy_generator_shuffles_is_refused():
    generator = numpy.random.default_rng(0)
    error = refusal(UnsupportedCall, lambda x: generator.shuffle([x, x]), torch.ones(1))
    assert error.fix == "use torch's random functions"


def test_a_function_without_a_counterpart_is_refused():
    error = refusal(UnsupportedCall, lambda x: numpy.unwrap(x.numpy()), torch.ones(2))
    assert error.problem == "`numpy.unwrap` has no counterpart on captured tensors"
    assert error.fix == "use the torch function"


def test_arrays_that_depend_on_nothing_captured_stay_arrays_of_numpy():
    def f(x):
        steps = (numpy.arange(0, 4) * 2.5).round()[::-1].copy().astype(numpy.int64)
        table = numpy.interp(steps, numpy.arange(10), numpy.linspace(0, 1, 10))
        table = numpy.concatenate([table, [0.0]]).astype(numpy.float32)
        for step in steps:
            x = x + int(step)
        if steps[0] > 7 and table.max() < 1:
            x = x * float(table[1])
        return x * torch.from_numpy(table[:2]), steps.tolist(), steps.shape, len(steps)

    check(f, *CALLS)


def test_an_array_that_is_written_by_data_is_no_longer_known():
    def f(x):
        table, both = numpy.zeros(2), numpy.ones(3)
        part = both[1:]
        table[0] = x.sum().item()
        if x.sum() > 0:
            both[1] = 5
        both += 1
        return torch.from_numpy(table + part), torch.from_numpy(part * 2)

    check(f, *CALLS)


def test_an_array_is_not_known_in_a_loop_that_writes_to_it():
    def f(x):
        table, count = numpy.zeros(3), x.sum()
        while count > 0:
            table[0] = table[0] + 1
            count = count - 1
        return torch.from_numpy(table)

    check(f, *CALLS)


def test_a_function_of_an_array_from_outside_is_computed_by_every_run():
    table = numpy.array([1.0, 2.0], dtype=numpy.float32)
    static = check(lambda x: x * torch.as_tensor(numpy.exp(table)), *CALLS)
    table[0] = 7
    assert torch.allclose(static(torch.ones(2)), torch.from_numpy(numpy.exp(table)))


def test_a_reversed_view_is_no_tensor():
    error = refusal(
        UnsupportedCall, lambda x: x + torch.as_tensor(numpy.arange(2)[::-1]), torch.ones(2)
    )
    assert error.problem == "a reversed view of a numpy array is used as a tensor"
    assert error.fix == "copy it: `a.copy()`"


def test_interpolation_of_a_captured_table():
    def f(x):
        table = x.numpy() * numpy.arange(2)
        return torch.as_tensor(numpy.interp([-1.0, 0.5, 0.9, 7.0], numpy.arange(2), table))

    check(f, *CALLS)


def test_an_array_is_added_to_in_place():
    def f(x):
        both = x.numpy() * 1
        part = both[1:]
        both += 1
        both *= numpy.arange(1, 3)
        return torch.as_tensor(part)

    check(f, *CALLS)


def test_an_array_that_depends_on_data_is_read_backwards():
    def f(x):
        spaced = numpy.linspace(0, int(x.sum()) - 1, 6)
        back = spaced[::-1]
        part = back[1:4][::-2]
        spaced[0] = 7  # the views show it
        back_again = torch.from_numpy(back.copy())
        table = spaced.reshape(2, 3)[::-1, 4:0:-1]
        return back_again, torch.from_numpy(part.copy()), torch.from_numpy(table.astype(int))

    check(f, (torch.ones(2) * 4,), (torch.ones(2) * 50,), (torch.zeros(2),))


@pytest.mark.parametrize("end", [True, False])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_numbers_between_captured_ones_are_those_of_numpy(count, end):
    def f(x):
        low, high = float(x[0]), float(x[1])
        return torch.from_numpy(numpy.linspace(low, high, count, endpoint=end))

    check(f, *[(torch.tensor(ends),) for ends in ([0.1, 0.7], [3.0, 3.0], [-1.3, 1e-30])])


def test_captured_floats_keep_all_their_digits_in_an_array():
    def f(x):
        return torch.from_numpy(numpy.array([float(x[0]) / 3, 0.1]))

    check(f, *CALLS)


def test_a_reversed_view_of_captured_numbers_is_not_written_to():
    def f(x):
        back = (x.numpy() * 2)[::-1]
        back[0] = 1.0
        return x

    error = refusal(UnsupportedCall, f, torch.ones(2))
    assert error.problem == "a reversed view of a numpy array is written to, or viewed"


def test_a_numpy_function_that_torch_does_not_have_in_this_form_is_refused():
    def f(x):
        return torch.from_numpy(numpy.linspace(0, int(x.sum()), 3, dtype=numpy.int64))

    error = refusal(UnsupportedCall, f, torch.ones(2))
    assert error.problem == (
        "`numpy.linspace` cannot be called this way on captured values: "
        "only start, stop, num and endpoint are known"
    )


def test_a_seed_sequence_with_a_seed_gives_what_it_gives_in_eager_code():
    def drawn(x):
        seed = int(numpy.random.SeedSequence(entropy=5).generate_state(2)[1])
        return x + torch.randn(3, generator=torch.Generator().manual_seed(seed))

    static = stator.to_static(drawn)
    for _ in range(2):
        assert torch.equal(static(torch.zeros(3)), drawn(torch.zeros(3)))


def test_a_seed_of_the_process_is_refused():
    def drawn(x):
        return x + numpy.random.SeedSequence().entropy % 1000

    with pytest.raises(UnsupportedCall, match=r"`SeedSequence\(\)` takes its seed from the"):
        stator.to_static(drawn)(torch.zeros(3))
