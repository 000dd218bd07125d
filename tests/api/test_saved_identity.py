"""Containers that a saved model returns in several places: one object there, one after loading."""

import pytest
import torch

import stator
from stator.errors import CaptureError


def twice(x):
    rows = [x * 2]
    return rows, {"rows": rows, "pair": (rows, [rows])}


def two_lists(x):
    return [x], [x]


def chosen(x):
    one, other = [x], [x]
    return one, other, one if x.sum() > 0 else other


def of_the_run(x):
    found = []
    for value in x:
        if value > 0:
            found.append(value)
    return found, {"found": found}


def loaded(function, path):
    stator.save(function, path / "model", input_spec=[stator.InputSpec((2,), torch.float32)])
    return stator.load(path / "model")


def test_a_container_in_several_places_is_one_object(tmp_path):
    rows, held = loaded(twice, tmp_path)(torch.ones(2))
    assert rows is held["rows"] is held["pair"][0] is held["pair"][1][0]


def test_two_lists_of_one_tensor_are_two(tmp_path):
    one, other = loaded(two_lists, tmp_path)(torch.ones(2))
    assert one is not other


@pytest.mark.parametrize("value", [1.0, -1.0])
def test_a_list_that_a_branch_chooses_is_that_list(tmp_path, value):
    one, other, either = loaded(chosen, tmp_path)(torch.full((2,), value))
    assert (either is one, either is other) == (value > 0, value < 0)


def test_a_list_whose_length_depends_on_the_data_is_one_object(tmp_path):
    found, held = loaded(of_the_run, tmp_path)(torch.ones(2))
    assert found is held["found"]
    assert len(found) == 2


def constants_twice(x):
    names = ["a"]
    return x, names, names


def test_constants_in_two_places_are_refused(tmp_path):
    with pytest.raises(CaptureError) as caught:
        loaded(constants_twice, tmp_path)
    assert caught.value.problem == (
        "a list or a dict of constants is returned in two places: a loaded model would return two"
    )
    assert caught.value.fix == "return a copy of it: `list(...)`, `dict(...)`"
