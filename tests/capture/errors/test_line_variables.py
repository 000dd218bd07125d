"""The variables on the line of an error are shown with the sizes that the user knows."""

from __future__ import annotations

import pytest
import torch

import stator
from stator import InputSpec


def test_sizes_of_variables_have_the_names_of_the_spec_and_of_arguments(tmp_path):
    def joined(x, y):
        return torch.cat([x, y], 0)

    spec = [InputSpec(["batch", 4]), InputSpec([None, 7])]
    with pytest.raises(RuntimeError, match="Sizes of tensors must match") as caught:
        stator.save(joined, tmp_path / "model", spec)
    assert caught.value.__notes__[1] == "  with x: f32[batch, 4], y: f32[y.shape[0], 7]"


@pytest.mark.parametrize(("size", "name"), [(None, "input.shape[0]"), ("batch", "batch")])
def test_a_note_explains_the_sizes_in_a_message_of_torch(tmp_path, size, name):
    with pytest.raises(RuntimeError, match=r"\[u0, 3\]") as caught:
        stator.save(torch.nn.Linear(2, 1), tmp_path / "model", [InputSpec([size, 3])])
    assert caught.value.__notes__ == [f"  where u0 is {name}"]
