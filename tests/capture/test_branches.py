"""Branches: both sides are recorded, and what they leave is joined."""

import types

import pytest
import torch

import stator
from stator.errors import UnsupportedCall
from tests.capture.oracle import check, refusal

ONE, NONE = torch.ones(2), -torch.ones(2)
BOTH = ((ONE,), (NONE,))


def test_one_side_may_raise():
    def f(x):
        if x.sum() > 0:
            y = x + 1
        else:
            raise ValueError("negative")
        return y

    check(f, *BOTH)


def test_what_the_other_side_of_a_raise_made_comes_out():
    def f(x):
        if x.sum() < 0:
            raise ValueError("negative")
        y, n, items = x * 2, x.sum().item(), [x]
        return y, n, items, y.shape[0]

    check(f, *BOTH)


def test_a_tensor_that_neither_side_changes_is_the_same_object():
    def f(x):
        y = x * 2
        z = y
        if x.sum() > 0:
            k = 1
        else:
            k = 2
        z.add_(1)
        return y, k, y is z

    check(f, *BOTH)


def test_an_alias_made_on_one_side_is_written_through():
    def f(x):
        base = x * 1
        y = base if x.sum() > 0 else base.clone()
        y.add_(1)
        return base

    check(f, *BOTH)


def test_variables_join_whatever_their_kinds():
    def f(x):
        if x.sum() > 0:
            a, b, c, d = 1, None, x, (x, 1)
        else:
            a, b, c, d = 2.5, x, x.long(), (x + 1, 2)
        return a, b, c, d

    check(f, *BOTH)


def test_a_name_bound_on_one_side_only_raises_where_it_is_read():
    def f(x):
        if x.sum() > 0:
            y = x
        return y

    check(f, *BOTH)


def test_sizes_that_differ_join():
    def f(x):
        y = x if x.sum() > 0 else x[:1]
        return y * 2, y.shape[0]

    check(f, *BOTH)


def test_lists_dicts_and_attributes_changed_on_one_side():
    class Box:
        pass

    def f(x):
        items, table, box = [x], {"a": x}, Box()
        box.k = 0
        if x.sum() > 0:
            items.append(x + 1)
            table["a"] = x * 5
            box.k = 1
        else:
            items[0] = x - 1
        return items, table, box.k

    check(f, *BOTH)


def test_branches_nest():
    def f(x):
        if x.sum() > 0:
            if x.sum() > 3:
                return "big"
            return "small"
        if x.sum() < -3:
            return "very negative"
        return "negative"

    check(f, *BOTH, (ONE * 5,), (NONE * 5,))


def test_a_list_made_on_one_side_under_two_names_stays_one_list():
    def f(x):
        a = b = None
        if x.sum() > 0:
            a = [x]
            b = a
        a.append(x)
        return b

    check(f, (ONE,), (ONE * 2,))


def test_so_do_two_attributes():
    def f(x):
        box = types.SimpleNamespace(one=None, two=None)
        if x.sum() > 0:
            box.one = []
            box.two = box.one
        if box.one is not None:
            box.one.append(1)
            return x + len(box.two)
        return x

    check(f, (ONE,), (-ONE,))


def test_two_attributes_of_an_object_that_stays_are_refused():
    box = types.SimpleNamespace(one=None, two=None)

    def f(x):
        if x.sum() > 0:
            box.one = []
            box.two = box.one
        if x.sum() > 0:
            box.one.append(1)
            return x + len(box.two)
        return x

    error = refusal(UnsupportedCall, f, ONE)
    assert error.problem == "a list that may have two names is kept after the call"
    assert error.fix == "keep a copy of it: `list(...)`"


def test_gradients_flow_through_the_side_taken():
    static = check(lambda x: (x * 2 if x.sum() > 0 else x * 3).sum(), *BOTH)
    for value, want in ((1.0, 2.0), (-1.0, 3.0)):
        x = torch.full((2,), value, requires_grad=True)
        static(x).backward()
        assert x.grad.tolist() == [want, want]


def test_shared_sets_are_refused_before_their_combinations_take_minutes():
    edges = [(i, j) for i in range(8) for j in range(i)]

    def spanning_tree(weights):
        part = {node: {node} for node in range(8)}
        total = 0.0
        for k in torch.argsort(weights).tolist():
            a, b = edges[k]
            if part[a] is not part[b]:
                both = part[a] | part[b]
                for node in both:
                    part[node] = both
                total = total + weights[k]
        return total

    with pytest.raises(
        UnsupportedCall, match=r"one of \d+ (combinations|values): it would be recorded"
    ):
        stator.to_static(spanning_tree)(torch.rand(len(edges)))
