"""save and load: a model as two files, and back."""

import collections
import dataclasses
import functools
import sys

import numpy
import pytest
import torch

import stator
from bench.growth import elifs, function_of
from stator import InputSpec
from stator.errors import CaptureError, FormatError, SpecMismatch, UnknownOption
from tests.said import said
from tests.zoo.comparison import compare

Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Point:
    x: torch.Tensor
    label: str


def again(model, path, *spec):
    """The model after save and load."""
    stator.save(model, path / "model", input_spec=list(spec))
    return stator.load(path / "model")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.norm = torch.nn.BatchNorm1d(2)

    def forward(self, x):
        x = self.norm(self.linear(x))
        while x.abs().max() > 1:
            x = x / 2
        return x


ANY = InputSpec([None, 2])


def test_a_function_runs_from_its_files(tmp_path):
    def f(x):
        return x + 1 if x.sum() > 0 else x - 1

    loaded = again(f, tmp_path, InputSpec([None]))
    for x in (torch.ones(3), -torch.ones(2), torch.zeros(0)):
        assert torch.equal(loaded(x), f(x))


def test_two_files_are_written(tmp_path):
    again(Net(), tmp_path, ANY)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "model.safetensors",
        "model.stator",
    ]


def test_a_module_gives_the_same_after_loading(tmp_path):
    model = Net()
    loaded = again(model, tmp_path, ANY)
    x = torch.randn(5, 2)
    assert torch.equal(loaded(x), model(x))


def test_loading_does_not_need_the_class(tmp_path):
    loaded = again(Net(), tmp_path, ANY)
    assert type(loaded) is stator.TranslatedLayer
    assert isinstance(loaded, torch.nn.Module)


def test_the_mode_is_kept(tmp_path):
    assert again(Net().train(), tmp_path, ANY).training
    assert not again(Net().eval(), tmp_path, ANY).training


def test_a_static_module_is_saved_for_its_own_spec(tmp_path):
    model = stator.to_static(Net(), [ANY])
    stator.save(model, tmp_path / "model")
    x = torch.randn(3, 2)
    assert torch.equal(stator.load(tmp_path / "model")(x), model(x))


def test_a_module_of_torch_is_saved_as_it_is(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    loaded = again(model, tmp_path, ANY)
    x = torch.randn(4, 2)
    assert torch.equal(loaded(x), model(x))
    assert list(loaded.state_dict()) == list(model.state_dict())


def test_saving_leaves_the_model_as_it_was(tmp_path):
    model = Net()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    stator.save(model, tmp_path / "model", input_spec=[ANY])
    assert compare(before, dict(model.state_dict())) is None
    assert "forward" not in vars(model)


def test_a_tensor_can_stand_for_its_spec(tmp_path):
    loaded = again(lambda x: x * 2, tmp_path, torch.ones(3))
    assert loaded(torch.ones(3)).tolist() == [2, 2, 2]


def test_a_constant_argument_is_fixed(tmp_path):
    loaded = again(lambda x, k: x * k, tmp_path, InputSpec([1]), 3)
    assert loaded(torch.ones(1), 3).item() == 3
    with pytest.raises(SpecMismatch) as caught:
        loaded(torch.ones(1), 4)
    assert caught.value.problem == ("k must be 3, as it was when the program was captured, not 4")


# ---- tensors


def test_the_keys_of_the_state_are_those_of_the_model_in_order(tmp_path):
    model = Net()
    loaded = again(model, tmp_path, ANY)
    assert list(loaded.state_dict()) == list(model.state_dict())
    assert compare(dict(model.state_dict()), dict(loaded.state_dict())) is None


def test_the_order_of_the_state_holds_with_a_child_that_has_buffers_only(tmp_path):
    class Shift(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("by", torch.ones(2))

        def forward(self, x):
            return x + self.by

    model = torch.nn.Sequential(Shift(), torch.nn.Linear(2, 2))
    assert list(again(model, tmp_path, ANY).state_dict()) == list(model.state_dict())


def test_a_state_of_the_original_can_be_loaded(tmp_path):
    model, other = Net().eval(), Net().eval()
    loaded = again(model, tmp_path, ANY)
    loaded.load_state_dict(other.state_dict())
    x = torch.randn(3, 2)
    assert torch.equal(loaded(x), other(x))


def test_eval_of_a_loaded_model_changes_its_mode_or_is_refused(tmp_path):
    model = Net().train()
    loaded = again(model, tmp_path, ANY)
    x = torch.randn(3, 2)
    try:
        got = loaded.eval()(x)
    except stator.StatorError:
        return
    assert torch.equal(got, model.eval()(x))


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(4, 2)
        self.out = torch.nn.Linear(2, 4, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, x):
        return self.out(self.embed(x))


def test_tied_weights_stay_tied(tmp_path):
    model = Tied()
    loaded = again(model, tmp_path, InputSpec([None], "int64"))
    assert loaded.embed.weight is loaded.out.weight
    assert list(loaded.state_dict()) == list(model.state_dict())
    assert len(list(loaded.parameters())) == 1
    x = torch.tensor([1, 3])
    assert torch.equal(loaded(x), model(x))


class Counting(torch.nn.Module):
    """One buffer written in place, one rebound."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x):
        self.calls += 1
        self.total = self.total + x.sum(0)
        return self.total / self.calls


def test_buffers_written_in_place_and_rebound_go_on_after_loading(tmp_path):
    model = Counting()
    loaded = again(model, tmp_path, ANY)
    for k in (1.0, 2.0, 5.0):
        assert torch.equal(loaded(torch.full((2, 2), k)), model(torch.full((2, 2), k)))
    assert compare(dict(model.state_dict()), dict(loaded.state_dict())) is None


def test_a_buffer_written_but_never_read_is_kept(tmp_path):
    class Last(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("last", torch.zeros(2))

        def forward(self, x):
            self.last = x.sum(0)
            return x

    loaded = again(Last(), tmp_path, ANY)
    loaded(torch.ones(3, 2))
    assert loaded.last.tolist() == [3, 3]
    assert list(loaded.state_dict()) == ["last"]


def test_a_buffer_that_is_not_persistent_is_saved_but_not_in_the_state(tmp_path):
    class Masked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mask", torch.tensor([1.0, 0.0]), persistent=False)

        def forward(self, x):
            return x * self.mask

    model = Masked()
    loaded = again(model, tmp_path, ANY)
    assert list(loaded.state_dict()) == list(model.state_dict()) == []
    assert [name for name, _ in loaded.named_buffers()] == ["mask"]
    assert torch.equal(loaded(torch.ones(1, 2)), torch.tensor([[1.0, 0.0]]))


def test_constants_of_a_function_are_saved_and_not_in_the_state(tmp_path):
    table = torch.tensor([1.0, 2.0])
    loaded = again(lambda x: x * table, tmp_path, ANY)
    assert list(loaded.state_dict()) == []
    assert torch.equal(loaded(torch.ones(1, 2)), table[None])


def test_a_frozen_parameter_stays_frozen(tmp_path):
    model = Net()
    model.linear.weight.requires_grad_(False)
    loaded = again(model, tmp_path, ANY)
    assert not loaded.linear.weight.requires_grad
    assert loaded.linear.bias.requires_grad


@pytest.mark.parametrize(
    "name",
    ["program", "properties", "_stored", "_runner", "_program", "_constants", "_register"],
)
def test_a_child_may_have_any_name(tmp_path, name):
    class Holder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.add_module(name, torch.nn.Linear(2, 2))

        def forward(self, x):
            return getattr(self, name)(x)

    model = Holder()
    loaded = again(model, tmp_path, ANY)
    assert torch.equal(loaded(torch.ones(1, 2)), model(torch.ones(1, 2)))
    assert torch.equal(getattr(loaded, name).weight, getattr(model, name).weight)


# ---- training further


def test_a_fine_tuning_step_is_that_of_eager(tmp_path):
    model = Net()
    loaded = again(model, tmp_path, ANY)
    x = torch.randn(4, 2)
    for one in (model, loaded):
        optimizer = torch.optim.SGD(one.parameters(), lr=0.1)
        one(x).square().sum().backward()
        optimizer.step()
    assert compare(dict(model.state_dict()), dict(loaded.state_dict())) is None


def test_gradients_reach_the_arguments(tmp_path):
    loaded = again(lambda x: x * x, tmp_path, InputSpec([None], stop_gradient=False))
    x = torch.ones(2, requires_grad=True)
    loaded(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_it_can_be_moved_to_another_dtype_with_its_tensors(tmp_path):
    loaded = again(Net(), tmp_path, ANY).double()
    assert all(p.dtype == torch.float64 for p in loaded.parameters())


# ---- structures


def test_nested_outputs_keep_their_structure(tmp_path):
    def f(x):
        return {"a": [x, (x + 1, None)], "b": Pair(x.sum(), "text"), "c": {"n": x.sum().item()}}

    want, got = f(torch.ones(2)), again(f, tmp_path, InputSpec([None]))(torch.ones(2))
    assert list(got) == ["a", "b", "c"]
    assert compare(want["a"], got["a"]) is None
    assert got["b"]._fields == ("first", "second")
    assert (got["b"].first.item(), got["b"].second) == (2, "text")
    assert got["c"] == {"n": 2.0}


def test_a_dataclass_comes_back_with_its_fields(tmp_path):
    got = again(lambda x: Point(x + 1, "here"), tmp_path, InputSpec([1]))(torch.ones(1))
    assert got.x.item() == 2
    assert got.label == "here"


def test_nested_arguments_are_taken_apart(tmp_path):
    def f(pair, table):
        return pair[0] + pair[1] + table["k"]

    one = InputSpec([None])
    loaded = again(f, tmp_path, (one, one), {"k": one})
    assert loaded((torch.ones(2), torch.ones(2)), {"k": torch.ones(2)}).tolist() == [3, 3]


# ---- wrong arguments


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ((3,), "x must be a tensor f32[s0, 2], not 3"),
        ((torch.ones(2, 3),), "x must be a tensor f32[s0, 2], not f32[2, 3]: "
                              "its size 1 is 3, not 2"),
        ((torch.ones(2),), "x must be a tensor f32[s0, 2], not f32[2]: "
                           "its rank is 1, not 2"),
        ((torch.ones(1, 2, dtype=torch.int64),), "x must be a tensor f32[s0, 2], not "
                                                 "i64[1, 2]: its dtype is int64, not float32"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused_by_their_text(tmp_path, call, problem):
    loaded = again(lambda x: x + 1, tmp_path, ANY)
    with pytest.raises(SpecMismatch) as caught:
        loaded(*call)
    assert caught.value.problem == problem


def test_an_unknown_keyword_is_refused_by_its_text(tmp_path):
    loaded = again(lambda x: x + 1, tmp_path, ANY)
    with pytest.raises(TypeError) as caught:
        loaded(torch.ones(1, 2), k=1)
    assert str(caught.value) == "forward(x): got an unexpected keyword argument 'k'"


# ---- refused


def test_without_a_spec_nothing_can_be_saved(tmp_path):
    with pytest.raises(SpecMismatch) as caught:
        stator.save(Net(), tmp_path / "model")
    assert said(caught.value) == (
        "[ST301] `save` needs an input_spec: `forward` has none, and has not been called\n"
        "  fix: pass input_spec=[InputSpec([None, 3], 'float32'), ...]"
    )


def test_an_unknown_option_is_refused_by_its_text(tmp_path):
    with pytest.raises(SpecMismatch) as caught:
        stator.save(Net(), tmp_path / "model", [ANY], skip_prune=True)
    assert caught.value.problem == "save has no option 'skip_prune' here"


def test_an_unknown_backend_is_refused_by_its_text(tmp_path):
    with pytest.raises(UnknownOption) as caught:
        stator.load(tmp_path / "model", backend="xla")
    assert caught.value.problem == "there is no backend 'xla'"


def test_an_effect_on_an_argument_is_refused_by_its_text(tmp_path):
    def f(x, items):
        items.append(x)
        return x

    with pytest.raises(CaptureError) as caught:
        stator.save(f, tmp_path / "model", [ANY, []])
    assert caught.value.problem == (
        "a call changes a list or dict that it is given, which is not part of a saved model"
    )


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FormatError) as caught:
        stator.load(tmp_path / "none")
    assert str(tmp_path / "none") in str(caught.value)
    assert str(caught.value).startswith("[ST400] ")


@pytest.mark.parametrize("ending", ["stator", "safetensors"])
def test_a_damaged_file_is_refused(tmp_path, ending):
    again(Net(), tmp_path, ANY)
    file = tmp_path / f"model.{ending}"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(FormatError) as caught:
        stator.load(tmp_path / "model")
    assert f"model.{ending}" in str(caught.value)


def test_the_program_of_a_loaded_model_can_be_read(tmp_path):
    assert again(Net(), tmp_path, ANY).program().name == "forward"


class Kept:
    def __init__(self, keys, kind):
        self.keys, self.kind, self.place = keys, kind, torch.device("cpu")


def test_an_object_in_the_result_comes_back_as_a_record_of_its_attributes(tmp_path):
    def f(x):
        return Kept([x * 2, x.shape[0]], x.dtype), x.sum()

    stator.save(f, tmp_path / "model", [InputSpec([None])])
    kept, total = stator.load(tmp_path / "model")(torch.ones(3))
    assert type(kept).__name__ == "Kept"
    assert kept._fields == ("keys", "kind", "place")
    assert kept.keys[0].tolist() == [2, 2, 2]
    assert (kept.keys[1], kept.kind, kept.place) == (3, torch.float32, torch.device("cpu"))
    assert total == 3


class LastSeen(torch.nn.Module):
    def __init__(self, kind=torch.float32):
        super().__init__()
        self.register_buffer("last", torch.zeros(2, dtype=kind))

    def forward(self, x):
        change = (x - self.last).abs().sum()
        self.last = x.clone()
        return change


@pytest.mark.parametrize(
    ("kind", "size"), [(torch.float32, 1), (torch.float64, 2)], ids=["size", "dtype"]
)
def test_a_buffer_may_get_another_size_or_dtype(kind, size, tmp_path):
    model = LastSeen(kind)
    stator.save(model, tmp_path / "model", [InputSpec([size])])
    loaded = stator.load(tmp_path / "model")
    for x in (torch.arange(size) + 1.0, torch.arange(size) * 3.0):
        assert torch.equal(model(x), loaded(x))
        assert torch.equal(model.last, loaded.last)


def test_a_spec_is_where_the_tensors_of_the_module_are():
    model = torch.nn.Sequential(torch.nn.Linear(3, 2, device="meta"), torch.nn.ReLU())
    static = stator.to_static(model)
    captured = static.forward.capture([InputSpec([None, 3])])
    assert str(captured.program.inputs[0].type) == "f32[s0, 3]@meta"


def test_a_long_chain_of_elifs_is_saved(tmp_path, request):
    request.addfinalizer(functools.partial(sys.setrecursionlimit, sys.getrecursionlimit()))
    chain, x = function_of(elifs(90), tmp_path), torch.full((3,), -30.0)
    sys.setrecursionlimit(500)  # fewer than the frames that it takes
    stator.save(chain, tmp_path / "m", [x])
    sys.setrecursionlimit(1000)
    assert torch.equal(stator.load(tmp_path / "m")(x), chain(x))


def test_a_chain_that_is_nested_too_deeply_to_be_saved_is_refused_with_its_place(tmp_path, request):
    request.addfinalizer(functools.partial(sys.setrecursionlimit, sys.getrecursionlimit()))
    sys.setrecursionlimit(500)
    with pytest.raises(FormatError) as caught:
        stator.save(function_of(elifs(110), tmp_path), tmp_path / "m", [torch.ones(3)])
    assert caught.value.problem == "the program is nested more than 100 deep"
    assert caught.value.at.line == 203


@pytest.mark.parametrize(
    ("spec", "problem", "fix"),
    [
        (InputSpec([2]), "input_spec is an InputSpec, not a list or a dict",
         "put it in a list: input_spec=[...]"),
        (torch.ones(2), "input_spec is a Tensor, not a list or a dict",
         "put it in a list: input_spec=[...]"),
        ("float32[2]", "input_spec is a str, not a list or a dict",
         "give a list with an entry for each parameter, or a dict by their names"),
        ([numpy.ones(2), InputSpec([2])], "an entry of input_spec is a numpy array",
         "write InputSpec.from_numpy(array): calls pass tensors"),
        ([InputSpec([2])] * 3,
         "input_spec does not fit add(x, y): too many positional arguments",
         "give an entry for each parameter, in order, or a dict by their names"),
        ({"y": InputSpec([2])},
         "input_spec does not fit add(x, y): missing a required argument: 'x'",
         "give an entry for each parameter, in order, or a dict by their names"),
        ([(None, 2), InputSpec([2])], "an entry of input_spec is the shape (None, 2)",
         "write InputSpec([None, 2])"),
        ((None, 2), "input_spec is the shape (None, 2)", "write [InputSpec([None, 2])]"),
    ],
)  # fmt: skip
def test_a_spec_for_another_signature_is_refused_by_its_text(spec, problem, fix, tmp_path):
    def add(x, y):
        return x + y

    with pytest.raises(SpecMismatch) as caught:
        stator.save(add, tmp_path / "model", spec)
    assert (caught.value.problem, caught.value.fix) == (problem, fix)


def test_a_folder_is_not_a_model(tmp_path):
    with pytest.raises(FormatError) as caught:
        stator.load(tmp_path)
    assert caught.value.problem == (
        f"{tmp_path} is a folder, and there is no {tmp_path.name}.stator beside it"
    )
    assert caught.value.fix == f"give the path of a model: '{tmp_path / 'NAME'}'"


@pytest.mark.parametrize(
    ("model", "problem", "fix"),
    [
        (Net, "Net is a class, not a module", "save an instance of it: stator.save(Net(...), ...)"),
        ("model", "a str cannot be saved",
         "give the model first, then the path: stator.save(model, path, ...)"),
        (torch.nn.Linear(1, 1).state_dict(), "an OrderedDict cannot be saved",
         "pass the module itself, not its state_dict"),
        (3, "an int cannot be saved", "pass a function, a method or an nn.Module"),
    ],
)  # fmt: skip
def test_what_is_no_model_is_refused_by_its_text(model, problem, fix, tmp_path):
    with pytest.raises(SpecMismatch) as caught:
        stator.save(model, tmp_path / "model", [InputSpec([2])])
    assert (caught.value.problem, caught.value.fix) == (problem, fix)
    assert not [*tmp_path.iterdir()]


def test_a_backend_that_is_written_wrongly_is_corrected(tmp_path):
    stator.save(torch.nn.Linear(2, 2), tmp_path / "model", [InputSpec([None, 2])])
    with pytest.raises(UnknownOption) as caught:
        stator.load(tmp_path / "model", backend="onnxruntim")
    assert caught.value.fix.endswith("inductor, cudagraph, onnxruntime")
    assert caught.value.diff[2].endswith('backend="onnxruntime")')
