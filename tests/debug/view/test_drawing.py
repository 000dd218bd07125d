"""The whole graph as a file: an SVG that needs no page, and a PNG that looks the same."""

import base64
import itertools
import re
import struct
import xml.etree.ElementTree as ElementTree

import pytest
import torch

import stator
from docs.examples import deciding
from stator.program.ir import Block, Op, Value
from stator.program.program import Program
from stator.program.structure import Leaf
from stator.program.types import TensorType
from tests.debug.view.reading import settle

pytestmark = pytest.mark.slow
# the mean difference of two pictures, from 0 to 255, and how much there is to see in the first
COMPARE = """async ([first, second]) => {
    const pixels = async (address) => {
        const image = new Image();
        image.src = address;
        await image.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.naturalWidth / 2, image.naturalHeight / 2];
        if (address.startsWith("data:image/svg")) {
            [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
        }
        const pen = canvas.getContext("2d");
        pen.drawImage(image, 0, 0, canvas.width, canvas.height);
        return { size: [canvas.width, canvas.height],
                 data: pen.getImageData(0, 0, canvas.width, canvas.height).data };
    };
    const [a, b] = [await pixels(first), await pixels(second)];
    let difference = 0;
    const seen = new Set();
    for (let k = 0; k < a.data.length; k++) difference += Math.abs(a.data[k] - b.data[k]);
    for (let k = 0; k < a.data.length; k += 4) seen.add(a.data.slice(k, k + 3).join());
    return { sizes: [a.size, b.size], difference: difference / a.data.length, colours: seen.size };
}"""


@pytest.fixture(scope="module")
def model():
    model = stator.to_static(deciding.Deciding())
    model(torch.ones(2, dtype=torch.int64), torch.zeros(2, 16))
    return model


def saved_as(tab, kind, folder):
    with tab.expect_download() as waiting:
        tab.click(f".tools button:text-is('{kind}')")
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


@pytest.mark.parametrize("dark", [False, True])
def test_the_svg_needs_nothing_of_the_page(reader, model, tmp_path, dark):
    tab = reader.open(model, dark=dark, height=500)
    path = saved_as(tab, "SVG", tmp_path)
    assert path.name == "Deciding.forward.svg"
    text = path.read_text()
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not re.search(r"var\(|class=|url\(|href|<style|<script|aria-|data-", text)
    drawn = "".join(root.itertext())
    for op in ("argmax", "gru_cell", "randn_like", "return 0"):  # far below what is in sight
        assert op in drawn
    ground = root[0].get("fill")
    assert ground == ("rgb(15, 18, 24)" if dark else "rgb(245, 246, 248)")
    names = [one for one in root.iter("{http://www.w3.org/2000/svg}text") if one.text == "while"]
    control = "rgb(169, 139, 255)" if dark else "rgb(124, 58, 237)"
    assert names[0].get("fill") == control
    assert names[0].get("font-weight") == "600"
    constants = next(one for one in root.iter("{http://www.w3.org/2000/svg}tspan"))
    assert constants.get("font-weight") == "400"


def test_closed_blocks_are_closed_in_the_file(reader, model, tmp_path):
    tab = reader.open(model)
    tab.click("text=Close all")
    settle(tab)
    drawn = "".join(ElementTree.fromstring(saved_as(tab, "SVG", tmp_path).read_text()).itertext())
    assert "while" in drawn
    assert "argmax" not in drawn


def test_the_png_looks_as_the_svg(reader, model, tmp_path):
    tab = reader.open(model, checked=True)  # the test itself loads the two pictures
    svg, png = saved_as(tab, "SVG", tmp_path), saved_as(tab, "PNG", tmp_path)
    assert png.name == "Deciding.forward.png"
    addresses = [
        f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
        for kind, path in (("svg+xml", svg), ("png", png))
    ]
    found = tab.evaluate(COMPARE, addresses)
    assert found["sizes"][0] == found["sizes"][1]
    assert found["colours"] > 50
    assert found["difference"] < 3
    reader.wrong[:] = [one for one in reader.wrong if "data:image" not in one]


def test_a_large_graph_is_one_picture_as_large_as_a_browser_can_make(reader, tmp_path):
    kind = TensorType("float32", (2,))
    values = [Value(f"v{k}", kind) for k in range(601)]
    ops = [Op("aten::sin", (a,), {}, (b,)) for a, b in itertools.pairwise(values)]
    program = Program("long", values[:1], (), Block((), ops, values[-1:]), Leaf(0), Leaf(0))
    tab = reader.open(program)
    data = saved_as(tab, "PNG", tmp_path).read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    assert width > 50
    assert 15_000 < height <= 16_000
    assert "The SVG has every detail" in tab.inner_text(".notice")
    svg = saved_as(tab, "SVG", tmp_path).read_text()
    assert svg.count(">sin<") == 600  # also sections that had not been looked at
