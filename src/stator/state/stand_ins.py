"""Stand-ins: what converted code sees in place of an external list or array."""

from __future__ import annotations

from typing import Any

import numpy

from stator.capture.provenance import Provenance
from stator.values.arrays import CapturedArray
from stator.values.staged import StagedList


class StandIns:
    """The stand-ins of one capture, and the objects that they stand for."""

    def __init__(self, provenance: Provenance) -> None:
        self._provenance = provenance
        # by the id of the external object, which is kept so that its id is not used again
        self._lists: dict[int, tuple[list[Any], StagedList]] = {}
        self.arrays: dict[int, tuple[numpy.ndarray[Any, Any], CapturedArray]] = {}

    def add(self, external: list[object], stand_in: StagedList) -> None:
        """`stand_in` is used in place of `external`; its changes are written back."""
        self._lists[id(external)] = (external, stand_in)
        self._provenance.add_stand_in(stand_in)
        stand_in.is_stand_in = True
        if self._provenance.is_external(external):
            self._provenance.add_external(stand_in)

    def find(self, external: list[object]) -> StagedList | None:
        """The stand-in of `external`, if it has one yet."""
        _, found = self._lists.get(id(external), (None, None))
        return found

    def original(self, value: object) -> Any:
        """The external list that `value` represents; any other value unchanged."""
        if not isinstance(value, StagedList):
            return value
        pairs = self._lists.values()
        return next((external for external, one in pairs if one is value), value)
