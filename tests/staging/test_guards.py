"""Guards: what was read from outside, and whether it still holds."""

import types

import pytest

from stator.staging.guards import Guards


def cell_of(value):
    return (lambda: value).__closure__[0]


def test_nothing_read_nothing_changed():
    assert Guards().changed() is None


@pytest.mark.parametrize("other", [3, 2.0, True, None, "2", float("nan")])
def test_an_attribute_with_another_value_has_changed(other):
    guards, obj = Guards(), types.SimpleNamespace(k=2)
    guards.own(obj)
    guards.read_attribute(obj, "k", obj.k)
    assert guards.changed() is None
    obj.k = other
    assert guards.changed() == "SimpleNamespace.k"


def test_a_deleted_attribute_has_changed():
    guards, obj = Guards(), types.SimpleNamespace(k=2)
    guards.own(obj)
    guards.read_attribute(obj, "k", obj.k)
    del obj.k
    assert guards.changed() == "SimpleNamespace.k"


def test_an_object_of_the_capture_is_not_watched():
    guards, obj = Guards(), types.SimpleNamespace(k=2)
    guards.read_attribute(obj, "k", obj.k)
    obj.k = 3
    assert guards.changed() is None


def test_what_is_read_from_an_outside_object_is_outside_too():
    guards, inner = Guards(), types.SimpleNamespace(k=2)
    outer = types.SimpleNamespace(inner=inner)
    guards.own(outer)
    guards.read_attribute(outer, "inner", inner)
    guards.read_attribute(inner, "k", 2)
    inner.k = 3
    assert guards.changed() == "SimpleNamespace.k"


def test_items_are_watched_by_key():
    guards, table = Guards(), {"a": 1, "b": 2}
    guards.own(table)
    guards.read_item(table, "a", 1)
    table["b"] = 5
    assert guards.changed() is None
    table["a"] = 5
    assert guards.changed() == "['a']"


def test_a_missing_item_has_changed():
    guards, items = Guards(), [1, 2]
    guards.own(items)
    guards.read_item(items, 1, 2)
    items.pop()
    assert guards.changed() == "[1]"


def test_globals_and_cells_are_watched_by_name():
    guards, names, cell = Guards(), {"SCALE": 2}, cell_of(3)
    guards.read_global(names, "SCALE")
    guards.read_cell(cell, "k")
    assert guards.changed() is None
    cell.cell_contents = 4
    assert guards.changed() == "variable k"
    names["SCALE"] = 5
    assert guards.changed() == "global SCALE"


def test_an_equal_constant_is_unchanged_and_an_equal_list_is_not():
    guards, obj = Guards(), types.SimpleNamespace(k=1000, items=[1])
    guards.own(obj)
    guards.read_attribute(obj, "k", obj.k)
    obj.k = int("1000")
    assert guards.changed() is None
    guards.read_attribute(obj, "items", obj.items)
    obj.items = [1]
    assert guards.changed() == "SimpleNamespace.items"


def test_nan_is_the_nan_it_was():
    guards, obj = Guards(), types.SimpleNamespace(k=float("nan"))
    guards.own(obj)
    guards.read_attribute(obj, "k", obj.k)
    obj.k = float("nan")
    assert guards.changed() is None


def test_minus_zero_is_not_zero():
    guards, obj = Guards(), types.SimpleNamespace(k=0.0)
    guards.own(obj)
    guards.read_attribute(obj, "k", obj.k)
    obj.k = -0.0
    assert guards.changed() is not None


def test_a_bound_method_is_the_same_each_time_it_is_read():
    class Box:
        def get(self):
            return 1

    guards, box = Guards(), Box()
    holder = types.SimpleNamespace(get=box.get)
    guards.own(holder)
    guards.read_attribute(holder, "get", holder.get)
    holder.get = box.get
    assert guards.changed() is None
