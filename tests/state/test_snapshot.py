"""Snapshots: no change is seen at once, a change is never missed."""

import collections
import functools
import gc
import types
import weakref

import pytest
import torch

import stator
from stator.capture.provenance import Provenance
from stator.extension import extension
from stator.state.guards import Guards
from stator.state.reads import ReadLog
from stator.state.snapshot import Parts, class_dicts

NATIVE = extension()
needs_extension = pytest.mark.skipif(NATIVE is None, reason="the extension is not built")


def snapshot_of(dicts=(), owners=(), functions=(), tensors=(), again=()):
    return NATIVE.snapshot(dicts, owners, functions, tensors, again)


@needs_extension
def test_a_snapshot_tells_the_dicts_that_were_written():
    dicts = [{"a": 1}, {"b": 2}, {"c": 3}]
    snapshot = snapshot_of(dicts)
    assert snapshot.is_valid()
    dicts[1]["b"] = 5
    assert not snapshot.is_valid()
    assert snapshot.written() == [{"b": 5}]


@needs_extension
@pytest.mark.parametrize(
    "write",
    [
        lambda d: d.update(a=2),
        lambda d: d.pop("a"),
        lambda d: d.setdefault("b", 1),
        lambda d: d.clear(),
        lambda d: d.__ior__({"a": 7}),
        lambda d: d.popitem(),
        lambda d: d.__delitem__("a"),
    ],
)
@pytest.mark.parametrize("kind", [dict, collections.OrderedDict])
def test_every_way_to_write_a_dict_is_seen(kind, write):
    one = kind(a=1)
    first, second = snapshot_of([one]), snapshot_of([one])
    write(one)
    assert not first.is_valid()
    assert not second.is_valid()
    assert snapshot_of([one]).is_valid()


@needs_extension
def test_an_attribute_of_an_object_is_in_its_dict():
    class Plain:
        def __init__(self):
            self.k = 1

    def write(obj, value):  # often enough for the interpreter to specialize it
        obj.k = value

    objects = [Plain() for _ in range(100)]
    for one in objects:
        write(one, 2)
    snapshots = [snapshot_of([vars(one)]) for one in objects]
    for one, snapshot in zip(objects, snapshots, strict=True):
        assert snapshot.is_valid()
        write(one, 3)
        assert not snapshot.is_valid()


@needs_extension
def test_a_write_to_an_empty_dict_is_seen():
    empty = {}
    snapshot = snapshot_of([empty])
    empty["a"] = 1
    assert not snapshot.is_valid()


@needs_extension
def test_the_dicts_of_a_class_are_those_that_change_with_it():
    class Base:
        k = 1

    class Derived(Base):
        pass

    snapshot = snapshot_of(class_dicts(Derived))
    assert snapshot.is_valid()
    Base.k = 2
    assert not snapshot.is_valid()


@needs_extension
def test_another_class_of_an_object_is_seen():
    class One:
        pass

    class Other:
        pass

    obj = One()
    snapshot = snapshot_of(owners=[obj])
    assert snapshot.is_valid()
    obj.__class__ = Other
    assert not snapshot.is_valid()


@needs_extension
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("__code__", (lambda a, *, b: a - b).__code__),
        ("__defaults__", (3,)),
        ("__defaults__", None),
        ("__kwdefaults__", {"b": 5}),
    ],
)
def test_another_part_of_a_function_is_seen(name, value):
    def function(a=1, *, b=2):
        return a + b

    snapshot = snapshot_of(functions=[function])
    assert snapshot.is_valid()
    setattr(function, name, value)
    assert not snapshot.is_valid()


def zeros(*sizes):
    return torch.zeros(sizes)


def give(data):
    def change(tensor):
        tensor.data = data

    return change


@needs_extension
@pytest.mark.parametrize(
    "change",
    [
        give(zeros(4, 3).double()),
        give(zeros(4, 5)),
        give(zeros(4)),
        give(zeros(4, 3, 1)),
        give(zeros(3, 4).t()),
        give(zeros(8, 3)[::2]),
        lambda tensor: tensor.requires_grad_(not tensor.requires_grad),
        lambda tensor: torch.utils.swap_tensors(tensor, zeros(4, 3)),
    ],
    ids=["double", "size", "rank", "more_rank", "strides", "steps", "grad", "swapped"],
)
@pytest.mark.parametrize("required", [True, False])
def test_another_kind_of_tensor_is_seen(change, required):
    tensor = zeros(4, 3).requires_grad_(required)
    snapshot = snapshot_of(tensors=[tensor])
    assert snapshot.is_valid()
    change(tensor)
    assert not snapshot.is_valid()


@needs_extension
def test_a_tensor_that_becomes_part_of_a_graph_is_seen():
    tensor = zeros(4, 3)
    snapshot = snapshot_of(tensors=[tensor])
    tensor.add_(zeros(4, 3).requires_grad_())
    assert not snapshot.is_valid()


@needs_extension
def test_what_no_dict_holds_is_asked_each_time():
    answers = [True, True, False]
    snapshot = snapshot_of(again=[lambda: answers.pop(0)])
    assert [snapshot.is_valid() for _ in range(3)] == [True, True, False]


@needs_extension
def test_an_error_of_what_is_asked_comes_through():
    def fail():
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        snapshot_of(again=[fail]).is_valid()


@needs_extension
def test_what_cannot_be_watched_is_refused():
    with pytest.raises(TypeError, match="a snapshot takes a dict, not a list"):
        snapshot_of(dicts=[[]])
    with pytest.raises(TypeError, match="a snapshot takes a function, not a type"):
        snapshot_of(functions=[int])
    nested = torch.nested.nested_tensor([zeros(2), zeros(3)], layout=torch.jagged)
    assert not NATIVE.can_watch(nested)


@needs_extension
def test_a_cycle_through_a_snapshot_is_collected():
    class Holder:
        pass

    holder = Holder()
    holder.snapshot = snapshot_of(owners=[holder], again=[functools.partial(bool, holder)])
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


@pytest.fixture(params=[True, False], ids=["extension", "plain"])
def extended(request, monkeypatch):
    """With the extension, and without it."""
    if not request.param:
        monkeypatch.setattr("stator.state.snapshot.extension", lambda: None)
    elif NATIVE is None:
        pytest.skip("the extension is not built")
    return request.param


def guarded(obj, *names):
    reads = ReadLog(Provenance())
    reads.provenance.add_external(obj)
    for name in names:
        reads.read_attribute(obj, name, getattr(obj, name))
    guards = Guards(reads.all())
    assert guards.hold()
    return guards


def test_a_write_to_what_was_not_read_still_holds(extended):
    obj = types.SimpleNamespace(k=2, other=1)
    guards = guarded(obj, "k")
    assert guards.is_current() == extended
    for value in range(20):
        obj.other = value + 2000
        assert guards.hold()
    assert guards.is_current() == extended  # by now the dict is left out of the snapshot
    obj.k = 3
    assert not guards.hold()
    obj.k = 2
    assert guards.hold()


def test_what_is_put_back_holds_again(extended):
    obj = types.SimpleNamespace(k=2)
    guards = guarded(obj, "k")
    obj.k = 3
    assert not guards.hold()
    assert not guards.hold()
    obj.k = 2
    assert guards.hold()
    assert guards.is_current() == extended


def test_hooks_are_seen_among_hooks_of_others(extended):
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


def test_a_hook_put_in_by_hand_is_seen(extended):
    module = torch.nn.Linear(2, 2)
    reads = ReadLog(Provenance())
    reads.provenance.add_external(module)
    reads.read_hooks(module)
    guards = Guards(reads.all())
    assert guards.hold()
    module._backward_hooks[7] = print
    assert not guards.hold()


def test_hooks_that_come_and_go_before_every_call_do_not_cost_a_snapshot_each_time(extended):
    module = torch.nn.Linear(2, 2)
    reads = ReadLog(Provenance())
    reads.provenance.add_external(module)
    reads.read_hooks(module)
    guards = Guards(reads.all())
    for _ in range(5):
        assert guards.hold()
        module.register_forward_hook(print).remove()
    assert guards.is_current() == extended  # the table is read before each call by now
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
def test_a_stored_tensor_of_any_kind_is_watched(make, extended):
    tensor, reads = make(), ReadLog(Provenance())
    reads.read_tensors({"weight": tensor})
    guards = Guards(reads.all())
    assert guards.hold()
    assert guards.is_current() == extended
    if tensor.is_floating_point():
        tensor.requires_grad_()
        assert not guards.hold()
        tensor.requires_grad_(False)
        assert guards.hold()
    tensor.data = tensor.clone()[..., None] if tensor.layout is torch.strided else tensor.double()
    assert not guards.is_current()
    assert not guards.hold()


def test_values_written_into_a_stored_tensor_and_gradients_are_no_change(extended):
    weight, term = torch.nn.Parameter(torch.ones(2, 3)), torch.ones(2, 3)
    reads = ReadLog(Provenance())
    reads.read_tensors({"weight": weight, "term": term})
    guards = Guards(reads.all())
    assert guards.hold()
    (weight * term).sum().backward()
    torch.optim.Adam([weight]).step()
    term.add_(1)
    weight.data = torch.zeros(2, 3)
    assert guards.is_current() == extended
    weight.grad = None
    assert guards.is_current() == extended


def test_what_the_capture_has_put_somewhere_is_not_watched(extended):
    obj = types.SimpleNamespace(items=None)
    reads = ReadLog(Provenance())
    reads.provenance.add_external(obj)
    live = object()
    reads.live(live, "obj.items", lambda: True, True)
    reads.read_attribute(obj, "items", live)
    obj.items = 5
    guards = Guards(reads.all())
    assert guards.hold()


def test_a_dict_of_attributes_that_is_replaced_is_seen():
    class Settings:
        pass

    settings = Settings()
    settings.factor = "two"

    def scaled(x):
        return x * 2 if settings.factor == "two" else x * 3

    static, x = stator.to_static(scaled), torch.ones(())
    assert [static(x).item() for _ in range(3)] == [2.0] * 3
    settings.__dict__ = {"factor": "two"}
    assert [static(x).item() for _ in range(3)] == [2.0] * 3
    settings.factor = "three"
    assert [static(x).item() for _ in range(3)] == [3.0] * 3
    settings.__dict__ = {"factor": "two"}
    assert [static(x).item() for _ in range(3)] == [2.0] * 3
    del settings.__dict__
    settings.factor = "three"
    assert [static(x).item() for _ in range(3)] == [3.0] * 3


@needs_extension
def test_the_classes_of_modules_are_not_read_again_by_python():
    static = stator.to_static(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
    static(torch.ones(2))
    parts = Parts()
    for read in static.forward.concrete_programs[0].captured.guards.reads:
        parts.add(read, {}, NATIVE)
    assert not parts.again
    assert {id(static), *map(id, static)} <= set(parts.owners)


def test_a_module_of_another_class_is_seen():
    class Double(torch.nn.Module):
        def forward(self, x):
            return x * 2

    class Triple(torch.nn.Module):
        def forward(self, x):
            return x * 3

    static, x = stator.to_static(torch.nn.Sequential(Double())), torch.ones(())
    assert [static(x).item() for _ in range(3)] == [2.0] * 3
    static[0].__class__ = Triple
    assert [static(x).item() for _ in range(3)] == [3.0] * 3


class Counted(torch.nn.Module):
    """Writes its own dict at every call, and reads other attributes."""

    default = 1.0

    def __init__(self):
        super().__init__()
        self.steps, self.scale, self.inner = 0, 2.0, torch.nn.Identity()

    def forward(self, x):
        self.steps += 1
        return self.inner(x) * self.scale * self.default + self.steps


class Negative(torch.nn.Module):
    def forward(self, x):
        return -x


class Delegating(Counted):
    """Finds what it does not have by another of its items."""

    def __getattr__(self, name):
        if name == "factor":
            return self.__dict__["other"]
        return super().__getattr__(name)

    def forward(self, x):
        return super().forward(x) * self.factor


CHANGES = (
    lambda m: setattr(m, "scale", 3.0),
    lambda m: setattr(m, "scale", float("3")),
    lambda m: setattr(m, "inner", Negative()),
    lambda m: setattr(m, "default", 5.0),
    lambda m: object.__setattr__(m, "inner", torch.nn.ReLU()),
    lambda m: m.__dict__.update(_modules={"inner": torch.nn.Softplus()}),
    lambda m: m.__dict__.pop("inner", None),
    lambda m: m.__dict__.pop("default"),
    lambda m: setattr(m, "steps", 40),
    lambda m: setattr(m, "other", 7),
)


@pytest.mark.parametrize("cls", [Counted, Delegating])
def test_what_is_read_beside_an_attribute_that_is_written_all_the_time_is_still_seen(cls):
    eager, static, x = cls(), stator.to_static(cls()), torch.tensor([1.0, -2.0])
    eager.other = static.other = 2
    for change in (lambda m: None, *CHANGES):
        change(eager)
        change(static)
        for _ in range(6):  # after a few, the dict counts as one that is written all the time
            assert torch.equal(static(x), eager(x))
    assert static.steps == eager.steps


@needs_extension
def test_a_loose_object_is_not_kept():
    class Loose:
        pass

    loose = Loose()
    loose.a = 1
    snapshot = snapshot_of([vars(loose)], [weakref.ref(loose)])
    assert snapshot.is_valid()
    loose.a = 2
    assert not snapshot.is_valid()
    assert snapshot.written() == [{"a": 2}]
    snapshot = snapshot_of([vars(loose)], [weakref.ref(loose)])
    loose.__dict__ = {"a": 2}
    assert not snapshot.is_valid()
    assert snapshot.written() == []
    snapshot, gone = snapshot_of([vars(loose)], [weakref.ref(loose)]), weakref.ref(loose)
    del loose
    assert gone() is None
    assert not snapshot.is_valid()
    assert snapshot.written() == []
    with pytest.raises(TypeError, match="weak reference to an object that is there"):
        snapshot_of(owners=[gone])
