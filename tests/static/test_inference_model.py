"""save_inference_model and load_inference_model: a program with chosen ends, as files."""

import numpy
import pytest
import torch
from torch import nn

import stator
from stator import InputSpec, static
from stator.errors import FormatError, InputError
from tests.said import said

EXECUTOR = static.Executor("cpu")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.bn, self.out = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 3)

    def forward(self, x):
        return self.out(torch.relu(self.bn(self.fc(x))))


def written():
    """(program, inputs, outputs): scores and a loss."""
    program, net = static.Program(), Net()
    with static.program_guard(program):
        x, label = static.data("x", [None, 4]), static.data("label", [None], "int64")
        scores = net(x)
        loss = nn.functional.cross_entropy(scores, label)
    return program, (x, label), (scores, loss)


@pytest.mark.parametrize("form", ["name", "value", "tensor"])
def test_a_model_comes_back_with_its_feeds_and_fetches(form, tmp_path):
    program, (x, _), (scores, _) = written()
    test = program.clone(for_test=True)
    values = {value.name: value for value in program.list_vars()}
    feeds = {"name": "x", "value": values["x"], "tensor": x}[form]
    fetches = {"name": "linear_1", "value": values["linear_1"], "tensor": scores}[form]
    static.save_inference_model(tmp_path / "model", [feeds], [fetches], EXECUTOR, test)
    loaded, feed_names, fetch_values = static.load_inference_model(tmp_path / "model", EXECUTOR)
    assert feed_names == ["x"]
    assert [value.name for value in fetch_values] == ["linear_1"]
    array = numpy.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    wanted = EXECUTOR.run(test, {"x": array}, [scores], use_prune=True)
    for fetch_list in (fetch_values, ["linear_1"], None):
        (given,) = EXECUTOR.run(loaded, {"x": array}, fetch_list)
        assert numpy.array_equal(given, wanted[0])


def test_what_the_fetches_do_not_need_is_not_saved(tmp_path):
    program, (x, _), _ = written()
    static.save_inference_model(tmp_path / "model", [x], ["linear_0"], EXECUTOR, program)
    loaded, _, _ = static.load_inference_model(tmp_path / "model", EXECUTOR)
    names = [op.name for op in loaded.recorded.body.ops]
    assert "aten::linear" in names
    assert not {"aten::batch_norm", "aten::relu", "aten::cross_entropy_loss"} & set(names)
    assert list(loaded.tensors) == ["net_0.fc.weight", "net_0.fc.bias"]


def test_a_fetch_without_its_feed_is_refused_with_both_names(tmp_path):
    program, (x, _), (scores, loss) = written()
    with pytest.raises(InputError) as refusal:
        static.save_inference_model(tmp_path / "model", [x], [scores, loss], EXECUTOR, program)
    assert said(refusal.value) == (
        "[ST300] `cross_entropy_loss_0` needs the input `label`, which is not among the feeds "
        "(`x`)\n  fix: add `label` to the feeds, or leave `cross_entropy_loss_0` out"
    )


def test_a_feed_that_is_no_input_is_refused(tmp_path):
    program, _, (scores, loss) = written()
    with pytest.raises(InputError) as refusal:
        static.save_inference_model(tmp_path / "model", [scores], [loss], EXECUTOR, program)
    assert said(refusal.value) == (
        "[ST300] `linear_1` is not an input of the program, and cannot be a feed\n"
        "  fix: feed what `data` made"
    )


def test_inside_a_guard_the_program_need_not_be_named(tmp_path):
    with static.program_guard(static.Program()):
        x = static.data("x", [3])
        static.save_inference_model(tmp_path / "model", x, x * 2, EXECUTOR)
    assert stator.load(tmp_path / "model")(torch.ones(3))[0].tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda path: static.save_inference_model(path, [], [], None, static.Program()),
            "[ST300] the executor is a NoneType\n  fix: give a `stator.static.Executor`",
        ),
        (
            lambda path: static.save_inference_model(path, [], [], EXECUTOR),
            "[ST300] the program is a NoneType\n  fix: give a `stator.static.Program`",
        ),
        (
            lambda path: static.load_inference_model(path, "cpu"),
            "[ST300] the executor is a str\n  fix: give a `stator.static.Executor`",
        ),
    ],
)
def test_a_wrong_call_is_refused(call, text, tmp_path):
    with pytest.raises(InputError) as refusal:
        call(tmp_path / "model")
    assert said(refusal.value) == text


def test_a_loaded_program_trains(tmp_path):
    program, inputs, (_, loss) = written()
    static.save_inference_model(tmp_path / "model", list(inputs), [loss], EXECUTOR, program)
    loaded, _, fetches = static.load_inference_model(tmp_path / "model", EXECUTOR)
    parameters = [one for one in loaded.tensors.values() if isinstance(one, nn.Parameter)]
    optimizer = torch.optim.SGD(parameters, lr=0.5)
    feed = {"x": torch.randn(8, 4), "label": torch.randint(0, 3, (8,))}
    losses = []
    for _ in range(5):
        (value,) = EXECUTOR.run(loaded, feed, fetches, return_numpy=False)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


def test_a_loaded_program_can_be_saved_again(tmp_path):
    program, inputs, outputs = written()
    test = program.clone(for_test=True)
    static.save_inference_model(tmp_path / "one", list(inputs), list(outputs), EXECUTOR, test)
    loaded, names, fetches = static.load_inference_model(tmp_path / "one", EXECUTOR)
    static.save_inference_model(tmp_path / "two", names, fetches, EXECUTOR, loaded)
    feed = {"x": torch.randn(3, 4), "label": torch.tensor([0, 1, 2])}
    again, _, values = static.load_inference_model(tmp_path / "two", EXECUTOR)
    one, two = EXECUTOR.run(loaded, feed, fetches), EXECUTOR.run(again, feed, values)
    assert all(map(numpy.array_equal, one, two))


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.drop = nn.Linear(4, 4, bias=False), nn.Dropout(0.5)

    def forward(self, x):
        steps = 0
        while x.abs().max() > 0.1:
            x = torch.tanh(self.drop(self.fc(x))) / 8
            steps += 1
        return x, steps, 5


def test_a_model_of_stator_save_is_loaded_in_evaluation(tmp_path):
    model = Counting()
    stator.save(model, tmp_path / "model", input_spec=[InputSpec([None, 4], "float32", "x")])
    program, names, fetches = static.load_inference_model(tmp_path / "model", EXECUTOR)
    x = torch.randn(3, 4)
    given = EXECUTOR.run(program, {"x": x}, fetches, return_numpy=False)
    wanted, steps, _ = model.eval()(x)
    assert names == ["x"]
    assert torch.equal(given[0], wanted)
    assert given[1:] in ([steps], [steps, 5])


def test_a_missing_model_is_named(tmp_path):
    with pytest.raises(FormatError, match=r"model.stator"):
        static.load_inference_model(tmp_path / "model", EXECUTOR)


def test_a_damaged_model_is_refused(tmp_path):
    program, (x, _), (scores, _) = written()
    static.save_inference_model(tmp_path / "model", [x], [scores], EXECUTOR, program)
    file = tmp_path / "model.stator"
    file.write_bytes(file.read_bytes().replace(b"relu", b"tanh"))
    with pytest.raises(FormatError, match=r"model.stator is damaged"):
        static.load_inference_model(tmp_path / "model", EXECUTOR)
