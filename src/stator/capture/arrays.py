"""CapturedArray: a numpy array in converted code, which is a captured tensor."""

from __future__ import annotations

from typing import Any

import torch._numpy as torch_numpy

CapturedArray: Any = torch_numpy.ndarray  # type: ignore[attr-defined]  # torch re-exports it unsaid
