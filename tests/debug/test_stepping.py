"""A stepper runs the program, stops where it is asked to, and shows the user's own names."""

import cProfile
import inspect
import zlib

import pytest
import torch

import stator
from stator.debug.stepping.history import is_same
from tests.debug.lines import differences, eager_lines, program_lines
from tests.zoo.whole import PROGRAMS


def scaled(value):
    twice = value * 2
    return twice + 1


def collatz(n):
    steps, seen = 0, []
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        seen.append(n)
        steps += 1
    result = scaled(n)
    return result, steps


def line_of(text, function=collatz):
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if text in line)


def stops_of(function, *args, go="next_line", at=()):
    """The stops of a run, as (why, text of the line, frame)."""
    stops = []

    def on_stop(frame):
        stops.append((frame.why, frame.line.source, frame))
        getattr(frame, go)()

    with stator.debug.step(function, on_stop) as stepper:
        for line in at:
            stepper.break_at(line)
        result = stepper(*args)
    return stops, result, stepper


def test_next_line_goes_through_the_lines_of_the_function_in_order():
    stops, result, _ = stops_of(collatz, torch.tensor(2))
    assert [(why, source) for why, source, _ in stops] == [
        ("line", "while n != 1:"),
        ("line", "if n % 2 == 0:"),
        ("line", "n = n // 2"),
        ("line", "seen.append(n)"),
        ("line", "while n != 1:"),
        ("line", "result = scaled(n)"),
        ("end", "return result, steps"),
    ]
    assert result == (torch.tensor(3), 1)


def test_variables_have_their_python_names_and_the_values_of_that_line():
    stops, _, _ = stops_of(collatz, torch.tensor(2))
    shown = [dict(frame.variables) for _, _, frame in stops]
    assert shown[0] == {"n": torch.tensor(2), "steps": 0, "seen": []}
    assert shown[4] == {"n": torch.tensor(1), "steps": 1, "seen": [torch.tensor(1)]}
    assert shown[-1]["result"] == 3


def test_step_stops_at_every_op_and_inside_called_functions():
    stops, _, _ = stops_of(collatz, torch.tensor(2), go="step")
    inside = [frame for _, source, frame in stops if source == "return twice + 1"]
    assert [frame.op.name for frame in inside] == ["aten::add.Tensor"]
    assert inside[0].variables == {"value": torch.tensor(1), "twice": torch.tensor(2)}
    assert [line.place.function for line in inside[0].where()] == ["collatz", "scaled"]
    assert inside[0].where()[0].source == "result = scaled(n)"


def test_over_runs_a_whole_loop():
    stops, _, _ = stops_of(collatz, torch.tensor(6), go="over")
    sources = [source for _, source, _ in stops]
    assert sources == ["while n != 1:", "result = scaled(n)", "return result, steps"]


def test_out_leaves_the_branch_and_then_the_loop():
    sources = []

    def on_stop(frame):
        sources.append(frame.line.source)
        frame.out()

    with stator.debug.step(collatz, on_stop) as stepper:
        stepper.break_at(line_of("n = 3 * n + 1"), when=lambda frame: frame.iterations == (1,))
        stepper(torch.tensor(3))
    assert sources == [
        "n = 3 * n + 1",
        "seen.append(n)",
        "result = scaled(n)",
        "return result, steps",
    ]


def test_a_breakpoint_stops_in_every_trip_that_comes_there():
    at = line_of("n = 3 * n + 1")
    stops, _, _ = stops_of(collatz, torch.tensor(6), go="resume", at=[at])
    assert [(why, frame.iterations, int(frame.variables["n"])) for why, _, frame in stops] == [
        ("breakpoint", (2,), 3),
        ("breakpoint", (4,), 5),
    ]


def test_a_breakpoint_on_a_call_stops_in_the_caller():
    stops, _, _ = stops_of(collatz, torch.tensor(1), go="resume", at=[line_of("= scaled(n)")])
    ((_, source, frame),) = stops
    assert source == "result = scaled(n)"
    assert frame.place.function == "collatz"
    assert frame.variables["steps"] == 0


def test_a_breakpoint_has_a_condition_as_text_or_as_a_function():
    seen = []
    with stator.debug.step(collatz, lambda f: seen.append(int(f.variables["n"]))) as stepper:
        stepper.break_at(line_of("seen.append"), when="n > 4 and steps < 5")
        stepper.break_at(
            "test_stepping.py", line_of("n = n // 2"), when=lambda f: f.iterations == (8,)
        )
        stepper(torch.tensor(6))
    assert seen == [10, 5, 16, 8, 2]
    assert [str(one) for one in stepper.breakpoints][0].endswith("when n > 4 and steps < 5")


def test_a_line_without_an_op_is_refused_with_the_lines_near_it():
    with stator.debug.step(collatz, lambda frame: None) as stepper:
        stepper.break_at(line_of("else:"))
        with pytest.raises(stator.StatorError) as caught:
            stepper(torch.tensor(6))
    first = line_of("def collatz")
    near = ", ".join(str(first + k) for k in (2, 3, 4, 6, 7))
    assert caught.value.problem == f"no op of the program comes from test_stepping.py:{first + 5}"
    assert caught.value.fix == f"lines near it that have ops: {near}"


def test_a_file_without_an_op_is_refused_with_the_files_there_are():
    with stator.debug.step(collatz, lambda frame: None) as stepper:
        stepper.break_at("elsewhere.py", 3)
        with pytest.raises(stator.StatorError) as caught:
            stepper(torch.tensor(6))
    assert caught.value.problem == "no op of the program comes from elsewhere.py"
    assert caught.value.fix == "name one of test_stepping.py"


def test_break_at_takes_a_line():
    with pytest.raises(stator.StatorError) as caught:
        stator.debug.step(collatz, lambda frame: None).break_at("collatz")
    assert caught.value.problem == "'collatz' is not a line"
    assert caught.value.fix == 'write break_at(12) or break_at("model.py", 12)'


def test_values_tells_what_a_variable_held_trip_by_trip():
    _, _, stepper = stops_of(collatz, torch.tensor(6), go="resume", at=[])
    at = line_of("seen.append")
    seen = stepper.values("n", line=at)
    assert [(one.iterations, int(one.value)) for one in seen][:3] == [
        ((1,), 3),
        ((2,), 10),
        ((3,), 5),
    ]
    assert str(seen[1]) == f"test_stepping.py:{at}, iteration 2: n = 10"
    steps = [(one.iterations, one.value) for one in stepper.values("steps") if one.is_after]
    assert steps == [((k,), k) for k in range(1, 9)]
    assert [int(one.value) for one in stepper.values("twice", function="scaled")] == [2]
    assert stepper.values("twice", function="collatz") == []


def test_values_keeps_copies_of_what_is_written_in_place():
    def filled(x):
        y = torch.zeros(2)
        y += x
        y += x
        return y

    _, _, stepper = stops_of(filled, torch.ones(2), go="resume")
    assert [one.value.tolist() for one in stepper.values("y")] == [[0, 0], [1, 1], [2, 2]]


def test_watch_stops_where_a_variable_has_changed():
    stops = []
    with stator.debug.step(collatz, stops.append) as stepper:
        stepper.watch("n")
        stepper(torch.tensor(4))
    assert [(frame.why, frame.changed, int(frame.variables["n"])) for frame in stops] == [
        ("watch", ("n",), 2),
        ("watch", ("n",), 1),
    ]


def test_only_remembered_names_can_be_watched():
    stepper = stator.debug.step(collatz, lambda frame: None, remember=["steps"])
    with pytest.raises(stator.StatorError) as caught:
        stepper.watch("n")
    assert caught.value.problem == "`n` is not remembered"
    assert caught.value.fix == "add 'n' to `remember`"


def test_a_name_that_no_path_needs_is_not_shown_with_what_another_path_left():
    def chosen(x):
        if x.sum() > 0:
            unused = 3
            y = x * unused
        else:
            y = x
        return y + 1

    stops, _, _ = stops_of(chosen, -torch.ones(2))
    assert [("unused" in frame.variables) for _, _, frame in stops] == [False] * len(stops)
    assert stops[-1][2].variables["y"].tolist() == [-1, -1]


def test_a_name_that_a_trip_overwrites_is_not_shown_as_it_was_before_the_loop():
    def looped(n):
        spare = 0
        total = n * 0
        while n > 0:
            total = total + n
            spare = 5
            total = total + spare
            n = n - 1
        return total

    stops, _, _ = stops_of(looped, torch.tensor(2))
    at = [frame.variables.get("spare") for _, s, frame in stops if s == "total = total + n"]
    assert at == [None, None]
    after = [frame.variables.get("spare") for _, s, frame in stops if s == "n = n - 1"]
    assert 0 not in after


def test_an_error_stops_at_the_op_that_raises():
    def picked(x, k):
        y = x * 2
        return y[k]

    stops = []
    with stator.debug.step(picked, stops.append) as stepper:
        stepper.break_at(line_of("return y[k]", picked))
        with pytest.raises(IndexError):
            stepper(torch.ones(2), torch.tensor(7))
    assert [frame.why for frame in stops] == ["breakpoint", "error"]
    assert isinstance(stops[1].error, IndexError)
    assert stops[1].variables["y"].tolist() == [2, 2]
    assert "raises IndexError: " in str(stops[1])


def test_what_a_callback_raises_is_not_caught_by_the_program():
    def guarded(x):
        try:
            if x.sum() > 0:
                raise ValueError("no")
        except Exception:  # noqa: BLE001  # as users write it
            x = x - 1
        return x

    def on_stop(frame):
        raise LookupError("mine")

    with stator.debug.step(guarded, on_stop) as stepper, pytest.raises(LookupError, match="mine"):
        stepper(torch.ones(2))


def test_a_static_function_is_stepped_through_where_it_is_called():
    static = stator.to_static(collatz)
    static(torch.tensor(3))
    stops = []
    with stator.debug.step(static, stops.append):
        result = static(torch.tensor(3))
    assert len(stops) == 1
    assert result == static(torch.tensor(3)) == (torch.tensor(3), 7)
    assert len(stops) == 1


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.Linear(3, 3)
        self.gate = torch.nn.Dropout(0.5)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x, n):
        h = torch.zeros_like(x)
        for _ in range(n):
            h = torch.tanh(self.cell(h) + x)
            if h.sum() > 0:
                h = self.gate(h)
        self.calls += 1
        return h


def test_gradients_random_numbers_and_buffers_are_those_of_eager():
    torch.manual_seed(0)
    models = [Recurrent(), Recurrent()]
    models[1].load_state_dict(models[0].state_dict())
    x, n = torch.randn(2, 3), torch.tensor(3)
    torch.manual_seed(1)
    models[0](x, n).square().sum().backward()
    torch.manual_seed(1)
    with stator.debug.step(models[1], lambda frame: frame.step()) as stepper:
        models[1](x, n).square().sum().backward()
    for one, other in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert torch.equal(one.grad, other.grad)
    assert models[1].calls == 1
    assert "forward" not in vars(models[1])
    assert len(stepper.values("h", line=line_of("if h.sum() > 0", Recurrent.forward))) == 3


def test_a_loaded_model_is_stepped_through_by_line_with_its_inputs(tmp_path):
    stator.save(collatz, tmp_path / "m", input_spec=[stator.InputSpec([], "int64", "n")])
    loaded = stator.load(tmp_path / "m")
    stops = []
    with stator.debug.step(loaded, stops.append) as stepper:
        stepper.break_at(line_of("n = 3 * n + 1"))
        assert loaded(torch.tensor(6))[1] == 8
    assert [frame.iterations for frame in stops] == [(2,), (4,)]
    assert stops[0].variables == {"n": torch.tensor(6)}
    assert torch.tensor(3) in stops[0].values.values()
    assert loaded(torch.tensor(6))[1] == 8


def test_a_function_that_calls_itself_shows_its_own_activations():
    def halvings(n):
        if n <= 1:
            return 0
        return 1 + halvings(n // 2)

    stops = []
    with stator.debug.step(halvings, stops.append) as stepper:
        stepper.break_at(line_of("if n <= 1", halvings))
        assert stepper(torch.tensor(9)) == 3
    assert [int(frame.variables["n"]) for frame in stops] == [9, 4, 2, 1]
    assert [len(frame.where()) for frame in stops] == [1, 2, 3, 4]


def test_a_call_that_is_not_the_steppers_is_warned_about():
    text = "nothing was stepped through: call the stepper, not `collatz` itself"
    with pytest.warns(UserWarning, match=text), stator.debug.step(collatz, lambda frame: None):
        collatz(3)


def test_what_is_no_function_is_refused():
    with pytest.raises(stator.StatorError) as caught:
        stator.debug.step(42)
    assert caught.value.problem == "an int cannot be stepped through"
    assert caught.value.fix == "pass a function, a method, an nn.Module or a loaded model"


def test_values_are_the_same_to_the_bit_but_for_nan():
    nan = float("nan")
    assert is_same(torch.tensor([1.0, nan]), torch.tensor([1.0, nan]))
    assert is_same([1, {"a": nan}], [1, {"a": nan}])
    assert not is_same(torch.tensor(1), torch.tensor(1.0))
    assert not is_same(1, True)
    assert not is_same([1], [1, 2])


QUICK = ("loops.while_else", "growing.reset_list_in_branch", "exceptions.try_break_continue")
CHANGES_BEFORE_ITS_FIRST_OP = {  # a line that changes an object in Python, and then has an op
    "exceptions.with_break_inside", "objects.mydict_missing_branch", "tables.counts_by_default",
    "objects.while_cond_side_effect", "tables.captured_key_that_is_missing",
    "tables.default_read_in_a_branch", "effects.own_context_manager",
}  # fmt: skip
# minutes each; two are not shown right: a heap between two steps of `heapq`, and a variable of a
# helper function that another loop calls again
LONG = (
    "algorithms.", "nested.shallow_copies", "nested.two_names_for_one_item",
    "nested.deques_and_defaults_in_a_list", "nested.changed_by_a_loop_variable",
    "kept_exceptions.caught_exception_is_one_of_many",  # an old value after a handler
)  # fmt: skip
# an old value of a loop variable is shown at a line after an inner loop
OLD_VARIABLE = {"loops.break_with_else_over_rows", "nested.tensors_with_gradients_in_rows"}
OUTSIDE = {"outside.closure_rebound_between_calls", "outside.torch_random_numbers"}
SHOWN = [
    one
    for one in PROGRAMS
    if not (one.refused or one.pending or one.name.startswith(LONG))
    and one.name not in CHANGES_BEFORE_ITS_FIRST_OP | OUTSIDE | OLD_VARIABLE
]


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(one, id=one.name, marks=() if one.name in QUICK else (pytest.mark.slow,))
        for one in SHOWN
        if zlib.crc32(one.name.encode()) % 10 == 0 or one.name in QUICK
    ],
)
@pytest.mark.filterwarnings("ignore:nothing was stepped through")
def test_names_hold_what_they_hold_in_eager(program, capsys):
    file = inspect.getsourcefile(program.target)
    for call in program.calls[:2]:
        if program.reset:
            program.reset()
        eager = eager_lines(program.make(), file, *call)
        shown = program_lines(program.make(), *call)
        assert list(differences(eager, shown)) == []


def grown(x, n):
    kept = []
    while n > 0:
        kept.append(x * n)
        if n == 1:
            kept[0].add_(1)
        n = n - 1
    return kept


def test_the_history_of_a_list_copies_an_item_once_and_again_when_it_was_written_to():
    _, result, stepper = stops_of(grown, torch.ones(1), torch.tensor(3), go="resume")
    held = [one.value for one in stepper.values("kept") if len(one.value) > 1]
    assert held[0][0] is held[1][0]
    assert [int(one[0]) for one in held] == [3] * (len(held) - 1) + [4]
    assert is_same(held[-1], result)


def test_a_profiler_goes_on_after_stepping():
    profiler = cProfile.Profile()
    with profiler:
        stops_of(collatz, torch.tensor(2))
        scaled(torch.tensor(2))
    profiler.create_stats()
    assert any(name == scaled.__name__ for _, _, name in profiler.stats)
