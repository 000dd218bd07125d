"""Assumptions: what a branch has decided is not asked again inside of it."""

import torch

import stator
from stator.program.ir import ops_in


def ops_of(function, *args):
    static = stator.to_static(function)
    static(*args)
    (program,) = static.concrete_programs
    return [op.name for op in ops_in(program.program.body)]


def maybe(x):
    return x * 2 if x.sum() > 0 else None


def test_nothing_is_recorded_for_none_where_it_has_been_excluded():
    def used(x):
        y = maybe(x)
        if y is not None:
            return torch.add(y, 1) * y.shape[0]
        return x

    assert "stator::raise" not in ops_of(used, torch.ones(2))


def test_none_raises_where_nothing_excludes_it():
    def used(x):
        y = maybe(x)
        return y + 1

    assert "stator::raise" in ops_of(used, torch.ones(2))


def test_none_is_excluded_after_it_has_raised():
    def used(x):
        y = maybe(x)
        return (y + 1) * (y + 2) * (y + 3)

    assert ops_of(used, torch.ones(2)).count("stator::raise") == 1


def test_a_condition_is_decided_inside_its_own_branch():
    def used(x):
        y = maybe(x)
        if y is None:
            if y is None:
                return x - 1
            return x - 2
        return y

    static = stator.to_static(used)
    for x in (torch.ones(2), -torch.ones(2)):
        assert torch.equal(static(x), used(x))
    assert ops_of(used, torch.ones(2)).count("aten::sub.Tensor") == 1


def test_the_other_side_of_a_branch_assumes_the_opposite():
    def used(x):
        y = maybe(x)
        if y is None:
            y = torch.zeros_like(x)
        return torch.mul(y, 3)

    static = stator.to_static(used)
    for x in (torch.ones(2), -torch.ones(2)):
        assert torch.equal(static(x), used(x))
    assert "stator::raise" not in ops_of(used, torch.ones(2))


def test_what_a_branch_has_decided_does_not_hold_after_it():
    def used(x):
        y, total = maybe(x), x
        if y is None:
            total = x - 1
        if y is not None:
            total = total + y
        return total

    static = stator.to_static(used)
    for x in (torch.ones(2), -torch.ones(2)):
        assert torch.equal(static(x), used(x))


def test_what_is_put_into_a_dict_is_narrowed_too():
    def call(x, **rest):
        return x * rest["mask"] if "mask" in rest else x + 1

    def used(x):
        y, inputs = maybe(x), {"x": x}
        if y is not None:
            inputs["mask"] = y
        return call(**inputs)

    for x in (torch.ones(2), -torch.ones(2)):
        assert torch.equal(stator.to_static(used)(x), used(x))
    assert "stator::raise" not in ops_of(used, torch.ones(2))
