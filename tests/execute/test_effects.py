"""Modes are as before; values are formatted as Python does."""

import pytest
import torch

from stator.execute.effects import modes_restored, run_format, run_set_autocast, run_set_grad


def test_modes_are_restored_after_an_error():
    with pytest.raises(ValueError, match="stop"), modes_restored(["cpu"]):
        run_set_grad(False)
        run_set_autocast(torch.device("cpu"), True, torch.float16)
        assert torch.is_autocast_enabled("cpu")
        raise ValueError("stop")
    assert torch.is_grad_enabled()
    assert not torch.is_autocast_enabled("cpu")
    assert torch.get_autocast_dtype("cpu") == torch.bfloat16


def test_autocast_without_a_dtype_keeps_the_one_in_force():
    with modes_restored(["cpu"]):
        run_set_autocast("cpu", True)
        assert torch.get_autocast_dtype("cpu") == torch.bfloat16


@pytest.mark.parametrize("value", [2.5, torch.tensor(2.5), "a", None, torch.ones(2)])
def test_a_value_is_formatted_as_in_an_f_string(value):
    assert run_format(value) == f"{value}"
    assert run_format(value, "r") == f"{value!r}"
    assert run_format(value, "s", ">40") == f"{value!s:>40}"
