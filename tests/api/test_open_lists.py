"""Lists of any length among the arguments: one program, once calls have given a third length."""

import gc
import math
import weakref

import pytest
import torch

import stator

SHARED = torch.ones(2)
OWN = 2  # captures for the first two lengths, before one for all


def total(items):
    result = 0
    for item in items:
        result = result + item
    return result


def joined(items):
    return torch.cat(items)


def written(items):
    items[0].add_(1)
    return items[-1] * 2


def grown(items, x):
    items.append(x)
    return items


def emptied(items):
    while items:
        items.pop()
    return len(items)


def pairs(first, second):
    return [one * other for one, other in zip(first, second)]


def nested(tree):
    return sum(tree["tensors"]).sum() * tree["rate"]


def limited(items):
    if len(items) > 4:
        raise ValueError(f"too many: {len(items)}")
    return items[0] + 1


def largest(numbers):
    return max(numbers), sorted(numbers, reverse=True), numbers.index(max(numbers))


def kept(items, box):
    box.append(items)
    box.append(items[-1])
    return len(items)


def same(items):
    return items[0] is items[-1]


def searched(items, x):
    return x in items


def reduced(x, dims):
    return x.sum(dims)


def second_written(items, x):
    x.add_(1)
    return items[0] * 2


def third(items):
    return items[2] + 1


def tensors(count):
    return [torch.randn(2) for _ in range(count)]


def outcome(function, args):
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001
        return type(error), str(error)


def alike(function, arguments, captures, counts=(1, 2, 3, 4, 5, 7, 2, 6)):
    """Eager's results, and what is left of the arguments, for lists of these lengths."""
    static = stator.to_static(function)
    for count in counts:
        torch.manual_seed(count)
        given = arguments(count)
        torch.manual_seed(count)
        expected = arguments(count)
        assert str(outcome(static, given)) == str(outcome(function, expected))
        assert str(given) == str(expected)
    assert len(static.concrete_programs) == captures
    return static


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (total, lambda n: (tensors(n),)),
        (total, lambda n: ([torch.ones(2)] * n,)),
        (total, lambda n: ([*range(n)],)),
        (total, lambda n: ([k / 2 for k in range(n)],)),
        (joined, lambda n: (tensors(n),)),
        (joined, lambda n: ([torch.ones(k + 1, 2) for k in range(n)],)),
        (written, lambda n: (tensors(n),)),
        (written, lambda n: ([torch.ones(2)] * n,)),
        (grown, lambda n: (tensors(n), torch.ones(2))),
        (emptied, lambda n: (tensors(n),)),
        (pairs, lambda n: (tensors(n), tensors(n))),
        (limited, lambda n: (tensors(n),)),
        (largest, lambda n: ([(7 * k) % 5 for k in range(n)],)),
        (kept, lambda n: (tensors(n), [])),
        (second_written, lambda n: (tensors(n), torch.ones(2))),
    ],
)
def test_a_list_of_a_third_length_becomes_an_input(function, arguments):
    alike(function, arguments, OWN + 1)


def test_an_index_that_short_lists_do_not_have_raises_as_in_python():
    alike(third, lambda n: (tensors(n),), captures=1)


def test_an_empty_list_has_a_program_of_its_own():
    alike(total, lambda n: (tensors(n),), OWN + 2, counts=(1, 2, 3, 0, 4, 0))


def test_a_number_beside_the_list_becomes_open_too():
    static = stator.to_static(nested)
    for count in range(1, 9):
        tree = {"tensors": tensors(count), "rate": count / 4}
        assert torch.equal(static(tree), nested(tree))
    assert len(static.concrete_programs) <= OWN + 3


def test_items_of_other_sizes_make_the_size_open():
    static = stator.to_static(joined)
    for count in range(1, 12):
        items = [torch.randn(count // 5 + 1, 2) for _ in range(count)]
        assert torch.equal(static(items), joined(items))
    assert len(static.concrete_programs) == OWN + 2


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (same, lambda n: (tensors(n),)),
        (searched, lambda n: ([torch.tensor(float(k)) for k in range(n)], torch.tensor(1.0))),
        (searched, lambda n: ([torch.tensor(math.nan)] * n, torch.tensor(math.nan))),
        (reduced, lambda n: (torch.ones([2] * 8), [*range(n)])),
        (total, lambda n: ([1.5, *range(n - 1)],)),
        (total, lambda n: ([torch.ones(1 + k % 2) for k in range(n)],)),
    ],
)
def test_where_python_needs_the_items_there_is_a_program_for_each_length(function, arguments):
    alike(function, arguments, captures=5, counts=(1, 2, 3, 4, 5, 3))


def test_a_list_or_a_tensor_that_is_given_twice_keeps_its_identity():
    def given_twice(n):
        items = tensors(n)
        return items, items[-1]

    alike(second_written, given_twice, captures=5, counts=(1, 2, 3, 4, 5, 3))

    def counted(first, second):
        first.append(SHARED)
        return len(second)

    def list_twice(n):
        items = tensors(n)
        return items, items

    alike(counted, list_twice, captures=5, counts=(1, 2, 3, 4, 5, 3))


def test_the_list_and_the_tensors_that_are_given_back_are_the_callers():
    static, box = stator.to_static(grown), []
    keep = stator.to_static(kept)
    for count in range(1, 7):
        items = tensors(count)
        assert static(items, SHARED) is items
        assert items[-1] is SHARED
        keep(items, box)
        assert box[-2] is items
        assert box[-1] is SHARED
    assert len(static.concrete_programs) == OWN + 1


def test_gradients_reach_the_items():
    static = stator.to_static(total)
    for count in range(1, 7):
        items = [torch.randn(2, requires_grad=True) for _ in range(count)]
        got = torch.autograd.grad((static(items) ** 2).sum(), items)
        want = torch.autograd.grad((total(items) ** 2).sum(), items)
        assert all(map(torch.equal, got, want))
    assert len(static.concrete_programs) == OWN + 1


def test_a_list_whose_length_stays_the_same_is_taken_apart():
    def beside(growing, fixed):
        return total(growing) + fixed[0] - fixed[1]

    static = stator.to_static(beside)
    for count in range(1, 6):
        growing, fixed = tensors(count), tensors(2)
        assert torch.allclose(static(growing, fixed), beside(growing, fixed))
    assert len(static.concrete_programs) == OWN + 1
    assert len(static.concrete_programs[-1].program.inputs) == 3


def test_attributes_that_the_caller_has_set_on_an_item_are_not_lost():
    def tagged(items):
        return getattr(items[0], "tag", 1)

    static = stator.to_static(tagged)
    for count in range(1, 6):
        assert static(tensors(count)) == 1
    items = tensors(6)
    items[0].tag = 2
    with pytest.raises(stator.errors.UnsupportedCall, match=r"`\.tag` is read"):
        static(items)


def test_the_reason_of_the_capture_says_so():
    static = stator.to_static(total)
    for count in range(1, 5):
        static(tensors(count))
    assert static.concrete_programs[-1].reason == "it was called with lists of other lengths"


def test_a_function_is_freed_without_the_garbage_collector():
    static = stator.to_static(total)
    for count in range(1, 5):
        static(tensors(count))
    gone = weakref.ref(static)
    gc.disable()
    try:
        del static
        assert gone() is None
    finally:
        gc.enable()
