"""Pools: containers that are known by reference, one pool for the sites that come together."""

import torch

import stator
from stator import InputSpec
from tests.capture.oracle import check

COUNTS = tuple((torch.tensor(k),) for k in (3, 0, 1, 6))


def program_of(function, *args):
    """The text of the program of one call."""
    return str(stator.to_static(function).concrete_program(*args).program)


def test_a_list_that_is_only_read_is_held_as_a_copy():
    def f(n):
        rows = []
        for k in range(n):
            rows.append([k])
        return len(rows[0])

    assert "list<list<int>>" not in program_of(f, torch.tensor(3))  # each has one item
    assert "stator::list_set" not in program_of(f, torch.tensor(3))


def test_lists_of_two_places_that_come_together_share_a_pool():
    def f(n):
        rows = [[0]]
        for k in range(n):
            rows.append([k, k])
        rows[int(n) // 2].append(7)
        rows[0].append(8)
        return rows

    check(f, *COUNTS)
    assert "tag(" not in program_of(f, torch.tensor(3))  # one pool: no union of two


def test_what_is_read_of_an_entry_is_read_again_after_a_change_by_another_name():
    def f(n):
        rows = []
        for k in range(n):
            rows.append([k])
        if n > 0:
            first, same = rows[0], rows[-int(n)]
            before = len(first)
            same.append(5)
            return before, len(first), first is same
        return 0, 0, True

    check(f, *COUNTS)


def test_containers_made_in_a_branch_are_changed_after_it():
    def f(n):
        rows = []
        for k in range(n):
            row = [k] if k % 2 else [k, k]
            rows.append(row)
            row.append(9)
        return rows

    check(f, *COUNTS)


def test_a_loop_that_is_left_and_an_error_keep_what_was_changed():
    def f(n):
        rows = [[]]
        for k in range(10):
            rows[-1].append(k)
            if k >= n:
                break
            try:
                rows.append([k // (2 - n)])
            except ZeroDivisionError:
                rows[0].append(-1)
        return rows

    check(f, *COUNTS, (torch.tensor(2),))


def test_a_key_that_is_set_on_one_path_leaves_with_its_list():
    def f(n):
        row, rows, seen = [1], [], {}
        for k in range(n):
            rows.append(row)
            row.append(k)
        if n > 2:
            seen["row"] = row
        return seen, rows

    check(f, *COUNTS)


def test_a_function_is_given_a_list_and_changes_it():
    def grow(row, value):
        row.append(value)
        return row

    def f(n):
        rows = []
        for k in range(n):
            rows.append(grow([], k))
        for row in rows:
            grow(grow(row, 1), 2)
        return rows

    check(f, *COUNTS)


def test_a_saved_model_has_the_pool_inside(tmp_path):
    def f(x):
        rows = []
        for v in x:
            rows.append([v])
        for row in rows:
            row.append(row[0] * 2)
        return [row[0] + row[1] for row in rows]

    stator.save(f, tmp_path / "model", input_spec=[InputSpec([None], "float32")])
    loaded = stator.load(tmp_path / "model")
    for x in (torch.tensor([1.0, 2.0]), torch.tensor([]), torch.tensor([4.0])):
        assert loaded(x) == f(x)
