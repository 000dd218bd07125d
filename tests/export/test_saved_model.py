"""A model saved and read back runs the same; a damaged one is refused with its file and place."""

import contextlib
import hashlib
import json
import math
import os
import subprocess
import sys
import tracemalloc

import pytest
import torch

from stator.errors import FormatError
from stator.execute.interpreter import run
from stator.export import contents, files, saved_model
from stator.export.contents import HEAD
from stator.export.files import Paths
from stator.export.methods import Method
from stator.export.saved_model import read_model, write_model
from tests.program.zoo import everything, linear
from tests.said import said

EVERYTHING_TENSORS = {
    "table": torch.tensor([1 + 2j, -0.5j], dtype=torch.complex128),
    "steps": torch.tensor(3),
}


@pytest.fixture
def weights():
    return {"fc.weight": torch.nn.Parameter(torch.randn(4, 3)), "fc.bias": torch.randn(4)}


@pytest.fixture
def model(tmp_path, weights):
    write_model(tmp_path / "model", {"forward": linear()}, weights)
    return tmp_path / "model"


def refusal(path):
    with pytest.raises(FormatError) as caught:
        read_model(path)
    return said(caught.value)


def rewrite(path, change):
    """Changes the JSON of a model and gives it a right digest, as a forger would."""
    file = Paths.of(path).text
    data = json.loads(file.read_bytes())
    change(data)
    rest = json.dumps({k: v for k, v in data.items() if k not in ("format", "version", "digest")})
    text = rest[1:].encode()
    digest = hashlib.sha256(text).hexdigest()
    file.write_bytes(f'{{"format":"stator","version":3,"digest":"{digest}",'.encode() + text)


def test_a_model_that_was_read_runs_as_the_one_written(model, weights):
    again = read_model(model)
    given = torch.randn(5, 3)
    (result,) = run(again.programs["forward"], [given], again.tensors)
    assert torch.equal(result, torch.relu(torch.nn.functional.linear(given, *weights.values())))
    assert str(again.programs["forward"]) == str(linear())


def test_all_types_of_data_come_back(tmp_path):
    write_model(tmp_path / "all", {"forward": everything()}, EVERYTHING_TENSORS, training=True)
    again = read_model(tmp_path / "all")
    assert str(again.programs["forward"]) == str(everything())
    for name, expected in EVERYTHING_TENSORS.items():
        assert torch.equal(again.tensors[name], expected)
        assert again.tensors[name].dtype == expected.dtype
    assert again.training
    given = ([torch.ones(2), 4, None], EVERYTHING_TENSORS)
    for left, right in zip(
        run(everything(), *given), run(again.programs["forward"], *given), strict=True
    ):
        assert str(left) == str(right)


@pytest.mark.parametrize(
    "made",
    [
        torch.zeros(0, 3),
        torch.tensor(1.5, dtype=torch.bfloat16),
        torch.arange(6.0).view(2, 3).t(),
        torch.ones(1).expand(4),
        torch.arange(9)[2:5],
        torch.tensor([True, False]),
        torch.tensor([1j], dtype=torch.complex64).conj(),
        torch.tensor([math.inf, math.nan]),
        torch.ones(2, dtype=torch.uint16),
        torch.ones(2, 2, dtype=torch.float8_e5m2),
    ],
    ids=str,
)
def test_tensors_of_every_form_come_back_equal(tmp_path, made):
    write_model(tmp_path / "m", {}, {"made": made})
    again = read_model(tmp_path / "m").tensors["made"]
    assert (again.dtype, again.shape) == (made.dtype, made.shape)
    assert str(again.tolist()) == str(made.tolist())  # nan is not equal to itself


def test_what_is_said_of_a_tensor_comes_back(tmp_path, weights):
    tensors = weights | {"mask": torch.ones(2), "extra": torch.nn.Parameter(torch.ones(1))}
    write_model(
        tmp_path / "m",
        {"forward": linear()},
        tensors,
        requires_grad={"fc.bias": True, "extra": False},
        transient=["mask"],
    )
    entries = read_model(tmp_path / "m").entries
    assert [(name, *vars(entry).values()) for name, entry in entries.items()] == [
        ("fc.weight", "parameter", True, True),
        ("fc.bias", "parameter", True, True),
        ("mask", "buffer", False, False),
        ("extra", "parameter", False, True),
    ]


def test_metadata_and_producer_come_back(tmp_path):
    write_model(tmp_path / "m", {}, {}, metadata={"classes": ["a", "b"], "scale": 0.5})
    again = read_model(tmp_path / "m")
    assert again.metadata == {"classes": ["a", "b"], "scale": 0.5}
    assert again.producer["torch"] == torch.__version__.partition("+")[0]


def test_tied_tensors_are_stored_once_and_stay_tied(tmp_path):
    shared = torch.randn(100, 100)
    tensors = {"head.weight": shared, "embedding.weight": shared, "other": shared.clone()}
    write_model(tmp_path / "m", {}, tensors)
    assert (tmp_path / "m.safetensors").stat().st_size < 2.1 * shared.nbytes
    again = read_model(tmp_path / "m").tensors
    assert again["head.weight"] is again["embedding.weight"]
    assert again["other"] is not again["head.weight"]


def test_tensors_that_show_parts_of_one_memory_are_stored_each(tmp_path):
    memory = torch.arange(10.0)
    write_model(tmp_path / "m", {}, {"first": memory[:5], "last": memory[5:], "all": memory})
    again = read_model(tmp_path / "m").tensors
    assert torch.equal(torch.cat([again["first"], again["last"]]), again["all"])


def test_the_same_model_gives_the_same_bytes(tmp_path, weights):
    for name in ("a", "b"):
        programs = {key: linear() for key in (("f", "g") if name == "a" else ("g", "f"))}
        write_model(tmp_path / name, programs, weights)
    for suffix in (".stator", ".safetensors"):
        left, right = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("a", "b"))
        assert left == right


def test_no_path_of_this_machine_is_in_the_file(tmp_path, weights):
    program = linear()
    for op in program.body.ops:
        op.place = type(op.place)(os.path.abspath(__file__), 1, 0, "forward")
    write_model(tmp_path / "m", {"forward": program}, weights)
    text = (tmp_path / "m.stator").read_text()
    assert os.path.dirname(os.path.abspath(__file__)) not in text
    assert os.path.basename(__file__) in text


def test_a_path_may_end_in_stator(model):
    assert read_model(f"{model}.stator").programs.keys() == read_model(str(model)).programs.keys()


def test_writing_leaves_two_files_and_nothing_else(model):
    assert sorted(os.listdir(model.parent)) == ["model.safetensors", "model.stator"]


def test_tensors_read_can_be_written_to_without_changing_the_file(model):
    before = Paths.of(model).weights.read_bytes()
    read_model(model).tensors["fc.bias"].add_(1)
    assert Paths.of(model).weights.read_bytes() == before


def test_a_program_without_its_tensor_is_not_written(tmp_path):
    with pytest.raises(FormatError) as caught:
        write_model(tmp_path / "m", {"forward": linear()}, {})
    assert caught.value.problem == (
        "the program needs the parameter `fc.weight`, and no tensor was given"
    )
    assert os.listdir(tmp_path) == []


def test_a_sparse_tensor_is_not_written(tmp_path):
    with pytest.raises(FormatError) as caught:
        write_model(tmp_path / "m", {}, {"made": torch.ones(2).to_sparse()})
    assert caught.value.problem == "the tensor `made` is sparse or quantized and cannot be saved"
    assert os.listdir(tmp_path) == []


def test_digests_of_weights_are_compared_unless_the_caller_says_otherwise(model, weights):
    file = Paths.of(model).weights
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(FormatError, match="do not have the digest"):
        read_model(model)
    again = read_model(model, verify_weights=False)
    assert again.tensors.keys() == weights.keys()


def test_weights_of_another_size_are_refused_even_unverified(model):
    with Paths.of(model).weights.open("ab") as stream:
        stream.write(bytes(64))
    with pytest.raises(FormatError, match="bytes, and"):
        read_model(model, verify_weights=False)


@pytest.mark.parametrize("name", ["training", "encoder.training", "training.weight"])
def test_a_tensor_with_a_name_that_no_module_gives_is_refused(tmp_path, name):
    write_model(tmp_path / "model", {}, {name: torch.nn.Parameter(torch.ones(2))})
    assert refusal(tmp_path / "model").endswith(
        f"is damaged: tensors.{name} has a name that no module can give"
    )


def test_a_missing_model_is_named(tmp_path):
    assert refusal(tmp_path / "m") == (
        f"[ST400] {tmp_path}/m.stator does not exist\n  fix: check the path"
    )


def test_a_path_of_another_kind_of_file_is_named(tmp_path):
    file = tmp_path / "x.pt"
    torch.save({}, file)
    assert refusal(file) == (
        f"[ST400] {file} is not a saved model: there is no x.pt.stator beside it\n"
        "  fix: write it with `stator.save`, and load it by the path that `save` was given"
    )


def test_the_path_of_the_weights_is_not_that_of_the_model(model):
    assert refusal(f"{model}.safetensors") == (
        f"[ST400] {model}.safetensors has the weights of a model, not its program\n"
        f"  fix: give the path without the suffix: '{model}'"
    )


def test_a_missing_model_names_one_with_a_similar_name(model):
    assert refusal(model.with_name("modle")) == (
        f"[ST400] {model.with_name('modle')}.stator does not exist\n  fix: did you mean '{model}'?"
    )


def test_a_folder_with_one_model_names_it(model):
    folder = model.parent
    assert refusal(folder) == (
        f"[ST400] {folder} is a folder, and there is no {folder.name}.stator beside it\n"
        f"  fix: did you mean '{model}'?"
    )


def test_missing_weights_are_named(model):
    Paths.of(model).weights.unlink()
    assert refusal(model) == (
        f"[ST400] {model}.safetensors does not exist\n"
        "  fix: copy it, too: it belongs beside model.stator"
    )


@pytest.mark.parametrize("text", [b"", b"{}", b"PK\x03\x04", b'{"format":"onnx"}', b"\xff" * 100])
def test_a_file_of_another_kind_is_no_model(model, text):
    Paths.of(model).text.write_bytes(text)
    assert refusal(model) == (
        f"[ST400] {model}.stator is not a Stator model\n  fix: give a file written by `save`"
    )


def test_a_later_version_is_refused(model):
    file = Paths.of(model).text
    file.write_bytes(file.read_bytes().replace(b'"version":3', b'"version":5'))
    assert refusal(model) == (
        f"[ST400] {model}.stator has format version 5; this Stator reads versions 1 to 4\n"
        "  fix: load it with the Stator that wrote it, or a newer one"
    )


def test_a_changed_or_shortened_text_is_refused(model):
    file = Paths.of(model).text
    text = file.read_bytes()
    for damaged in (text[:-1], text + b" ", text.replace(b"aten::relu", b"aten::tanh")):
        file.write_bytes(damaged)
        assert refusal(model) == (
            f"[ST400] {model}.stator is damaged: its text does not have the digest it names"
        )


def test_changed_or_exchanged_weights_are_refused(model, weights):
    file = Paths.of(model).weights
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    text = (
        f"[ST400] {model}.safetensors is damaged, or belongs to another model than "
        f"{model}.stator: its bytes 0 to {len(data) - 1} do not have the digest named there"
    )
    assert refusal(model) == text
    write_model(
        model.parent / "other", {"forward": linear()}, {k: v + 1 for k, v in weights.items()}
    )
    os.replace(model.parent / "other.safetensors", file)
    assert refusal(model) == text


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda data: data.pop("programs"), "the model has no 'programs'"),
        (
            lambda data: data.update(training=1),
            "the model.training must be true or false, not an integer",
        ),
        (
            lambda data: data.update(metadata={"dict": 1}),
            "metadata.dict must be an object, not an integer",
        ),
        (
            lambda data: data["tensors"].pop("fc.bias"),
            "tensors has no entry for the key 'fc.bias' of the weights",
        ),
        (
            lambda data: data["tensors"]["fc.bias"].update(key="x"),
            "tensors.fc.bias names the key 'x', which the weights lack",
        ),
        (
            lambda data: data["tensors"]["fc.bias"].update(shape=[5]),
            "tensors.fc.bias is f32[5], and in the weights f32[4]",
        ),
        (
            lambda data: data["tensors"]["fc.bias"].update(dtype="int32"),
            "tensors.fc.bias is i32[4], and in the weights f32[4]",
        ),
        (
            lambda data: data["tensors"]["fc.bias"].update(kind="x"),
            "tensors.fc.bias.kind must be one of parameter, buffer, constant, state, not 'x'",
        ),
        (
            lambda data: data["programs"]["forward"]["stored"][0].update(name="x"),
            "programs.forward.stored needs the parameter `x`, which is not there",
        ),
        (
            lambda data: data["programs"]["forward"]["body"].update(outputs=[{"value": "z"}]),
            "programs.forward.body.outputs uses %z, which is not defined",
        ),
        (
            lambda data: data["programs"]["forward"].update(output_structure={"leaf": 7}),
            "programs.forward: the output structure names leaf 7 of 1",
        ),
        (
            lambda data: data["programs"]["forward"]["body"]["ops"][0].update(
                name="aten::from_file"
            ),
            "programs.forward.body.ops[0] calls aten::from_file, which a saved model may not",
        ),
    ],
)
def test_a_forged_file_is_refused_with_the_place(model, change, problem):
    rewrite(model, change)
    assert refusal(model) == f"[ST400] {model}.stator is damaged: {problem}"


def forged(model, rest):
    digest = hashlib.sha256(rest).hexdigest()
    head = f'{{"format":"stator","version":3,"digest":"{digest}",'.encode()
    Paths.of(model).text.write_bytes(head + rest)


@pytest.mark.parametrize(
    "rest",
    [
        b'"programs":' + b"[" * 100_000,
        b'"programs":NaN}',
        b'"programs":' + b"9" * 5000 + b"}",
        b'"programs":\xff}',
        b'"programs":{',
        b'"programs":{"f":' + b'{"body":' * 400 + b"1" + b"}" * 402,
    ],
)
def test_text_that_is_no_json_is_refused(model, rest):
    forged(model, rest)
    assert refusal(model).startswith(f"[ST400] {model}.stator is damaged: ")


def test_weights_that_are_no_safetensors_are_refused(model):
    file = Paths.of(model).weights
    file.write_bytes(b"\xff" * 64)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    rewrite(model, lambda data: data["weights"].update(bytes=64, sha256=[digest]))
    assert refusal(model).startswith(f"[ST400] {model}.safetensors is damaged: ")


def test_a_text_larger_than_the_limit_is_refused(model, monkeypatch):
    monkeypatch.setattr(contents, "TEXT_LIMIT", 10)
    assert refusal(model) == f"[ST400] {model}.stator is larger than 10 bytes"


def test_the_head_of_the_file_names_the_digest_of_the_rest(model):
    text = Paths.of(model).text.read_bytes()
    head = HEAD.match(text)
    assert hashlib.sha256(text[head.end() :]).hexdigest() == head[2].decode()
    assert json.loads(text)["format"] == "stator"


class Stop(Exception):
    """The machine stops here."""


@pytest.mark.parametrize("crashes", [1, 2])
@pytest.mark.parametrize("step", range(6))
def test_a_crash_at_any_step_leaves_the_old_model_or_the_new_one(
    model, weights, monkeypatch, step, crashes
):
    old = read_model(model).tensors["fc.bias"].clone()
    for crash in range(crashes):
        steps = iter(range(100))
        with monkeypatch.context() as patched:
            for name in ("replace", "fsync", "link"):
                patched.setattr(os, name, stopping(getattr(os, name), steps, step))
            changed = {name: tensor + crash + 1 for name, tensor in weights.items()}
            with contextlib.suppress(Stop):
                write_model(model, {"forward": linear()}, changed)
        found = read_model(model).tensors["fc.bias"]
        assert torch.equal(found, old) or torch.equal(found, changed["fc.bias"])
        old = found.clone()


def stopping(function, steps, last):
    def call(*args):
        if next(steps) >= last:
            raise Stop
        return function(*args)

    return call


@pytest.mark.slow
def test_a_reader_never_sees_a_mix_while_models_are_written(model, weights):
    zeros = {name: torch.zeros_like(tensor) for name, tensor in weights.items()}
    write_model(model, {"forward": linear()}, zeros)
    code = (
        "import sys, torch\n"
        "from stator.export.saved_model import read_model\n"
        "for _ in range(100):\n"
        "    tensors = read_model(sys.argv[1]).tensors\n"
        "    assert tensors['fc.bias'][0] == tensors['fc.weight'][0, 0]\n"
    )
    reader = subprocess.Popen([sys.executable, "-c", code, str(model)])
    count = 0
    while reader.poll() is None:
        count += 1
        full = {name: torch.full_like(tensor, count) for name, tensor in weights.items()}
        write_model(model, {"forward": linear()}, full)
    assert reader.returncode == 0
    assert count > 10


def test_a_hostile_text_is_refused_before_it_takes_memory(model):
    rest = b'"programs":[' + b"[]," * 2_000_000 + b"1]}"
    forged(model, rest)
    size = Paths.of(model).text.stat().st_size
    tracemalloc.start()
    text = refusal(model)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert text == (
        f"[ST400] {model}.stator is damaged: its data would take 264000756 bytes of memory, "
        "more than 67108864"
    )
    assert peak < 1.1 * size


def test_an_op_set_of_a_newer_stator_is_refused(model):
    rewrite(model, lambda data: data["op_sets"].update(stator=99))
    assert refusal(model) == (
        f"[ST400] {model}.stator is damaged: op_sets.stator is 99, and this Stator has 3: "
        "a newer one is needed"
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda data: data["ops"].clear(), "ops has no schema of aten::linear"),
        (
            lambda data: data["ops"].update({"aten::relu": "x"}),
            "ops.aten::relu is no schema",
        ),
        (
            lambda data: data["methods"]["forward"]["programs"].update(train="x"),
            "methods.forward.train names the program 'x', which is not there",
        ),
        (
            lambda data: data["programs"]["forward"]["stored"][1]["value"]["type"]["tensor"].update(
                dtype="int64"
            ),
            "programs.forward.stored takes `fc.bias` for i64[4]",
        ),
        (
            lambda data: data["programs"]["forward"]["stored"][1]["value"]["type"]["tensor"].update(
                shape=[5]
            ),
            "programs.forward.stored takes `fc.bias` for f32[5]",
        ),
    ],
)
def test_a_forged_table_is_refused_with_the_place(model, change, problem):
    rewrite(model, change)
    assert refusal(model) == f"[ST400] {model}.stator is damaged: {problem}"


def test_gradients_of_an_integer_and_names_too_deep_are_refused(tmp_path):
    write_model(tmp_path / "m", {}, {"steps": torch.tensor(3)})
    rewrite(tmp_path / "m", lambda data: data["tensors"]["steps"].update(requires_grad=True))
    assert refusal(tmp_path / "m").endswith(
        "tensors.steps is i64[], which cannot require gradients"
    )
    name = ".".join("a" * 150)
    write_model(tmp_path / "m", {}, {name: torch.tensor(3)})
    assert refusal(tmp_path / "m").endswith(" is nested more than 100 deep")


def test_a_text_that_no_reader_would_allow_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(saved_model, "TEXT_LIMIT", 100)
    with pytest.raises(FormatError) as caught:
        write_model(tmp_path / "m", {}, {})
    assert caught.value.problem.endswith(" bytes, more than a reader allows for")
    assert caught.value.fix == (
        "save fewer methods in one model, or loop where the same code is repeated"
    )
    assert os.listdir(tmp_path) == []


def test_leftovers_of_a_writer_that_was_killed_are_removed(model, weights):
    stale = [f".model.stator.{'0' * 16}.tmp", f".model.safetensors.{'f' * 16}.tmp"]
    other = [".model.stator.tmp", ".another.stator." + "0" * 16 + ".tmp"]
    for name in stale + other:
        (model.parent / name).touch()
    write_model(model, {"forward": linear()}, weights)
    assert sorted(os.listdir(model.parent)) == sorted([*other, "model.safetensors", "model.stator"])


def test_a_model_that_is_always_replaced_is_given_up(model, monkeypatch):
    monkeypatch.setattr(files, "_is_at", lambda *_: False)
    assert refusal(model) == f"[ST400] {model}.stator was replaced 100 times while it was read" + (
        "\n  fix: load it when no process is writing it"
    )


def test_a_folder_in_place_of_the_text_is_named(model):
    Paths.of(model).text.unlink()
    Paths.of(model).text.mkdir()
    assert refusal(model) == f"[ST400] {model}.stator cannot be read: Is a directory" + (
        "\n  fix: check the path and its permissions"
    )


def test_the_program_of_a_method_is_found_by_its_mode(tmp_path, weights):
    programs = {"forward": linear(), "other": linear()}
    methods = {"forward": Method({"train": "forward", "eval": "other"}), "f": Method({})}
    write_model(tmp_path / "m", programs, weights, methods=methods)
    saved = read_model(tmp_path / "m")
    assert saved.program_of("forward") is saved.programs["other"]
    assert saved.program_of("forward", training=True) is saved.programs["forward"]
    assert saved.program_of("f") is saved.program_of("none") is None
