"""Where builds of the native runtime are; nothing here imports torch.

A build fits one version of torch and of Python, whose C++ and C interfaces it uses, so each pair
has a folder of its own, `torch-2.13.0+cpu-cpython-311`. It is looked for in three places: inside
the package, where a wheel has it; in the checkout, where `make native` puts it; and in the cache of
the user, where `stator build-native` puts it. The variable `STATOR_NATIVE_FOLDER` names another
one, for trials of a special build.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGED = Path(__file__).parent / "_native"
ROOT = Path(__file__).parents[2]  # of a checkout
COMMAND = "stator-run"
VERSION = re.compile(r"^__version__ = '([^']+)'", re.MULTILINE)


def torch_folder() -> Path | None:
    """The installed torch; None if there is none."""
    found = importlib.util.find_spec("torch")
    places = found.submodule_search_locations if found is not None else None
    return Path(places[0]) if places else None


def torch_version(folder: Path) -> str:
    """The version of the torch there, with its build: `2.13.0+cpu`."""
    found = VERSION.search((folder / "version.py").read_text())
    return found[1] if found is not None else "unknown"


def build_name(torch: str) -> str:
    """The folder of a build for this version of torch and this Python."""
    return f"torch-{torch}-{sys.implementation.cache_tag}"


def is_checkout() -> bool:
    """Is this the source tree, with the C++ beside it?"""
    return (ROOT / "runtime" / "CMakeLists.txt").exists()


def build_folder(torch: str) -> Path:
    """Where a build for this version of torch and this Python is made."""
    if is_checkout():
        return ROOT / "build" / "native" / build_name(torch)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "stator" / "native" / build_name(torch)


def find_built(name: str, torch: str) -> Path | None:
    """The file of that name in a build; None if it is not built."""
    return next((place / name for place in _places(torch) if (place / name).exists()), None)


def _places(torch: str) -> Iterator[Path]:
    if folder := os.environ.get("STATOR_NATIVE_FOLDER"):
        yield Path(folder)
    yield build_folder(torch)
    yield PACKAGED / build_name(torch)
