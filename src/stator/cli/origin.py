"""Origin: how an object that a command names is made and captured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Origin:
    """The options that many commands have: for the object itself, its mode and its inputs."""

    inputs: Sequence[str] = ()
    sizes: Sequence[str] = ()
    seed: int = 0
    init: Sequence[str] = ()
    mode: str | None = None
