"""A dict with a key that only some paths have set is in every respect one dict or the other."""

import torch

from tests.capture.oracle import check

UP, DOWN = torch.tensor([1.0]), torch.tensor([-1.0])


def maybe(x):
    table = {"a": x}
    if x.sum() > 0:
        table["b"] = x * 2
    return table


def test_the_dict_is_returned_as_the_run_made_it():
    check(maybe, (UP,), (DOWN,))


def test_iteration_len_and_membership_see_the_keys_of_the_run():
    def f(x):
        table = maybe(x)
        return [k + "!" for k in table], len(table), "b" in table, list(table), sorted(table)

    check(f, (UP,), (DOWN,))


def test_reading_the_key_raises_where_it_is_absent():
    def f(x):
        return maybe(x)["b"]

    check(f, (UP,), (DOWN,))


def test_get_gives_the_default_where_the_key_is_absent():
    def f(x):
        return maybe(x).get("b", x - 5)

    check(f, (UP,), (DOWN,))
