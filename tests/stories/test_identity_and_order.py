"""What is passed twice is one object, a cache is asked at each call, and sets keep their order."""

from __future__ import annotations

import functools

import pytest
import torch

import stator
from stator import InputSpec, StatorError

X = torch.tensor([1.0, 2.0])
SCALE = [2]
NUMBERS: set[int] = set()


def lengths(a, b):
    a.append(a[0])
    return len(b), a is b


def identity(a, b):
    return a is b


def test_a_list_that_is_passed_twice_is_one_with_an_input_spec_too():
    static = stator.to_static(lengths, input_spec=[[InputSpec([None])], [InputSpec([None])]])
    for twice in (True, False, True):
        mine, other = [X], [X]
        want = lengths(mine, mine if twice else other)
        given, another = [X], [X]
        assert static(given, given if twice else another) == want


def test_a_tensor_that_is_passed_twice_is_one_with_an_input_spec_too():
    static = stator.to_static(identity, input_spec=[InputSpec([None]), InputSpec([None])])
    assert [static(X, X), static(X, X.clone()), static(X, X)] == [True, False, True]


@functools.cache
def cached(n):
    return n * SCALE[0]


def test_a_cache_that_is_cleared_and_filled_again_is_asked_again():
    static = stator.to_static(lambda x: x * cached(3))
    for scale, fill in ((2, 3), (5, 3), (7, 4), (9, 3)):
        SCALE[0] = scale
        cached.cache_clear()
        cached(fill)
        assert static(X).tolist() == (X * 3 * scale).tolist()
    assert cached.cache_info().currsize == 1


def digits(x):
    total = 0
    for number in NUMBERS:
        total = total * 100 + number
    return x * total


def fill(*numbers):
    NUMBERS.clear()
    for number in numbers:
        NUMBERS.add(number)


def test_a_set_that_is_filled_again_in_another_order_has_that_order():
    static = stator.to_static(digits)
    for numbers in ((33, 1, 65, 2), (65, 2, 33, 1), (33, 1, 65, 2)):
        fill(*numbers)
        assert static(X).tolist() == digits(X).tolist()


def test_a_set_as_an_argument_has_the_order_of_this_call():
    def of(x, numbers):
        total = 0
        for number in numbers:
            total = total * 100 + number
        return x * total

    static = stator.to_static(of)
    for numbers in ((33, 1, 65), (65, 33, 1)):
        given = set()
        for number in numbers:
            given.add(number)
        assert static(X, given).tolist() == of(X, given).tolist()


def shrink(*numbers):
    """Fill the set with many numbers, and leave `numbers`: its table stays large."""
    fill(*range(200))
    for number in range(200):
        if number not in numbers:
            NUMBERS.discard(number)


def test_a_set_that_was_larger_once_has_the_order_of_its_larger_table():
    static = stator.to_static(digits)
    for refill in (shrink, fill, shrink):
        refill(16, 9)
        assert static(X).tolist() == digits(X).tolist()


@pytest.mark.parametrize("change", ["NUMBERS.add(40)", "NUMBERS.discard(9)", "NUMBERS.pop()"])
def test_the_order_of_such_a_set_after_a_change_is_refused(change, tmp_path):
    shrink(16, 9)
    source = f"def changed(x):\n    {change}\n    return x * list(NUMBERS)[0]\n"
    (tmp_path / "changed.py").write_text(source)
    names = {"NUMBERS": NUMBERS}
    exec(compile(source, str(tmp_path / "changed.py"), "exec"), names)
    with pytest.raises(StatorError) as caught:
        stator.to_static(names["changed"])(X)
    assert caught.value.problem == (
        "Python code needs the order of a set from outside that was once larger"
    )
    assert stator.to_static(lambda x: x * len(NUMBERS))(X).tolist() == [2.0, 4.0]


WORDS = ("scale", "shift", "rate", "depth", "width", "bias", "gain", "mean", "seed")


def sets_of_dicts(x):
    """A set made of a dict has another table than one whose items come one by one."""
    names = {word: number for number, word in enumerate(WORDS)}
    kept = set(names)
    kept.update({word + "s": 1 for word in WORDS})
    return x, list(set(names)), list(set(names.keys())), list(kept), list(frozenset(names))


def differences(x):
    names = {word: number for number, word in enumerate(WORDS)}
    return x, list(set(names) - {"shift"}), list(set(names.keys()) - {"bias", "rate"}), (
        list(set(names).difference(names, ["bias"]))), list(set(names).union({"a": 1}))  # fmt: skip


def displays(x):
    """Python makes a set of constants from a frozenset, and iterates over that itself."""
    seen = []
    for word in {"scale", "shift", "rate", "depth", "width"}:
        seen.append(word)
    numbers = {-1, (2, "pair"), 3.5, "four", None, 17}
    numbers.add("more")
    return x, list({"scale", "shift", "rate", "depth", "width"}), seen, list(numbers), (
        [word + "s" for word in {"a", "b", "c", "d", "e", "f"}])  # fmt: skip


@pytest.mark.parametrize("function", [sets_of_dicts, differences, displays])
def test_sets_have_the_order_that_they_have_in_eager_code(function):
    assert stator.to_static(function)(X)[1:] == function(X)[1:]


class Odd(ValueError):
    """Of code without a module, which Python says is that of the builtins."""


Odd.__module__ = "builtins"


def test_an_exception_of_code_without_a_module_keeps_its_class():
    def fails(x):
        raise Odd(f"{int(x[0])}")

    with pytest.raises(Odd, match="1"):
        stator.to_static(fails)(X)


def conversions(x):
    same = [x.to(x.dtype), x.float(), x.to("cpu"), x.cpu(), x.type_as(x), x.real, x.contiguous()]
    new = [x.double(), x.clone(), x.to(x.dtype, copy=True), x.detach()]
    return x * 2, [one is x for one in same], [one is x for one in new]


def test_a_conversion_to_what_a_tensor_is_gives_the_tensor_itself():
    assert stator.to_static(conversions)(X)[1:] == conversions(X)[1:] == ([True] * 7, [False] * 4)
