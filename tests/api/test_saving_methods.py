"""Several methods, both modes, chosen outputs, properties: what one saved model can hold."""

import collections
import copy
import dataclasses
import json
import pickle

import pytest
import torch

import stator
from stator import InputSpec
from stator.errors import CaptureError, SpecMismatch
from stator.export.files import ONNX_PRODUCER
from tests.said import said

ANY = InputSpec([None, 2], name="x")


class Coder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 3)
        self.outer = torch.nn.Linear(3, 2)
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x):
        return self.decode(self.encode(x))

    def encode(self, x):
        return self.drop(torch.tanh(self.inner(x)))

    def decode(self, code):
        return self.outer(code)


METHODS = {"forward": [ANY], "encode": [ANY], "decode": [InputSpec([None, 3])]}


def saved(model, path, *args, **options):
    stator.save(model, path / "model", *args, **options)
    return stator.load(path / "model")


def problem_of(call, *args, **options):
    with pytest.raises(stator.StatorError) as caught:
        call(*args, **options)
    return said(caught.value)


# ---- methods


def test_methods_of_one_model_share_its_weights(tmp_path):
    model = Coder().eval()
    loaded = saved(model, tmp_path, methods=METHODS)
    x = torch.randn(4, 2)
    code = loaded.encode(x)
    assert torch.equal(code, model.encode(x))
    assert torch.equal(loaded.decode(code), model.decode(code))
    assert torch.equal(loaded(x), model(x))
    with torch.no_grad():
        loaded.inner.weight.zero_()
        loaded.inner.bias.zero_()
    assert torch.equal(loaded.encode(x), torch.zeros(4, 3))
    assert list(loaded.state_dict()) == list(model.state_dict())


def test_weights_are_stored_once_however_many_methods_there_are(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(100, 100))
    spec = [InputSpec([None, 100])]
    model.more = lambda x: model.forward(x) + 1
    stator.save(model, tmp_path / "model", methods={"forward": spec, "more": spec})
    assert (tmp_path / "model.safetensors").stat().st_size < 1.1 * 4 * 100 * 101


def test_a_method_can_be_saved_without_forward(tmp_path):
    loaded = saved(Coder().eval(), tmp_path, methods={"encode": [ANY]})
    assert loaded.encode(torch.ones(1, 2)).shape == (1, 3)
    assert problem_of(loaded, torch.ones(1, 2)) == (
        "[ST301] this model was saved without a method 'forward'; it has encode\n"
        "  fix: call one that it has, or save it with this one"
    )
    with pytest.raises(AttributeError, match="no attribute 'decode'"):
        _ = loaded.decode


class Found(Coder):
    @stator.to_static(input_spec=[ANY])
    def encode(self, x):
        return super().encode(x) * 2

    @stator.to_static
    def decode(self, code):
        return super().decode(code)


def test_every_static_method_with_a_spec_is_found(tmp_path):
    model = Found().eval()
    loaded = saved(model, tmp_path, [ANY])
    x = torch.randn(2, 2)
    assert torch.equal(loaded.encode(x), model.encode(x))
    assert torch.equal(loaded(x), model(x))
    assert sorted(loaded._stator_methods) == ["encode", "forward"]  # decode has no spec


def test_a_model_whose_forward_has_no_spec_is_saved_with_its_other_methods(tmp_path):
    model = Found().eval()
    loaded = saved(model, tmp_path)
    assert sorted(loaded._stator_methods) == ["encode"]


def test_a_method_made_static_on_the_instance_is_found(tmp_path):
    model = Coder().eval()
    model.encode = stator.to_static(model.encode, [ANY])
    assert sorted(saved(model, tmp_path, [ANY])._stator_methods) == ["encode", "forward"]


def test_equal_programs_are_stored_once(tmp_path):
    class Twice(torch.nn.Module):
        def forward(self, x):
            return x + 1

        def other(self, x):
            return x + 1

    saved(Twice(), tmp_path, methods={"forward": [ANY], "other": [ANY]})
    programs = json.loads((tmp_path / "model.stator").read_text())["programs"]
    assert list(programs) == ["forward", "other"]  # they have names of their own
    saved(Twice(), tmp_path, [ANY])
    assert list(json.loads((tmp_path / "model.stator").read_text())["programs"]) == ["forward"]


def test_wrong_methods_are_refused_by_their_texts(tmp_path):
    save, model, path = stator.save, Coder(), tmp_path / "model"
    assert problem_of(save, model, path, [ANY], methods=METHODS) == (
        "[ST301] save takes input_spec or methods, not both\n"
        "  fix: give each method its spec: methods={'forward': [...]}"
    )
    assert problem_of(save, model, path, methods={"no": [ANY]}) == (
        "[ST301] a Coder has no method 'no' to save\n  fix: name its own methods"
    )
    assert problem_of(save, model, path, methods={"inner": [ANY]}) == (
        "[ST301] a Coder has no method 'inner' to save\n  fix: name its own methods"
    )
    assert problem_of(save, torch.sin, path, methods=METHODS) == (
        "[ST301] a builtin_function_or_method has no methods to save\n"
        "  fix: pass a module, or leave methods out"
    )
    assert not list(tmp_path.iterdir())


# ---- modes


def test_dropout_and_batch_norm_follow_the_mode(tmp_path):
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Dropout(0.5))
    loaded = saved(model, tmp_path, [ANY])
    x = torch.randn(8, 2)
    for training in (True, False, True):
        model.train(training)
        loaded.train(training)
        torch.manual_seed(1)
        want = model(x)
        torch.manual_seed(1)
        assert torch.equal(loaded(x), want)
    assert torch.equal(loaded.get_buffer("0.running_var"), model[0].running_var)


class Says(torch.nn.Module):
    def forward(self, x):
        return x + 1, "training" if self.training else "evaluating"


def test_modes_that_differ_only_in_a_constant_result_are_told_apart(tmp_path):
    loaded = saved(Says(), tmp_path, [ANY])
    assert loaded.train()(torch.ones(1, 2))[1] == "training"
    assert loaded.eval()(torch.ones(1, 2))[1] == "evaluating"


def test_constants_of_the_two_modes_are_told_apart(tmp_path):
    tables = {True: torch.tensor([0.0]), False: torch.tensor([-0.0])}

    class Table(torch.nn.Module):
        def forward(self, x):
            return x * tables[self.training]

    loaded = saved(Table(), tmp_path, [ANY])
    for training in (True, False):
        got = loaded.train(training)(torch.ones(1, 2))
        assert got.signbit().tolist() == [[not training] * 2]


def test_a_constant_does_not_take_the_name_of_a_buffer(tmp_path):
    class Named(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("constant_0", torch.tensor(7.0))
            self.table = [torch.tensor(3.0)]

        def forward(self, x):
            return x * self.table[0]

    loaded = saved(Named(), tmp_path, [ANY])
    assert loaded(torch.ones(1, 2)).tolist() == [[3, 3]]
    assert loaded.constant_0.item() == 7


def test_a_mode_that_cannot_be_captured_is_refused_with_the_reason(tmp_path):
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(2)).eval()
    loaded = saved(model, tmp_path, [InputSpec([1, 2])])
    assert torch.equal(loaded(torch.ones(1, 2)), model(torch.ones(1, 2)))
    loaded.train()
    assert problem_of(loaded, torch.ones(1, 2)) == (
        "[ST301] `forward` of this model could not be captured in train mode: Expected more than "
        "1 value per channel when training, got input size torch.Size([1, 2])\n"
        "  fix: call `.eval()`, or save it again"
    )


# ---- specs


def test_the_captured_call_gives_the_spec(tmp_path):
    model = stator.to_static(Coder().eval())
    x = torch.randn(4, 2)
    model(x)
    loaded = saved(model, tmp_path)
    assert torch.equal(loaded(x), model(x))
    assert problem_of(loaded, torch.ones(3, 2)) == (
        "[ST301] x must be a tensor f32[4, 2], not f32[3, 2]: its size 0 is 3, not 4"
    )


def test_a_call_by_keyword_gives_the_spec(tmp_path):
    @stator.to_static
    def f(x, *, scale, parts):
        return x * scale + parts["a"]

    args = {"scale": 2.0, "parts": {"a": torch.ones(2)}}
    want = f(torch.ones(2), **args)
    assert torch.equal(saved(f, tmp_path)(torch.ones(2), **args), want)


def test_one_call_in_both_modes_is_one_spec(tmp_path):
    model = stator.to_static(Coder())
    x = torch.randn(4, 2)
    model(x)
    model.eval()
    model(x)
    assert torch.equal(saved(model, tmp_path)(x), model(x))


def test_several_captured_calls_are_listed(tmp_path):
    @stator.to_static
    def f(x, k=2):
        return x * k

    f(torch.ones(3))
    f(torch.ones(4))
    f(torch.ones(4, dtype=torch.int64), k=[1, {"a": torch.ones(1)}][0])
    assert problem_of(stator.save, f, tmp_path / "model") == (
        "[ST301] `save` needs an input_spec: `f` has none, and was captured for 3 types of calls:\n"
        "    (float32[3])\n"
        "    (float32[any])\n"
        "    (int64[4], k=1)\n"
        "  fix: pass input_spec=[...] for one of them"
    )


# ---- outputs


Pair = collections.namedtuple("Pair", "first second")


def four(x):
    y = torch.sin(x)
    return {"a": x + 1, "b": [y, torch.cos(y)], "c": Pair(x * 2, torch.exp(x))}


@pytest.mark.parametrize(
    ("output_spec", "keep", "gone"),
    [
        (["a"], lambda full: {"a": full["a"]}, ["sin", "cos", "exp"]),
        (["b"], lambda full: {"b": full["b"]}, ["exp"]),
        ([("b", 1)], lambda full: {"b": [full["b"][1]]}, ["exp"]),
        (["a", ("b", 0)], lambda full: {"a": full["a"], "b": [full["b"][0]]}, ["cos", "exp"]),
        ([("c", "second")], lambda full: {"c": (full["c"].second,)}, ["sin", "cos"]),
    ],
)
def test_only_the_outputs_of_the_spec_are_kept_and_computed(tmp_path, output_spec, keep, gone):
    loaded = saved(four, tmp_path, [ANY], output_spec=output_spec)
    x = torch.randn(2, 2)
    want, got = keep(four(x)), loaded(x)
    assert str(got).replace("Pair(second=", "(").replace(")}", ",)}") == str(want) or str(
        got
    ) == str(want)
    names = {op.name for op in loaded.program().body.ops}
    assert not names & {f"aten::{name}" for name in gone}


def test_a_record_keeps_the_names_of_the_fields_that_are_kept(tmp_path):
    got = saved(four, tmp_path, [ANY], output_spec=[("c", "second")])(torch.zeros(1, 2))
    assert got["c"]._fields == ("second",)


def test_output_specs_of_methods_are_given_by_name(tmp_path):
    class Two(torch.nn.Module):
        def forward(self, x):
            return x + 1, x + 2

        def more(self, x):
            return x + 3, x + 4

    loaded = saved(
        Two(), tmp_path, methods={"forward": [ANY], "more": [ANY]}, output_spec={"more": [1]}
    )
    assert len(loaded(torch.ones(1, 2))) == 2
    (got,) = loaded.more(torch.ones(1, 2))
    assert got.tolist() == [[5, 5]]


def test_wrong_output_specs_are_refused_by_their_texts(tmp_path):
    def problem(output_spec, model=four, **options):
        given = {} if "methods" in options else {"input_spec": [ANY]}
        return problem_of(
            stator.save, model, tmp_path / "m", output_spec=output_spec, **given, **options
        )

    assert problem([]) == ("[ST301] output_spec names no output\n  fix: name one, or leave it out")
    assert problem(["z"]) == (
        "[ST301] the result has no 'z'; it has 'a', 'b', 'c'\n"
        "  fix: name outputs that are there in output_spec"
    )
    assert problem([("b", 2)]) == (
        "[ST301] the result['b'] has no 2; it has 0, 1\n"
        "  fix: name outputs that are there in output_spec"
    )
    assert problem([("a", 0)]) == (
        "[ST301] the result['a'] has no parts for 0 of the output_spec to name\n"
        "  fix: name the whole of it"
    )
    assert problem(["a"], Coder(), methods={"forward": [ANY]}) == (
        "[ST301] with methods, output_spec is a dict of lists, one for each method\n"
        "  fix: write output_spec={'forward': [...]}"
    )
    assert problem({"encode": [0]}, Coder(), methods={"forward": [ANY]}) == (
        "[ST301] output_spec names the method 'encode', which is not saved\n"
        "  fix: name one of forward"
    )


# ---- properties


PROPERTIES = {
    "classes": ["cat", "dog"], "scale": 0.5, "steps": 3, "deep": {"none": None, "on": True},
}  # fmt: skip


def test_properties_are_saved_with_the_model(tmp_path):
    loaded = saved(Coder(), tmp_path, [ANY], properties=PROPERTIES)
    assert loaded.properties == PROPERTIES
    assert type(loaded.properties["scale"]) is float


def test_a_property_that_is_no_plain_value_is_refused_by_its_text(tmp_path):
    assert problem_of(stator.save, Coder(), tmp_path / "m", [ANY], properties={"x": object()}) == (
        "[ST400] an object cannot be saved as metadata\n"
        "  fix: give numbers, strings, None, lists, and dicts with strings as keys"
    )
    assert not list(tmp_path.iterdir())


# ---- again


def test_a_loaded_model_trains_and_is_saved_again(tmp_path):
    model = Coder()
    loaded = saved(model, tmp_path, methods=METHODS, properties=PROPERTIES)
    optimizer = torch.optim.Adam(loaded.parameters())
    seen = []
    loaded.register_forward_hook(lambda module, args, result: seen.append(result.shape))
    x = torch.randn(4, 2)
    for _ in range(3):
        optimizer.zero_grad()
        loaded(x).square().sum().backward()
        optimizer.step()
    assert len(seen) == 3
    loaded.inner.weight.requires_grad_(False)
    again = saved(loaded.eval(), tmp_path, properties={"steps": 4})
    assert torch.equal(again(x), loaded(x))
    assert torch.equal(again.encode(x), loaded.encode(x))
    assert not again.training
    assert not again.inner.weight.requires_grad
    assert again.properties == PROPERTIES | {"steps": 4}
    assert list(again.state_dict()) == list(model.state_dict())
    assert not torch.equal(again(x), model.eval()(x))


def test_constants_and_tied_weights_survive_a_second_save(tmp_path):
    table = torch.tensor([1.0, 2.0])

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one = torch.nn.Linear(2, 2, bias=False)
            self.two = torch.nn.Linear(2, 2, bias=False)
            self.two.weight = self.one.weight

        def forward(self, x):
            return self.two(self.one(x)) * table

    model = Tied()
    first = saved(model, tmp_path, [ANY])
    stator.save(first, tmp_path / "second")
    second = stator.load(tmp_path / "second")
    x = torch.randn(3, 2)
    assert torch.equal(second(x), model(x))
    assert second.one.weight is second.two.weight
    assert (tmp_path / "second.stator").read_bytes() == (tmp_path / "model.stator").read_bytes()
    assert (tmp_path / "second.safetensors").read_bytes() == (
        tmp_path / "model.safetensors"
    ).read_bytes()


def test_saving_again_keeps_all_outputs(tmp_path):
    loaded = saved(four, tmp_path, [ANY])
    assert problem_of(stator.save, loaded, tmp_path / "m", output_spec=["a"]) == (
        "[ST301] a loaded model keeps all its outputs when it is saved again\n"
        "  fix: leave output_spec out, or give an input_spec too"
    )


def test_a_save_that_is_refused_leaves_the_onnx_files_of_an_earlier_one(tmp_path):
    loaded, file = saved(four, tmp_path, [ANY]), tmp_path / "m.onnx"
    file.write_bytes(ONNX_PRODUCER)
    with pytest.raises(SpecMismatch):
        stator.save(loaded, tmp_path / "m", output_spec=["a"])
    assert file.exists()
    stator.save(loaded, tmp_path / "m")
    assert not file.exists()


def test_a_loaded_model_can_be_captured_for_another_spec(tmp_path):
    model = Coder().eval()
    loaded = saved(model, tmp_path, [ANY])
    again = saved(loaded, tmp_path, [InputSpec([3, 2])])
    x = torch.randn(3, 2)
    assert torch.equal(again(x), model(x))


def test_a_loaded_model_can_be_a_child_of_a_static_module(tmp_path):
    class Around(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x) + 1

    model = Coder().eval()
    around = Around(saved(model, tmp_path, [ANY])).eval()
    again = saved(around, tmp_path, [ANY])
    x = torch.randn(3, 2)
    assert torch.equal(again(x), model(x) + 1)


# ---- copies and moves


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_loaded_model_can_be_copied_and_pickled(tmp_path, copied):
    loaded = saved(Coder().eval(), tmp_path, methods=METHODS)
    x = torch.randn(2, 2)
    loaded(x)
    other = copied(loaded)
    assert torch.equal(other(x), loaded(x))
    with torch.no_grad():
        other.outer.bias.add_(1)
    assert not torch.equal(other(x), loaded(x))
    assert torch.equal(other.encode(x), loaded.encode(x))


def test_a_moved_dtype_is_refused_by_its_text_and_moving_back_helps(tmp_path):
    loaded = saved(Coder().eval(), tmp_path, [ANY])
    x = torch.randn(2, 2)
    want = loaded(x)
    loaded.double()
    text = (
        "[ST301] `inner.weight` is float64 now, and the program was captured for float32\n"
        "  fix: move the model that was saved to this dtype, and save it again"
    )
    assert problem_of(loaded, x) == text
    assert problem_of(stator.save, loaded, tmp_path / "m") == text
    assert torch.equal(loaded.float()(x), want)


def test_a_model_moved_before_it_is_saved_runs_in_its_dtype(tmp_path):
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        model = Coder().eval().to(dtype)
        loaded = saved(model, tmp_path, [InputSpec([None, 2], dtype)])
        x = torch.randn(2, 2, dtype=dtype)
        assert torch.equal(loaded(x), model(x))


SCALE = torch.ones(1, 2)


class Places(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.scale + torch.arange(x.shape[0], device=x.device)[:, None]


def test_a_model_moved_to_another_device_makes_its_tensors_there(tmp_path):
    loaded = saved(Places(), tmp_path, [ANY]).to("meta")
    assert loaded(torch.ones(3, 2, device="meta")).device.type == "meta"
    loaded.to_empty(device="cpu")
    assert loaded(torch.ones(3, 2)).device.type == "cpu"


def test_a_function_runs_where_its_arguments_are(tmp_path):
    loaded = saved(lambda x: x + torch.arange(2, device=x.device), tmp_path, [ANY])
    assert loaded(torch.ones(3, 2, device="meta")).device.type == "meta"
    assert loaded(torch.ones(1, 2)).tolist() == [[1, 2]]


def test_a_model_that_is_half_moved_is_refused_by_its_text(tmp_path):
    loaded = saved(Coder().eval(), tmp_path, [ANY])
    loaded.inner.to("meta")
    assert problem_of(loaded, torch.ones(1, 2)) == (
        "[ST301] `outer.bias` is on cpu, and `inner.bias` on meta\n"
        "  fix: move the whole model to one device"
    )


def test_an_argument_on_another_device_is_refused_by_its_text(tmp_path):
    there = torch.ones(1, 2, device="meta")
    loaded = saved(Places(), tmp_path, [InputSpec([None, 2], "float32", "rows")])
    assert problem_of(loaded, there) == (
        "[ST301] x (`rows` in its spec) is on meta, and the model takes it on cpu\n"
        "  fix: pass it there, with `.to('cpu')`, or move the model"
    )
    assert problem_of(loaded.to("meta"), torch.ones(1, 2)) == (
        "[ST301] x (`rows` in its spec) is on cpu, and the model takes it on meta\n"
        "  fix: pass it there, with `.to('meta')`, or move the model"
    )


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x, scale):
        return x * self.weight * scale


def test_a_number_in_a_tensor_may_stay_on_the_cpu(tmp_path):
    loaded = saved(Scaled().eval(), tmp_path, [ANY, InputSpec([])]).to("meta")
    result = loaded(torch.ones(1, 2, device="meta"), torch.tensor(3.0))
    assert (result.device.type, result.shape) == ("meta", (1, 2))


def test_arguments_on_two_devices_are_refused_by_their_text(tmp_path):
    rows = InputSpec([None, 2])
    loaded = saved(lambda x, y: x + y, tmp_path, [rows, rows])
    assert problem_of(loaded, torch.ones(1, 2), torch.ones(1, 2, device="meta")) == (
        "[ST301] `x` is on cpu, and `y` on meta\n  fix: move them to one device"
    )


def test_each_tensor_of_a_list_is_on_the_device_of_the_model(tmp_path):
    def f(parts, x):
        total = torch.zeros_like(x)
        for part in parts:
            total = total + part
        return total * SCALE

    rows = InputSpec([None, 2])
    loaded = saved(f, tmp_path, [[rows, rows], rows])
    x = torch.ones(1, 2)
    assert torch.equal(loaded([x, x], x), f([x, x], x))
    assert problem_of(loaded, [x, x.to("meta")], x).startswith("[ST301] parts[1] is on meta")


def test_a_program_with_autocast_stays_on_its_device(tmp_path):
    def f(x):
        with torch.autocast("cpu", torch.bfloat16):
            return x @ x

    loaded = saved(f, tmp_path, [InputSpec([2, 2])])
    assert problem_of(loaded, torch.ones(2, 2, device="meta")) == (
        "[ST301] this program sets autocast for the device it was captured on, not for meta\n"
        "  fix: move the model that was saved to this device, and save it again"
    )


# ---- structures


@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    mask: torch.Tensor
    label: str = "none"


def test_every_kind_of_nested_input_is_taken_and_checked(tmp_path):
    def f(batch, pair, parts):
        return batch.x * batch.mask + pair.first, parts["a"][0] + pair.second, batch.label

    one = InputSpec([None])
    spec = [Batch(one, one, "train"), Pair(one, one), {"a": [one, (1, None)]}]
    loaded = saved(f, tmp_path, spec)
    t = torch.arange(3.0)
    args = (Batch(t, t + 1, "train"), Pair(t, t * 2), {"a": [t, (1, None)]})
    want, got = f(*args), loaded(*args)
    assert [str(item) for item in got] == [str(item) for item in want]
    wrong = (Batch(t, t + 1, "test"), *args[1:])
    assert problem_of(loaded, *wrong) == (
        "[ST301] batch.label must be 'train', as it was when the program was captured, not 'test'"
    )
    assert problem_of(loaded, t, *args[1:]) == (
        "[ST301] batch must be a dataclass Batch(x, mask, label), not f32[3]"
    )


def test_a_write_to_a_dataclass_that_is_given_is_refused_with_its_line(tmp_path):
    def f(batch):
        batch.x = batch.x + 1
        return batch.x

    one = InputSpec([None])
    with pytest.raises(CaptureError) as caught:
        stator.save(f, tmp_path / "model", [Batch(one, one)])
    assert caught.value.problem == (
        "a call changes `x` of a Batch, which is not part of a saved model"
    )
    assert caught.value.at.line == f.__code__.co_firstlineno + 1


def test_a_write_to_a_closure_variable_is_refused_with_its_line(tmp_path):
    count = 0

    def f(x):
        nonlocal count
        count = count + 1
        return x + count

    with pytest.raises(CaptureError) as caught:
        stator.save(f, tmp_path / "model", [ANY])
    assert caught.value.problem == (
        "a call changes `count`, a variable of an enclosing function, "
        "which is not part of a saved model"
    )
    assert caught.value.at.line == f.__code__.co_firstlineno + 2


# ---- bytes


def test_the_same_model_gives_the_same_bytes_and_other_weights_others(tmp_path):
    torch.manual_seed(0)
    model = Coder()
    for name in ("a", "b"):
        stator.save(copy.deepcopy(model), tmp_path / name, methods=METHODS)
    for ending in ("stator", "safetensors"):
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


@pytest.mark.parametrize(
    ("model", "training", "warned"),
    [
        (torch.nn.Dropout(0.5), True, True),
        (torch.nn.Dropout(0.5), False, False),
        (torch.nn.Linear(2, 2), True, False),  # the same in both modes
    ],
)
def test_a_model_that_is_saved_in_train_mode_is_warned_of(
    model, training, warned, tmp_path, caplog
):
    saved(model.train(training), tmp_path, [InputSpec([None, 2])])
    messages = [record.getMessage() for record in caplog.records if record.name == "stator"]
    expected = (
        "Dropout is saved in train mode, in which `forward` differs from eval mode (dropout, batch "
        "normalization), and the loaded model starts in train mode: call `.eval()` before saving, "
        "or on the loaded model"
    )
    assert messages == [expected] * warned


class Exporting(torch.nn.Module):
    def forward(self, x):
        return x * 2

    @torch.jit.export
    def score(self, x):
        return x.sum()


def test_a_method_marked_for_torchscript_that_is_not_saved_is_warned_of(tmp_path, caplog):
    spec = [InputSpec([None])]
    stator.save(Exporting(), tmp_path / "m", spec)
    assert warnings_in(caplog) == [
        "methods marked with torch.jit.export are saved only if they have a spec, so the saved "
        "model does not have `score`: pass methods={'score': [...], ...}"
    ]
    caplog.clear()
    stator.save(Exporting(), tmp_path / "m", methods={"forward": spec, "score": spec})
    assert warnings_in(caplog) == []


def joined(x):
    if x.sum() > 0:
        return torch.cat([x, x.unsqueeze(0)])
    if x.sum() < -9:
        raise ValueError("small")
    return x


def test_a_path_that_can_never_succeed_is_warned_of(tmp_path, caplog):
    stator.save(joined, tmp_path / "m", [InputSpec([3])])
    line = joined.__code__.co_firstlineno + 2
    assert warnings_in(caplog) == [
        f"test_saving_methods.py:{line} raises RuntimeError on every run that reaches it: Tensors "
        "must have same number of dimensions: got 1 and 2"
    ]


def warnings_in(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "stator"]
