"""The source in a saved model: only text, only the functions of the programs, of limited size."""

import hashlib
import json
import sys

import pytest
import torch

import stator
from stator import InputSpec
from stator.export.checking import Damage
from stator.export.contents import HEAD
from stator.export.saved_model import read_model
from stator.export.sources import SOURCE_LIMIT, SourceRun, decode_sources, encode_sources
from stator.location import Location
from stator.page.sources import sources_of
from stator.program.ir import Block, Op, Value
from stator.program.program import Program
from stator.program.structure import Leaf
from stator.program.types import TensorType

SECRET = "only in this file"


def helper(x):
    return x * 2


def halved(x):
    while x.sum() > 1:
        x = x / 2
    return helper(x), x.shape[0] * 2


def texts(path):
    return [
        line for runs in read_model(path).sources.values() for run in runs for line in run.lines
    ]


def test_a_model_has_the_source_of_its_functions_if_asked(tmp_path):
    spec = [InputSpec([None])]
    stator.save(halved, tmp_path / "plain", spec)
    stator.save(halved, tmp_path / "with", spec, embed_source=True)
    assert texts(tmp_path / "plain") == []
    assert '"sources"' not in (tmp_path / "plain.stator").read_text()
    found = read_model(tmp_path / "with").sources
    assert list(found) == ["test_sources.py"]
    first = halved.__code__.co_firstlineno
    assert found["test_sources.py"] == (
        SourceRun(first - 4, ("def helper(x):", "    return x * 2")),
        SourceRun(first, (
            "def halved(x):", "    while x.sum() > 1:", "        x = x / 2",
            "    return helper(x), x.shape[0] * 2",
        )),
    )  # fmt: skip
    text = (tmp_path / "with.stator").read_text()
    assert SECRET not in text
    assert str(tmp_path) not in text
    x = torch.ones(4)
    assert torch.equal(stator.load(tmp_path / "with")(x)[0], halved(x)[0])


def test_the_caller_of_a_capture_is_not_in_the_model(tmp_path):
    static = stator.to_static(halved)
    static(torch.ones(3))  # captured here
    stator.save(static, tmp_path / "model", embed_source=True)
    assert not [line for line in texts(tmp_path / "model") if "captured here" in line]


def test_a_loaded_model_that_is_saved_again_keeps_its_source_if_asked(tmp_path):
    stator.save(halved, tmp_path / "a", [InputSpec([None])], embed_source=True)
    loaded = stator.load(tmp_path / "a")
    stator.save(loaded, tmp_path / "b")
    stator.save(loaded, tmp_path / "c", embed_source=True)
    assert texts(tmp_path / "b") == []
    assert read_model(tmp_path / "c").sources == read_model(tmp_path / "a").sources
    assert (tmp_path / "c.stator").read_bytes() == (tmp_path / "a.stator").read_bytes()


def program_at(*places):
    kind = TensorType("float32", (2,))
    x, *results = (Value(f"v{k}", kind) for k in range(len(places) + 1))
    ops = [Op("aten::sin", (x,), {}, (y,), (), at) for y, at in zip(results, places, strict=True)]
    return Program("p", (x,), (), Block((), ops, (x,)), Leaf(0), Leaf(0))


def test_files_of_one_name_are_not_mistaken_for_each_other(tmp_path):
    places = []
    for folder, start in (("a", 0), ("b", 0), ("c", 40)):
        file = tmp_path / folder / "model.py"
        file.parent.mkdir()
        file.write_text("\n" * start + f"def {folder}(x):\n    return x\n")
        places.append(Location(str(file), start + 2, 4, folder))
    found = sources_of([program_at(*places)])
    assert found == {"model.py": (SourceRun(41, ("def c(x):", "    return x")),)}


def with_sources(path, sources):
    """The saved model with other sources, and a digest that fits."""
    text = path.read_bytes()
    data = json.loads(text)
    rest = {key: data[key] for key in data if key not in ("format", "version", "digest")}
    body = json.dumps({**rest, "sources": sources}, separators=(",", ":")).encode()[1:] + b"\n"
    digest = hashlib.sha256(body).hexdigest()
    head = HEAD.match(text)[0].decode().replace(data["digest"], digest)
    path.write_bytes(head.encode() + body)


@pytest.mark.parametrize(
    ("sources", "problem"),
    [
        ([], "sources must be an object, not a list"),
        ({"a.py": 1}, "sources.a.py must be a list, not an integer"),
        ({"a.py": [{"first": 1}]}, "sources.a.py[0] has no 'lines'"),
        ({"a.py": [{"first": 0, "lines": []}]}, "sources.a.py[0].first must be 1 or more"),
        (
            {"a.py": [{"first": 1, "lines": [1]}]},
            "sources.a.py[0].lines[0] must be a string, not an integer",
        ),
        (
            {"a.py": [{"first": 1, "lines": ["x" * SOURCE_LIMIT]}]},
            f"sources has more than {SOURCE_LIMIT} characters",
        ),
    ],
)  # fmt: skip
def test_sources_that_are_no_text_are_damage(tmp_path, sources, problem):
    stator.save(halved, tmp_path / "model", [InputSpec([None])])
    with_sources(tmp_path / "model.stator", sources)
    with pytest.raises(stator.errors.FormatError) as caught:
        stator.load(tmp_path / "model")
    assert caught.value.problem == f"{tmp_path / 'model'}.stator is damaged: {problem}"


def test_source_runs_nothing(tmp_path):
    stator.save(halved, tmp_path / "model", [InputSpec([None])])
    line = "import sys; sys.modules['hacked'] = 1  # </script><script>1</script>"
    with_sources(tmp_path / "model.stator", {"a.py": [{"first": 1, "lines": [line]}]})
    loaded = stator.load(tmp_path / "model")
    assert torch.equal(loaded(torch.ones(1))[0], torch.full((1,), 2.0))
    assert "hacked" not in sys.modules


def test_too_much_source_is_refused_when_it_is_saved():
    sources = {"a.py": (SourceRun(1, ("x" * SOURCE_LIMIT,)),)}
    with pytest.raises(stator.errors.FormatError) as caught:
        encode_sources(sources)
    assert caught.value.problem == (
        f"the source of the functions has {SOURCE_LIMIT + 1} characters, "
        f"and a file may have {SOURCE_LIMIT}"
    )
    with pytest.raises(Damage):
        decode_sources({"a.py": [{"first": 1, "lines": ["x" * SOURCE_LIMIT]}]}, "sources")
