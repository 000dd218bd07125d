"""Where the native runtime was built: the extension module and the command `stator-run`.

A build fits one version of torch and of Python, whose C++ and C interfaces it uses, so each pair
has a folder of its own: `build/native/torch-2.13.0+cpu-cpython-311`. `make native` makes it.
"""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import torch

ROOT = Path(__file__).parents[3]  # of a checkout
MODULE = "stator_native"
COMMAND = "stator-run"


def build_name() -> str:
    """The folder of a build for this torch and this Python."""
    return f"torch-{torch.__version__}-{sys.implementation.cache_tag}"


def build_folder() -> Path:
    """Where `make native` puts what it builds."""
    return ROOT / "build" / "native" / build_name()


def command() -> Path | None:
    """The command `stator-run`; None if it is not built."""
    path = build_folder() / COMMAND
    return path if path.exists() else None


@functools.cache
def extension() -> ModuleType | None:
    """The extension module; None if it is not built."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    path = build_folder() / f"{MODULE}{suffix}"
    if not path.exists():
        return None
    loader = importlib.machinery.ExtensionFileLoader(MODULE, str(path))
    spec = importlib.util.spec_from_file_location(MODULE, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
