"""What docs/format.md shows is what the code reads and writes."""

import json
import re
from pathlib import Path

import torch

from stator.execute.interpreter import run
from stator.export.decoding import STRUCTURES, decode_program
from stator.export.encoding import MAX_NESTING, encode_program
from stator.export.saved_model import TEXT_LIMIT, VERSION
from stator.program.verifier import verify

DOCUMENT = (Path(__file__).parents[2] / "docs" / "format.md").read_text()


def test_the_example_is_a_program_that_runs_and_is_written_the_same():
    data = json.loads(re.search(r"```json\n(.*?)```", DOCUMENT, re.DOTALL)[1])
    program = verify(decode_program(data, "example"))
    (result,) = run(program, [torch.ones(3)], {"weight": torch.ones(1)})
    assert torch.equal(result, torch.full((3,), 3.0))
    assert encode_program(program) == data


def test_the_version_and_the_limits_are_those_of_the_code():
    assert DOCUMENT.startswith(f"# The saved model, version {VERSION}\n")
    assert TEXT_LIMIT == 2**28
    assert f"at most {MAX_NESTING} deep" in DOCUMENT


def test_every_structure_is_described():
    for name in STRUCTURES:
        assert f'{{"{name}": ' in DOCUMENT
