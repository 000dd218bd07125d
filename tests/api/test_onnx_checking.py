"""An ONNX file is compared with its program: on examples, drawn inputs, and for other paths."""

import sys

import pytest
import torch

import stator
from stator import InputSpec
from stator.api.onnx_inputs import DRAWS
from stator.api.onnx_layer import OnnxMethod
from stator.errors import ExportError
from stator.extras import install_command
from stator_verify import program_paths
from stator_verify.program_paths import FoundPaths

SPEC = [InputSpec([3], "float32", "x")]


def rare(x):
    """A branch that no drawn input takes."""
    if x[0] > 1000:
        return x * 2
    return x


def saved(tmp_path, function, spec=SPEC, **options):
    (report,) = stator.save(function, tmp_path / "f", input_spec=spec, onnx=True, **options)
    return report


@pytest.fixture
def wrong_where_it_is_rare(monkeypatch):
    right = OnnxMethod.run

    def run(self, leaves):
        found = right(self, leaves)
        return [x + 100 for x in found] if leaves[0][0] > 1000 else found

    monkeypatch.setattr(OnnxMethod, "run", run)


@pytest.mark.usefixtures("wrong_where_it_is_rare")
def test_a_model_that_is_wrong_on_a_rare_path_is_not_kept(tmp_path):
    with pytest.raises(ExportError, match="ONNX Runtime behaves differently from the program"):
        saved(tmp_path, rare)
    assert not (tmp_path / "f.onnx").exists()


@pytest.mark.usefixtures("wrong_where_it_is_rare")
def test_the_search_can_be_left_out(tmp_path):
    report = saved(tmp_path, rare, search_paths=False)
    assert (report.runs, report.paths) == (DRAWS, None)


def test_the_report_counts_paths_and_the_inputs_searched_for_them(tmp_path):
    report = saved(tmp_path, rare)
    assert (report.paths.taken, report.paths.missing, report.paths.searched) == (2, (), 1)
    assert report.findings()[1:3] == [
        "  ✓ ONNX Runtime equals the program in 11 runs, 0 of them with an error",
        "  ✓ paths of branches and loops: 2 of 2 compared, with 1 inputs searched for them",
    ]


def test_paths_without_an_input_are_listed(tmp_path):
    def never(x):
        return x + 1 if (x * x).sum() < -1 else x

    line = never.__code__.co_firstlineno + 1
    assert saved(tmp_path, never).findings()[2:4] == [
        "  ✓ paths of branches and loops: 1 of 2 compared, with 0 inputs searched for them",
        f"  - no input found for test_onnx_checking.py:{line} if (taken)",
    ]


def test_a_program_that_never_chooses_has_no_paths(tmp_path):
    assert saved(tmp_path, lambda x: x * 2).paths is None


def test_the_tensors_of_the_spec_are_compared_first(tmp_path):
    report = saved(tmp_path, rare, [torch.full((3,), 2000.0)])
    assert (report.examples, report.runs, report.paths.missing) == (1, DRAWS + 1, ())
    assert " runs, 1 on example inputs, 0 of them with an error" in str(report)


def test_a_difference_that_a_rounding_of_the_input_makes_is_no_difference(tmp_path, monkeypatch):
    right = OnnxMethod.run
    found = FoundPaths(((torch.tensor([1000.0001, 0.0, 0.0]),),), 2, ())
    monkeypatch.setattr(program_paths, "find_paths", lambda *_, **__: found)
    monkeypatch.setattr(OnnxMethod, "run", lambda self, leaves: right(self, [leaves[0] - 0.001]))
    with pytest.raises(ExportError):  # of drawn inputs, which are not at a point where it turns
        saved(tmp_path, lambda x: x * 2)
    monkeypatch.setattr(
        OnnxMethod,
        "run",
        lambda self, leaves: right(self, [leaves[0] - (leaves[0] > 999) * 0.001]),
    )
    report = saved(tmp_path, rare)
    assert (report.paths.unstable, report.paths.searched) == (1, 0)
    assert "  - 1 inputs left out: a rounding changes what the program gives" in str(report)


def test_without_hypothesis_the_report_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "stator_verify.program_paths", None)
    assert saved(tmp_path, rare).findings()[2] == (
        "  - no inputs were searched for other paths: stator_verify.program_paths is missing, "
        + install_command("verify")
    )
