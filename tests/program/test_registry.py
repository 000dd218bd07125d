"""Names of ops resolve to torch's own ops, and to nothing else."""

import pytest
import torch

from stator.program.registry import resolve


def test_a_name_without_an_overload_is_the_default_one():
    assert resolve("aten::relu") is torch.ops.aten.relu.default
    assert resolve("aten::add.Tensor") is torch.ops.aten.add.Tensor


@pytest.mark.parametrize(
    "name",
    [
        "aten::no_such", "aten::add.NoSuch", "aten::save", "prim::Print", "relu", "aten:relu",
        "load_library::x", "aten::relu.default.x", "aten::__class__", "", "a b::c",
    ],
)  # fmt: skip
def test_what_is_not_registered_with_the_dispatcher_is_not_found(name):
    with pytest.raises(LookupError) as caught:
        resolve(name)
    assert caught.value.args == (f"there is no op {name}",)
