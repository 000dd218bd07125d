"""Long programs in a browser: sections by module, closed and open, and what is drawn of them."""

import itertools
import re

import pytest
import torch

import stator
from stator.debug.view import page
from stator.location import Location
from stator.program.ir import Block, Op, StoredTensor, Value
from stator.program.program import Program
from stator.program.structure import Leaf, Sequence
from stator.program.types import NumberType, TensorType
from tests.debug.view.reading import drawn, row_of, selected, settle, with_class

pytestmark = pytest.mark.slow
LAYERS = 720
KIND = TensorType("float32", (2, 2))


def long_block(x):
    """Seven ops for each layer, and the weights that they use."""
    weights = [Value(f"w{k}", KIND) for k in range(LAYERS)]
    ops, last = [], x
    for k, weight in enumerate(weights):
        here = [Value(f"{k}_{n}", KIND) for n in range(7)]
        given = [(last, weight), *((one,) for one in here[:4]), (here[4], last), (here[5], here[2])]
        names = ("mm", "relu", "exp", "sin", "abs", "add.Tensor", "sub.Tensor")
        for name, args, result in zip(names, given, here, strict=True):
            place = Location(__file__, FIRST_OF_LONG + (name == "mm"), 4, "long_block")
            ops.append(Op(f"aten::{name}", args, {}, (result,), (), place))
        last = here[-1]
    stored = tuple(
        StoredTensor(one, f"layers.{k}.weight", "parameter") for k, one in enumerate(weights)
    )
    return ops, last, stored


FIRST_OF_LONG = long_block.__code__.co_firstlineno


def long_program():
    x = Value("x", KIND)
    ops, last, stored = long_block(x)
    return Program("long", (x,), stored, Block((), ops, (last,)), Leaf(0), Leaf(0))


def long_loop():
    x, more, carried, out = (Value(name, KIND) for name in ("x", "more", "carried", "out"))
    more.type = NumberType("bool")
    ops, last, stored = long_block(carried)
    loop = Op("stator::while", (more, x), {}, (out,), (Block((carried,), ops, (more, last)),))
    inputs = Sequence("tuple", (Leaf(0), Leaf(1)))
    return Program("loop", (x, more), stored, Block((), [loop], (out,)), inputs, Leaf(0))


def plain_program(count):
    """`count` ops one after the other, without any weight."""
    values = [Value(f"v{k}", KIND) for k in range(count + 1)]
    place = Location("/nowhere/plain.py", 3, 4, "plain")
    ops = [
        Op("aten::sin", (before,), {}, (after,), (), place)
        for before, after in itertools.pairwise(values)
    ]
    return Program("plain", values[:1], (), Block((), ops, values[-1:]), Leaf(0), Leaf(0))


def elements(tab):
    settle(tab, 80)
    return tab.evaluate("document.querySelectorAll('#graph *').length")


def titles(tab):
    settle(tab)
    found = tab.locator("#graph .section .title").all_text_contents()
    return [re.sub("^[▸▾] ", "", one) for one in found]


def box_of_graph(tab):
    """Where the outermost frame is, and the pane that it is in."""
    settle(tab)
    frame = tab.locator("#graph .frame .edge").first.bounding_box()
    return frame, tab.locator("#graph").bounding_box()


@pytest.fixture(scope="module")
def gpt2():
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(n_embd=48, n_head=4, vocab_size=100)  # and twelve layers
    model = stator.to_static(transformers.GPT2LMHeadModel(config).eval())
    with torch.no_grad():
        model(torch.zeros(1, 8, dtype=torch.int64))
    return model


def test_a_model_opens_as_closed_boxes_one_for_each_layer(reader, gpt2):
    assert len(page(gpt2)) < 2_000_000
    tab = reader.open(gpt2, height=3000)
    layers = [f"transformer.h.{k}" for k in range(12)]
    assert titles(tab) == [
        "transformer", "transformer.wte, wpe", "transformer.h", *layers, "transformer.ln_f",
        "lm_head",
    ]  # fmt: skip
    assert drawn(tab) == []
    (layer,) = tab.locator("#graph .section[aria-label^='section transformer.h.5,']").all()
    assert layer.get_attribute("aria-expanded") == "false"
    text = layer.text_content()
    assert re.search(r"\d+ ops", text)
    assert "f32[1, 8, 48] → f32[1, 8, 48], 2 \N{MULTIPLICATION SIGN} f32[1, 4, 8, 12]" in text


def test_modules_inside_a_module_are_boxes_in_its_box(reader, gpt2):
    tab = reader.open(gpt2, height=3000)
    tab.click("#graph .section[aria-label^='section transformer.h.5,'] [data-toggle]")
    inside = [one for one in titles(tab) if one.startswith("transformer.h.5.")]
    assert {"transformer.h.5.attn"} < set(inside)
    assert drawn(tab) == []
    tab.click("#graph .section[aria-label^='section transformer.h.5.attn,'] [data-toggle]")
    settle(tab)
    names = tab.locator("#graph .op .name").all_text_contents()
    assert [name for name in names if "attention" in name or "softmax" in name]
    tab.fill("#search", "h.11.mlp.c_proj.weight")
    tab.keyboard.press("Enter")
    assert "addmm" in tab.text_content("#graph .op.selected .name")
    assert "pytorch_utils.py" in tab.inner_text("#source")  # where transformers has its addmm
    assert "addmm" in tab.inner_text("#source .current code")


def test_the_source_begins_at_the_function_that_was_converted(reader, gpt2):
    tab = reader.open(gpt2)
    settle(tab, 200)
    pane = tab.locator("#source").bounding_box()
    start = type(gpt2).forward.__wrapped__.__code__.co_firstlineno
    row = row_of(tab, start).bounding_box()
    assert abs(row["y"] - pane["y"]) < 30


def test_a_long_function_without_modules_is_cut_and_open(reader):
    tab = reader.open(plain_program(200), height=3000)
    assert set(titles(tab)) == {"in plain"}
    assert 20 < len(drawn(tab)) < 200
    tab.click("text=Close all")
    settle(tab)
    assert drawn(tab) == []
    first = tab.locator("#graph .section").first.text_content()
    assert re.search(r"\d+ ops: ops 1 to \d+f32\[2, 2\] → f32\[2, 2\]$", first)


def test_a_function_of_eighty_ops_opens_whole(reader):
    tab = reader.open(plain_program(80), height=9000)
    assert titles(tab) == []
    assert len(drawn(tab)) == 80


def test_fit_shows_the_whole_graph_and_fit_width_its_width(reader, gpt2):
    tab = reader.open(gpt2)
    frame, pane = box_of_graph(tab)
    assert frame["height"] > pane["height"]
    for act in (lambda: tab.click("button:text-is('Fit')"), lambda: tab.keyboard.press("0")):
        tab.keyboard.press("g")
        act()
        frame, pane = box_of_graph(tab)
        assert frame["y"] >= pane["y"]
        assert frame["y"] + frame["height"] <= pane["y"] + pane["height"]
        assert frame["height"] > 0.8 * pane["height"]
        tab.keyboard.press("w")
        frame, pane = box_of_graph(tab)
        assert frame["height"] > pane["height"]
    tab.click("text=Open all")
    tab.click("button:text-is('Fit')")
    settle(tab, 1500)  # sections are laid out, and the whole stays in sight
    frame, pane = box_of_graph(tab)
    assert frame["y"] + frame["height"] <= pane["y"] + pane["height"] + 1
    assert frame["height"] > 0.8 * pane["height"]
    tab.click("button:text-is('Fit width')")
    frame, pane = box_of_graph(tab)
    assert frame["height"] > 5 * pane["height"]


def test_of_five_thousand_ops_only_those_in_sight_are_drawn(reader):
    program = long_program()
    count = len(program.body.ops)
    assert count >= 5000
    tab = reader.open(program)
    assert drawn(tab) == []
    assert elements(tab) < 1500
    tab.click("text=Open all")
    assert 0 < len(drawn(tab)) < 100
    assert elements(tab) < 1500
    tab.keyboard.press("g")
    tab.keyboard.press("End")
    assert selected(tab) == count - 1
    assert elements(tab) < 1500
    tab.keyboard.press("/")
    tab.keyboard.type("layers.431.weight")
    tab.keyboard.press("Enter")
    assert selected(tab) == 431 * 7
    box = tab.locator(f"#op-{431 * 7}").bounding_box()
    assert 0 < box["x"] < 1500
    assert 0 < box["y"] < 1000
    tab.keyboard.press("Escape")
    for _ in range(14):
        tab.keyboard.press("-")
        assert elements(tab) < 1500
    tab.mouse.move(700, 500)
    for _ in range(4):
        tab.mouse.wheel(0, 4000)
        assert elements(tab) < 1500
    row_of(tab, FIRST_OF_LONG).locator(".count").hover()
    assert 0 < len(with_class(tab, "lit")) <= 300
    assert elements(tab) < 2500
    tab.click("#tab-weights")
    settle(tab, 100)
    assert 0 < tab.locator(".weights tbody tr").count() < 300
    tab.click("#tab-program")
    tab.click("#tab-text-view")
    settle(tab, 100)
    assert 0 < tab.locator("#text .row").count() < 150
    assert tab.evaluate("document.querySelectorAll('*').length") < 5000


def test_sections_open_and_close_with_the_keyboard(reader):
    tab = reader.open(long_program())
    assert drawn(tab) == []
    tab.keyboard.press("g")
    tab.keyboard.press("Home")
    settle(tab)
    section = tab.locator("#graph .section.selected")
    assert section.get_attribute("aria-label") == "section layers.0, 7 ops"
    assert section.get_attribute("aria-expanded") == "false"
    assert tab.get_attribute("#graph", "aria-activedescendant") == section.get_attribute("id")
    tab.keyboard.press("Enter")
    settle(tab)
    assert section.get_attribute("aria-expanded") == "true"
    tab.keyboard.press("ArrowDown")
    assert selected(tab) == 0
    tab.keyboard.press("ArrowLeft")
    assert selected(tab) is None
    tab.keyboard.press("ArrowLeft")
    settle(tab)
    assert section.get_attribute("aria-expanded") == "false"
    assert drawn(tab) == []
    tab.click("#graph .section [data-toggle]")
    assert 0 in drawn(tab)


def test_a_long_block_inside_a_loop_is_laid_out_as_it_is_looked_at(reader):
    program = long_loop()
    tab = reader.open(program)
    assert drawn(tab) == [0]
    tab.click("[data-fold='0']")
    assert drawn(tab) == [0]
    assert "layers.0" in titles(tab)
    tab.keyboard.press("g")
    tab.keyboard.press("End")
    tab.keyboard.press("Enter")
    tab.keyboard.press("End")
    assert selected(tab) == LAYERS * 7
    assert elements(tab) < 1500
    tab.fill("#search", "%300_2 ")
    tab.keyboard.press("Enter")
    assert selected(tab) == 300 * 7 + 3
    assert tab.locator(f"#op-{300 * 7 + 3}").is_visible()
