"""match: each kind of pattern, on captured values and Python ones."""

import collections
import dataclasses

import torch

from tests.capture.oracle import check

NUMBERS = tuple((torch.tensor(k),) for k in (0, 1, 2, 7, -3))
Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Point:
    x: object
    y: object = 0


def test_literals_alternatives_and_guards():
    def f(x):
        match int(x):
            case 0:
                return "none"
            case 1 | 2:
                return "few"
            case n if n > 5:
                return n
            case _:
                return "other"

    check(f, *NUMBERS)


def test_sequences_with_stars():
    def f(x, items):
        match items:
            case []:
                return x
            case [one]:
                return x + one
            case [first, *rest]:
                return first, rest, x
            case _:
                return None

    check(f, *((torch.ones(1), items) for items in ([], [1], (1, 2, 3), "ab", 5)))


def test_a_sequence_with_captured_items():
    def f(x):
        match (int(x), 1):
            case (0, y):
                return y
            case (1, 1):
                return "one"
            case (n, _):
                return n * 2

    check(f, *NUMBERS)


def test_mappings_and_bindings():
    def f(x, table):
        match table:
            case {"a": a, "b": 2}:
                return a + x
            case {"a": a}:
                return a * x
            case _:
                return x

    check(f, *((torch.ones(1), t) for t in ({"a": 5, "b": 2}, {"a": 3}, {}, {"b": 2})))


def test_classes_by_position_and_name():
    def f(x):
        match Point(int(x), 5):
            case Point(0, y):
                return y
            case Point(x=1, y=5):
                return "one"
            case Point(n):
                return n

    check(f, *NUMBERS)


def test_builtin_classes_match_themselves():
    def f(x):
        match int(x):
            case str():
                return "text"
            case int(n):
                return n + 1

    check(f, *NUMBERS)


def test_as_binds_the_whole():
    def f(x):
        match (int(x), 2):
            case (1 | 2 as n, m) as whole:
                return n, m, whole
            case _:
                return None

    check(f, *NUMBERS)


def test_a_tensor_is_no_sequence():
    def f(x):
        match x:
            case [a, b]:
                return a + b
            case _:
                return x

    check(f, (torch.ones(2),))


def test_a_named_tuple_is_a_sequence():
    def f(x):
        match Pair(x, 1):
            case [a, b]:
                return a + b

    check(f, (torch.ones(2),))


def test_no_case_leaves_the_names_as_they_were():
    def f(x):
        y = 0
        match int(x):
            case 1:
                y = x
        return y

    check(f, *NUMBERS)


def test_a_deque_is_a_sequence():
    def f(x):
        match collections.deque([x, x]):
            case [a, b]:
                return a + b
        return x

    check(f, (torch.ones(1),))


def test_a_missing_attribute_is_no_match():
    def f(x):
        match Point(x):
            case Point(z=1):
                return 1
            case Point(x=found):
                return found

    check(f, (torch.ones(1),))
