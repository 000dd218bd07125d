"""What docs/format.md shows is what the code reads and writes."""

import json
import re
from pathlib import Path

import torch

from stator.execute.interpreter import run
from stator.export.contents import STATOR_OP_SET, TEXT_LIMIT, VERSION
from stator.export.decoding import STRUCTURES, decode_program
from stator.export.digests import CHUNK
from stator.export.encoding import MAX_NESTING, encode_program
from stator.export.json_text import COSTS, MEMORY_FLOOR
from stator.export.op_calls import TORCH_DIALECT
from stator.export.tensor_header import HEADER_LIMIT, MAX_DIMENSIONS
from stator.program.verifier import verify
from tests.docs import op_table
from tests.docs.documents import made_tables

DOCUMENT = (Path(__file__).parents[2] / "docs" / "format.md").read_text()


def test_the_example_is_a_program_that_runs_and_is_written_the_same():
    data = json.loads(re.search(r"```json\n(.*?)```", DOCUMENT, re.DOTALL)[1])
    program = verify(decode_program(data, "example", TORCH_DIALECT))
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


def test_the_table_of_ops_is_made_from_the_op_table():
    assert made_tables(DOCUMENT)["ops"] == op_table.table()


def test_the_costs_of_json_and_the_version_of_the_op_set_are_those_of_the_code():
    for mark, cost in COSTS:
        assert re.search(rf"\b{cost}( bytes)? for (each )?`{re.escape(mark.decode())}`", DOCUMENT)
    assert MEMORY_FLOOR == HEADER_LIMIT == 2**26
    assert f"Version {STATOR_OP_SET} of the op set" in DOCUMENT
    assert f"chunks of 2^{CHUNK.bit_length() - 1} bytes" in DOCUMENT
    assert f"at most {MAX_DIMENSIONS} dimensions" in DOCUMENT
