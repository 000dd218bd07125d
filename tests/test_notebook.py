"""What a notebook shows: HTML in which nothing of a program is code."""

import html
import pickle

import pytest
import torch

import stator
from stator import InputSpec
from stator.notebook import framed, preformatted, unfolding

EVIL = '<script>alert("&")</script>'


@pytest.mark.parametrize("made", [preformatted(EVIL), unfolding(EVIL, EVIL), framed(EVIL)])
def test_text_is_escaped(made):
    assert "<script" not in made
    assert html.escape(EVIL) in made


@pytest.fixture
def static():
    function = stator.to_static(lambda x: x + 1 if x.sum() > 0 else x)
    function(torch.ones(2))
    return function


def test_a_static_function_shows_its_programs(static):
    shown = static._repr_html_()
    assert html.escape(repr(static)) in shown
    assert html.escape(str(static.program)) in shown


def test_a_program_has_a_short_repr_and_shows_itself_whole(static):
    assert repr(static.program) == "<Program <lambda>(x: f32[2]), 4 ops at its top level>"
    assert static.program._repr_html_() == preformatted(str(static.program))


def test_reports_and_verifications_show_themselves(static):
    report = stator.explain(static)
    assert report._repr_html_() == framed(report.to_html())
    checked = stator.verify(static, [torch.ones(2)])
    assert checked._repr_html_() == preformatted(str(checked))


def test_a_page_is_shown_where_it_is_viewed(static, tmp_path):
    path = stator.debug.view(static, tmp_path / "page.html")
    assert path == tmp_path / "page.html"
    assert path._repr_html_() == framed(path.read_text())
    assert pickle.loads(pickle.dumps(path)) == path


def test_a_loaded_model_shows_its_methods(static, tmp_path):
    stator.save(static, tmp_path / "model", [InputSpec([2])])
    model = stator.load(tmp_path / "model")
    assert "forward(x: f32[2]) -&gt; f32[2]" in model._repr_html_()
