"""Stamps: no change is seen at once, a change is never missed."""

import collections
import types

import pytest
import torch

from stator.staging.guards import Guards
from stator.staging.native_checks import DictVersions, modes_check, tensors_check
from stator.staging.stamps import class_dicts


def test_versions_tell_the_dicts_that_were_written():
    dicts = [{"a": 1}, {"b": 2}, {"c": 3}]
    versions = DictVersions(dicts)
    assert versions.are_unchanged()
    dicts[1]["b"] = 5
    assert not versions.are_unchanged()
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
    versions = DictVersions([one])
    write(one)
    assert not versions.are_unchanged()


def test_the_dicts_of_a_class_are_those_that_change_with_it():
    class Base:
        k = 1

    class Derived(Base):
        pass

    versions = DictVersions(class_dicts(Derived))
    assert versions.are_unchanged()
    Base.k = 2
    assert not versions.are_unchanged()


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


def guarded(obj, *names):
    guards = Guards()
    guards.own(obj)
    for name in names:
        guards.read_attribute(obj, name, getattr(obj, name))
    assert guards.hold()
    return guards


def test_a_write_to_what_was_not_read_still_holds():
    obj = types.SimpleNamespace(k=2, other=1)
    guards = guarded(obj, "k")
    assert guards.is_current()
    for value in range(20):
        obj.other = value + 2000
        assert guards.hold()
    assert guards.is_current()  # by now the dict is left out of the stamp
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
    guards = Guards()
    guards.own(module)
    guards.read_hooks(module)
    assert guards.hold()
    other.register_forward_hook(print)
    assert guards.hold()
    handle = module.register_forward_pre_hook(print)
    assert not guards.hold()
    handle.remove()
    assert guards.hold()


def test_what_the_capture_has_put_somewhere_is_not_watched():
    obj = types.SimpleNamespace(items=None)
    guards = Guards()
    guards.own(obj)
    live = object()
    guards.live(live, "obj.items", lambda: True, True)
    guards.read_attribute(obj, "items", live)
    obj.items = 5
    assert guards.hold()
