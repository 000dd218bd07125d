"""CastSettings: autocast around a region, as a recording and its gradients need it.

A recording has the casts that autocast made while it was recorded, and a replay makes them again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import torch

from stator.torch_private.dispatch import has_autocast


class CastSettings(NamedTuple):
    """Whether autocast is enabled for a type of device, and the dtype that it casts to."""

    device_type: str
    enabled: bool
    dtype: torch.dtype

    @staticmethod
    def here(device_type: str) -> CastSettings:
        """The settings of this thread."""
        enabled = has_autocast() and torch.is_autocast_enabled(device_type)
        return CastSettings(device_type, enabled, torch.get_autocast_dtype(device_type))

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Ops inside are cast as they were where these settings are from."""
        if not self.enabled and not has_autocast():
            yield
            return
        with torch.autocast(self.device_type, self.dtype, self.enabled):
            yield


@contextlib.contextmanager
def own_casts() -> Iterator[None]:
    """Ops inside use no cast of a parameter that was made before, and leave none behind.

    autocast keeps the casts of parameters. One from outside would never be made again by a replay;
    one from inside is in memory of the recording.
    """
    if not has_autocast():
        yield
        return
    torch.clear_autocast_cache()
    try:
        yield
    finally:
        torch.clear_autocast_cache()
