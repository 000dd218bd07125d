"""numpy's functions on tensors: `ndarray` has one field, `tensor`."""

from __future__ import annotations

from typing import Any

import torch._numpy as torch_numpy

functions = torch_numpy
ndarray: Any = torch_numpy.ndarray  # type: ignore[attr-defined]  # torch re-exports it unsaid
