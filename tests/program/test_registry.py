"""Names of ops resolve to torch's own ops, and to nothing else."""

import pytest
import torch

from stator.program.opset.torch_ops import torch_row
from stator.program.registry import argument_names, resolve


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


def test_an_op_that_is_registered_again_has_its_new_schema():
    for text in ("(Tensor x) -> Tensor", "(Tensor(a!) x, float k) -> Tensor"):
        with torch.library._scoped_library("stator_registry", "FRAGMENT") as library:
            library.define(f"again{text}")
            assert argument_names("stator_registry::again") == (
                ("x", "k") if "k" in text else ("x",)
            )
            assert torch_row("stator_registry::again").writes == ({"x"} if "k" in text else set())
            assert resolve("stator_registry::again") is torch.ops.stator_registry.again.default
    with pytest.raises(LookupError):
        argument_names("stator_registry::again")
