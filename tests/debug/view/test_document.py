"""page and view: one page, its data and its guard; the file that view writes."""

import base64
import hashlib
import html.parser
import json
import re

import pytest
import torch

import stator
from stator.debug.report import Report
from stator.debug.report_contents import Fact
from stator.debug.view import page
from stator.debug.view.subject import subject_of
from stator.debug.view.weights import weights_of
from stator.page.document import page_data


@stator.to_static
def halved(x):
    return x / 2


@pytest.fixture(autouse=True, scope="module")
def called():
    halved(torch.ones(2))


class Parts(html.parser.HTMLParser):
    """The tags of a page with their attributes, and the texts of its scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.inside = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        self.texts.append((self.inside, data))

    def of(self, tag):
        return "".join(text for inside, text in self.texts if inside == tag)


def test_a_page_loads_nothing():
    tags = Parts(page(halved)).tags
    assert {tag for tag, _ in tags} == {
        "html", "head", "meta", "title", "style", "body", "noscript", "script"
    }  # fmt: skip
    assert not [found for _, found in tags if {"src", "href", "onclick", "style"} & found.keys()]


def test_the_policy_allows_the_two_texts_of_the_page_alone():
    text = page(halved)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts["default-src"] == "'none'"
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    for name, (inline,) in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert parts[name] == f"'sha256-{digest}'"


def test_no_text_of_a_program_can_end_the_data():
    report = Report("</script><script>1<!--", (), (Fact("<img onerror=x>"),))
    text = page(halved, report=report, title="</title><script>1")
    assert text.count("<script") == 2
    assert "<!--" not in text
    data = json.loads(Parts(text).of("script").partition("\n/* built")[0].split("/* built")[0])
    assert data["report"]["function"] == "</script><script>1<!--"
    assert data["title"] == "</title><script>1"


def test_a_report_and_a_title_take_the_place_of_its_own():
    assert page_data(subject_of(halved))["report"] == halved.explain().to_dict()
    text = page(halved, report=Report("another", (), ()), title="my model")
    assert '"function":"another"' in text
    assert "<title>my model · Stator</title>" in text


def test_view_writes_the_page_and_gives_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert stator.debug.view(halved, tmp_path / "a.html") == tmp_path / "a.html"
    written = stator.debug.view(halved)
    assert str(written) == "halved.view.html"
    assert written.read_text() == page(halved) == (tmp_path / "a.html").read_text()


def test_a_title_cannot_lead_out_of_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = halved.program
    monkeypatch.setattr(program, "name", "../../etc/x y")
    assert str(stator.debug.view(program)) == "etc_x_y.view.html"


def test_two_pages_of_one_function_are_the_same(keep_text):
    keep_text(page(halved).partition('id="data">')[2].partition("</script>")[0])
    assert page(halved) == page(halved)


def test_names_of_one_tensor_are_tied():
    one = torch.nn.Parameter(torch.zeros(2))
    found = weights_of({"a": one, "b": one, "c": torch.zeros(2)})
    assert [(weight.name, weight.kind, weight.tied) for weight in found] == [
        ("a", "parameter", None), ("b", "parameter", "a"), ("c", "buffer", None)
    ]  # fmt: skip
