"""explain: what became of each line, what is fixed, what is open, and why it was captured again."""

import html.parser
import json
import logging
import textwrap
import warnings

import pytest
import torch

import stator
from stator import InputSpec
from stator.errors import ConversionError
from stator.execute.selection import select

LIMIT = 10


def halve(x):
    return x / 2


@stator.not_to_static
def left(x):
    return x + 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])
        self.mode = "relu"
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        for layer in self.layers:
            x = layer(x)
        if self.mode == "relu":
            x = torch.relu(x)
        while x.sum() > LIMIT:
            x = halve(x)
        if x.mean() > 0:
            print("positive")
        return left(x)


FIRST = Net.forward.__code__.co_firstlineno


def notes(report, offset):
    (line,) = [one for one in report.captures[0].lines if one.line == FIRST + offset]
    return list(line.notes), line.ops


def facts(found):
    return [fact.what for fact in found]


@pytest.fixture(scope="module")
def report():
    return stator.explain(Net(), torch.ones(2, 4))


def test_a_loop_over_a_list_says_that_it_was_unrolled(report):
    assert notes(report, 2) == (["ran as Python: unrolled over a ModuleList"], 0)
    assert notes(report, 3) == ([], 3)


def test_a_constant_condition_says_that_it_ran_as_python(report):
    assert notes(report, 4) == (["ran as Python: the condition is True, a Python value"], 0)


def test_what_became_a_loop_or_a_branch_of_the_program_says_so(report):
    assert notes(report, 6)[0] == ["a loop of the program: the condition is captured"]
    assert notes(report, 8)[0] == ["a branch of the program: the condition is captured"]


def test_functions_are_listed_as_converted_or_left_alone(report):
    assert facts(report.captures[0].converted) == ["Net.forward", "halve"]
    assert facts(report.captures[0].left_alone) == ["left"]
    assert notes(report, 10)[0] == ["calls left, not converted: `not_to_static`"]


def test_values_that_are_fixed_are_listed_with_the_line_that_read_them(report):
    fixed = {fact.what: fact.place for fact in report.captures[0].fixed}
    assert fixed["Net.mode is 'relu'"] == f"test_explain.py:{FIRST + 4}"
    assert fixed["Net.calls is 0"] == f"test_explain.py:{FIRST + 1}"
    assert "global LIMIT is 10" in fixed
    assert "Linear.training is True (3 times)" in fixed


def test_effects_are_listed_with_their_lines(report):
    assert [(fact.what, fact.place) for fact in report.captures[0].effects] == [
        ("sets `calls` of a Net", f"test_explain.py:{FIRST + 1}"),
        ("prints", f"test_explain.py:{FIRST + 9}"),
    ]


def test_a_call_of_python_that_every_run_makes_is_listed():
    def f(x):
        logging.getLogger("tests.debug").warning("the sum is %s", x.sum().item())
        return x

    text = str(stator.to_static(f).explain(torch.ones(2)))
    assert "calls Logger.warning in Python, in every run" in text


def test_nothing_runs_while_it_is_explained(capsys):
    net = Net()
    stator.explain(net, torch.ones(2, 4))
    assert net.calls == 0
    assert capsys.readouterr().out == ""


def test_each_capture_says_what_caused_it_and_what_is_open_then():
    net = stator.to_static(Net())
    net(torch.ones(2, 4))
    net(torch.ones(3, 4))
    first, second = net.forward.explain().captures
    assert first.because == "it was called for the first time"
    assert second.because == "x.shape[0] is 3, not 2"
    assert facts(first.sizes) == []
    assert facts(second.sizes) == ["x.shape[0], called s0 in the program"]
    assert facts(second.state_inputs) == ["Net.calls"]
    assert not [fact for fact in second.fixed if "calls" in fact.what]


def test_demands_on_sizes_are_listed_with_their_lines():
    @stator.to_static(input_spec=[InputSpec([None], "float32")])
    def rows(x):
        return x.view(-1, 3).sum(1)

    (capture,) = rows.explain(torch.ones(6)).captures
    assert facts(capture.size_checks) == ["this needs x.shape[0] % 3 == 0"]
    assert capture.size_checks[0].place.startswith("test_explain.py:")


def test_a_call_that_falls_back_is_listed_with_its_cause():
    static = stator.to_static(lambda x: x.grad_fn, full_graph=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        static(torch.ones(1))
    report = static.explain()
    assert facts(report.fallbacks) == [
        "`.grad_fn` cannot be captured: the autograd graph is not part of a program"
    ]
    assert "runs eagerly (full_graph=False): `.grad_fn` cannot be captured" in str(report)


def test_what_cannot_be_captured_is_reported_not_raised():
    def f(x):
        return x.grad_fn

    report = stator.explain(f, torch.ones(1))
    assert report.captures == ()
    assert report.refused.startswith("[ST204] `.grad_fn` cannot be captured")
    assert "refused:\n  [ST204]" in str(report)


def test_what_cannot_be_called_cannot_be_explained():
    with pytest.raises(ConversionError, match="an int cannot be explained"):
        stator.explain(3)


def test_a_function_that_was_never_called_says_so():
    assert str(stator.explain(halve)) == "halve: not captured"


def test_the_text_has_the_source_beside_what_became_of_it():
    static = stator.to_static(halve)
    text = str(stator.explain(static, torch.ones(2)))
    program = static.program
    line = halve.__code__.co_firstlineno
    assert text == textwrap.dedent(f"""\
        halve: captured once

        1. because it was called for the first time
           takes x: f32[2]; 1 op
           runs in: {select(None, program)}

           {__file__}, in halve
           {line + 1:5} |     return x / 2                       1 op

           converted:
             halve  (test_explain.py:{line})

           one object must stay as it is (a module, a function, a list)""")


def test_the_dict_can_be_written_as_json(report):
    data = json.loads(json.dumps(report.to_dict()))
    assert data["function"] == "Net.forward"
    assert data["captures"][0]["lines"][0].keys() == {
        "file", "line", "function", "source", "notes", "ops",
    }  # fmt: skip


class Balanced(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.links = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else(report):
    page, parser = report.to_html(), Balanced()
    parser.feed(page)
    assert parser.open == []
    assert parser.links == []
    assert {"table", "style", "details"} <= parser.seen
    assert "self.mode == &quot;relu&quot;" in page
