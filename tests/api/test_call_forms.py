"""Call forms: two calls of one form differ in their tensors only."""

import itertools

import pytest
import torch

import stator
from stator.api.call_forms import flat_call, leaves_of
from stator.api.entries import MISS
from stator.api.signature import signature_of
from stator.extension import extension

X, Y = torch.ones(2), torch.zeros(2)


class Names(dict):
    """A dict that may compute what it gives."""


CALLS = [
    ((X,), {}), ((X, X), {}), ((X, None), {}), ((X, 1), {}), ((X, True), {}), ((X, 1.0), {}),
    ((X, "1"), {}), ((X, 0.0), {}), ((X, -0.0), {}), ((X, 0), {}), ((X, False), {}),
    ((), {"x": X}), ((), {"y": X}), ((X,), {"y": Y}), ((), {"x": X, "y": Y}),
    ((), {"y": Y, "x": X}), (([X],), {}), (([X, Y],), {}), (((X, Y),), {}), (([X], Y), {}),
    (([X, 3],), {}), (([X, Y], 3), {}), (([X, [Y, 3]],), {}), (([X, [Y], 3],), {}),
    (([[X, Y], 3],), {}), (([[X], Y, 3],), {}), (([X, 3], Y), {}), (([], X), {}), ((X, []), {}),
    (([X], []), {}), (([[X]],), {}), (({"a": X},), {}), (({"b": X},), {}),
    (({"a": X, "b": Y},), {}), (({"b": Y, "a": X},), {}), (({}, X), {}),
    ((X, {}), {}), (({"a": [X]},), {}), ((X, ()), {}),
]  # fmt: skip


def test_calls_that_differ_in_more_than_their_tensors_have_different_forms():
    forms = [flat_call(*call).form for call in CALLS]
    for (k, one), (j, other) in itertools.combinations(enumerate(forms), 2):
        assert one != other, (CALLS[k], CALLS[j])


def test_the_tensors_are_those_of_the_call_in_order():
    a, b, c, d = torch.ones(4)
    flat = flat_call((a, [b, 3]), {"k": {"x": c}, "l": (d,)})
    assert [id(one) for one in flat.tensors] == [id(one) for one in (a, b, c, d)]


@pytest.mark.parametrize(
    "args", [({X},), (Names(x=X),), (object(),), ({1: X},), (1j,), (X.numpy(),), ([X, {2}],)]
)
def test_other_objects_have_no_form(args):
    assert flat_call(args, {}) is None


def test_a_list_that_is_passed_twice_has_no_form():
    items = [X]
    assert flat_call((items, items), {}) is None
    assert flat_call((items,), {"items": items}) is None
    assert flat_call((items, list(items)), {}) is not None


def weighted(x, n=2, *, mask=None, parts=()):
    for part in parts:
        x = x + part
    return x * n if mask is None else x * mask * n


needs_extension = pytest.mark.skipif(extension() is None, reason="the extension is not built")


@needs_extension
@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((), {"x": X}), ((X, 3), {}), ((X, None), {"n": 5}), ((X,), {"mask": Y}),
     ((X, 1.5), {"parts": [X + 1, Y]}), ((X,), {"mask": None, "parts": (X + 2,)})],
)  # fmt: skip
def test_a_call_of_a_known_form_takes_the_short_way(args, kwargs):
    kwargs = dict(kwargs)
    if "n" in kwargs:
        args = args[:1]
    static = stator.to_static(weighted)
    static(*args, **kwargs)
    result = static._entries.call_by_form(args, kwargs)
    assert result is not MISS
    assert torch.equal(result, weighted(*args, **kwargs))


@needs_extension
def test_each_call_has_the_result_of_its_own_arguments():
    static = stator.to_static(weighted)
    calls = [
        ((X,), {}), ((X, 3), {}), ((X, 3.0), {}), ((X,), {"n": 4}), ((X,), {"mask": Y}),
        ((), {"x": Y, "mask": X}), ((), {"x": X, "mask": Y}), ((X,), {"parts": [X]}),
        ((X,), {"parts": (X, Y)}), ((X,), {"parts": [X, X]}), ((X,), {"mask": X}),
    ]  # fmt: skip
    for args, kwargs in calls * 3:
        assert torch.equal(static(*args, **kwargs), weighted(*args, **kwargs)), (args, kwargs)


@needs_extension
def test_a_list_that_a_call_changes_is_that_of_the_call():
    def collect(items, x):
        items.append(x * 2)
        return items

    static = stator.to_static(collect)
    for _ in range(4):
        items = [X]
        assert static(items, Y + 1) is items
        assert [one.tolist() for one in items] == [[1.0, 1.0], [2.0, 2.0]]


@needs_extension
def test_a_list_that_the_function_also_reaches_by_another_name_is_refused_at_each_call():
    known = [X]

    def both(items):
        return items[0] + known[0]

    static = stator.to_static(both)
    for _ in range(3):
        assert static([Y]).tolist() == [1.0, 1.0]
        with pytest.raises(stator.errors.StatorError, match="by another name"):
            static(known)


@needs_extension
def test_a_state_that_is_kept_is_kept_by_calls_with_keywords_too():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = 0

        def forward(self, x, scale=1):
            self.steps += 1
            return x * self.steps * scale

    eager, static = Counter(), stator.to_static(Counter())
    for _ in range(4):
        assert torch.equal(static(x=X, scale=3), eager(x=X, scale=3))
    assert static.steps == eager.steps


@needs_extension
def test_a_global_that_changes_is_seen_by_calls_with_keywords():
    static = stator.to_static(scaled)
    for FACTOR[0] in (2, 2, 3, 2):
        assert static(x=X).tolist() == [FACTOR[0]] * 2


FACTOR = [1]


def scaled(x):
    return x * FACTOR[0]


@pytest.mark.parametrize(("args", "kwargs"), CALLS)
def test_the_leaves_are_those_of_the_signature(args, kwargs):
    found, wanted = leaves_of(args, kwargs), signature_of(args, kwargs).leaves
    assert len(found) == len(wanted)
    assert all(one is other for one, other in zip(found, wanted, strict=True))


def test_an_int_that_is_too_large_for_a_program_leaves_the_short_way():
    assert leaves_of((X, 2**63 - 1), {}) is not None
    assert leaves_of((X, 2**63), {}) is None


@needs_extension
def test_a_number_that_varies_takes_the_short_way():
    static = stator.to_static(weighted)
    for n in (2, 3, 1.5, 2.5, 4, 3.5):  # the last two are known by then
        static(X, n)
    for n in (5, -7, 0.25, float("inf"), -0.0):
        result = static._entries.call_by_form((X, n), {})
        assert result is not MISS
        assert torch.equal(result, weighted(X, n))
    for n in (True, None, "no", 2**70):  # the open form has types
        assert static._entries.call_by_form((X, n), {}) is MISS
    assert torch.equal(static(X, True), weighted(X, True))


@needs_extension
def test_a_program_for_one_number_is_not_taken_for_another():
    def repeated(x, n, k):
        return [x * k] * n

    static = stator.to_static(repeated)
    for n, k in ((2, 1.0), (2, 2.0), (3, 2.0), (3, 3.0), (2, 3.0), (4, 5.0), (3, 0.5)):
        found, wanted = static(X, n, k), repeated(X, n, k)
        assert len(found) == len(wanted)
        assert all(map(torch.equal, found, wanted))


@needs_extension
def test_a_long_list_with_something_else_in_it_is_right():
    def total(items):
        result = items[0]
        for item in items[1:]:
            result = result + item
        return result

    static = stator.to_static(total)
    tensors = [torch.full((2,), float(k)) for k in range(20)]
    mixed = [*tensors[:9], 3, *tensors[10:]]
    other = [*tensors[:9], None, *tensors[10:]]
    for _ in range(3):
        assert torch.equal(static(tensors), total(tensors))
        assert torch.equal(static(mixed), total(mixed))
        with pytest.raises(TypeError):
            static(other)
    assert static._entries.call_by_form((tensors,), {}) is not MISS
