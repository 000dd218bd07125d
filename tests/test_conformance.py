"""The published conformance programs: what the folder says of them is so, and the runner judges."""

import json
import re
import sys
from collections import Counter

import pytest
import torch

from tests.docs.documents import ROOT

FOLDER = ROOT / "conformance"


@pytest.fixture
def machinery(monkeypatch):
    """The modules of the folder, which import each other by their plain names."""
    monkeypatch.syspath_prepend(str(FOLDER))
    names = ("corpuslib", "run_peers", "stator_plugin")
    modules = {name: __import__(name) for name in names}
    yield modules
    for name in [name for name in sys.modules if name in names or name.startswith("cases")]:
        del sys.modules[name]


def test_there_are_as_many_programs_as_the_readme_says(machinery):
    said = int(
        re.search(r"^(\d+) small PyTorch programs", (FOLDER / "README.md").read_text(), re.M)[1]
    )
    assert len(machinery["corpuslib"].load_cases()) == said


def test_a_correct_tool_a_wrong_one_and_a_failing_one_are_told_apart(
    machinery, tmp_path, monkeypatch
):
    run_peers = machinery["run_peers"]
    case = next(c for c in machinery["corpuslib"].load_cases(["if_else"]) if c.name == "if_swap")

    def fail(case, target):
        raise RuntimeError("cannot capture")

    captures = {
        "ok": lambda case, target: (target, None),
        "wrong": lambda case, target: (lambda a, c: (c, a - c), None),
        "error": fail,
    }
    monkeypatch.chdir(tmp_path)
    for status, capture in captures.items():
        monkeypatch.setitem(run_peers.CAP, "mine", capture)
        assert run_peers.run_one(case, "mine", 60)["status"] == status


def test_stator_is_right_on_a_program_in_both_ways(machinery):
    run_peers, plugin = machinery["run_peers"], machinery["stator_plugin"]
    run_peers.CAP.update(plugin.PEERS)
    case = next(c for c in machinery["corpuslib"].load_cases(["training"]))
    for peer in ("static", "saved"):
        result = run_peers.score(case, peer)
        assert (result["status"], result["grad"]) == ("ok", "ok")


def test_a_wrong_gradient_is_found(machinery):
    corpuslib = machinery["corpuslib"]
    right = corpuslib.Call(None, None, [torch.ones(2)], {})
    wrong = corpuslib.Call(None, None, [torch.zeros(2)], {})
    assert corpuslib.compare_gradients(right, right) is None
    assert corpuslib.compare_gradients(right, wrong) == "grad of input0 differs by 1"


def test_the_published_results_are_counted_correctly(machinery):
    published = json.loads((FOLDER / "results" / "torch.json").read_text())
    assert published.keys() == {case.name for case in machinery["corpuslib"].load_cases()}
    titles = {
        "trace": "`torch.jit.trace`",
        "script": "`torch.jit.script`",
        "compile": "`torch.compile(fullgraph=True)`",
        "export": "`torch.export`, non-strict",
        "export_strict": "`torch.export`, strict",
    }
    for peer, title in titles.items():
        counts = Counter(one["peers"][peer]["status"] for one in published.values())
        row = f"| {title} | {counts['ok']} | {counts['wrong']} | {counts['error']} |"
        assert row in (FOLDER / "README.md").read_text()
