"""Guards: what was read from outside, and whether it still holds."""

import itertools
import subprocess
import sys
import types

import pytest

from stator.capture.provenance import Provenance
from stator.state.guards import Guards
from stator.state.reads import ReadLog


def cell_of(value):
    return (lambda: value).__closure__[0]


def test_nothing_read_nothing_changed():
    assert Guards(()).changed() is None


@pytest.mark.parametrize("other", [3, 2.0, True, None, "2", float("nan")])
def test_an_attribute_with_another_value_has_changed(other):
    reads, obj = ReadLog(Provenance()), types.SimpleNamespace(k=2)
    reads.provenance.add_external(obj)
    reads.read_attribute(obj, "k", obj.k)
    assert Guards(reads.all()).changed() is None
    obj.k = other
    assert Guards(reads.all()).changed() == "SimpleNamespace.k"


def test_a_deleted_attribute_has_changed():
    reads, obj = ReadLog(Provenance()), types.SimpleNamespace(k=2)
    reads.provenance.add_external(obj)
    reads.read_attribute(obj, "k", obj.k)
    del obj.k
    assert Guards(reads.all()).changed() == "SimpleNamespace.k"


def test_an_object_of_the_capture_is_not_watched():
    reads, obj = ReadLog(Provenance()), types.SimpleNamespace(k=2)
    reads.read_attribute(obj, "k", obj.k)
    obj.k = 3
    assert Guards(reads.all()).changed() is None


def test_what_is_read_from_an_outside_object_is_outside_too():
    reads, inner = ReadLog(Provenance()), types.SimpleNamespace(k=2)
    outer = types.SimpleNamespace(inner=inner)
    reads.provenance.add_external(outer)
    reads.read_attribute(outer, "inner", inner)
    reads.read_attribute(inner, "k", 2)
    inner.k = 3
    assert Guards(reads.all()).changed() == "SimpleNamespace.k"


def test_items_are_watched_by_key():
    reads, table = ReadLog(Provenance()), {"a": 1, "b": 2}
    reads.provenance.add_external(table)
    reads.read_item(table, "a", 1)
    table["b"] = 5
    assert Guards(reads.all()).changed() is None
    table["a"] = 5
    assert Guards(reads.all()).changed() == "['a']"


def test_a_missing_item_has_changed():
    reads, items = ReadLog(Provenance()), [1, 2]
    reads.provenance.add_external(items)
    reads.read_item(items, 1, 2)
    items.pop()
    assert Guards(reads.all()).changed() == "[1]"


def test_globals_and_cells_are_watched_by_name():
    reads, names, cell = ReadLog(Provenance()), {"SCALE": 2}, cell_of(3)
    reads.read_global(names, "SCALE")
    reads.read_cell(cell, "k")
    assert Guards(reads.all()).changed() is None
    cell.cell_contents = 4
    assert Guards(reads.all()).changed() == "variable k"
    names["SCALE"] = 5
    assert Guards(reads.all()).changed() == "global SCALE"


def test_an_equal_constant_is_unchanged_and_an_equal_list_is_not():
    reads, obj = ReadLog(Provenance()), types.SimpleNamespace(k=1000, items=[1])
    reads.provenance.add_external(obj)
    reads.read_attribute(obj, "k", obj.k)
    obj.k = int("1000")
    assert Guards(reads.all()).changed() is None
    reads.read_attribute(obj, "items", obj.items)
    obj.items = [1]
    assert Guards(reads.all()).changed() == "SimpleNamespace.items"


def test_nan_is_the_nan_it_was():
    reads, obj = ReadLog(Provenance()), types.SimpleNamespace(k=float("nan"))
    reads.provenance.add_external(obj)
    reads.read_attribute(obj, "k", obj.k)
    obj.k = float("nan")
    assert Guards(reads.all()).changed() is None


def test_minus_zero_is_not_zero():
    reads, obj = ReadLog(Provenance()), types.SimpleNamespace(k=0.0)
    reads.provenance.add_external(obj)
    reads.read_attribute(obj, "k", obj.k)
    obj.k = -0.0
    assert Guards(reads.all()).changed() is not None


def test_a_bound_method_is_the_same_each_time_it_is_read():
    class Box:
        def get(self):
            return 1

    reads, box = ReadLog(Provenance()), Box()
    holder = types.SimpleNamespace(get=box.get)
    reads.provenance.add_external(holder)
    reads.read_attribute(holder, "get", holder.get)
    holder.get = box.get
    assert Guards(reads.all()).changed() is None


def test_a_class_method_written_in_c_is_the_same_at_each_access():
    reads = ReadLog(Provenance())
    reads.provenance.add_external(itertools.chain)
    reads.read_attribute(itertools.chain, "from_iterable", itertools.chain.from_iterable)
    assert Guards(reads.all()).changed() is None


def test_a_method_written_in_c_of_another_object_has_changed():
    one, other = [], []
    reads, obj = ReadLog(Provenance()), types.SimpleNamespace(add=one.append)
    reads.provenance.add_external(obj)
    reads.read_attribute(obj, "add", obj.add)
    assert Guards(reads.all()).changed() is None
    obj.add = other.append
    assert Guards(reads.all()).changed() == "SimpleNamespace.add"


@pytest.mark.slow
def test_calls_beside_threads_that_change_what_is_read_live_and_end_right():
    """In a process of its own, which a wrong read of memory would end."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.state.races", "--changes", "300"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
