"""Every text of an error is tested word for word: by an example, or by a test."""

import ast
import dataclasses

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import stator
from stator import InputSpec, errors
from stator.capture.raising import untraceable
from stator.containers import lists, set_operators
from stator.errors import StatorError
from stator.execute.arguments import flatten_inputs
from stator.export import saved_model
from stator.library import modules
from stator.library.float_arguments import record_with_floats
from stator.program.ir import Block, Value
from stator.program.program import Program
from stator.program.structure import ConstantValue, Leaf, Mapping, Sequence
from stator.program.structure import RuntimeList as ColumnsOf
from stator.program.types import NumberType
from stator.source.fence import check
from stator.source.scopes import survey
from stator.source.text import Source
from stator.staging.operators import Staging
from stator.state.session import Session
from stator.static.example_run import ExampleRun
from stator.static.inference_model import _not_fed
from stator.values.kinds import TensorKind
from stator.values.staged import Columns, StagedList, StagedSet
from tests.docs.refusals import refusals
from tests.docs.texts import MESSAGES, has_test, messages


@pytest.mark.slow
def test_the_messages_of_the_examples_are_word_for_word():
    made = messages()
    assert MESSAGES.read_text() == made, "if it is meant: python -m tests.docs.regenerate"


@pytest.mark.slow
def test_every_text_of_the_source_has_a_test_of_its_words():
    assert [f"{one.code} {one.problem}" for one in refusals() if not has_test(one)] == []


def said(attempt, *args, **kwargs):
    with pytest.raises(StatorError) as caught:
        attempt(*args, **kwargs)
    return caught.value.problem, caught.value.fix


# ---- what no example meets: what is inside something that is refused first, and the like


@pytest.mark.parametrize(
    ("line", "problem", "fix"),
    [
        ("async for y in x: pass", "`async for` cannot be converted",
         "iterate over a list or a tensor"),
        ("async with x: pass", "`async with` cannot be converted",
         "write it without `async`: a program runs from start to end"),
        ("await x", "`await` cannot be converted",
         "write it without `async`: a program runs from start to end"),
    ],
)  # fmt: skip
def test_asynchronous_code(line, problem, fix):
    (outer,) = ast.parse(f"async def f(x):\n    {line}\n").body
    tree = ast.parse("def f(x): pass").body[0]
    tree.body = outer.body
    assert said(check, Source(tree, "", __file__, "f", None, ()), survey(tree)) == (problem, fix)


def test_a_template_string():
    kind = type("TemplateStr", (ast.expr,), {"_fields": ()})
    tree = ast.parse("def f(x): pass").body[0]
    tree.body = [ast.Expr(kind(lineno=1, col_offset=0), lineno=1, col_offset=0)]
    assert said(check, Source(tree, "", __file__, "f", None, ()), survey(tree)) == (
        "a template string cannot be converted",
        "use an f-string",
    )


def test_an_error_that_is_not_the_users():
    error = untraceable(ValueError("no meta"))
    assert error.problem == "this cannot be traced: ValueError: no meta"
    assert error.fix == (
        "leave this code out with `stator.not_to_static`, or write it with other ops"
    )


def test_an_op_that_works_for_some_sizes_alone():
    recorder, errors_raised = Session(Staging).recorder, iter(["as it is", "the other way"])

    def run():
        recorder.sizes.asked.append("x.shape[0] == 3")
        raise RuntimeError(next(errors_raised))

    recorder.dispatching = "aten::view"
    assert said(recorder._retry_with_flipped_answers, run) == (
        "whether `aten::view` works here depends on x.shape[0] == 3: as it is",
        "give the sizes in an InputSpec, or make them equal",
    )


def test_a_higher_order_op():
    recorder = Session(Staging).recorder
    assert said(recorder.__torch_dispatch__, torch.ops.higher_order.cond, ()) == (
        "the higher-order op `cond` cannot be recorded",
        "call the plain function",
    )


def test_a_live_list_that_is_compared():
    items = StagedList()
    items.is_live = True
    items.columns = Columns(TensorKind(torch.float32, (), torch.device("cpu"), False), ())
    assert said(lists.refuse_identity, items) == (
        "a list of tensors that every run reads again is compared or searched",
        "compare the tensors themselves",
    )


def test_a_distributed_module():
    module = torch.nn.parallel.DistributedDataParallel.__new__(
        torch.nn.parallel.DistributedDataParallel
    )
    torch.nn.Module.__init__(module)
    assert said(modules.call_module, Session(Staging), module, (), {}) == (
        "DistributedDataParallel inside a program: what it exchanges with other processes cannot "
        "be captured",
        "convert the module inside it, and wrap or shard the result",
    )


def test_a_set_of_the_callers_that_is_given_a_captured_number():
    session = Session(Staging)
    number = session.recorder.fresh_size()
    assert said(set_operators.call_set_method, session, {1}, {1}.issubset, (number,), {}) == (
        "a set is searched for, or given, a captured value",
        "use a list",
    )


def test_a_set_that_no_staged_one_represents_is_changed_by_one_of_a_run():
    session = Session(Staging)
    table = StagedSet()
    recorder = session.recorder
    number = recorder.number("int", recorder.new_value(NumberType("int")))
    session.interpreter.call(table.add, number)
    assert said(set_operators.augment, session, {1}, "&", table) == (
        "`&=` of a set with data-dependent items",
        "use `add` and `discard`",
    )


class Asking(torch.nn.Module):
    def forward(self, x):
        raise TypeError("expected a number, not SymInt")


class Counting(torch.nn.Module):
    count = 0

    def forward(self, x):
        self.count = self.count + 1
        return x


def test_a_layer_that_torch_cannot_trace():
    assert said(stator.TracedLayer.trace, Asking(), [torch.ones(2)]) == (
        "torch cannot trace this: TypeError: expected a number, not an int of the run",
        "use `stator.to_static`, or write it with other ops",
    )


def test_a_layer_that_changes_itself():
    assert said(stator.TracedLayer.trace, Counting(), [torch.ones(2)]) == (
        "the call changes `count` of the layer, which a traced program would not do",
        "keep tensors in registered buffers and write them in place (`copy_`), or use "
        "`stator.to_static`",
    )


def test_an_op_of_a_program_by_hand_that_torch_cannot_record():
    def written():
        with stator.static.program_guard(stator.static.Program()):
            x = stator.static.data("x", [2], "float32")
            torch._nested_tensor_from_tensor_list([x, x])

    assert said(written) == (
        "torch cannot record this: UnsupportedOperatorException: "
        "aten._nested_tensor_from_tensor_list.default",
        "write it with other ops",
    )


def test_a_tensor_that_an_example_run_has_not_seen():
    run = ExampleRun.__new__(ExampleRun)
    run.reals = {}
    with FakeTensorMode():
        tensor = torch.ones(2)
    assert said(ExampleRun.real_of, run, tensor) == (
        "a tensor was made by code that the recorder cannot see",
        "avoid `.data` and raw storage",
    )


def test_an_op_that_torch_cannot_trace_with_open_sizes():
    run = ExampleRun.__new__(ExampleRun)
    run.dispatching = "aten::view"

    def fail():
        raise RuntimeError("no meta")

    assert said(ExampleRun._retry_with_flipped_answers, run, fail) == (
        "torch cannot trace `aten::view` with open sizes: no meta",
        "use `stator.to_static`",
    )


def test_an_input_that_is_used_and_not_fed():
    value = Value("x", NumberType("int"))
    program = Program("p", (value,), (), Block(), ConstantValue(None), ConstantValue(None))
    error = _not_fed(program, value, [], [], lambda _: False)
    assert error.problem == "the program uses the input `x`, which is not among the feeds (none)"
    assert error.fix == "add `x` to the feeds"


def test_a_dataclass_in_a_spec():
    @dataclasses.dataclass
    class Pair:
        first: object

    static = stator.to_static(lambda pair: pair.first, input_spec=[Pair(InputSpec([2]))])
    assert said(static, Pair(torch.ones(2))) == (
        "pair is a dataclass in the input_spec, which only `save` can take",
        "give the spec to `stator.save`, or pass its fields one by one",
    )


def test_a_rewrite_that_does_not_exist():
    problem, fix = said(stator.set_code_level, "everything")
    assert problem == "there is no rewrite pass 'everything' to show"
    assert fix.startswith("give one of all, sets, generators, jumps, contexts, ")


def test_a_result_that_no_file_can_hold(tmp_path):
    path = tmp_path / "model"
    assert said(stator.save, lambda x: (x, said), path, input_spec=[InputSpec([2])]) == (
        "an input or a result of the program is a function, which a file cannot hold",
        "return tensors, numbers, strings, and lists, tuples or dicts of these",
    )


def test_programs_that_are_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(saved_model, "TEXT_LIMIT", 10)
    problem, fix = said(stator.save, lambda x: x, tmp_path / "model", input_spec=[InputSpec([2])])
    size = problem.split()[3]
    assert problem == f"the programs take {size} bytes, more than a reader allows for"
    assert size.isdigit()
    assert fix == "save fewer methods in one model, or loop where the same code is repeated"


def test_a_file_that_is_nested_too_deeply(tmp_path, monkeypatch):
    def decode(*_, **__):
        raise RecursionError

    path = tmp_path / "model"
    stator.save(lambda x: x, path, input_spec=[InputSpec([2])])
    monkeypatch.setattr(saved_model, "decode_contents", decode)
    assert said(stator.load, path) == (
        f"{path}.stator is damaged: it is nested too deeply",
        errors.FormatError.otherwise,
    )


def test_a_model_without_forward_is_no_inference_model(tmp_path):
    path = tmp_path / "model"

    class Coder(torch.nn.Module):
        def encode(self, x):
            return x + 1

    stator.save(Coder(), path, methods={"encode": [InputSpec([2])]})
    executor = stator.static.Executor("cpu")
    assert said(stator.static.load_inference_model, path, executor) == (
        f"the model at {path} has no method `forward`",
        "save it with one, or use `stator.load`",
    )


def test_structures_that_no_program_has():
    assert said(flatten_inputs, ConstantValue(None), (), {}, types=())[0] == (
        "an input structure is a pair: a tuple of arguments and a dict of them"
    )
    listed = Sequence("tuple", (Sequence("tuple", (ColumnsOf(Leaf(0)),)), Mapping((), ())))
    assert said(flatten_inputs, listed, ([1],), {}, types=[NumberType("int")])[0] == (
        "a column of a list has the type int"
    )


def test_no_message_has_an_address():
    assert " at 0x" not in MESSAGES.read_text()
    assert "Staged" not in MESSAGES.read_text()


class Hooked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Identity()
        self.inner.register_full_backward_hook(lambda *_: None)

    def forward(self, x):
        chosen = x if x.sum() > 0 else None
        return self.inner(chosen)


class Plain(Hooked):
    def forward(self, x):
        return self.inner(x)


def test_a_module_with_backward_hooks(tmp_path):
    assert said(stator.to_static(Hooked()), torch.ones(2)) == (
        "Identity has backward hooks, and takes or returns a value that depends on the path taken",
        "remove the hooks",
    )
    assert said(stator.save, Plain(), tmp_path / "m", input_spec=[InputSpec([2])]) == (
        "Identity has backward hooks, which are Python: a saved model has none",
        "remove them before saving",
    )


def test_a_function_that_has_no_program_to_view(tmp_path):
    def fresh(x):
        return x

    assert said(stator.debug.view, stator.to_static(fresh), tmp_path / "page.html") == (
        "fresh has not been captured yet: there is no program to view",
        "call it once, or use `stator.explain` with arguments for it",
    )


def test_a_function_of_torch_without_an_op_of_its_name_is_refused():
    recorder = Session(Staging).recorder
    number = recorder.sizes.create_unbacked_symfloat()
    assert said(record_with_floats, recorder, torch.clear_autocast_cache, (number,), {}) == (
        "`clear_autocast_cache` needs the value of a captured number",
        "compute it with other ops",
    )
