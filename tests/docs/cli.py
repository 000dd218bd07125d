"""The made parts of docs/cli.md: commands as they are typed, and what they print."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from click.testing import CliRunner

from stator import logs
from stator.cli.commands import main
from stator.cli.objects import fresh_imports
from tests.docs.documents import ROOT, RUNS_IN

EXAMPLE = ROOT / "docs" / "examples" / "settling.py"
SAVE = 'stator save settling.py:Settle --input "x:float32[None,4]" -o out/settle'
REFUSED = """\
import stator

@stator.to_static
def total(x):
    for name in ("x", "x"):
        x = x + eval(name)
    return x
"""
# what is another on every machine, or in every run
MASKS = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "<sha256>"),
    (re.compile(r"(settle\.(?:stator|onnx) +)[\d.]+ (KiB|bytes)"), r"\1<size>"),
    (re.compile(r"runs in: \w+ \((the default|STATOR_BACKEND)\)"), RUNS_IN),
)
# fields of JSON whose keys are names of the user's, or of ops
BY_NAME = ("methods", "programs", "producer", "ops_by_count", "properties")


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder with the example and a file that is refused, as the current one."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        shutil.copy(EXAMPLE, name)
        (Path(name) / "total.py").write_text(REFUSED)
        changed = EXAMPLE.read_text().replace("> 0.5", "> 0.25")
        (Path(name) / "changed.py").write_text(changed)
        os.chdir(name)
        try:
            with fresh_imports():
                yield Path(name)
        finally:
            os.chdir(before)
            logs.set_level(0)


def run(line: str) -> str:
    """What a command prints; from the same random state in each run."""
    torch.manual_seed(0)
    result = CliRunner().invoke(main, shlex.split(line)[1:], prog_name="stator")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def typed(*lines: str) -> Callable[[], str]:
    """The commands and what they print; a model that they name was saved before."""

    def make() -> str:
        with folder() as name:
            if any("out/settle" in line for line in lines):
                run(SAVE)
            shown = []
            for line in lines:
                printed = run(line).rstrip("\n").replace(f"{os.path.realpath(name)}/", "")
                shown.append(f"$ {line}\n{printed}".replace(f"{name}/", ""))
        return masked("\n\n".join(shown))

    return make


def masked(text: str) -> str:
    """`text` without what is another each time."""
    for pattern, instead in MASKS:
        text = pattern.sub(instead, text)
    return text


def comparable(name: str, text: str) -> str:
    """What of a block must be the same: not times, last digits, nor what this machine has."""
    if name == "bench":
        return re.sub(r"\s+", " ", re.sub(r"[\d.]+ (s|ms|µs)|\d+\.\d+|\d+ threads?", "0", text))
    if name == "inspect":  # an editable install keeps its version until it is installed again
        return re.sub(r"written by stator [\d.]+", "written by stator", text)
    if name in ("run", "verify", "onnx"):
        return re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", "0", text)
    if name == "doctor":
        words = re.findall(r"(?m)^(\w+)$|^  (?:ok|missing) +(\S+(?: \S+)?)  ", text)
        return " ".join(a or b for a, b in words)
    return text


# ---- the fields of JSON

JSON_LINES = (
    "stator check total.py broken.py",
    "stator explain settling.py:Settle --input x:float32[B,4]",
    "stator code settling.py:clip",
    "stator program settling.py:clip --input x:float32[B,3]",
    SAVE,
    "stator onnx out/settle",
    "stator run out/settle --input x:float32[2,4]",
    "stator inspect out/settle",
    "stator diff out/settle changed.py:Settle --input x:float32[2,4] --mode eval --seed 1",
    "stator bench settling.py:Settle --input x:float32[2,4] --rounds 1 --seconds 0",
    "stator verify settling.py:clip --input x:float32[4]",
    "stator view out/settle -o settle.html",
    "stator doctor --no-try",
)
FAILS = "stator program total.py:total --input x:float32[3]"


def fields() -> str:
    """For each command the object that `--json` prints, with the kind of each value."""
    with folder() as name:
        (name / "broken.py").write_text("def f(:\n")
        run(SAVE)
        shown = [f"{line.split()[1]}\n{_fields_of(line)}" for line in JSON_LINES]
        shown.append(f"an error\n{_fields_of(FAILS)}")
    return "\n\n".join(shown)


def _fields_of(line: str) -> str:
    data = json.loads(run(f"{line} --json"))
    assert list(data)[:2] == ["schema", "command"]
    told = _kinds({key: item for key, item in data.items() if key not in ("schema", "command")})
    return textwrap.fill(
        told[1:-1], 110, initial_indent="  ", subsequent_indent="  ", break_long_words=False
    )


def _kinds(data: Any, key: str = "") -> str:
    if isinstance(data, dict) and key in BY_NAME:
        return f"{{NAME: {_kinds(next(iter(data.values())))}, ...}}" if data else "{NAME: ...}"
    if isinstance(data, dict):
        items = ((name, _kinds(item, name)) for name, item in data.items())
        return f"{{{', '.join(n if kind == 'string' else f'{n}: {kind}' for n, kind in items)}}}"
    if isinstance(data, list):
        return f"[{_kinds(max(data, key=_length))}, ...]" if data else "[...]"
    known = {bool: "bool", int: "number", float: "number", str: "string", type(None): "null"}
    return known[type(data)]


def _length(data: Any) -> int:
    """Of several items the one that says most is shown."""
    return len(_kinds(data))


MAKERS: Mapping[str, Callable[[], str]] = {
    "source": lambda: EXAMPLE.read_text().partition('"""\n\n')[2].rstrip(),
    "help": lambda: f"$ stator --help\n{run('stator --help')}".rstrip(),
    "check": typed("stator check settling.py total.py"),
    "explain": typed('stator explain settling.py:clip --input "x:float32[B,3]"'),
    "code": typed("stator code settling.py:clip"),
    "program": typed('stator program settling.py:clip --input "x:float32[B,3]"'),
    "save": typed(SAVE),
    "onnx": typed("stator onnx out/settle"),
    "run": typed(
        'stator run out/settle --input "x=[[0.1, 0.9, -0.4, 0.2]]"',
        'stator run out/settle --input "x:float32[3,4]" --seed 7 --output out/result.npz',
    ),
    "inspect": typed("stator inspect out/settle"),
    "diff": typed('stator diff out/settle changed.py:Settle --input "x:float32[None,4]"'),
    "bench": typed('stator bench settling.py:Settle --input "x:float32[2,4]"'),
    "verify": typed('stator verify settling.py:clip --input "x:float32[4]"'),
    "view": typed("stator view out/settle -o settle.html"),
    "doctor": typed("stator doctor"),
    "mistakes": typed(
        "stator program setling.py:Settle",
        "stator program settling.py:Setle",
        "stator program settling.py:Settle",
        'stator program settling.py:Settle --input "x:float32[None,4"',
        'stator program total.py:total --input "x:float32[3]"',
        "stator inspect out/nothing",
    ),
    "fields": fields,
}
