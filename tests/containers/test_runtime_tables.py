"""Dicts and sets whose keys or items only a run knows."""

import pytest
import torch

import stator
from stator.errors import DataDependent, UnsupportedCall
from tests.capture.oracle import check, refusal

COUNTS = tuple((torch.tensor(k),) for k in (3, 0, 1, 6))
ONE = torch.tensor(3)


def squares(n):
    table = {}
    for k in range(n):
        table[k * k] = k
    return table


def seen(n):
    items = set()
    for k in range(n):
        items.add(k % 4)
    return items


def test_a_key_that_is_set_again_keeps_its_place():
    def f(n):
        table = {"a": 1, "b": 2}
        for k in range(n):
            table["a" if k % 2 else "b"] = k
        table[str(int(n))] = 9
        table["a"] = 5
        return table, list(table), list(table.items())

    check(f, *COUNTS)


def test_a_dict_is_updated_copied_and_cleared():
    def f(n):
        table = squares(n)
        copied = table.copy()
        table.update({4: 40, 100: 1})
        table |= {1: 10}
        merged = {**copied, 1: 7}
        copied.clear()
        return table, copied, merged, dict(table), len(copied)

    check(f, *COUNTS)


def test_a_known_dict_takes_over_the_pairs_of_a_captured_one():
    def f(n):
        table = {0: 5, 7: 1}
        table.update(squares(n))
        return table

    check(f, *COUNTS)


def test_a_loop_over_a_captured_dict_is_over_its_keys():
    def f(n):
        total = 0
        for key in squares(n):
            total = total * 3 + key
        return total, max(squares(n), default=-1), sorted(squares(n), reverse=True)

    check(f, *COUNTS)


def test_a_set_loses_and_finds_items():
    def f(n):
        items = seen(n)
        items.discard(1)
        items.discard(77)
        items.update([5, 5, 6])
        if 0 in items:
            items.remove(0)
        copied = items.copy()
        items.clear()
        return sorted(copied), len(items), bool(copied), sum(copied)

    check(f, *COUNTS)


def test_removing_what_is_not_there_raises_key_error():
    def f(n):
        items = seen(n)
        items.remove(2)
        return len(items)

    check(f, *COUNTS)


@pytest.mark.parametrize(
    "use",
    [lambda s: frozenset(s), lambda s: [*s], lambda s: "".join(s), lambda s: s.pop()],
)  # fmt: skip
def test_other_uses_of_a_captured_set_are_refused(use):
    with pytest.raises((DataDependent, UnsupportedCall)):
        stator.to_static(lambda n: use(seen(n)))(ONE)


def test_the_text_of_a_captured_dict_is_refused():
    with pytest.raises((DataDependent, UnsupportedCall)):
        stator.to_static(lambda n: f"{squares(n)}")(ONE)


def test_the_last_pair_of_a_dict_is_taken():
    def f(n):
        table = squares(n)
        return table.popitem(), table

    check(f, *COUNTS)


def test_sets_and_dicts_of_a_run_are_compared():
    def f(n):
        return seen(n) == {1}, squares(n) == {0: 0}, squares(n) != {}

    check(f, *COUNTS)


def test_the_order_of_a_captured_set_is_refused_by_its_text():
    error = refusal(UnsupportedCall, lambda n: list(seen(n)), ONE)
    assert error.problem == "a set with data-dependent items cannot be iterated in Python order"
    assert error.fix == "loop over `sorted(...)` of it, or use a list"


def test_a_captured_set_leaves_the_program_as_a_set():
    assert stator.to_static(seen)(ONE) == seen(ONE)


def test_a_list_in_a_captured_dict_is_changed():
    def f(n):
        table = {}
        for k in range(n):
            table[k % 2] = [k]
        table[0].append(1)
        return table

    check(f, (ONE,), (torch.tensor(4),))


def test_a_tensor_is_no_key_of_a_captured_dict():
    def f(n):
        table = squares(n)
        table[n] = 1
        return table

    error = refusal(UnsupportedCall, f, ONE)
    assert error.problem == "a tensor is a key of a dict, or an item of a set, of the program"


def test_one_set_under_two_names_leaves_a_branch_as_one():
    def f(x):
        a = b = {0}
        if x.sum() > 0:
            a = b = {1}
        b.add(2)
        return sorted(a), a is b

    check(f, (ONE,), (-ONE,))
