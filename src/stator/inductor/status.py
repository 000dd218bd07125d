"""compiled(): what of the programs in this process is compiled."""

from __future__ import annotations

from dataclasses import dataclass

from stator.inductor.progress import progress
from stator.inductor.queue import QUEUE
from stator.regions.operators import REGIONS
from stator.regions.region import ProgramRegion, State


@dataclass(frozen=True)
class RegionStatus:
    """One region: where it begins, how many ops it has, and how far it is."""

    place: str
    ops: int
    state: State
    layouts: int  # for how many layouts of its inputs there is code
    failure: str = ""  # why it runs uncompiled

    def __str__(self) -> str:
        more = f": {self.failure}" if self.failure else ""
        return f"{self.place or 'a region'}: {self.ops} ops, {self.state}{more}"


def compiled(*, wait: bool = False, timeout: float | None = None) -> tuple[RegionStatus, ...]:
    """The compiled regions and CUDA graphs of all programs, with their progress.

    With `backend="inductor"`, regions are compiled in the background, after the first call that
    reaches them. `wait=True` waits for the regions requested so far, for at most `timeout`
    seconds, and shows a progress bar in a terminal. With `backend="cudagraph"`, the second call
    that reaches a region records it.
    """
    if wait:
        total = QUEUE.left
        with progress("compiling regions", total) as done:
            QUEUE.wait(timeout, lambda left: done(total - left))
    live = dict.fromkeys(region for _, region in sorted(REGIONS.items()))
    return tuple(map(_status, live))


def _status(region: ProgramRegion) -> RegionStatus:
    place = region.place.short if region.place is not None else ""
    count = len(region.op.blocks[0].ops)
    return RegionStatus(place, count, region.state, region.layouts, region.failure)
