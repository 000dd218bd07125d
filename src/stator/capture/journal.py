"""Journal: what Python code changed, block by block.

Lists, dicts, sets, attributes and closure cells that a recorded block writes are part of the
block's result, as much as the names it assigns. Before the first write in a block the object's
state is noted; when the block ends, the state after it is taken and the state before it put back.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from stator.frames import current_place
from stator.location import Location
from stator.values.contents import restore, same_state, state_of


class Journal:
    """The states that objects had before this block changed them, in the order of first writes."""

    def __init__(self, parent: Journal | None) -> None:
        self.parent = parent
        self._before: dict[int, tuple[Any, Any]] = {}
        # where each object was first written to, in any block; the object keeps its id its own
        self._places: dict[int, tuple[Any, Location | None]] = parent._places if parent else {}
        self._notes: list[int] = parent._notes if parent else [0]  # how many, in any block

    @property
    def writes(self) -> int:
        """How often the capture was about to change an object: the same if nothing is changed."""
        return self._notes[0]

    def note(self, obj: object) -> None:
        """`obj` is about to be changed."""
        if id(obj) in self._before:
            self._notes[0] += 1
        else:
            self.note_change(obj, state_of(obj))

    def note_change(self, obj: object, before: Any) -> None:
        """`obj` is, or is about to be, another one than it was `before`."""
        self._notes[0] += 1
        if id(obj) not in self._before:
            self._before[id(obj)] = (obj, before)
            if id(obj) not in self._places:
                self._places[id(obj)] = (obj, current_place())

    def place_of(self, obj: object) -> Location | None:
        """The line that wrote to `obj` first."""
        return self._places[id(obj)][1] if id(obj) in self._places else None

    def forget(self, fresh: Callable[[object], bool]) -> None:
        """What the block itself made is not changed by it: it is part of what the block gives."""
        self._before = {key: entry for key, entry in self._before.items() if not fresh(entry[0])}

    def changed(self) -> list[tuple[Any, Any]]:
        """(object, its state before) for every object whose state is another one now."""
        return [
            (obj, before)
            for obj, before in self._before.values()
            if not same_state(before, state_of(obj))
        ]

    def changed_so_far(
        self, since: Journal | None = None, only: Callable[[object], bool] | None = None
    ) -> list[tuple[object, object]]:
        """(object, its state before) for every object that is another one now.

        Before: when the block `since` began, which is this one or around it; else the capture.
        Objects for which `only` is false are left out, which costs less than to compare states.
        """
        return [
            (obj, before)
            for obj, before in self._notes_since(since)
            if (only is None or only(obj)) and not same_state(before, state_of(obj))
        ]

    def _notes_since(self, since: Journal | None) -> list[tuple[object, object]]:
        """(object, its first state) for every object noted since the block `since` began."""
        journals: list[Journal] = [self]
        while journals[-1] is not since and journals[-1].parent is not None:
            journals.append(journals[-1].parent)
        found: dict[int, tuple[object, object]] = {}
        for journal in reversed(journals):
            for key, entry in journal._before.items():
                found.setdefault(key, entry)
        return list(found.values())

    @property
    def count(self) -> int:
        """How many objects this block has noted."""
        return len(self._before)

    def noted_after(self, count: int) -> list[object]:
        """The objects that this block has noted after the first `count`."""
        return [obj for obj, _ in itertools.islice(self._before.values(), count, None)]

    def state_before(self, obj: object) -> object:
        """The contents of `obj` before the capture; None if nothing has been about to change it."""
        found: object = None
        journal: Journal | None = self
        while journal is not None:
            if id(obj) in journal._before:
                found = journal._before[id(obj)][1]
            journal = journal.parent
        return found

    def has_noted(self, obj: object) -> bool:
        """Has this block, or one around it, perhaps changed `obj`?"""
        journal: Journal | None = self
        while journal is not None:
            if id(obj) in journal._before:
                return True
            journal = journal.parent
        return False

    def first_state(self, obj: object) -> Any:
        """What `obj` was before the first write of the capture; None if there was none."""
        journal: Journal | None = self
        state = None
        while journal is not None:
            _, state = journal._before.get(id(obj), (obj, state))
            journal = journal.parent
        return state

    def noted(self) -> list[tuple[object, object]]:
        """(object, its state before) for every object that was about to be changed."""
        return list(self._before.values())

    def keep(self) -> None:
        """The block was no block after all: what it changed, the enclosing one has changed."""
        assert self.parent is not None
        for key, entry in self._before.items():
            self.parent._before.setdefault(key, entry)

    def undo(self) -> None:
        """Put every object back as it was before the block.

        The last note comes first: an object and its `__dict__` may have been noted one by one.
        """
        for obj, before in reversed(self._before.values()):
            restore(obj, before)
