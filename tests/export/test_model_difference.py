"""How one saved model differs from another."""

import math

import pytest
import torch

import stator
from stator import InputSpec
from stator.export.model_difference import ModelChanges, have_same_weights, model_changes
from stator.export.saved_model import SavedModel, read_model
from stator.export.weight_difference import weight_distance


class Net(torch.nn.Module):
    def __init__(self, width=3, tied=False):
        super().__init__()
        self.one, self.two = torch.nn.Linear(3, width), torch.nn.Linear(3, width)
        self.register_buffer("scale", torch.ones(width))
        if tied:
            self.two.weight = self.one.weight

    def forward(self, x):
        return (self.one(x) + self.two(x)) * self.scale

    def twice(self, x):
        return self.one(x) * 2


SPEC = [InputSpec([None, 3])]


@pytest.fixture
def saved(tmp_path):
    """A function: a model after a change of its own, saved and read."""
    count = iter(range(10))

    def make(change=None, **options):
        torch.manual_seed(0)
        model = Net(**options)
        with torch.no_grad():
            if change is not None:
                change(model)
        path = tmp_path / str(next(count))
        methods = getattr(model, "methods", None)
        stator.save(model, path, None if methods else SPEC, methods=methods,
                    properties=getattr(model, "properties", None))  # fmt: skip
        return read_model(path)

    return make


def changes(before: SavedModel, after: SavedModel) -> ModelChanges:
    return model_changes(before, after, weight_distance(before, after))


def test_a_model_saved_twice_is_the_same(saved):
    found = changes(saved(), saved())
    assert found.is_same
    assert have_same_weights(saved(), saved())
    assert found.to_dict()["same"] is True
    assert found.programs[0].runs == ("forward (train)", "forward (eval)")


def test_a_weight_with_other_values_has_their_largest_distance(saved):
    def move(model):
        model.one.bias[1] += 0.25

    found = changes(saved(), saved(move))
    (weight,) = found.weights
    assert (weight.name, weight.details) == ("one.bias", ("other values",))
    assert weight.max_difference == pytest.approx(0.25)
    assert not found.is_same
    assert not any(program.changes for program in found.programs)


def test_a_nan_is_equal_to_itself_and_far_from_anything_else(saved):
    def spoil(model):
        model.one.bias[1] = math.nan

    def spoil_and_move(model):
        model.one.bias[1] = math.nan
        model.one.bias[0] += 1

    assert changes(saved(spoil), saved(spoil)).is_same
    (weight,) = changes(saved(spoil), saved(spoil_and_move)).weights
    assert weight.max_difference == pytest.approx(1.0)
    (weight,) = changes(saved(), saved(spoil)).weights
    assert math.isnan(weight.max_difference)


def test_a_sign_of_zero_is_a_difference(saved):
    (weight,) = changes(
        saved(lambda model: model.scale.fill_(0.0)), saved(lambda model: model.scale.fill_(-0.0))
    ).weights
    assert (weight.details, weight.max_difference) == (("other values",), 0.0)


def test_another_shape_another_kind_and_tied_weights(saved):
    found = {one.name: one for one in changes(saved(), saved(width=4)).weights}
    assert found["one.weight"].details == ("another dtype or shape",)
    assert found["one.weight"].before == "parameter float32[3, 3]"
    assert found["one.weight"].after == "parameter float32[4, 3]"
    frozen = changes(saved(), saved(lambda model: model.one.bias.requires_grad_(False)))
    assert [one.details for one in frozen.weights] == [("requires_grad: True -> False",)]
    tied = {one.name: one for one in changes(saved(), saved(tied=True)).weights}
    assert tied["one.weight"].details == ("one with none -> one with two.weight",)


def test_weights_that_are_on_one_side_only(saved):
    def add(model):
        model.register_buffer("extra", torch.zeros(2, dtype=torch.int64))

    (weight,) = changes(saved(), saved(add)).weights
    assert (weight.kind, weight.name, weight.after) == ("added", "extra", "buffer int64[2]")
    (weight,) = changes(saved(add), saved()).weights
    assert (weight.kind, weight.before) == ("removed", "buffer int64[2]")


def test_methods_mode_and_properties_are_the_contract(saved):
    def with_method(model):
        model.methods = {"forward": SPEC, "twice": SPEC}

    def with_property(model):
        model.properties = {"labels": [1, 2]}

    assert changes(saved(), saved(with_method)).contract == ("method twice: added",)
    assert changes(saved(with_method), saved()).contract == ("method twice: removed",)
    assert changes(saved(), saved(lambda model: model.eval())).contract == (
        "saved in train mode -> eval mode",
    )
    assert changes(saved(), saved(with_property)).contract == ("property labels: None -> [1, 2]",)
