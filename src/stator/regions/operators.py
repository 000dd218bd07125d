"""The op of torch by which programs call regions: any backend that calls torch's ops can run it.

    stator_regions::run(Tensor[] tensors, int[] numbers, *, int region) -> Tensor[]

Regions have numbers that hold in this process only, as long as the region is alive.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Sequence
from typing import Any

import torch

from stator.regions.region import ProgramRegion

SPACE = "stator_regions"
RUN = f"{SPACE}::run"
REGIONS: weakref.WeakValueDictionary[int, ProgramRegion] = weakref.WeakValueDictionary()

_numbers = itertools.count()
_library: Any = torch.library.Library(SPACE, "DEF")  # type: ignore[no-untyped-call]  # torch's own
_library.define("run(Tensor[] tensors, int[] numbers, *, int region) -> Tensor[]")


def add_region(region: ProgramRegion) -> int:
    """The number by which programs call `region`, as long as someone holds it."""
    number = next(_numbers)
    REGIONS[number] = region
    return number


def _run(
    tensors: Sequence[torch.Tensor], numbers: Sequence[int], *, region: int
) -> list[torch.Tensor]:
    return list(REGIONS[region](tensors, numbers))


# composite: autograd and the other layers of torch see what the region does, not this op
_library.impl("run", _run, "CompositeImplicitAutograd")
