"""A `.stator` file that the page reads itself shows what `stator.debug.view` shows of it."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

import stator
from stator import InputSpec
from stator.debug.view.subject import subject_of
from stator.export.contents import VERSION
from stator.export.saved_model import write_model
from stator.page.document import page_data
from stator.program.ir import Block, Literal, Op, Value
from stator.program.opset.stator_ops import STATOR_ROWS
from stator.program.program import Program
from stator.program.sizes import AnySize, SizeExpr, Symbol
from stator.program.structure import Leaf
from stator.program.types import ListType, NumberType, OptionalType, TensorType, TextType

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
VIEWER = ROOT / "viewer"
SCRIPT = """
import { build } from "esbuild";
import { readFileSync } from "node:fs";
const options = { entryPoints: ["src/saved_file.ts"], bundle: true, write: false, format: "esm" };
const made = await build(options);
const { readSaved } = await import("data:text/javascript;base64," +
    Buffer.from(made.outputFiles[0].contents).toString("base64"));
const read = (path) => {
    try {
        return readSaved(path.split("/").pop(), new Uint8Array(readFileSync(path)), "");
    } catch (error) {
        return { error: error.message, kind: error.constructor.name };
    }
};
console.log(JSON.stringify(process.argv.slice(1).map(read)));
"""


def read_by_page(*paths):
    """What the page's own reader makes of the files."""
    node = shutil.which("node")
    if node is None or not (VIEWER / "node_modules").is_dir():
        pytest.skip("needs node, and viewer/node_modules, which scripts/browser brings")
    command = [node, "--input-type=module", "-e", SCRIPT, *map(str, paths)]
    done = subprocess.run(command, cwd=VIEWER, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def read_by_stator(path):
    return json.loads(json.dumps({**page_data(subject_of(path)), "version": ""}))


def assert_same(path):
    (found,) = read_by_page(path.with_suffix(".stator"))
    assert found.get("error") is None
    expected = read_by_stator(path)
    for part in expected:
        assert found[part] == expected[part], part


class Model(torch.nn.Module):
    """Control flow, tied weights, two modes, two methods, a union, texts and lists."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 3)
        self.second = torch.nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.spare = torch.nn.Parameter(torch.zeros(4))
        self.register_buffer("table", torch.zeros(3, dtype=torch.complex64))

    def forward(self, x, name='it\'s "a"\n\u00e9\u2028'):
        parts = []
        while x.abs().sum() > 1e-05:
            x = torch.nn.functional.dropout(self.second(self.first(x)), 0.5, self.training) / 3e17
            parts.append(x[:, 1:].sum())
            if len(parts) > 5:
                break
        try:
            y = torch.stack(parts)
        except RuntimeError:
            y = x.sum() if x.min() < float("inf") else None
        return {"y": y, "name": name + "!", "table": self.table * (1 + 2j)}

    @stator.to_static(input_spec=[InputSpec([None, "rows"], "int64"), InputSpec.int()])
    def other(self, x, times):
        return x.repeat(times, 2).view(-1)[1:], x.shape[0] * 2


def test_what_the_page_reads_is_what_stator_reads(tmp_path):
    stator.save(Model(), tmp_path / "model", {"x": InputSpec([None, 3])})
    assert_same(tmp_path / "model")


class Counting(torch.nn.Module):
    """State that a saved model keeps between its runs."""

    def __init__(self):
        super().__init__()
        self.cache, self.calls = None, 0

    def forward(self, x):
        self.cache = x if self.cache is None else torch.cat([self.cache, x])
        self.calls += 1
        return self.cache.sum() * self.calls


def test_a_model_with_state_is_read(tmp_path):
    stator.save(Counting(), tmp_path / "model", {"x": InputSpec([None])})
    assert_same(tmp_path / "model")


def test_the_page_reads_the_version_that_stator_writes():
    text = (VIEWER / "src" / "saved_file.ts").read_text()
    assert f"const LATEST = {VERSION};" in text


def test_embedded_source_is_read(tmp_path):
    spec = {"x": InputSpec([None, 3])}
    stator.save(Model(), tmp_path / "model", spec, embed_source=True)
    assert_same(tmp_path / "model")
    (found,) = read_by_page(tmp_path / "model.stator")
    lines = [line for one in found["files"] for run in one["runs"] for line in run["lines"]]
    assert any("torch.stack(parts)" in line for line in lines)
    assert not any("register_buffer" in line for line in lines)


def test_every_type_size_and_constant_is_written_as_python_writes_it(tmp_path):
    n, m = Symbol("n"), Symbol("m")
    sizes = (
        SizeExpr("add", (n, -1)), SizeExpr("add", (SizeExpr("mul", (-1, n)), 3)),
        SizeExpr("add", (n, SizeExpr("mul", (-2, m)))),
        SizeExpr("mul", (2, SizeExpr("add", (n, 1)))),
        SizeExpr("floordiv", (SizeExpr("add", (n, 1)), 2)), SizeExpr("mod", (n, 3)),
        SizeExpr("pow", (n, 2)), SizeExpr("max", (n, m, 1)), AnySize(), n, 4,
        SizeExpr("add", (n, SizeExpr("add", (m, 1)))),
        SizeExpr("mul", (n, SizeExpr("pow", (m, 2)))),
        SizeExpr("floor", (SizeExpr("truediv", (n, 2)),)),
        SizeExpr("trunc", (SizeExpr("mul", (0.5, n)),)),
    )  # fmt: skip
    kinds = (
        TensorType("float32", sizes), TensorType("bool", (2,), "cuda:0"), TensorType("uint16", ()),
        NumberType("int"), NumberType("complex"), TextType(), ListType(TensorType("int8", (n,))),
        OptionalType(ListType(NumberType("bool"))),
    )  # fmt: skip
    inputs = [Value(f"x{k}", kind) for k, kind in enumerate(kinds)]
    constants = (
        None, True, -(2**63), 2**63 - 1, 0.1, 1e-07, 1e22, float("-inf"), float("nan"), 2j,
        1.5 - 2j,
        "it's", 'say "it\'s"', "tab\t\\ \x00\x7f\u00ad\u3000\U0001f600",
    )  # fmt: skip
    made = [
        Op("stator::print", (*constants, inputs[3]), {"sep": " ", "end": None}, ()),
        Op(
            "aten::to.dtype_layout",
            (inputs[1],),
            {"dtype": Literal("dtype", "float16"), "device": Literal("device", "cpu")},
            (Value("y", TensorType("float16", (2,))),),
        ),
    ]
    program = Program("p", tuple(inputs), (), Block((), made, inputs[:1]), Leaf(0), Leaf(0))
    write_model(tmp_path / "model", {"forward": program}, {})
    (found,) = read_by_page(tmp_path / "model.stator")
    assert found.get("error") is None
    expected = json.loads(json.dumps(_encoded(program)))
    assert found["programs"][0]["values"] == expected["values"]
    assert found["programs"][0]["ops"] == expected["ops"]


def _encoded(program):
    from_program = page_data(subject_of(program))["programs"][0]
    return {"values": from_program["values"], "ops": from_program["ops"]}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_models_of_each_version_of_the_format_are_read(version):
    folder = ROOT / "tests" / "data" / f"version_{version}"
    paths = sorted(folder.rglob("*.stator"))
    assert paths
    for found, path in zip(read_by_page(*paths), paths, strict=True):
        assert found.get("error") is None
        expected = read_by_stator(path.with_suffix(""))
        labels = [[one["label"], one["name"]] for one in found["programs"]]
        assert labels == [[one["label"], one["name"]] for one in expected["programs"]]
        assert found["weights"] == expected["weights"]


def test_the_page_knows_the_blocks_of_every_op():
    text = (VIEWER / "src" / "saved_program.ts").read_text()
    for row in STATOR_ROWS.values():
        if row.blocks:
            names = ", ".join(f'"{name}"' for name in row.blocks)
            assert f'"{row.name}": [{names}],' in text


def with_digest(text):
    """A file whose digest is right, whatever its text."""
    head = f'{{"format":"stator","version":3,"digest":"{hashlib.sha256(text).hexdigest()}",'
    return head.encode() + text


HOSTILE = {
    "empty": (b"", "is not a Stator model"),
    "foreign": (b"\x89PNG\r\n\x1a\n" * 40, "is not a Stator model"),
    "json": (b'{"a": 1}', "is not a Stator model"),
    "later": (
        b'{"format":"stator","version":5,"digest":"' + b"0" * 64 + b'",}',
        "has format version 5, and this page reads versions 1 to 4",
    ),
    "digest": (
        b'{"format":"stator","version":3,"digest":"' + b"0" * 64 + b'",}',
        "is damaged: its text does not have the digest that it names",
    ),
    "cut": (with_digest(b'"programs":{'), "is damaged: it is not valid JSON"),
    "twice": (with_digest(b'"a":1,"a":2}'), 'is damaged: an object has the key "a" twice'),
    "deep": (with_digest(b'"a":' + b"[" * 10**5 + b"]" * 10**5 + b"}"), "nested too deeply"),
    "nothing": (with_digest(b'"a":1}'), "is damaged: programs must be an object"),
    "bytes": (with_digest(b'"a":"\xff"}'), "is damaged: it is not text"),
    "types": (
        with_digest(
            b'"programs":{"p":{"name":"p","inputs":[{"name":"x","type":'
            + b'{"list":' * 300 + b'{"text":null}' + b"}" * 300 + b'}],"stored":[],"functions":{},'
            b'"files":[],"body":{"inputs":[],"ops":[],"outputs":[]}}},"methods":{},"ops":{},'
            b'"tensors":{}}'
        ),
        "is nested more than 100 deep",
    ),
    "undefined": (
        with_digest(
            b'"programs":{"p":{"name":"p","inputs":[],"stored":[],"functions":{},"files":[],'
            b'"body":{"inputs":[],"ops":[],"outputs":[{"value":"y"}]}}},"methods":{},"ops":{},'
            b'"tensors":{}}'
        ),
        "uses %y, which is not defined",
    ),
    "source": (
        with_digest(
            b'"programs":{},"methods":{},"ops":{},"tensors":{},"sources":{"a.py":[{"first":1,'
            b'"lines":["' + b"x" * 2**22 + b'"]}]}}'
        ),
        "sources has more text than a file may have",
    ),
}  # fmt: skip


def test_what_is_no_model_is_refused_with_the_reason(tmp_path):
    paths = []
    for name, (text, _) in HOSTILE.items():
        paths.append(tmp_path / f"{name}.stator")
        paths[-1].write_bytes(text)
    found = read_by_page(*paths)
    for (name, (_, problem)), one in zip(HOSTILE.items(), found, strict=True):
        assert one["error"].startswith(f"{name}.stator ")
        assert problem in one["error"]
