"""What Python raises for arguments that a builtin does not take is raised, and caught, as there."""

import collections
import itertools

import pytest
import torch

import stator
from stator.errors import UnsupportedCall
from stator.library.wrong_arguments import handled


def anything(*args, **kwargs):
    return args, kwargs


WRONG = {
    "len()": lambda: len(),
    "len of two": lambda: len([], []),
    "isinstance of one": lambda: isinstance(1),
    "isinstance of no class": lambda: isinstance(1, 2),
    "callable()": lambda: callable(),
    "abs()": lambda: abs(),
    "id()": lambda: id(),
    "enumerate()": lambda: enumerate(),
    "enumerate from text": lambda: enumerate([1], "a"),
    "filter of one": lambda: filter(None),
    "map of one": lambda: map(None),
    "islice of a negative number": lambda: itertools.islice([1], -1),
    "defaultdict of a number": lambda: collections.defaultdict(5),
    "vars of a number": lambda: vars(5),
    "get()": lambda: {}.get(),
    "pop()": lambda: {}.pop(),
    "key without a hash": lambda: {[]: 1},
    "item without a hash": lambda: {}[[]],
    "hash of a list": lambda: hash([]),
    "set of lists": lambda: {*[[]]},
    "sum of text": lambda: sum(["a"]),
    "range of text": lambda: range("a"),
    "int of text": lambda: int("x"),
    "list of two": lambda: list(1, 2),
    "tuple of two": lambda: tuple(1, 2),
    "reversed of a number": lambda: reversed(5),
    "reversed of a generator": lambda: reversed(one for one in [1]),
    "a list of the items of a number": lambda: [*5],
    "a tuple of the items of a number": lambda: (*5,),
    "a set of the items of a number": lambda: {*5},
    "a dict of a number": lambda: {**5},
    "a dict of a list": lambda: {**[(1, 2)]},
    "the items of a number": lambda: anything(*5),
    "the items of a number, after another": lambda: anything(1, *5),
    "the keywords of a number": lambda: anything(**5),
    "the keywords of a list": lambda: torch.relu(**[1]),
    "a keyword twice": lambda: anything(a=1, **{"a": 2}),
    "a keyword twice, of two dicts": lambda: anything(**{"a": 1}, **{"a": 2}),
    "next of a list": lambda: next([1]),
    "print with another option": lambda: print(1, other=2),
    "print with a number between": lambda: print(1, sep=3),
    "a deque of a negative length": lambda: collections.deque([1], -1),
    "an attribute by a number": lambda: getattr([], 3),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_handler_catches_what_it_catches_in_eager_code(name):
    wrong = WRONG[name]

    def caught(x):
        try:
            return x, wrong()
        except Exception as error:  # noqa: BLE001  # what users write
            return x, type(error).__name__, str(error)

    x = torch.ones(2)
    assert stator.to_static(caught)(x)[1:] == caught(x)[1:]


def test_what_python_takes_and_a_handler_does_not_is_refused():
    with pytest.raises(UnsupportedCall, match="`max` with these arguments is not supported"):
        handled(max, lambda one: one, (1, 2), {})


def test_an_error_inside_a_handler_passes():
    with pytest.raises(TypeError, match="no len"):
        handled(len, lambda one: len(one), (5,), {})
