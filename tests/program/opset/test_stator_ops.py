"""The rows of Stator's own ops agree with each other."""

from stator.program.opset.stator_ops import STATOR_ROWS


def test_ops_that_call_back_into_python_are_those_of_the_host_and_never_in_a_file():
    by_name = {row.name for row in STATOR_ROWS.values() if row.name.startswith("host::")}
    by_kind = {row.name for row in STATOR_ROWS.values() if row.kind == "host"}
    not_in_files = {row.name for row in STATOR_ROWS.values() if not row.in_file}
    assert by_name == by_kind == not_in_files - {"stator::region"} == {
        "host::call", "host::hook_inputs", "host::hook_outputs", "host::note"
    }  # fmt: skip
