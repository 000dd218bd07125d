"""Values that stand for what a run has: used by library code, they say so."""

import copy

import pytest

from stator.capture.values import (
    CapturedText,
    Columns,
    StagedDict,
    StagedList,
    Undefined,
    Variant,
    distribute,
    first_variant,
    replace,
)
from stator.errors import BranchMismatch, DataDependent
from stator.program.ir import Value
from stator.program.types import TextType


def choice(*alternatives):
    return Variant(
        0, alternatives, lambda variant, function: list(map(function, variant.alternatives))
    )


def test_an_unbound_name_raises_what_python_raises():
    assert str(Undefined("x").error()) == (
        "cannot access local variable 'x' where it is not associated with a value"
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
    assert first_variant((0, [{"a": one}], choice(3, 4))) is one
    assert first_variant((0, [1])) is None
    assert replace(one, 5, (0, {"a": one})) == (0, {"a": 5})


def test_captured_text_has_no_text_yet():
    with pytest.raises(DataDependent) as caught:
        str(CapturedText(Value("1", TextType())))
    assert caught.value.problem == "Python code needs a string made from captured values"


@pytest.mark.parametrize("use", [len, bool, iter, lambda items: items[0], lambda items: 1 in items])
def test_a_list_of_the_program_has_no_items_yet(use):
    items = StagedList()
    items.columns = Columns(None, ())
    with pytest.raises(DataDependent) as caught:
        use(items)
    assert caught.value.problem == (
        "Python code needs the items of a list whose length only a run knows"
    )


def test_staged_containers_copy_as_plain_ones():
    assert type(copy.deepcopy(StagedList([1]))) is list
    assert type(copy.deepcopy(StagedDict({"a": 1}))) is dict


def test_a_later_container_has_a_greater_stamp():
    assert StagedList().stamp < StagedDict().stamp < StagedList().stamp
