"""CapturedArray: torch's own numpy array."""

import torch

from stator.values.arrays import CapturedArray


def test_an_array_is_its_tensor():
    tensor = torch.ones(2)
    assert CapturedArray(tensor).tensor is tensor
