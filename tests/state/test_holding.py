"""Own objects: a model that has its static function goes when the last reference to it does."""

import contextlib
import copy
import gc
import types
import weakref

import pytest
import torch

import stator
from stator.errors import UnsupportedCall
from stator.state.holding import GONE, Weakly, add_own, holding, is_own, own_object, weakly

pytestmark = pytest.mark.usefixtures("small_heap")  # it asks for collections


class Scaled(torch.nn.Module):
    def __init__(self, scale=2.0):
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)
        self.scale, self.steps, self.last = scale, 0, None
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        return self.body(x)

    def body(self, x):
        self.steps += 1
        if x.sum() > 0:
            x = self.inner(x)
        self.seen += 1
        self.last = x.detach()
        return self.scaled(x) if hasattr(self, "scale") else x

    def scaled(self, x):
        return x * self.scale


class Decorated(Scaled):
    @stator.to_static
    def forward(self, x):
        return self.body(x)


@stator.to_static
class WholeClass(Scaled):
    pass


def closing():
    model = Scaled()

    @stator.to_static
    def call(x):
        return model(x) + 1

    call.model = model
    return call


@contextlib.contextmanager
def no_collector():
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def used(made):
    """What of `made`, after calls of several kinds, is left without it."""
    for rows in (1, 2, 5):
        made(torch.ones(rows, 3)).sum().backward()
    made(-torch.ones(2, 3))
    model = getattr(made, "model", made)
    return weakref.ref(model), weakref.ref(model.inner.weight)


@pytest.mark.parametrize(
    "make", [lambda: stator.to_static(Scaled()), Decorated, WholeClass, closing]
)
def test_a_model_goes_without_the_garbage_collector(make):
    used(make())  # torch imports some of its modules when they are first needed
    with no_collector():
        assert [one() for one in used(make())] == [None, None]


def test_a_method_of_an_object_that_nothing_else_holds_can_be_called():
    torch.manual_seed(0)
    expected = Scaled()(torch.ones(2, 3))
    torch.manual_seed(0)
    assert torch.equal(Decorated().forward(torch.ones(2, 3)), expected)


def test_a_kept_method_of_a_decorated_class_keeps_its_object():
    method = Decorated(3.0).forward
    gc.collect()
    assert method(torch.ones(2, 3)).shape == (2, 3)
    assert method.dygraph_function.__self__.steps == 1


def test_the_forward_of_a_module_that_is_gone_is_refused():
    forward = stator.to_static(Scaled()).forward
    with pytest.raises(UnsupportedCall) as caught:
        forward(torch.ones(2, 3))
    assert caught.value.problem == "the Scaled whose method this is does not exist any more"
    assert caught.value.fix == "keep the Scaled, and call its method by it"


def test_a_copy_of_a_model_does_without_the_model():
    model = stator.to_static(Scaled())
    model(torch.ones(2, 3))
    copied = copy.deepcopy(model)
    expected, gone = model(torch.ones(2, 3)), weakref.ref(model)
    del model
    assert gone() is None
    assert torch.equal(copied(torch.ones(2, 3)), expected)
    alone = copy.deepcopy(copied.forward)
    assert torch.equal(alone(torch.ones(2, 3)), expected)


def test_a_model_that_is_replaced_and_gone_is_no_error():
    @stator.to_static
    def call(x):
        return holder.model(x) * 2

    holder = types.SimpleNamespace()
    for scale in (1.0, 2.0, 3.0, 3.0):
        holder.model = Decorated(scale)
        other = copy.deepcopy(holder.model)
        assert torch.equal(call(torch.ones(2, 3)), other.body(torch.ones(2, 3)) * 2)


def test_another_class_and_another_dict_of_an_own_object_are_seen():
    class Doubled(Scaled):
        def scaled(self, x):
            return x * self.scale * 2

    model, x = stator.to_static(Scaled()), -torch.ones(2, 3)
    for _ in range(3):
        assert torch.equal(model(x), x * 2)
    model.__dict__ = {**vars(model), "scale": 5.0}
    assert torch.equal(model(x), x * 5)
    model.__class__ = Doubled
    assert torch.equal(model(x), x * 10)
    model.scale = 7.0
    assert torch.equal(model(x), x * 14)


def test_only_the_dict_that_an_own_object_has_is_held_by_it():
    obj = Scaled()
    before = vars(obj)
    assert add_own(obj)
    assert is_own(obj)
    assert own_object(before) is obj
    obj.__dict__ = dict(before)
    assert own_object(before) is None


def test_an_own_object_that_is_gone_is_another_one():
    @holding(owner=weakly)
    class Place:
        def __init__(self, owner):
            self.owner = owner

    obj = Scaled()
    assert add_own(obj)
    assert not add_own(types.SimpleNamespace())  # Python has no weak references to these
    place, held = Place(obj), Weakly(obj)
    assert place.owner is held() is obj
    del obj
    assert place.owner is held() is GONE
