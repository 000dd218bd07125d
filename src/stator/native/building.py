"""build(): the C++ runtime, compiled for the torch and the Python of this process.

    python -m stator.native.building [--jobs N] [--strict] [--sanitize NAMES] [--into FOLDER]

`make native`, `stator build-native` and `pip install` all come here. The result is cached by the
versions of torch and Python, which are in the name of its folder; what has not changed is not
compiled again.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import torch

from stator.extension import MODULE, build_folder, build_name
from stator.native_builds import COMMAND, ROOT, is_checkout

PACKAGE = Path(__file__).parents[1]
PACKAGED_SOURCES = PACKAGE / "_runtime"  # where an installed package has the C++
LATER = "`stator build-native` builds it later"
TAIL = 40  # lines of the compiler's output that an error shows


class CannotBuild(Exception):
    """Something that the build needs is not here; the message says what, and how to get it."""


class BuildFailed(Exception):
    """The compiler, or one of the tools, has failed; the message is the end of what it said."""


def sources() -> Path:
    """The folder of the C++."""
    return ROOT / "runtime" if is_checkout() else PACKAGED_SOURCES


def build(jobs: int = 2, *, strict: bool = False, sanitize: str = "") -> Path:
    """Compile what is not compiled yet, and give the folder.

    `strict`: warnings are errors. A folder that was built so stays so: another setting would
    compile everything again, to the same objects. `sanitize` is what the compiler's `-fsanitize=`
    is given, for a build of its own, with the programs that try the runtime. With `fuzzer`, which
    is clang's (`CXX=clang++`), it has only the one that libFuzzer drives.
    """
    tools, folder = _tools(), build_folder()
    if sanitize:
        folder = folder.with_name(f"{folder.name}-{sanitize.replace(',', '-')}")
    folder.mkdir(parents=True, exist_ok=True)
    asked = ["-DSTATOR_WARNINGS_ARE_ERRORS=ON"] if strict else []
    asked += [f"-DSTATOR_SANITIZE={sanitize}", "-DSTATOR_TRIALS=ON"] if sanitize else []
    _run([tools["cmake"], "-S", str(sources()), "-B", str(folder), "-G", "Ninja",
          f"-DCMAKE_MAKE_PROGRAM={tools['ninja']}", *_settings(), *asked])  # fmt: skip
    explored = ["stator-explore"] if "fuzzer" in sanitize else []
    _run([tools["ninja"], "-C", str(folder), "-j", str(jobs), "--quiet", *explored])
    return folder


def results(folder: Path) -> list[Path]:
    """The files of a build that a package needs."""
    names = (f"{MODULE}{sysconfig.get_config_var('EXT_SUFFIX')}", COMMAND)
    return [folder / name for name in names if (folder / name).exists()]


def _tools() -> dict[str, str]:
    """Where the tools are; CannotBuild if one is missing."""
    if os.name != "posix" or sys.platform == "darwin":
        raise CannotBuild("the native runtime is built on Linux only")
    if not any(shutil.which(name) for name in (os.environ.get("CXX", "c++"), "g++", "clang++")):
        raise CannotBuild("there is no C++ compiler (`apt install g++`)")
    if not (sources() / "CMakeLists.txt").exists():
        raise CannotBuild("the sources of the native runtime are not installed")
    if not (_torch_folder() / "include" / "ATen" / "core" / "ivalue.h").exists():
        raise CannotBuild("torch has no headers")
    if not (_json_folder() / "nlohmann" / "json.hpp").exists():
        raise CannotBuild("there is no nlohmann/json.hpp (`pip install nlohmann-json`)")
    return dict(_found_tools())


def _found_tools() -> Iterator[tuple[str, str]]:
    beside = Path(sys.executable).parent  # where pip has put them, if the shell does not know
    for name in ("cmake", "ninja"):
        found = shutil.which(name, path=f"{beside}{os.pathsep}{os.environ.get('PATH', '')}")
        if found is None:
            raise CannotBuild(f"there is no {name} (`pip install {name}`)")
        yield name, found


def _settings() -> Iterator[str]:
    include = sysconfig.get_paths()["include"]
    values = {
        "CMAKE_BUILD_TYPE": "Release",
        "TORCH_ROOT": _torch_folder(),
        "JSON_INCLUDE": _json_folder(),
        "STATOR_SOURCE": PACKAGE.parent,
        "PYTHON_INCLUDE": include if Path(include, "Python.h").exists() else "",
        "EXTENSION_SUFFIX": sysconfig.get_config_var("EXT_SUFFIX"),
        "Python3_EXECUTABLE": sys.executable,
    }
    return (f"-D{name}={value}" for name, value in values.items())


def _torch_folder() -> Path:
    return Path(torch.__file__).parent


def _json_folder() -> Path:
    found = importlib.util.find_spec("nlohmann_json")
    places = found.submodule_search_locations if found is not None else None
    return Path(places[0], "include") if places else Path("/usr/include")


def _run(words: list[str]) -> None:
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        raise BuildFailed("\n".join(done.stdout.splitlines()[-TAIL:]))


def main() -> int:
    """Build; where that cannot be, say so in one line and end well: the interpreter runs."""
    parser = argparse.ArgumentParser(prog="stator.native.building")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--strict", action="store_true", help="warnings are errors")
    parser.add_argument("--sanitize", default="", help="a build watched by these, such as address")
    parser.add_argument("--into", type=Path, help="also copy what a package needs to this folder")
    given = parser.parse_args()
    try:
        folder = build(given.jobs, strict=given.strict, sanitize=given.sanitize)
    except CannotBuild as error:
        sys.stderr.write(f"stator: {error}: programs run in the interpreter; {LATER}\n")
        return 0
    except BuildFailed as error:
        sys.stderr.write(f"{error}\nstator: the native runtime could not be built\n")
        return 1
    if given.into is not None:
        target = given.into / build_name()
        target.mkdir(parents=True, exist_ok=True)
        for file in results(folder):
            shutil.copy2(file, target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
