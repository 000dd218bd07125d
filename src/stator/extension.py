"""The native runtime that was built for this torch: the extension module and `stator-run`."""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import sysconfig
from pathlib import Path
from types import ModuleType

import torch

from stator import native_builds

MODULE = "stator_native"


def build_name() -> str:
    """The folder of a build for this torch and this Python."""
    return native_builds.build_name(torch.__version__)


def build_folder() -> Path:
    """Where a build for this torch and this Python is made."""
    return native_builds.build_folder(torch.__version__)


def command() -> Path | None:
    """The command `stator-run`; None if it is not built."""
    return native_builds.find_built(native_builds.COMMAND, torch.__version__)


@functools.cache
def extension() -> ModuleType | None:
    """The extension module; None if it is not built."""
    name = f"{MODULE}{sysconfig.get_config_var('EXT_SUFFIX')}"
    path = native_builds.find_built(name, torch.__version__)
    if path is None:
        return None
    loader = importlib.machinery.ExtensionFileLoader(MODULE, str(path))
    spec = importlib.util.spec_from_file_location(MODULE, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
