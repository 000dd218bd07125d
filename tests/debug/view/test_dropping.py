"""Files of the reader's: dropped on the page or chosen, shown or refused."""

import base64

import pytest
import torch

import stator
from docs.examples import deciding
from stator import InputSpec
from stator.debug.view.subject import EmptyPage
from tests.debug.view.reading import settle

pytestmark = pytest.mark.slow
DROP = """([name, data]) => {
    const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
    const held = new DataTransfer();
    held.items.add(new File([bytes], name));
    const send = (kind) => document.body.dispatchEvent(
        new DragEvent(kind, { dataTransfer: held, bubbles: true, cancelable: true }));
    send("dragenter");
    const isOver = !document.querySelector(".drop-over").hidden;
    send("drop");
    return isOver;
}"""


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)

    def forward(self, x):
        while x.sum() > 1:
            x = torch.nn.functional.dropout(self.fc(x), 0.5, self.training)
        return x

    @stator.to_static(input_spec=[InputSpec([None, 3], "float32")])
    def norm(self, x):
        return x.norm()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "net"
    spec = [InputSpec([None, 3], "float32")]
    stator.save(Net().eval(), path, input_spec=spec, embed_source=True)
    return path.with_suffix(".stator")


@pytest.fixture(scope="module")
def model():
    model = stator.to_static(deciding.Deciding())
    model(torch.ones(2, dtype=torch.int64), torch.zeros(2, 16))
    return model


def drop(tab, name, content):
    assert tab.evaluate(DROP, [name, base64.b64encode(content).decode()])
    assert tab.locator(".drop-over").is_hidden()
    settle(tab, 150)


def shown(tab):
    """What a reader sees of the programs."""
    tab.wait_for_selector("#graph[data-drawn]")
    settle(tab, 100)
    tab.click("#tab-text-view")
    settle(tab)
    text = tab.inner_text("#text")
    tab.click("#tab-graph-view")
    options = tab.locator("header select option").all_text_contents()
    return tab.inner_text("h1"), options, text, tab.inner_text(".details")


def test_a_dropped_file_is_shown_as_view_shows_the_model(reader, saved, model):
    expected = shown(reader.open(saved.with_suffix("")))
    tab = reader.open(model)
    drop(tab, saved.name, saved.read_bytes())
    assert shown(tab) == expected
    assert tab.title() == "net · Stator"
    assert "while x.sum() > 1:" in tab.inner_text("#source")
    assert tab.locator("header").count() == 1
    assert tab.locator(".notice").count() == 0
    tab.keyboard.press("/")
    tab.keyboard.type("fc.weight")
    tab.keyboard.press("Enter")
    settle(tab)
    assert "linear" in tab.text_content("#graph .op.selected")


def test_an_empty_page_waits_for_a_file(reader, saved):
    tab = reader.open(EmptyPage(), waits=False)
    assert "Drop a .stator file here" in tab.inner_text("main")
    assert tab.locator(".tabs").count() == 0
    with tab.expect_file_chooser() as chosen:
        tab.click("text=Choose a file")
    chosen.value.set_files(saved)
    assert shown(tab) == shown(reader.open(saved.with_suffix("")))
    assert tab.locator(".welcome").count() == 0
    with tab.expect_file_chooser() as chosen:
        tab.click("text=Open…")
    chosen.value.set_files(saved)
    settle(tab, 100)
    assert tab.inner_text("h1") == "net"


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.safetensors", b"\x08" + b"\0" * 300, "a.safetensors is not a Stator model"),
        ("<img src=x onerror=window.hacked=1>", b"x", "is not a Stator model"),
        ("empty.stator", b"", "empty.stator is not a Stator model"),
    ],
)
def test_a_foreign_file_leaves_the_page_as_it_was(reader, model, name, content, problem):
    tab = reader.open(model)
    before = shown(tab)
    drop(tab, name, content)
    assert problem in tab.inner_text(".notice[role=alert]")
    assert shown(tab) == before
    assert tab.evaluate("window.hacked") is None
    tab.click(".notice button")
    assert tab.locator(".notice").count() == 0


def test_a_damaged_file_leaves_the_page_as_it_was(reader, saved, model):
    tab = reader.open(model)
    before = shown(tab)
    data = bytearray(saved.read_bytes())
    data[-20] ^= 1
    drop(tab, "net.stator", bytes(data))
    message = "net.stator is damaged: its text does not have the digest that it names"
    assert message in tab.inner_text(".notice")
    assert shown(tab) == before
    tab.keyboard.press("Escape")
    assert tab.locator(".notice").count() == 0
    drop(tab, "net.stator", saved.read_bytes())
    assert tab.inner_text("h1") == "net"
