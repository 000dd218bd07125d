"""The table of methods names programs that are there; version 1 had none."""

import pytest

from stator.export.checking import Damage
from stator.export.methods import Method, decode_methods, encode_methods, methods_of
from tests.program.zoo import linear

PROGRAMS = {"forward": linear(), "eval": linear()}


def decoded(methods, version=2, training=True, metadata=None):
    return decode_methods(
        {"methods": methods}, PROGRAMS, version=version, training=training, metadata=metadata or {}
    )


def test_a_table_comes_back():
    methods = {
        "forward": Method({"train": "forward", "eval": "eval"}),
        "encode": Method({"eval": "forward"}, {"train": "it needs two rows"}),
    }
    assert decoded(encode_methods(methods)) == methods


def test_programs_alone_are_methods_that_are_the_same_in_both_modes():
    assert methods_of(PROGRAMS)["eval"] == Method({"train": "eval", "eval": "eval"})


@pytest.mark.parametrize(
    ("training", "metadata", "programs"),
    [
        (True, {}, {"train": "forward", "eval": "eval"}),
        (False, {}, {"eval": "forward"}),
        (False, {"modes": False}, {"train": "forward", "eval": "forward"}),
    ],
)
def test_the_methods_of_version_1_follow_from_its_programs(training, metadata, programs):
    assert decoded(None, 1, training, metadata) == {"forward": Method(programs)}


@pytest.mark.parametrize(
    ("methods", "problem"),
    [
        ([], "the model.methods must be an object, not a list"),
        ({"f": {"programs": {}}}, "methods.f has no 'refused'"),
        ({"f": {"programs": {"x": "forward"}, "refused": {}}},
         "methods.f must be one of train, eval, not 'x'"),
        ({"f": {"programs": {"train": 1}, "refused": {}}},
         "methods.f.train must be a string, not an integer"),
        ({"f": {"programs": {"train": "no"}, "refused": {}}},
         "methods.f.train names the program 'no', which is not there"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_refused_by_its_text(methods, problem):
    with pytest.raises(Damage) as caught:
        decoded(methods)
    assert str(caught.value) == problem
