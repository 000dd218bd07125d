"""The page in a browser: what a reader sees, points at and types."""

import re
from pathlib import Path

import pytest
import torch

import stator
from docs.examples import deciding
from stator import InputSpec
from stator.debug.report import Report
from stator.debug.report_contents import CaptureReport, Fact, Line
from stator.location import Location
from stator.program.ir import Block, Op, StoredTensor, Value
from stator.program.printer import print_program
from stator.program.program import Program
from stator.program.sizes import Symbol
from stator.program.structure import Leaf, Sequence
from stator.program.types import TensorType
from tests.debug.view.reading import drawn, row_of, selected, settle, with_class

pytestmark = pytest.mark.slow
VIEWER = Path(__file__).parents[3] / "viewer"
FIRST = deciding.Deciding.forward.__code__.co_firstlineno
IF, COOLER = FIRST + 7, FIRST + 10  # lines of the example


@pytest.fixture(scope="module")
def model():
    model = stator.to_static(deciding.Deciding())
    model(torch.ones(2, dtype=torch.int64), torch.zeros(2, 16))
    return model


def numbered(program):
    """Every op in the order of the page: an op before those of its blocks."""

    def walk(block):
        for op in block.ops:
            yield op
            for inner in op.blocks:
                yield from walk(inner)

    return list(walk(program.body))


def find(program, name):
    return next(k for k, op in enumerate(numbered(program)) if op.name == name)


def test_blocks_open_and_close(reader, model):
    tab = reader.open(model, height=3000)
    program = model.forward.program
    ops = numbered(program)
    assert sorted(drawn(tab)) == list(range(len(ops)))
    loop = find(program, "stator::while")
    inside = [k for k, op in enumerate(ops) if k > loop and op in numbered_in(ops[loop])]
    node = tab.locator(f"#op-{loop}")
    assert node.get_attribute("aria-expanded") == "true"
    tab.click(f"[data-fold='{loop}']")
    assert set(drawn(tab)) == set(range(len(ops))) - set(inside)
    assert node.get_attribute("aria-expanded") == "false"
    assert f"{len(inside)} ops inside" in node.text_content()
    node.dblclick()
    assert set(inside) <= set(drawn(tab))
    tab.click("text=Close all")
    assert set(drawn(tab)) == {k for k, op in enumerate(ops) if op in program.body.ops}
    tab.click("text=Open all")
    assert set(drawn(tab)) == set(range(len(ops)))


def numbered_in(op):
    return [one for block in op.blocks for one in numbered_of(block)]


def numbered_of(block):
    return [one for op in block.ops for one in (op, *numbered_in(op))]


def test_a_line_lights_its_ops_and_an_op_its_line(reader, model):
    tab = reader.open(model, height=3000)
    ops = numbered(model.forward.program)
    for line in (IF, COOLER):
        row_of(tab, line).locator("code").hover(position={"x": 5, "y": 5})
        here = [k for k, op in enumerate(ops) if op.place.line == line]
        assert here
        assert with_class(tab, "lit") == here
        assert row_of(tab, line).locator(".count").text_content() == str(len(here))
    tab.hover("h1")
    assert with_class(tab, "lit") == []
    tab.hover(f"#op-{here[0]} .box")
    settle(tab, 60)
    assert tab.locator("#source .lit .number").all_text_contents() == [str(COOLER)]


def test_a_line_that_is_clicked_goes_from_op_to_op(reader, model):
    tab = reader.open(model)
    ops = numbered(model.forward.program)
    here = [k for k, op in enumerate(ops) if op.place.line == IF]
    for op in (*here, here[0]):
        row_of(tab, IF).locator("code").click(position={"x": 5, "y": 5})
        assert selected(tab) == op


def test_an_op_that_is_clicked_shows_what_it_is(reader, model):
    tab = reader.open(model, height=3000)
    program = model.forward.program
    linear = find(program, "aten::linear")
    op = numbered(program)[linear]
    tab.click(f"#op-{linear} .box")
    details = tab.inner_text(".details")
    assert details.startswith("aten::linear\n")
    assert f"deciding.py:{op.place.line} in forward" in details
    assert "logits = self.out(state)" in details
    assert f"%{op.results[0].name}\nf32[2, 32]\n256 B" in details
    assert "weight\nout.weight" in details
    assert "out.weight\nf32[32, 16]\nparameter, 2.05 kB" in details
    users = [k for k, one in enumerate(numbered(program)) if op.results[0] in one.args]
    assert re.search(rf"USED BY {len(users)} OPS", details)
    assert tab.locator("#source .current .number").text_content() == str(op.place.line)
    tab.click(".details section:has(h3:text('used by')) button >> nth=0")
    assert selected(tab) == users[0]


def test_the_text_is_the_printed_program(reader, model):
    tab = reader.open(model, height=3000)
    tab.click("#tab-text-view")
    settle(tab, 60)
    rows = tab.locator("#text .row").all()
    lines = ["  ".join(row.locator("> *").all_text_contents()) for row in rows]
    assert "\n".join(lines) == print_program(model.forward.program)


def test_search_finds_names_weights_and_lines(reader, model):
    tab = reader.open(model, height=3000)
    ops = numbered(model.forward.program)
    tab.keyboard.press("/")
    tab.keyboard.type("argmax")
    named = [k for k, op in enumerate(ops) if op.name == "aten::argmax"]
    lines = {ops[k].place.line for k in named}
    hits = named + [k for k, op in enumerate(ops) if op.place.line in lines and k not in named]
    assert tab.inner_text(".search .status") == f"{len(hits)} ops"
    assert with_class(tab, "found") == sorted(hits)
    for op in (*hits, hits[0]):
        tab.keyboard.press("Enter")
        assert selected(tab) == op
    tab.fill("#search", "out.bias")
    tab.keyboard.press("Enter")
    assert ops[selected(tab)].name == "aten::linear"
    tab.fill("#search", f":{COOLER}")
    here = [k for k, op in enumerate(ops) if op.place.line == COOLER]
    assert tab.locator("#hits li").count() == len(here)
    tab.fill("#search", "no such op")
    assert tab.inner_text(".search .status") == "nothing found"
    tab.keyboard.press("Escape")
    assert (tab.input_value("#search"), with_class(tab, "found")) == ("", [])


def test_the_keyboard_reaches_everything(reader, model):
    tab = reader.open(model)
    program = model.forward.program
    ops = numbered(program)
    for _ in range(30):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.id") == "graph":
            break
    walked = []
    for _ in ops:
        tab.keyboard.press("ArrowDown")
        walked.append(selected(tab))
        assert tab.get_attribute("#graph", "aria-activedescendant") == f"op-{walked[-1]}"
    assert walked == list(range(len(ops)))
    tab.keyboard.press("Home")
    assert selected(tab) == 0
    loop = find(program, "stator::while")
    for _ in range(loop):
        tab.keyboard.press("ArrowDown")
    assert selected(tab) == loop
    tab.keyboard.press("Enter")
    assert loop + 1 not in drawn(tab)
    tab.keyboard.press("ArrowRight")  # opens
    tab.keyboard.press("ArrowRight")  # goes in
    assert selected(tab) == loop + 1
    tab.keyboard.press("ArrowLeft")
    assert selected(tab) == loop
    tab.keyboard.press("Shift+ArrowUp")
    producer = next(k for k, op in enumerate(ops) if ops[loop].args[0] in op.results)
    assert selected(tab) == producer
    tab.keyboard.press("Shift+ArrowUp")  # on from the `if` of the test: Enter would close it
    assert not ops[selected(tab)].blocks
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "source"
    tab.keyboard.press("Escape")
    assert selected(tab) is None
    tab.keyboard.press("?")
    assert tab.locator("dialog").is_visible()
    tab.keyboard.press("Escape")
    assert not tab.locator("dialog").is_visible()


def test_it_is_light_or_dark_as_the_system_is_or_as_one_wants(reader, model):
    def ground(tab):
        return tab.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = reader.open(model), reader.open(model, dark=True)
    colours = ground(light), ground(dark)
    assert colours == ("rgb(245, 246, 248)", "rgb(15, 18, 24)")
    light.click(".theme")
    light.click(".theme")
    assert light.inner_text(".theme") == "● Dark"
    assert ground(light) == colours[1]
    dark.click(".theme")
    assert ground(dark) == colours[0]


def test_a_checker_of_accessibility_finds_nothing(reader, model):
    checker = VIEWER / "node_modules" / "axe-core" / "axe.min.js"
    if not checker.exists():
        pytest.skip("needs viewer/node_modules: scripts/browser brings them")
    parts = ["#tab-text-view", "#tab-graph-view", "#tab-weights", "#tab-explain"]
    for dark, looked_at in ((False, parts), (True, parts[::3])):
        tab = reader.open(model, dark=dark, checked=True)
        tab.evaluate(checker.read_text())
        tab.keyboard.press("g")
        tab.keyboard.press("ArrowDown")
        for part in looked_at:
            tab.click(part)
            settle(tab, 60)
            found = tab.evaluate("axe.run()")["violations"]
            assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []


def test_methods_and_modes_of_a_saved_model_can_be_chosen(reader, tmp_path):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(3, 3)
            self.tied = torch.nn.Linear(3, 3)
            self.tied.weight = self.fc.weight
            self.spare = torch.nn.Parameter(torch.zeros(100))

        def forward(self, x):
            return torch.nn.functional.dropout(self.fc(x), 0.5, self.training) + self.tied(x)

        @stator.to_static(input_spec=[InputSpec([None, 3], "float32")])
        def norm(self, x):
            return x.norm()

    stator.save(Net(), tmp_path / "net", input_spec=[InputSpec([None, 3], "float32")])
    tab = reader.open(tmp_path / "net", dark=True)
    assert tab.locator("header select option").all_text_contents() == [
        "forward, eval", "forward, train", "norm"
    ]  # fmt: skip
    names = tab.locator("#graph .op .name").all_text_contents()
    tab.select_option("header select", label="norm")
    tab.wait_for_selector("#graph[data-drawn]")
    assert names != tab.locator("#graph .op .name").all_text_contents()
    assert "no source" in tab.inner_text(".details")
    tab.select_option("header select", label="forward, eval")
    tab.click("#tab-weights")
    total = 4 * (9 + 3 + 3 + 100)
    assert tab.inner_text(".totals").startswith(f"{total} B in 4 tensors")
    rows = dict(
        re.findall(r"^(\S+)\t\w+\t\S.*?\]\t(.*?)\t", tab.inner_text(".weights tbody"), re.M)
    )
    assert rows["fc.weight"] == "36 B"
    assert rows["tied.weight"] == "tied to fc.weight"
    assert rows["spare"] == "400 B"
    tab.click(".weights th.bytes button")
    assert tab.locator(".weights tbody th").all_text_contents()[0] == "spare"
    tab.click("#tab-explain")
    assert "There is no report" in tab.inner_text(".report")


def test_the_report_leads_to_its_lines(reader, model):
    tab = reader.open(model)
    assert "a branch of the program" in row_of(tab, IF).locator(".note").text_content()
    tab.click("#tab-explain")
    text = tab.inner_text(".report")
    report = model.forward.explain()
    for line in report.captures[0].lines:
        assert line.source.strip() in text
        assert all(note in text for note in line.notes)
    tab.click(f".report-lines button:text-is('{COOLER}')")
    ops = numbered(model.forward.program)
    assert ops[selected(tab)].place.line == COOLER
    assert tab.evaluate("document.activeElement.id") == "source"


HOSTILE = "</script><img src=x onerror=window.hacked=1><script>window.hacked=2</script>"


def hostile_program():
    kind = TensorType("float32", (2, Symbol(HOSTILE)))
    x, w, y, z = (Value(f"{name}{HOSTILE}", kind) for name in "xwyz")
    place = Location(f"/nowhere/{HOSTILE}.py", 3, 0, HOSTILE)
    inner = Op(f"aten::{HOSTILE}", (x, HOSTILE), {HOSTILE: HOSTILE}, (z,), place=place)
    block = Block((), [inner], (z,))
    op = Op("stator::if", (x, w), {}, (y,), (block, Block((), [], (x,))), place)
    stored = StoredTensor(w, f"{HOSTILE}.weight", "parameter")
    structure = Sequence("tuple", (Leaf(0),))
    return Program(HOSTILE, (x,), (stored,), Block((), [op], (y,)), structure, structure)


def test_a_hostile_program_can_put_nothing_into_the_page(reader):
    fact = (Fact(HOSTILE, HOSTILE),)
    line = Line(f"/nowhere/{HOSTILE}.py", 3, HOSTILE, HOSTILE, (HOSTILE,), 2)
    capture = CaptureReport(
        HOSTILE, (HOSTILE,), 2, (line,), fact, fact, fact, fact, fact, fact, fact, fact
    )
    report = Report(HOSTILE, (capture,), fact, HOSTILE)
    tab = reader.open(hostile_program(), report=report, title=HOSTILE)
    tab.click("#op-1 .box")
    tab.keyboard.press("/")
    tab.keyboard.type("onerror")
    tab.keyboard.press("Enter")
    for part in ("#tab-text-view", "#tab-weights", "#tab-explain"):
        tab.click(part)
        settle(tab, 60)
        assert HOSTILE in tab.text_content("main")
    settle(tab, 200)
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("img, iframe, object, [onerror]").count() == 0
    assert tab.locator("script").count() == 2
    assert tab.inner_text("h1") == HOSTILE


@pytest.mark.parametrize("width", [320, 390, 760])
def test_no_button_is_cut_off_in_a_narrow_window(reader, model, width):
    tab = reader.open(model, width=width, height=800)
    buttons = tab.locator("header button, .bar-top button")
    assert buttons.count() > 8
    for box in (button.bounding_box() for button in buttons.all() if button.is_visible()):
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
