"""TracedLayer: one real run, and the program that does it again."""

import copy
import random

import pytest
import torch
from torch import nn

import stator
from stator import TracedLayer
from stator.errors import (
    CaptureError,
    DataDependent,
    InputError,
    SizeCheckFailed,
    SpecMismatch,
    UnsupportedCall,
)
from stator.static import BuildStrategy, ExecutionStrategy, Executor, load_inference_model
from tests.said import said


class Classifier(nn.Module):
    """Two inputs, two outputs, dropout and buffers."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 6)
        self.bn = nn.BatchNorm1d(6)
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(6, 3)

    def forward(self, x, y):
        scores = self.out(self.drop(torch.relu(self.bn(self.fc(x)))))
        return {"scores": scores, "loss": nn.functional.cross_entropy(scores, y)}


class Calls(nn.Module):
    """A layer that is one function, and whatever the function wants of it."""

    def __init__(self, function, **attributes):
        super().__init__()
        self.function = function
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, *args):
        return self.function(self, *args)


def batch(size):
    return [torch.randn(size, 4), torch.randint(0, 3, (size,))]


def test_the_outputs_are_those_of_one_eager_run():
    layer = Classifier()
    eager, inputs = copy.deepcopy(layer), batch(5)
    torch.manual_seed(3)
    outputs, _ = TracedLayer.trace(layer, inputs)
    after = torch.get_rng_state()
    torch.manual_seed(3)
    wanted = eager(*inputs)
    assert outputs.keys() == wanted.keys()
    assert all(torch.equal(outputs[key], wanted[key]) for key in wanted)
    assert torch.equal(after, torch.get_rng_state())
    assert all(map(torch.equal, layer.state_dict().values(), eager.state_dict().values()))


def test_the_outputs_carry_gradients():
    layer = Classifier()
    eager, inputs = copy.deepcopy(layer), batch(5)
    torch.manual_seed(3)
    TracedLayer.trace(layer, inputs)[0]["loss"].backward()
    torch.manual_seed(3)
    eager(*inputs)["loss"].backward()
    assert all(torch.equal(p.grad, q.grad) for p, q in zip(*map(params, (layer, eager))))


def params(layer):
    return list(layer.parameters())


@pytest.mark.parametrize("size", [2, 5, 9])
def test_the_program_gives_what_the_layer_gives_for_other_sizes_too(size):
    layer = Classifier()
    _, traced = TracedLayer.trace(layer, batch(5))
    eager, inputs = copy.deepcopy(layer), batch(size)
    torch.manual_seed(7)
    scores, loss = traced(inputs)
    torch.manual_seed(7)
    wanted = eager(*inputs)
    assert torch.equal(scores, wanted["scores"])
    assert torch.equal(loss, wanted["loss"])
    loss.backward()
    wanted["loss"].backward()
    assert all(torch.equal(p.grad, q.grad) for p, q in zip(*map(params, (layer, eager))))
    assert all(map(torch.equal, layer.state_dict().values(), eager.state_dict().values()))


def test_the_program_sees_the_layer_train():
    layer = nn.Linear(4, 2)
    x = torch.randn(3, 4)
    _, traced = TracedLayer.trace(layer, [x])
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        traced([x])[0].square().sum().backward()
        optimizer.step()
        assert torch.equal(traced([x])[0], layer(x))


def test_the_program_sees_a_parameter_that_was_replaced():
    layer, x = nn.Linear(4, 2), torch.randn(3, 4)
    _, traced = TracedLayer.trace(layer, [x])
    layer.weight = nn.Parameter(torch.zeros(2, 4))
    assert torch.equal(traced([x])[0], layer(x))


def test_a_parameter_of_another_type_is_named():
    layer, x = nn.Linear(4, 2), torch.randn(3, 4)
    _, traced = TracedLayer.trace(layer, [x])
    layer.double()
    with pytest.raises(SpecMismatch) as refusal:
        traced([x])
    assert said(refusal.value) == (
        "[ST301] the parameter `weight` must be a tensor f32[2, 4], not f64[2, 4]: "
        "its dtype is float64, not float32"
    )


def test_a_tensor_alone_is_one_input():
    outputs, traced = TracedLayer.trace(nn.ReLU(), torch.tensor([-1.0, 2.0]))
    assert torch.equal(outputs, torch.tensor([0.0, 2.0]))
    assert torch.equal(traced(torch.tensor([3.0, -4.0, 5.0]))[0], torch.tensor([3.0, 0.0, 5.0]))


def test_nested_inputs_are_taken_apart():
    layer = Calls(lambda _, pair, table: pair[0] * pair[1] + table["shift"])
    one, two, three = torch.randn(3), torch.randn(3), torch.randn(3)
    _, traced = TracedLayer.trace(layer, [(one, two), {"shift": three}])
    assert torch.equal(traced([(two, two), {"shift": one}])[0], two * two + one)


def test_numbers_among_the_inputs_are_part_of_the_program():
    _, traced = TracedLayer.trace(Calls(lambda _, x, scale: x * scale), [torch.ones(3), 2.5])
    assert torch.equal(traced([torch.ones(4), 2.5])[0], torch.full((4,), 2.5))
    with pytest.raises(SpecMismatch) as refusal:
        traced([torch.ones(4), 3.5])
    assert said(refusal.value) == (
        "[ST301] args[1] must be 2.5, as it was when the program was captured, not 3.5"
    )


def test_one_tensor_given_twice_stays_one():
    layer = Calls(lambda _, a, b: a + b if a is b else a - b)
    x, y = torch.ones(3), torch.ones(3)
    outputs, traced = TracedLayer.trace(layer, [x, x])
    assert torch.equal(outputs, x + x)
    assert torch.equal(traced([y, y])[0], y + y)
    with pytest.raises(SpecMismatch) as refusal:
        traced([x, y])
    assert said(refusal.value) == (
        "[ST301] inputs 0 and 1 were one tensor when the layer was traced\n"
        "  fix: give one tensor for both, or trace it with two"
    )


def test_an_input_written_in_place_is_written_once():
    x = torch.zeros(3)
    outputs, traced = TracedLayer.trace(Calls(lambda _, x: x.add_(1)), [x])
    assert outputs is x
    assert torch.equal(x, torch.ones(3))
    y = torch.zeros(4)
    assert traced([y])[0] is y
    assert torch.equal(y, torch.ones(4))


# ---- what is refused


def branch(_, x):
    if x.sum() > 0:
        return x
    return -x


def item(_, x):
    return x if x.sum().item() > 0 else -x


def loop(_, x):
    for _trip in range(int((x > 0).sum())):
        x = x + 1
    return x


def found(_, x):
    for _trip in range(x.nonzero().shape[0]):
        x = x + 1
    return x


def hidden(_, x):
    try:
        if x.sum() > 0:
            return x
    except Exception:  # noqa: BLE001 (what such code does is the point)
        pass
    return -x


TRUTH, NUMBER = "the truth value of a tensor", "a number that comes from data"


@pytest.mark.parametrize(
    ("function", "what", "line", "text"),
    [
        (branch, TRUTH, 1, "    if x.sum() > 0:\n           ^"),
        (item, NUMBER, 1, "    return x if x.sum().item() > 0 else -x\n                ^"),
        (loop, NUMBER, 1, "    for _trip in range(int((x > 0).sum())):\n                       ^"),
        (found, NUMBER, 1, "    for _trip in range(x.nonzero().shape[0]):\n                 ^"),
        (hidden, TRUTH, 2, "        if x.sum() > 0:\n               ^"),
    ],
)
def test_a_path_that_depends_on_data_is_refused_with_the_line(function, what, line, text):
    code = function.__code__
    with pytest.raises(DataDependent) as refusal:
        TracedLayer.trace(Calls(function), [torch.ones(3)])
    assert refusal.value.at.line == code.co_firstlineno + line
    head, *rest = str(refusal.value).splitlines()
    assert head == f"[ST203] the path through the layer depends on data: Python code needs {what}"
    assert rest[0] == f"  at {__file__}:{code.co_firstlineno + line}, in {function.__name__}"
    assert [one.strip() for one in rest[1:3]] == [one.strip() for one in text.splitlines()]
    assert rest[3] == "  fix: convert the layer with `stator.to_static`, which captures both paths"


def test_to_static_takes_what_trace_refuses():
    static = stator.to_static(branch)
    for x in (torch.ones(3), -torch.ones(3)):
        assert torch.equal(static(None, x), branch(None, x))


def by_size(_, x):
    if x.shape[0] > 3:
        return x * 2
    return x * 3


@pytest.mark.parametrize(("size", "other", "fact"), [(5, 2, "> 3"), (2, 5, "<= 3")])
def test_a_size_that_python_branched_on_is_checked(size, other, fact):
    outputs, traced = TracedLayer.trace(Calls(by_size), [torch.ones(size)])
    assert torch.equal(outputs, by_size(None, torch.ones(size)))
    line = by_size.__code__.co_firstlineno + 1
    with pytest.raises(SizeCheckFailed) as refusal:
        traced([torch.ones(other)])
    assert str(refusal.value) == (
        f"[ST302] this needs arg_0.shape[0] {fact}\n  at {__file__}:{line}, in by_size\n"
        f"        if x.shape[0] > 3:\n           ^\n  called with arg_0: f32[{other}]\n"
        "  fix: call it with sizes that fit, or capture it for fixed sizes"
    )


def rows(_, x):
    total = x[0] * 0
    for k in range(x.shape[0]):
        total = total + x[k] * k
    return total


def test_a_loop_over_a_size_holds_for_that_size():
    _, traced = TracedLayer.trace(Calls(rows), [torch.randn(4, 2)])
    x = torch.randn(4, 3)
    assert torch.equal(traced([x])[0], rows(None, x))
    with pytest.raises(SizeCheckFailed, match=r"this needs arg_0.shape\[0\] == 4"):
        traced([torch.randn(5, 2)])


@pytest.mark.parametrize("size", [0, 1])
def test_a_size_of_zero_or_one_is_fixed(size):
    _, traced = TracedLayer.trace(nn.ReLU(), [torch.ones(size, 4)])
    with pytest.raises(SpecMismatch) as refusal:
        traced([torch.ones(3, 4)])
    assert said(refusal.value) == (
        f"[ST301] args[0] must be a tensor f32[{size}, s0], not f32[3, 4]: "
        f"its size 0 is 3, not {size}"
    )


def test_a_size_that_broadcasts_as_one_in_the_run_is_checked():
    layer = Calls(lambda _, x: x[:-4] + x)
    outputs, traced = TracedLayer.trace(layer, [torch.randn(5)])
    assert outputs.shape == (5,)
    with pytest.raises(SizeCheckFailed):
        traced([torch.randn(6)])


def keep(layer, x):
    layer.last = x * 2
    return layer.last


def count(layer, x):
    layer.calls += 1
    return x * layer.calls


def append(layer, x):
    layer.seen.append(x * 2)
    return layer.seen[0]


def rebind(layer, x):
    layer.total = layer.total + x.sum()
    return layer.total


def change_given(_, x, table):
    table["new"] = x * 2
    return x


@pytest.mark.parametrize(
    ("function", "attributes", "what"),
    [
        (keep, {"last": None}, "`last` of the layer"),
        (count, {"calls": 0}, "`calls` of the layer"),
        (append, {"seen": []}, "a list of the layer"),
    ],
)
def test_a_call_that_changes_the_layer_is_refused_and_undone(function, attributes, what):
    layer = Calls(function, **attributes)
    with pytest.raises(UnsupportedCall) as refusal:
        TracedLayer.trace(layer, [torch.ones(3)])
    assert said(refusal.value) == (
        f"[ST204] the call changes {what}, which a traced program would not do\n"
        "  fix: keep tensors in registered buffers and write them in place (`copy_`), "
        "or use `stator.to_static`"
    )
    assert {name: getattr(layer, name) for name in attributes} in (attributes, {"seen": []})


def test_a_buffer_that_is_given_a_new_tensor_is_refused():
    layer = Calls(rebind)
    layer.register_buffer("total", torch.zeros(()))
    with pytest.raises(UnsupportedCall, match="the call changes `total` of the layer"):
        TracedLayer.trace(layer, [torch.ones(3)])
    assert torch.equal(layer.total, torch.zeros(()))


def test_a_buffer_written_in_place_is_written_by_each_run():
    layer = Calls(lambda layer, x: layer.total.add_(x.sum()).clone())
    layer.register_buffer("total", torch.zeros(()))
    _, traced = TracedLayer.trace(layer, [torch.ones(3)])
    assert layer.total == 3
    traced([torch.ones(4)])
    assert layer.total == 7


def test_an_argument_that_is_changed_is_refused():
    with pytest.raises(UnsupportedCall) as refusal:
        TracedLayer.trace(Calls(change_given), [torch.ones(3), {}])
    assert said(refusal.value) == (
        "[ST204] the call changes a dict that it is given, which a traced program would not do\n"
        "  fix: return the new value, or use `stator.to_static`"
    )


KEPT = []


def leak(_, x):
    y = x * 2
    KEPT.append(y)
    return y + 1


def test_a_tensor_kept_outside_is_refused_with_the_line_that_made_it():
    with pytest.raises(UnsupportedCall) as refusal:
        TracedLayer.trace(Calls(leak), [torch.ones(3)])
    KEPT.clear()
    assert str(refusal.value) == (
        "[ST204] a tensor that the call makes is kept outside of it, which a traced program would "
        f"not do\n  at {__file__}:{leak.__code__.co_firstlineno + 1}, in leak\n"
        "        y = x * 2\n            ^\n  fix: return it, or use `stator.to_static`"
    )


def test_random_numbers_of_python_are_refused():
    with pytest.raises(UnsupportedCall) as refusal:
        TracedLayer.trace(Calls(lambda _, x: x * random.random()), [torch.ones(3)])
    assert said(refusal.value) == (
        "[ST204] the layer draws random numbers of Python or numpy, which a traced program would "
        "not\n  fix: draw them with torch"
    )


def test_a_size_as_a_key_is_refused_with_the_line():
    with pytest.raises(CaptureError, match="unhashable type: an int of the run"):
        TracedLayer.trace(Calls(lambda _, x: {x.shape[0]: x}), [torch.ones(3)])


def test_an_error_of_the_layer_is_its_own():
    with pytest.raises(RuntimeError, match="shape '\\[7\\]' is invalid for input of size 6"):
        TracedLayer.trace(Calls(lambda _, x: x.view(7)), [torch.ones(6)])


def test_the_constructor_is_not_public():
    with pytest.raises(InputError) as refusal:
        TracedLayer(nn.ReLU())
    assert said(refusal.value) == (
        "[ST300] TracedLayer has no public constructor\n"
        "  fix: call `TracedLayer.trace(layer, inputs)`, which gives (outputs, traced)"
    )


def test_only_a_module_can_be_traced():
    with pytest.raises(InputError) as refusal:
        TracedLayer.trace(torch.relu, [torch.ones(3)])
    assert said(refusal.value) == (
        "[ST300] a builtin_function_or_method cannot be traced\n"
        "  fix: give an nn.Module; for a function, use `stator.to_static`"
    )


def test_a_converted_layer_is_refused():
    layer = nn.Sequential(stator.to_static(nn.Linear(3, 3)))
    with pytest.raises(UnsupportedCall) as refusal:
        TracedLayer.trace(layer, [torch.ones(2, 3)])
    assert said(refusal.value) == (
        "[ST204] `0` of the layer is converted by `to_static`, and has programs of its own\n"
        "  fix: save it with `stator.save`, or trace it before it is converted"
    )


@pytest.mark.parametrize(("inputs", "kind"), [("x", "str"), ({"x": 1}, "dict")])
def test_inputs_are_a_tensor_or_a_list(inputs, kind):
    with pytest.raises(InputError) as refusal:
        TracedLayer.trace(nn.ReLU(), inputs)
    assert said(refusal.value) == (
        f"[ST300] the inputs are a {kind}\n  fix: give a tensor, or a list of the layer's arguments"
    )


def test_an_argument_that_no_program_can_have_is_refused():
    with pytest.raises(UnsupportedCall) as refusal:
        TracedLayer.trace(Calls(lambda _, x, y: x), [torch.ones(3), object()])
    assert said(refusal.value) == (
        "[ST204] a layer cannot be traced with an object\n"
        "  fix: give tensors, numbers, strings, None, or lists, tuples and dicts of these"
    )


def test_another_autocast_than_that_of_the_trace_is_refused():
    layer, x = nn.Linear(4, 2), torch.randn(3, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        outputs, traced = TracedLayer.trace(layer, [x])
        assert torch.equal(traced([x])[0], outputs)
        assert outputs.dtype == torch.bfloat16
    with pytest.raises(InputError) as refusal:
        traced([x])
    assert said(refusal.value) == (
        "[ST300] the layer was traced under autocast to bfloat16, and is called without autocast\n"
        "  fix: call it as it was traced, or trace it again"
    )


# ---- strategies


def test_a_strategy_can_be_set_before_and_after_runs():
    layer = Classifier().eval()
    _, traced = TracedLayer.trace(layer, batch(5))
    inputs = batch(3)
    wanted = list(layer(*inputs).values())
    for build in (None, BuildStrategy(), BuildStrategy(enable_inplace=True), None):
        for inference in (False, True):
            traced.set_strategy(build, ExecutionStrategy(inference_mode=inference))
            given = traced(inputs)
            assert all(map(torch.equal, given, wanted))
            assert given[0].is_inference() is inference


def test_what_is_no_strategy_is_refused():
    _, traced = TracedLayer.trace(nn.ReLU(), [torch.ones(3)])
    with pytest.raises(InputError) as refusal:
        traced.set_strategy(build_strategy={"enable_inplace": True})
    assert said(refusal.value) == (
        "[ST300] build_strategy is a dict\n  fix: give a `stator.static.BuildStrategy`"
    )


# ---- saving


def test_a_saved_program_is_the_traced_one(tmp_path):
    layer = Classifier().eval()
    _, traced = TracedLayer.trace(layer, batch(5))
    traced.save_inference_model(tmp_path / "model")
    inputs = batch(3)
    wanted = traced(inputs)
    assert all(map(torch.equal, stator.load(tmp_path / "model")(*inputs), wanted))
    executor = Executor("cpu")
    program, names, fetches = load_inference_model(tmp_path / "model", executor)
    assert names == ["x", "y"]
    feed = dict(zip(names, inputs, strict=True))
    given = executor.run(program, feed, fetches, return_numpy=False)
    assert all(map(torch.equal, given, wanted))


def test_chosen_feeds_and_fetches_leave_out_what_they_do_not_need(tmp_path):
    layer = Classifier().eval()
    _, traced = TracedLayer.trace(layer, batch(5))
    traced.save_inference_model(tmp_path / "model", feed=[0], fetch=[0])
    loaded = stator.load(tmp_path / "model")
    ops = [op.name for op in loaded.program().body.ops]
    assert "aten::cross_entropy_loss" not in ops
    assert "aten::linear" in ops
    x, y = batch(3)
    assert torch.equal(loaded(x)[0], layer(x, y)["scores"])


def test_a_fetch_without_the_feed_it_needs_is_named(tmp_path):
    _, traced = TracedLayer.trace(Classifier().eval(), batch(5))
    with pytest.raises(InputError) as refusal:
        traced.save_inference_model(tmp_path / "model", feed=[0], fetch=[0, 1])
    assert said(refusal.value) == (
        "[ST300] fetch 1 needs the input `y`, which is not among the feeds (`x`)\n"
        "  fix: add `y` to the feeds, or leave fetch 1 out"
    )
    assert not list(tmp_path.iterdir())


def first_of_both(_, x, y):
    if y.shape[0] > 3:
        x = x * 2
    return x, y


def test_a_check_of_an_input_that_is_not_fed_is_named(tmp_path):
    _, traced = TracedLayer.trace(Calls(first_of_both), [torch.ones(3), torch.ones(5)])
    with pytest.raises(InputError) as refusal:
        traced.save_inference_model(tmp_path / "model", feed=[0], fetch=[0])
    line = first_of_both.__code__.co_firstlineno + 1
    assert str(refusal.value) == (
        "[ST300] a check of the program needs the input `arg_1`, which is not among the feeds "
        f"(`arg_0`)\n  at {__file__}:{line}, in first_of_both\n"
        "        if y.shape[0] > 3:\n           ^\n  fix: add `arg_1` to the feeds"
    )


@pytest.mark.parametrize(
    ("feed", "fetch", "text"),
    [
        ([2], None, "feed has 2, and the layer has 2 inputs\n  fix: give positions from 0 to 1"),
        (
            None,
            [-1],
            "fetch has -1, and the layer has 2 outputs\n  fix: give positions from 0 to 1",
        ),
        (
            ["x"],
            None,
            "feed has 'x', and the layer has 2 inputs\n  fix: give positions from 0 to 1",
        ),
    ],
)
def test_a_position_that_is_not_there_is_refused(feed, fetch, text, tmp_path):
    _, traced = TracedLayer.trace(Classifier().eval(), batch(5))
    with pytest.raises(InputError) as refusal:
        traced.save_inference_model(tmp_path / "model", feed, fetch)
    assert said(refusal.value) == f"[ST300] {text}"


def test_two_traces_print_the_same(keep_text):
    texts = [str(TracedLayer.trace(Classifier(), batch(5))[1].program) for _ in range(2)]
    assert texts[0] == texts[1]
    keep_text(texts[0])
