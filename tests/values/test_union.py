"""Unions: a use of one is a use of each alternative."""

import pytest

from stator.errors import BranchMismatch
from stator.values.union import Union, distribute, first_union, over_unions, replace_union


class EachOne:
    """Takes every branch, and gives the list of their results."""

    def apply(self, union, function):
        return [function(one) for one in union.alternatives if one is not None]

    def apply_all(self, union, function):
        return [function(one) for one in union.alternatives]


def choice(*alternatives):
    return Union(0, alternatives, EachOne())


@pytest.mark.parametrize(("use", "what"), [(bool, "truth"), (hash, "hash"), (iter, "items")])
def test_library_code_cannot_use_a_choice(use, what):
    with pytest.raises(BranchMismatch) as caught:
        use(choice(1, None))
    assert caught.value.problem == (
        f"library code needs the {what} of a variable that is, depending on the path taken, "
        "1 or None"
    )


def test_operators_and_attributes_are_those_of_each_alternative():
    assert choice(1, 2) + 1 == [2, 3]
    assert 10 - choice(1, 2) == [9, 8]
    assert (-choice(1, 2.5)) == [-1, -2.5]
    assert choice(1, 2).real == [1, 2]
    assert (choice(1, 2) < 2) == [True, False]


def test_a_function_is_distributed_over_choices_in_containers():
    assert distribute(lambda items: items, ([choice(1, 2), 3],), {}) == [[1, 3], [2, 3]]


def test_the_first_choice_is_found_in_nested_containers():
    one = choice(1, 2)
    assert first_union((0, [{"a": one}], choice(3, 4))) is one
    assert first_union((0, [1])) is None
    assert replace_union(one, 5, (0, {"a": one})) == (0, {"a": 5})


def test_a_decorated_function_is_called_for_each_alternative():
    @over_unions("left", "right")
    def pair(left, sign, right=0):
        return (left, sign, right)

    assert pair(1, "+", 2) == (1, "+", 2)
    assert pair(choice(1, 2), "+") == [(1, "+", 0), (2, "+", 0)]
    assert pair(choice(1, 2), "+", choice(3, 4)) == [
        [(1, "+", 3), (1, "+", 4)],
        [(2, "+", 3), (2, "+", 4)],
    ]


def test_a_decorated_function_is_called_for_each_alternative_of_a_starred_parameter():
    @over_unions("items")
    def listed(first, *items):
        return (first, *items)

    union = choice(1, 2)
    assert listed(union, 3) == (union, 3)
    assert listed(0, 3, choice(1, 2)) == [(0, 3, 1), (0, 3, 2)]


def test_an_undefined_alternative_reaches_only_a_function_that_asks_for_it():
    @over_unions("value")
    def used(value):
        return value

    @over_unions("value", undefined=True)
    def asked(value):
        return value is None

    assert used(choice(None, 1)) == [1]
    assert asked(choice(None, 1)) == [True, False]


def test_a_decorator_names_parameters_of_its_function():
    with pytest.raises(AssertionError, match="has no parameter of that name"):
        over_unions("other")(lambda value: value)
