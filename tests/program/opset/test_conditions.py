"""The table of conditions is about arguments that the ops have."""

import pytest

from stator.program.opset.conditions import CONDITIONS, Condition, Quantity, parse_condition
from stator.program.opset.in_files import FILE_OPS, stem_of
from stator.program.opset.torch_ops import torch_row
from tests.export.op_fuzz import names


def test_a_condition_is_two_quantities():
    assert parse_condition("most(targets) < size(log_probs, -1)") == Condition(
        "most(targets) < size(log_probs, -1)",
        Quantity("most", ("targets",)),
        "<",
        Quantity("size", ("log_probs", "-1")),
    )
    assert parse_condition("least(a) >= -3").right == Quantity("number", ("-3",))


@pytest.mark.parametrize("key", CONDITIONS)
def test_each_condition_is_of_an_op_that_a_file_may_call(key):
    stem, _, overload = key.partition(".")
    assert stem in FILE_OPS
    rows = [torch_row(name) for name in names() if stem_of(name) == stem]
    for condition in CONDITIONS[key]:
        assert any(condition in row.conditions for row in rows), condition.text
    assert not overload or any(row.name.endswith(f".{overload}") for row in rows)


def test_an_overload_without_an_argument_has_no_condition_about_it():
    assert torch_row("aten::div.Tensor").conditions == ()
    texts = [one.text for one in torch_row("aten::_native_batch_norm_legit.no_stats").conditions]
    assert texts == [
        "dim(input) >= 2",
        "numel(weight) == size(input, 1)",
        "numel(bias) == size(input, 1)",
        "value(training) == 1",
    ]
