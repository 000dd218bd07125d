"""CapturedArray: a numpy array in converted code, which is a captured tensor."""

from __future__ import annotations

from typing import Any

from stator.torch_private import numpy_layer

CapturedArray: Any = numpy_layer.ndarray
