"""What can be compiled for, ahead of time."""

import pytest
import torch

import stator
from stator.errors import UnknownOption


def test_a_device_without_libraries_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(UnknownOption) as caught:
        stator.save(torch.nn.Linear(2, 2), tmp_path / "line", [torch.ones(1, 2)], compiled="tpu")
    assert caught.value.problem == "nothing can be compiled for the device 'tpu'"
    assert caught.value.fix == "use one of cpu, cuda"
    assert list(tmp_path.iterdir()) == []
