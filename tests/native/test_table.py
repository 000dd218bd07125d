"""The runtime's table of ops has every op that a file may name."""

from __future__ import annotations

import re
from pathlib import Path

from stator.program.opset.stator_ops import STATOR_ROWS

OPS = Path(__file__).parents[2] / "runtime" / "ops"
ONLY_IN_PYTHON = {
    "host::hook_inputs", "host::hook_outputs",  # hooks of modules are Python
}  # fmt: skip


def test_every_op_has_a_row():
    texts = [(OPS / name).read_text() for name in ("table.cpp", "math.cpp")]
    rows = {name for text in texts for name in re.findall(r'\{"(\w+)", ', text)}
    needed = {name.partition("::")[2] for name in STATOR_ROWS.keys() - ONLY_IN_PYTHON}
    assert needed - rows == set()
