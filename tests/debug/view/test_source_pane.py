"""The source pane in a browser: long lines wrap, and it is hidden where there is no source."""

import itertools

import pytest
import torch

import stator
from stator import InputSpec
from tests.debug.view.reading import row_of, selected, settle

pytestmark = pytest.mark.slow


def many_long_lines(x):
    """Lines far longer than the pane is wide, so that rows have unequal heights."""
    # fmt: off
    x = x + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1
    x = torch.where(x > 1, torch.sin(x) + torch.cos(x) + torch.exp(x), torch.tanh(x) + torch.abs(x))
    if x.sum() > 0:
        x = torch.where(x > 2, torch.sin(x) + torch.cos(x) + torch.exp(x), torch.tanh(x) + x.abs())
    x = torch.where(x > 3, torch.sin(x) + torch.cos(x) + torch.exp(x), torch.tanh(x) + torch.abs(x))
    x = torch.where(x > 4, torch.sin(x) + torch.cos(x) + torch.exp(x), torch.tanh(x) + torch.abs(x))
    x = torch.where(x > 5, torch.sin(x) + torch.cos(x) + torch.exp(x), torch.tanh(x) + torch.abs(x))
    x = torch.where(x > 6, torch.sin(x) + torch.cos(x) + torch.exp(x), torch.tanh(x) + torch.abs(x))
    x = torch.where(x > 7, torch.sin(x) + torch.cos(x) + torch.exp(x), torch.tanh(x) + torch.abs(x))
    x = torch.where(x > 8, torch.sin(x) + torch.cos(x) + torch.exp(x), torch.tanh(x) + torch.abs(x))
    x = torch.where(x > 9, torch.sin(x) + torch.cos(x) + torch.exp(x), torch.tanh(x) + torch.abs(x))
    # fmt: on
    return x - 1


FIRST = many_long_lines.__code__.co_firstlineno
LAST = FIRST + 15  # `return x - 1`


@pytest.fixture(scope="module")
def function():
    static = stator.to_static(many_long_lines)
    static(torch.ones(3))
    return static


def test_long_lines_wrap(reader, function):
    tab = reader.open(function, width=700, height=700)
    settle(tab, 150)
    pane = tab.locator("#source")
    assert tab.evaluate("(() => { const s = document.getElementById('source');"
                        " return s.scrollWidth <= s.clientWidth })()")  # fmt: skip
    rows = [one.bounding_box() for one in tab.locator("#source .row").all()]
    heights = {round(one["height"]) for one in rows}
    assert min(heights) == 20
    assert max(heights) >= 40
    for above, below in itertools.pairwise(rows):
        assert above["y"] + above["height"] == pytest.approx(below["y"], abs=1)
    assert pane.bounding_box()["width"] <= 700


def test_a_row_among_wrapped_ones_is_brought_into_sight(reader, function):
    tab = reader.open(function, width=420, height=700)
    settle(tab, 150)
    for line in (LAST, FIRST + 3, LAST):
        tab.fill("#search", f":{line}")
        tab.keyboard.press("Enter")
        assert selected(tab) is not None
        settle(tab, 150)
        pane, row = (one.bounding_box() for one in (tab.locator("#source"), row_of(tab, line)))
        assert pane["y"] <= row["y"] + 1
        assert row["y"] + 20 <= pane["y"] + pane["height"] + 1
        assert tab.locator("#source .current .number").text_content() == str(line)


def test_what_is_in_sight_stays_when_the_pane_gets_another_width(reader, function):
    tab = reader.open(function, width=1400, height=300)
    tab.evaluate("document.getElementById('source').scrollTop = 140")
    settle(tab, 150)
    first = tab.evaluate(FIRST_ROW)
    assert first > 0
    tab.set_viewport_size({"width": 1000, "height": 300})
    settle(tab, 200)
    assert tab.evaluate(FIRST_ROW) == first


FIRST_ROW = """() => {
    const pane = document.getElementById('source').getBoundingClientRect();
    const rows = [...document.querySelectorAll('#source .row')];
    const first = rows.find((row) => row.getBoundingClientRect().bottom > pane.top + 1);
    return Number(first.dataset.row);
}"""


def test_without_source_there_is_no_source_pane(reader, tmp_path):
    stator.save(many_long_lines, tmp_path / "model", [InputSpec([None])])
    tab = reader.open(tmp_path / "model")
    assert not tab.locator("#source").is_visible()
    assert tab.locator(".splitter").first.is_hidden()
    assert tab.locator("#graph").bounding_box()["x"] < 10
    assert "no source" in tab.inner_text(".details")
    tab.click("#op-0 .box")
    assert f"test_source_pane.py:{FIRST + 3} in many_long_lines" in tab.inner_text(".details")
    narrow = reader.open(tmp_path / "model", width=400)
    assert narrow.locator("#graph").bounding_box()["height"] > 300
