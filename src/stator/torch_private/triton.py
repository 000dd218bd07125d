"""Whether Triton is there, by which Inductor compiles for a GPU."""

from __future__ import annotations

from torch.utils._triton import has_triton

__all__ = ["has_triton"]
