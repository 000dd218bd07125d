"""The loops give the lists that Python gives."""

import pytest

from stator.execute.interpreter import run
from stator.program.list_loops import ListLoops
from stator.program.types import ListType
from stator.program.verifier import verify
from tests.program.builder import FLOAT, INT, Builder

TYPES = [ListType(INT), ListType(FLOAT)]


def built(make, *columns):
    """What the lists are that `make(loops, columns)` makes of these, in a program."""
    build = Builder()
    given = [build.input(f"column_{k}", TYPES[k % 2]) for k in range(len(columns))]
    loops = ListLoops(build.value, None)
    results = make(loops, given)
    build.stack[0].ops.extend(loops.ops)
    return run(verify(build.program(*results)), [list(column) for column in columns], {})


@pytest.mark.parametrize("left", [[], [1], [1, 2]])
@pytest.mark.parametrize("right", [[], [3], [3, 4, 5]])
def test_a_sum_has_the_items_of_both(left, right):
    made = built(
        lambda loops, given: loops.extended(TYPES, given[:2], given[2:]),
        left, [x + 0.5 for x in left], right, [x + 0.5 for x in right],
    )  # fmt: skip
    assert made == (left + right, [x + 0.5 for x in left + right])


@pytest.mark.parametrize("items", [[], [1], [1, 2, 3]])
@pytest.mark.parametrize("times", [-1, 0, 1, 3])
def test_a_product_has_the_items_so_many_times(items, times):
    made = built(lambda loops, given: loops.repeated(TYPES[:1], given, times), items)
    assert made == (items * times,)


@pytest.mark.parametrize("indexes", [[], [2], [2, 0, 0, -1]])
def test_what_is_taken_has_the_items_at_the_indexes(indexes):
    made = built(
        lambda loops, given: loops.taken(TYPES[:1], given[:1], given[2]),
        [5, 6, 7], [0.5], indexes,
    )  # fmt: skip
    assert made == ([[5, 6, 7][k] for k in indexes],)
