"""Guards: the reads that must give the same again for a program to be reused.

To repeat hundreds of reads before every call would cost more than many programs do, so `hold` first
asks a snapshot whether any dict that the reads go through has been written at all. Only what no
dict holds (cells, lists) is read again every time. See `state.snapshot`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from stator.state.builtin_names import TABLE, are_plain
from stator.state.holding import Getter, dict_reference
from stator.state.reads import Read
from stator.state.snapshot import BlindWatch, Snapshot, new_watch

NUMBERS = (bool, int, float, complex, type(None))
BUILTINS = Read("the builtins", are_plain, True, (TABLE,))
MIN_SNAPSHOT_AGE_S = 0.1  # a snapshot that was valid for so long has paid for itself
MAX_EARLY_WRITES = 3  # a dict that is written more often before that age is left out


class Guards:
    """The reads of one capture, and whether they still give what they gave."""

    def __init__(self, reads: Sequence[Read]) -> None:
        self.reads = tuple(reads)  # in the order in which they were made
        self._snapshot: Snapshot | None = None
        self.watch: Any = new_watch()
        self.is_current: Callable[[], bool] = self.watch.is_valid  # True: `hold` would say so
        self._early_writes: dict[int, tuple[Getter, int]] = {}
        self._often_written: dict[int, Getter] = {}

    def hold(self) -> bool:
        """Is everything as the capture found it?"""
        if self.is_current():
            return True
        if not are_plain():  # the call is refused
            return False
        if self.changed() is not None:
            return False
        if isinstance(self.watch, BlindWatch):
            return True
        new = self._new_snapshot(self._snapshot)
        if self.changed() is not None:  # written by another thread before the snapshot was taken
            return False
        self._snapshot = new
        self.watch.put(new.native)
        return True

    def changed(self) -> str | None:
        """What is no longer as the capture found it, in words; None when everything is."""
        for read in self.reads:
            if not read.is_unchanged():
                return read.in_words()
        return None

    def reason(self) -> str | None:
        """The same as a sentence, with the values where they are short."""
        for read in self.reads:
            if not read.is_unchanged():
                if read.is_kind:
                    return f"{read.what} is of another kind"
                now = read.again()
                if isinstance(now, NUMBERS) and isinstance(read.expected, NUMBERS):
                    return f"{read.what} is {now!r}, not {read.expected!r}"
                return f"{read.in_words()} has changed"
        return None

    def _new_snapshot(self, old: Snapshot | None) -> Snapshot:
        """A dict that is written all the time, with no change to what was read, is left out."""
        if old is not None and time.monotonic() - old.made < MIN_SNAPSHOT_AGE_S:
            for one in old.written():
                known = self._early_writes.get(id(one))
                of, writes = (dict_reference(one), 0) if known is None else known
                self._early_writes[id(one)] = (of, writes + 1)
                if writes + 1 == MAX_EARLY_WRITES:
                    self._often_written[id(one)] = of
        return Snapshot((*self.reads, BUILTINS), self._often_written)
