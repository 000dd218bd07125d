"""Targets: what can be stepped through.

NOTE: static functions and loaded models are in `api`, above this part. So `api` says how they are
observed, once, when it is imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from stator.debug.stepping.variables import Scenes
from stator.execute.observing import Observer
from stator.program.program import Program


class Watcher(Protocol):
    """Who wants to see programs run."""

    def observe(self, program: Program, scenes: Scenes | None) -> Observer:
        """The observer of the runs of `program`, whose names are those of `scenes`."""


class Target(Protocol):
    """Something that runs programs when it is called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What a call gives."""

    def observed(self, watcher: Watcher) -> AbstractContextManager[None]:
        """Inside, `watcher` sees the programs run."""


def _with_public_names(function: Any) -> Target:
    """`import stator.debug` alone imports nothing of `api`: this does, and asks again."""
    importlib.import_module("stator.public")
    return Targets.of(function)


class Targets:
    """`of` is the target that a function, a module or a loaded model is."""

    of: Callable[[Any], Target] = staticmethod(_with_public_names)
