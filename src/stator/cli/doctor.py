"""doctor: what is installed, what is missing, how to get it; and whether a capture works.

NOTE: why torch is imported by name, late. This command must answer where torch is missing, too.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import Literal as OneOf

from rich.console import Console
from rich.text import Text

from stator.cli.failures import FOUND, OK
from stator.cli.screen import CommandOutcome, columns, show_table, working
from stator.extras import install_command
from stator.native_builds import torch_folder, torch_version

OLDEST_PYTHON, OLDEST_TORCH = (3, 11), (2, 11)
TESTED_TORCH = "2.13.0"
NEEDED = ("torch", "numpy", "safetensors")
COMPILERS = ("c++", "g++", "clang++")
EXTRA = re.compile(r"""extra\s*==\s*["']([\w-]+)["']""")
STYLES = {"ok": "green", "missing": "yellow", "wrong": "bold red"}
TRIAL = """
def halvings(x):
    steps = 0
    while x.sum() > 1:
        x = x / 2
        steps += 1
    return x, steps
"""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; `wrong` is what Stator cannot do without."""

    group: str
    name: str
    state: OneOf["ok", "missing", "wrong"]
    found: str
    fix: str = ""


def doctor(tries: bool) -> CommandOutcome:
    """Everything that can be looked at here."""
    with working("looking"):
        findings = [
            *_needed(), *_compiler(), *_runtime(), *_devices(), *_extras(),
            *(_trial() if tries else ()),
        ]  # fmt: skip
    wrong = any(one.state == "wrong" for one in findings)
    data = {"ok": not wrong, "findings": [vars(one) for one in findings]}
    return CommandOutcome(data, lambda screen: _show(screen, findings), FOUND if wrong else OK)


def _needed() -> Iterator[Finding]:
    version = platform.python_version()
    old = sys.version_info[:2] < OLDEST_PYTHON
    fix = "install Python 3.11 or later" if old else ""
    yield Finding("needed", "Python", "wrong" if old else "ok", version, fix)
    library = " ".join(platform.libc_ver()).strip()
    yield Finding("needed", "system", "ok", f"{platform.system()} {platform.machine()}, "
                  f"{library or 'no glibc'}, {os.cpu_count()} processors")  # fmt: skip
    yield Finding("needed", "stator", "ok", _version("stator") or "a checkout")
    for name in NEEDED:
        yield _package(name)
    settings = {name: value for name, value in os.environ.items() if name.startswith("STATOR_")}
    if settings:
        shown = ", ".join(f"{name}={value}" for name, value in sorted(settings.items()))
        yield Finding("needed", "settings", "ok", shown)


def _package(name: str) -> Finding:
    """Not only that it is installed: that it can be imported."""
    version = _version(name)
    if version is None:
        return Finding("needed", name, "wrong", "missing", f"pip install {_pinned(name)}")
    try:
        importlib.import_module(name)
    except (ImportError, OSError) as error:
        said = f"{version}, cannot be imported: {str(error).splitlines()[0]}"
        return Finding("needed", name, "wrong", said, f"pip install --force-reinstall {name}")
    if name == "torch" and _numbers(version) < OLDEST_TORCH:
        return Finding("needed", name, "wrong", version, f"pip install {_pinned(name)}")
    if name == "torch" and version.partition("+")[0] != TESTED_TORCH:
        return Finding("needed", name, "ok", f"{version} (tested with {TESTED_TORCH})")
    folder = torch_folder() if name == "torch" else None
    return Finding("needed", name, "ok", version if folder is None else torch_version(folder))


def _pinned(name: str) -> str:
    return f"torch=={TESTED_TORCH}" if name == "torch" else name


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _compiler() -> Iterator[Finding]:
    for name in filter(None, (os.environ.get("CXX"), *COMPILERS)):
        path = shutil.which(name)
        if path is not None:
            yield Finding("optional", "C++ compiler", "ok", _first_line(path) or path)
            return
    yield Finding("optional", "C++ compiler", "missing", "none (torch.compile needs one)",
                  "install g++: `apt install g++`, `dnf install gcc-c++`, `xcode-select --install`"
                  )  # fmt: skip


def _runtime() -> Iterator[Finding]:
    """Is the native runtime built for this torch and this Python?"""
    if sys.modules.get("torch") is None:
        return
    extension = importlib.import_module("stator.extension")
    if extension.extension() is not None:
        yield Finding("optional", "native runtime", "ok", extension.build_name())
    else:
        yield Finding("optional", "native runtime", "missing", "programs run in the interpreter",
                      "stator build-native")  # fmt: skip


def _first_line(path: str) -> str:
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.partition("\n")[0]


def _devices() -> Iterator[Finding]:
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return
    if torch.cuda.is_available():
        names = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
        yield Finding("optional", "CUDA", "ok", ", ".join(names))
    else:
        yield Finding("optional", "CUDA", "missing", "not available: programs run on the CPU")


def _extras() -> Iterator[Finding]:
    """The packages that each extra of Stator names."""
    try:
        wanted = importlib.metadata.requires("stator") or []
    except importlib.metadata.PackageNotFoundError:
        return
    extras: dict[str, list[str]] = {}
    for text in wanted:
        extra = EXTRA.search(text)
        name = re.match(r"[\w.-]+", text)
        if extra and name:
            extras.setdefault(extra[1], []).append(name[0])
    for extra_name, packages in extras.items():
        versions = {name: _version(name) for name in packages}
        missing = [name for name, version in versions.items() if version is None]
        found = ", ".join(f"{name} {version or 'missing'}" for name, version in versions.items())
        fix = install_command(extra_name) if missing else ""
        yield Finding("extras", extra_name, "missing" if missing else "ok", found, fix)


def _trial() -> Iterator[Finding]:
    """A small function, captured and run next to eager."""
    if sys.modules.get("torch") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "halvings.py"
        file.write_text(TRIAL)
        spec: Any = importlib.util.spec_from_file_location("halvings", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield _tried(module)


def _tried(module: Any) -> Finding:
    torch, stator = (importlib.import_module(name) for name in ("torch", "stator"))
    static = stator.to_static(module.halvings)
    for value in (0.0, 1.0, 100.0):
        x = torch.full((3,), value)
        try:
            given, wanted = static(x), module.halvings(x)
        except Exception as error:  # noqa: BLE001 (whatever it is: it is what is looked for)
            said = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            return Finding("trial", "capture", "wrong", said, "run `stator doctor --verbose`")
        if not torch.equal(given[0], wanted[0]) or given[1] != wanted[1]:
            return Finding("trial", "capture", "wrong", "the program differs from eager",
                           "please report it, with this report")  # fmt: skip
    return Finding("trial", "capture", "ok", "a loop was captured and runs as in eager code")


def _show(screen: Console, findings: list[Finding]) -> None:
    for group in dict.fromkeys(one.group for one in findings):
        screen.print(Text(group, style="bold"))
        table = columns("state", "name", "found")
        table.show_header = False
        for one in findings:
            if one.group == group:
                found = one.found + (f"\nfix: {one.fix}" if one.fix else "")
                table.add_row(Text(one.state, style=STYLES[one.state]), one.name, Text(found))
        show_table(screen, table)
    wrong = sum(one.state == "wrong" for one in findings)
    said = (
        f"{wrong} of these must be fixed" if wrong else "everything that Stator needs is installed"
    )
    screen.print(Text(said, style="bold red" if wrong else "bold green"))
