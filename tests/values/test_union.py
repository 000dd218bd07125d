"""Unions: a use of one is a use of each alternative."""

import pytest

from stator.errors import BranchMismatch
from stator.values.union import Union, distribute, first_union, replace_union


def choice(*alternatives):
    return Union(
        0, alternatives, lambda variant, function: list(map(function, variant.alternatives))
    )


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
