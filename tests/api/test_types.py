"""Type checkers see through `to_static`: signatures of functions, methods and modules are kept."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parent / "files" / "typed.py"
EXPECTED = {  # what a checker says of a line: the comment there
    number: line.partition("  # ")[2]
    for number, line in enumerate(SAMPLE.read_text().splitlines(), start=1)
    if "  # " in line
}
PYRIGHTS_WORDS = {"reportArgumentType": "arg-type", "reportCallIssue": "call-arg"}  # as mypy's
MYPY_LINE = re.compile(
    r'^.*typed\.py:(\d+): (?:note: Revealed type is "(.*)"|error: .*\[([a-z-]+)\])$', re.MULTILINE
)

pytestmark = pytest.mark.slow


def output_of(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_mypy_sees_the_signatures_of_static_functions(tmp_path):
    said = output_of(
        sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(SAMPLE)
    )
    found = {
        int(line): re.sub(r"[\w.]*\.", "", revealed) or code
        for line, revealed, code in MYPY_LINE.findall(said)
    }
    assert found == EXPECTED, said


@pytest.mark.skipif(shutil.which("npm") is None, reason="pyright is brought by npm")
def test_pyright_sees_the_signatures_of_static_functions():
    said = output_of(
        sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(SAMPLE)
    )
    found = {
        one["range"]["start"]["line"] + 1: PYRIGHTS_WORDS.get(one.get("rule"))
        or re.sub(r'^Type of ".*" is "(.*)"$', r"\1", one["message"])
        for one in json.loads(said)["generalDiagnostics"]
    }
    assert found == EXPECTED, said
