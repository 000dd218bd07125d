"""Packages Stator with its native runtime, where that can be built. The rest: pyproject.toml.

The runtime fits one torch and one Python. It is built if the torch to build it for can be
imported, so with `pip install --no-build-isolation`, and if there are a C++ compiler, cmake, ninja
and nlohmann-json. Otherwise the package has the C++ sources alone, and `stator build-native`
builds them.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
LATER = "programs run in the interpreter; `stator build-native` builds the native runtime later"


class BuildWithRuntime(build_py):
    """The Python package, the C++ sources beside it, and what they compile to."""

    def run(self) -> None:
        """Copy the package; build the runtime into it."""
        super().run()
        if self.editable_mode:
            return  # `make native` builds in the checkout
        package = Path(self.build_lib) / "stator"
        shutil.copytree(ROOT / "runtime", package / "_runtime", dirs_exist_ok=True)
        shutil.rmtree(package / "_native", ignore_errors=True)
        if not _has_torch():
            _say(f"torch cannot be imported here (use `pip install --no-build-isolation`): {LATER}")
            return
        words = [sys.executable, "-m", "stator.native.building", "--into", str(package / "_native")]
        done = subprocess.run(
            words, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, check=False
        )
        if done.returncode != 0:
            _say(LATER)


class DistributionForOneTorch(Distribution):
    """A wheel with the runtime in it is for one Python and one machine."""

    def has_ext_modules(self) -> bool:
        """Is there compiled code in it, or will there be?"""
        return _has_torch()


def _has_torch() -> bool:
    words = [sys.executable, "-c", "import torch"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def _say(text: str) -> None:
    sys.stderr.write(f"stator: {text}\n")


setup(cmdclass={"build_py": BuildWithRuntime}, distclass=DistributionForOneTorch)
