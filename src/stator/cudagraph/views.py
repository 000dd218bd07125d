"""DeviceView: one index of a dimension, where only the device knows which.

torch has no view whose place a tensor tells. So what is read from such a view is copied out of the
tensor, at each read, and what is written to it is copied into the tensor.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class DeviceView:
    """`tensor.select(dimension, index)`."""

    tensor: torch.Tensor
    dimension: int
    index: torch.Tensor  # int64, without dimensions
    is_natural: bool  # the index is never negative: -1 is the last one

    def read(self) -> torch.Tensor:
        """What is there now."""
        found = self.tensor.index_select(self.dimension, self._places())
        return found.squeeze(self.dimension)

    def write(self, values: torch.Tensor) -> None:
        """Write `values` there, broadcast, in the dtype of the tensor."""
        shape = self.tensor.select(self.dimension, 0).shape
        given = values.to(self.tensor.dtype).expand(shape).unsqueeze(self.dimension)
        self.tensor.index_copy_(self.dimension, self._places(), given)

    def _places(self) -> torch.Tensor:
        places = self.index.reshape(1)
        if self.is_natural:
            return places
        return torch.where(places < 0, places + self.tensor.shape[self.dimension], places)
