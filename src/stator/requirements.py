"""The torch that Stator needs: checked before anything of it is used."""

from __future__ import annotations

import contextlib
import importlib.metadata
import re

OLDEST_TORCH = (2, 11)


def installed_version() -> str:
    """The version of Stator; "unknown" in a checkout that is not installed."""
    try:
        return importlib.metadata.version("stator")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def check_torch(version: str) -> None:
    """Raise ImportError if this `version` of torch is older than Stator supports."""
    numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
    if numbers < OLDEST_TORCH:
        wanted = ".".join(map(str, OLDEST_TORCH))
        raise ImportError(
            f"Stator needs torch {wanted} or later, and torch {version} is installed\n"
            f"  fix: pip install 'torch>={wanted}'"
        )


def check_installed_torch() -> None:
    """The same for the torch that is installed; where there is none, its import will say so."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        check_torch(importlib.metadata.version("torch"))
