"""Effects that set attributes to outputs: what is done by the short way, and what is not."""

import types

import torch

import stator
from stator.api.attribute_writes import write_attributes, writes_of
from stator.program.structure import ConstantValue, Leaf, Mapping
from stator.state.effects import Effect


class Meter:
    """Keeps its attributes in a dict."""

    def __init__(self):
        self.count, self.total = 0, 0.0


class Slotted(Meter):
    """Has one attribute outside of its dict."""

    __slots__ = ("peak",)


def setting(target, **positions):
    leaves = tuple(Leaf(position) for position in positions.values())
    return Effect(target, Mapping(tuple(positions), leaves))


def test_attributes_that_become_outputs_are_written():
    meter = Meter()
    writes = writes_of([setting(meter, total=1, count=0)])
    assert write_attributes(writes, (3, 4.5))
    assert (meter.count, meter.total) == (3, 4.5)


def test_other_effects_are_not_done_by_the_short_way():
    meter = Meter()
    others = (
        setting({}, count=0),
        setting(Meter, count=0),
        setting(Slotted(), count=0),
        setting(types.CellType(1), cell=0),
        Effect(meter, Mapping(("count",), (ConstantValue(1),))),
        Effect(meter, Mapping(("count",), (Leaf(0),)), deleted=("total",)),
        Effect(meter, Mapping(("count",), (Leaf(0),)), absent=("count",)),
    )
    for effect in others:
        assert writes_of([setting(meter, total=1), effect]) is None


def test_an_object_of_another_class_is_left_to_the_long_way():
    first, meter = Meter(), Meter()
    writes = writes_of([setting(first, count=0), setting(meter, count=0)])
    meter.__class__ = type("Other", (Meter,), {})
    assert not write_attributes(writes, (7,))
    assert (first.count, meter.count) == (0, 0)


class Watched(dict):
    """A dict that counts its writes by itself."""

    writes = 0

    def __setitem__(self, key, value):
        Watched.writes += 1
        super().__setitem__(key, value)


def test_an_object_whose_dict_is_replaced_is_written_to_there():
    meter = Meter()

    def step(x):
        meter.count += 1
        return x + meter.count

    static, x = stator.to_static(step), torch.zeros(())
    assert [static(x).item() for _ in range(4)] == [1, 2, 3, 4]
    meter.__dict__ = {"count": 10, "total": 0.0}
    assert [static(x).item() for _ in range(3)] == [11, 12, 13]
    meter.__dict__ = Watched(count=20, total=0.0)
    assert [static(x).item() for _ in range(3)] == [21, 22, 23]
    assert (meter.count, Watched.writes) == (23, 0)
