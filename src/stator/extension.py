"""Where the native runtime was built: the extension module and the command `stator-run`.

A build fits one version of torch and of Python, whose C++ and C interfaces it uses, so each pair
has a folder of its own, `torch-2.13.0+cpu-cpython-311`. It is looked for in three places: inside
the package, where a wheel has it; in the checkout, where `make native` puts it; and in the cache of
the user, where `stator build-native` puts it. The variable `STATOR_NATIVE_FOLDER` names another
one, for trials of a special build.
"""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import torch

PACKAGED = Path(__file__).parent / "_native"
ROOT = Path(__file__).parents[2]  # of a checkout
MODULE = "stator_native"
COMMAND = "stator-run"


def build_name() -> str:
    """The folder of a build for this torch and this Python."""
    return f"torch-{torch.__version__}-{sys.implementation.cache_tag}"


def is_checkout() -> bool:
    """Is this the source tree, with the C++ beside it?"""
    return (ROOT / "runtime" / "CMakeLists.txt").exists()


def build_folder() -> Path:
    """Where a build for this torch and this Python is made."""
    if is_checkout():
        return ROOT / "build" / "native" / build_name()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "stator" / "native" / build_name()


def command() -> Path | None:
    """The command `stator-run`; None if it is not built."""
    return _found(COMMAND)


@functools.cache
def extension() -> ModuleType | None:
    """The extension module; None if it is not built."""
    path = _found(f"{MODULE}{sysconfig.get_config_var('EXT_SUFFIX')}")
    if path is None:
        return None
    loader = importlib.machinery.ExtensionFileLoader(MODULE, str(path))
    spec = importlib.util.spec_from_file_location(MODULE, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _found(name: str) -> Path | None:
    return next((place / name for place in _places() if (place / name).exists()), None)


def _places() -> Iterator[Path]:
    if folder := os.environ.get("STATOR_NATIVE_FOLDER"):
        yield Path(folder)
    yield build_folder()
    yield PACKAGED / build_name()
