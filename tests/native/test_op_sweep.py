"""The sweep over torch's ops: a part of it, and what it makes of a difference or a crash."""

from __future__ import annotations

import os
import signal

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

from stator.extension import extension
from tests.native import op_sweep
from tests.native.by_file import same
from tests.native.op_sweep import DTYPES, in_child, report, sweep, verdicts

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(extension() is None, reason="the native runtime is not built"),
]


def test_every_fortieth_op_gives_the_same_bits_in_both_backends():
    text, is_well = report(sweep(op_db[::40], DTYPES))
    assert is_well, text
    assert text.count("equal") == len(DTYPES)


def test_a_difference_is_found(monkeypatch):
    info = next(info for info in op_db if info.name == "add")
    assert verdicts(info, torch.float32) == ("equal", "")
    monkeypatch.setattr(op_sweep, "same", lambda want, got: False)
    assert verdicts(info, torch.float32)[0] == "differs"


def test_results_of_any_layout_and_stride_are_compared():
    one = torch.ones(1, dtype=torch.int64).as_strided((1, 1), (0, 0))
    assert same(one, torch.ones(1, 1, dtype=torch.int64))
    assert not same(one, torch.zeros(1, 1, dtype=torch.int64))
    rows = torch.tensor([[0.0, 2.0], [0.0, 0.0]])
    assert same(rows.to_sparse(), rows.to_sparse())
    assert not same(rows.to_sparse(), (2 * rows).to_sparse())
    assert not same(rows.to_sparse(), rows)


def test_a_child_that_dies_is_a_crash():
    assert in_child(lambda: ("equal", "")) == ("equal", "")
    assert in_child(lambda: os.kill(os.getpid(), signal.SIGKILL))[0] == "crashes"


def test_the_report_counts_by_dtype_and_lists_what_is_not_equal():
    found = [
        ("add", "float32", ("equal", "")),
        ("sub", "float32", ("refused", "ST204")),
        ("mul", "int64", ("differs", "1, not 2")),
    ]
    text, is_well = report(found)
    assert text.splitlines() == [
        "float32: 2 ops: 1 equal, 1 refused",
        "int64: 1 ops: 1 differs",
        "refused: sub float32: ST204",
        "differs: mul int64: 1, not 2",
    ]
    assert not is_well
    assert report(found[:2])[1]
