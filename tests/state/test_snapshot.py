"""Snapshots: no change is seen at once, a change is never missed."""

import collections
import types

import pytest
import torch

from stator.capture.provenance import Provenance
from stator.state.guards import Guards
from stator.state.native_checks import (
    DictVersions,
    modes_check,
    tensors_check,
    versions_check,
)
from stator.state.reads import ReadLog
from stator.state.snapshot import class_dicts


def test_versions_tell_the_dicts_that_were_written():
    dicts = [{"a": 1}, {"b": 2}, {"c": 3}]
    versions, are_unchanged = DictVersions(dicts), versions_check(dicts)
    assert are_unchanged()
    dicts[1]["b"] = 5
    assert not are_unchanged()
    assert versions.written() == [{"b": 5}]


@pytest.mark.parametrize(
    "write",
    [
        lambda d: d.update(a=2),
        lambda d: d.pop("a"),
        lambda d: d.setdefault("b", 1),
        lambda d: d.clear(),
        lambda d: d.__ior__({"a": 7}),
        lambda d: d.popitem(),
    ],
)
@pytest.mark.parametrize("kind", [dict, collections.OrderedDict])
def test_every_way_to_write_a_dict_is_seen(kind, write):
    one = kind(a=1)
    are_unchanged = versions_check([one])
    write(one)
    assert not are_unchanged()


def test_the_dicts_of_a_class_are_those_that_change_with_it():
    class Base:
        k = 1

    class Derived(Base):
        pass

    are_unchanged = versions_check(class_dicts(Derived))
    assert are_unchanged()
    Base.k = 2
    assert not are_unchanged()


def test_a_tensor_check_takes_any_size_where_it_is_told_to():
    check = tensors_check([torch.ones(2, 3)], [(None, 3)])
    assert check(torch.ones(7, 3))
    assert not check(torch.ones(7, 4))
    assert not check(torch.ones(7, 3, dtype=torch.float64))
    assert not check(torch.ones(7, 3, requires_grad=True))
    assert not check(torch.nn.Parameter(torch.ones(7, 3)))
    assert not check(3)


def test_a_modes_check_sees_grad_mode_autocast_and_the_default_dtype():
    check = modes_check()
    assert check()
    with torch.no_grad():
        assert not check()
    with torch.autocast("cpu"):
        assert not check()
    torch.set_default_dtype(torch.float64)
    try:
        assert not check()
    finally:
        torch.set_default_dtype(torch.float32)
    assert check()


@pytest.fixture(params=[True, False], ids=["by_memory", "by_torch"], autouse=True)
def by_memory(request, monkeypatch):
    """Each way to see that nothing has changed."""
    if not request.param:
        monkeypatch.setattr("stator.state.snapshot.can_check_by_memory", lambda: False)
    return request.param


def guarded(obj, *names):
    reads = ReadLog(Provenance())
    reads.provenance.add_external(obj)
    for name in names:
        reads.read_attribute(obj, name, getattr(obj, name))
    guards = Guards(reads.all())
    assert guards.hold()
    return guards


def test_a_write_to_what_was_not_read_still_holds():
    obj = types.SimpleNamespace(k=2, other=1)
    guards = guarded(obj, "k")
    assert guards.is_current()
    for value in range(20):
        obj.other = value + 2000
        assert guards.hold()
    assert guards.is_current()  # by now the dict is left out of the snapshot
    obj.k = 3
    assert not guards.hold()
    obj.k = 2
    assert guards.hold()


def test_what_is_put_back_holds_again():
    obj = types.SimpleNamespace(k=2)
    guards = guarded(obj, "k")
    obj.k = 3
    assert not guards.hold()
    assert not guards.hold()
    obj.k = 2
    assert guards.hold()
    assert guards.is_current()


def test_hooks_are_seen_among_hooks_of_others():
    module, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    reads = ReadLog(Provenance())
    reads.provenance.add_external(module)
    reads.read_hooks(module)
    guards = Guards(reads.all())
    assert guards.hold()
    other.register_forward_hook(print)
    assert guards.hold()
    handle = module.register_forward_pre_hook(print)
    assert not guards.hold()
    handle.remove()
    assert guards.hold()


def test_a_hook_put_in_by_hand_is_seen():
    module = torch.nn.Linear(2, 2)
    reads = ReadLog(Provenance())
    reads.provenance.add_external(module)
    reads.read_hooks(module)
    guards = Guards(reads.all())
    assert guards.hold()
    module._backward_hooks[7] = print
    assert not guards.hold()


def test_hooks_that_come_and_go_before_every_call_do_not_cost_a_snapshot_each_time():
    module = torch.nn.Linear(2, 2)
    reads = ReadLog(Provenance())
    reads.provenance.add_external(module)
    reads.read_hooks(module)
    guards = Guards(reads.all())
    for _ in range(5):
        assert guards.hold()
        module.register_forward_hook(print).remove()
    assert guards.is_current()  # the table is read before each call by now
    module.register_forward_hook(print)
    assert not guards.hold()


class Tagged(torch.Tensor):
    """A tensor of a class of its own."""


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.zeros(2, 2, 2, 2, 2, 2),
        lambda: torch.zeros(2, 3).as_subclass(Tagged),
        lambda: torch.zeros(2, 3).to_sparse(),
        lambda: torch.zeros(2, 3),
        lambda: torch.tensor(3),
        lambda: torch.zeros(0, 4, dtype=torch.complex64, device="meta"),
    ],
    ids=["rank_6", "subclass", "sparse", "plain", "number", "meta"],
)
def test_a_stored_tensor_of_any_kind_is_watched(make):
    tensor, reads = make(), ReadLog(Provenance())
    reads.read_tensors({"weight": tensor})
    guards = Guards(reads.all())
    assert guards.hold()
    assert guards.is_current()
    if tensor.is_floating_point():
        tensor.requires_grad_()
        assert not guards.hold()
        tensor.requires_grad_(False)
        assert guards.hold()
    tensor.data = tensor.clone()[..., None] if tensor.layout is torch.strided else tensor.double()
    assert not guards.is_current()
    assert not guards.hold()


def test_values_written_into_a_stored_tensor_and_gradients_are_no_change():
    weight, term = torch.nn.Parameter(torch.ones(2, 3)), torch.ones(2, 3)
    reads = ReadLog(Provenance())
    reads.read_tensors({"weight": weight, "term": term})
    guards = Guards(reads.all())
    assert guards.hold()
    (weight * term).sum().backward()
    torch.optim.Adam([weight]).step()
    term.add_(1)
    weight.data = torch.zeros(2, 3)
    assert guards.is_current()
    weight.grad = None
    assert guards.is_current()


def test_what_the_capture_has_put_somewhere_is_not_watched():
    obj = types.SimpleNamespace(items=None)
    reads = ReadLog(Provenance())
    reads.provenance.add_external(obj)
    live = object()
    reads.live(live, "obj.items", lambda: True, True)
    reads.read_attribute(obj, "items", live)
    obj.items = 5
    guards = Guards(reads.all())
    assert guards.hold()
