"""ONNX models without Python: a script for Node.js, and a page in a browser."""

import functools
import http.server
import json
import runpy
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

import stator

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
WEB = ROOT / "examples" / "web"
MODULES = ROOT / "build" / "web"  # installed once
STROKES = {  # in squares of the 16 by 16
    "1": [(8, 2), (8, 14)],
    "0": [(8, 2), (5, 4), (4, 8), (5, 12), (8, 14), (11, 12), (12, 8), (11, 4), (8, 2)],
    "7": [(4, 3), (12, 3), (10, 7), (8, 14)],
}


@pytest.fixture(scope="module")
def modules():
    """The folder of the packages of npm; the tests are skipped where they cannot be installed."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("needs node and npm")
    if not (MODULES / "node_modules" / "onnxruntime-web").is_dir():
        MODULES.mkdir(parents=True, exist_ok=True)
        shutil.copy(WEB / "package.json", MODULES)
        command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund"]
        try:
            subprocess.run(command, cwd=MODULES, check=True, capture_output=True, timeout=300)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"npm cannot install onnxruntime-node and onnxruntime-web: {error}")
    return MODULES / "node_modules"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with the two models."""
    folder = tmp_path_factory.mktemp("web")
    subprocess.run([sys.executable, str(WEB / "save_models.py"), str(folder)], check=True)
    return folder


@pytest.fixture(scope="module")
def states(models):
    """States that decode to different lengths, and the tokens of each."""
    decoder = stator.load(models / "decoder")
    generator = torch.Generator().manual_seed(1)
    found = [torch.randn(2, 32, generator=generator) * 3 for _ in range(6)]
    said = [decoder(state).tolist() for state in found]
    assert len({len(rows[0]) for rows in said}) > 1, "no decoding stops early"
    return [(state.tolist(), rows) for state, rows in zip(found, said, strict=True)]


def test_a_decoding_loop_in_node(modules, models, states):
    script = modules.parent / "decode.mjs"  # packages are looked for beside the script
    shutil.copy(WEB / "decode.mjs", script)
    for state, wanted in states[2:5]:
        command = ["node", str(script), str(models / "decoder.onnx"), json.dumps(state)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        assert json.loads(done.stdout) == wanted


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, without a log."""

    extensions_map = {  # noqa: RUF012  # as the class of the library has it
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, *args):
        """Nothing."""


@pytest.fixture
def address(modules, models):
    """Where the page is served, with the runtime and the models beside it."""
    for name in ("index.html", "page.mjs"):
        shutil.copy(WEB / name, models)
    (models / "ort").mkdir(exist_ok=True)
    for file in (modules / "onnxruntime-web" / "dist").glob("ort*wasm*"):
        if file.suffix in (".mjs", ".wasm"):
            shutil.copy(file, models / "ort")
    handler = functools.partial(Handler, directory=str(models))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_digit_is_drawn_and_a_sequence_decoded_in_a_browser(browser, address, states):
    tab = browser.new_page(viewport={"width": 900, "height": 1000})
    wrong = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.set_default_timeout(60_000)
    tab.goto(address)
    tab.wait_for_selector("body[data-ready]")
    box = tab.locator("canvas").bounding_box()
    for digit, strokes in STROKES.items():
        tab.click("#clear")
        points = [(box["x"] + 16 * x, box["y"] + 16 * y) for x, y in strokes]
        tab.mouse.move(*points[0])
        tab.mouse.down()
        for point in points[1:]:
            tab.mouse.move(*point, steps=8)
        tab.mouse.up()
        tab.wait_for_function("document.querySelector('#digit').textContent")
        assert tab.text_content("#digit") == digit
    for state, wanted in states[2:5]:
        tab.fill("#states", json.dumps(state))
        tab.click("#decode")
        tab.wait_for_function(
            "wanted => document.querySelector('#tokens').textContent === wanted",
            arg=json.dumps(wanted, separators=(",", ":")),
        )
    tab.close()
    assert wrong == []


def test_the_reader_of_digits_has_learned():
    example = runpy.run_path(str(WEB / "save_models.py"))
    found = example["load_digits"]()
    reader = example["trained_reader"]()
    images = torch.tensor(found.images, dtype=torch.float32) / 16
    large = images.repeat_interleave(2, 1).repeat_interleave(2, 2)[:200]
    right = [int(reader(image).argmax()) == t for image, t in zip(large, found.target)]
    assert sum(right) > 190
