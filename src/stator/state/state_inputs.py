"""StateInputs: the symbolic values that are in external places while a function is captured."""

from __future__ import annotations

from typing import Any, Protocol


class Place(Protocol):
    """A place outside that holds what each run reads: see `state.slots`."""

    @property
    def owner(self) -> Any:
        """The object, dict or cell."""

    @property
    def key(self) -> Any:
        """The name of its value in the owner."""


class ContainerFinder(Protocol):
    """Finds, at each call, the container that one of the capture represents."""

    def find(self, arguments: tuple[object, ...]) -> Any:
        """The container of this call."""


class StateInputs:
    """What one capture has put into external places."""

    def __init__(self) -> None:
        self._values: list[tuple[Place, object]] = []
        self._containers: dict[int, tuple[object, ContainerFinder]] = {}

    @property
    def is_used(self) -> bool:
        """Is there a symbolic value in an external place?"""
        return bool(self._values or self._containers)

    def add(self, place: Place, value: object) -> None:
        """`value` is in `place` during the capture."""
        self._values.append((place, value))

    def add_container(self, container: object, finder: ContainerFinder) -> None:
        """`container` is part of such a value; each call has one of its own."""
        self._containers[id(container)] = (container, finder)

    def values_in(self, owner: object) -> dict[object, object]:
        """The symbolic values that `owner` holds, by key."""
        return {place.key: value for place, value in self._values if place.owner is owner}

    def finder_of(self, container: object) -> Any:
        """How each call finds `container`; None if it is no part of a state input."""
        _, finder = self._containers.get(id(container), (None, None))
        return finder
