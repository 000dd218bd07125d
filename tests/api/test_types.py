"""Type checkers see through `to_static`: signatures of functions, methods and modules are kept."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parent / "files" / "typed.py"


@pytest.mark.slow
def test_a_type_checker_sees_the_signatures_of_static_functions(tmp_path):
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(SAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = {}
    for line, revealed, code in re.findall(
        r'^.*typed\.py:(\d+): (?:note: Revealed type is "(.*)"|error: .*\[([a-z-]+)\])$',
        done.stdout, re.MULTILINE,
    ):  # fmt: skip
        said[int(line)] = re.sub(r"[\w.]*\.", "", revealed) or code
    expected = {
        number: line.partition("  # ")[2]
        for number, line in enumerate(SAMPLE.read_text().splitlines(), start=1)
        if "  # " in line
    }
    assert said == expected, done.stdout
