"""Tensors without data."""

from __future__ import annotations

from torch._library.utils import has_fake_kernel
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily

__all__ = [
    "LOGGER_NAME",
    "FakeTensor",
    "FakeTensorMode",
    "has_fake_kernel",
    "unset_fake_temporarily",
]

LOGGER_NAME = "torch._subclasses.fake_tensor"  # where torch logs an op that cannot be faked
