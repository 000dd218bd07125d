"""eager(): static functions run as they were written, for a while."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Switch:
    """`on` is read by every call of a static function."""

    on = True


@contextlib.contextmanager
def eager() -> Iterator[None]:
    """Inside, every static function runs eagerly, as it was written.

    >>> with eager():
    ...     Switch.on
    False
    """
    before = Switch.on
    Switch.on = False
    try:
        yield
    finally:
        Switch.on = before
