"""The leaves that a result consists of."""

from stator.api.result_parts import result_parts
from stator.program.structure import Choice, ConstantValue, Leaf, RuntimeList, Sequence


def test_an_alternative_that_does_not_hold_has_no_leaves():
    structure = Choice(0, (Leaf(1), Sequence("tuple", (Leaf(2), ConstantValue(7)))))
    assert list(result_parts(structure, [0, "a", "b"])) == [(0, 0), (1, "a")]
    assert list(result_parts(structure, [1, "a", "b"])) == [(0, 1), (2, "b")]


def test_each_item_of_a_list_has_the_leaves_of_its_own_alternative():
    structure = RuntimeList(Choice(0, (Leaf(1), Leaf(2))))
    leaves = [[0, 1], ["a", None], [None, "b"]]
    lengths = [(0, 2), (1, 2), (2, 2)]
    assert list(result_parts(structure, leaves)) == [*lengths, (0, 0), (1, "a"), (0, 1), (2, "b")]
