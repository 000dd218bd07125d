"""The backend `native` does what the interpreter does, in the same process."""

from __future__ import annotations

import contextlib
import gc
import io
import signal
import threading
import time
import weakref

import pytest
import torch

import stator
from stator.execute.backend import values_of
from stator.export.saved_model import read_model
from stator.extension import extension
from stator.native.backend import native

pytestmark = pytest.mark.skipif(extension() is None, reason="the native runtime is not built")


def both(function, *calls):
    """What both backends give for each call."""
    answers = []
    for backend in ("interpreter", "native"):
        static = stator.to_static(function, backend=backend)
        answers.append([outcome(static, call) for call in calls])
    return answers


def outcome(function, call):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result = function(*call)
        except Exception as error:  # noqa: BLE001  # whatever is raised is the answer
            notes = getattr(error, "__notes__", [])
            return type(error), str(error), notes, printed.getvalue()
    return repr(result), printed.getvalue()


def test_a_program_is_run_by_it():
    static = stator.to_static(lambda x: x * 2 + 1, backend="native")
    assert torch.equal(static(torch.ones(2)), torch.full((2,), 3.0))
    assert "native (backend=)" in str(stator.explain(static))


def half_recorded(x):
    with torch.no_grad():
        kept = x * 2
    return kept, x * 3


@pytest.mark.parametrize("is_on", [True, False])
def test_the_end_of_a_context_leaves_gradients_as_the_caller_of_the_runtime_has_them(
    tmp_path, is_on
):
    stator.save(half_recorded, tmp_path / "m", input_spec=[stator.InputSpec([2])])
    run = native().prepare(read_model(tmp_path / "m").programs["forward"]).bind({})
    with torch.set_grad_enabled(is_on):
        kept, result = values_of(run((torch.ones(2, requires_grad=True),)))
    assert [kept.requires_grad, result.requires_grad] == [False, is_on]


def settle(x, limit):
    steps = 0
    history = []
    while x.abs().max() > limit:
        x = torch.tanh(x) * 0.9
        steps += 1
        history.append(x.sum())
    if steps > 3:
        print(f"{steps} steps to {x.sum():.3f}", x)
    return x, steps, torch.stack(history)


def test_loops_lists_and_prints():
    calls = [(torch.tensor([3.0, -1.0]), limit) for limit in (2.0, 0.5, 0.1)]
    interpreted, native = both(settle, *calls)
    assert interpreted == native


def guarded(x, index):
    if x.sum() < 0:
        raise ValueError(f"negative: {x.sum():.1f}")
    try:
        value = x[index] / 2
    except IndexError as error:
        value = x.sum()
        print("caught", type(error).__name__)
    assert value < 10, "too large"
    return value


def test_errors_have_their_class_message_and_notes():
    x = torch.tensor([1.0, 2.0])
    calls = [(x, 0), (-x, 0), (x, 5), (x * 100, 0)]
    interpreted, native = both(guarded, *calls)
    assert interpreted == native


def test_an_error_of_torch_is_that_of_torch():
    def inverse(x):
        return torch.linalg.inv(x)

    interpreted, native = both(inverse, (torch.zeros(2, 2),), (torch.ones(2, 3),))
    assert interpreted == native
    assert native[0][0] is torch.linalg.LinAlgError


def test_gradients_flow_through_it():
    def halve(x):
        while x.sum() > 1:
            x = x / 2
        return (x * x).sum()

    def gradient(backend):
        x = torch.tensor([3.0, 4.0], requires_grad=True)
        stator.to_static(halve, backend=backend)(x).backward()
        return x.grad

    assert torch.equal(gradient("native"), gradient("interpreter"))


def test_parameters_in_an_op_made_of_others_give_the_bits_of_eager_without_gradients():
    layer = torch.nn.Linear(8, 24)  # which folds rows where a view of its weight needs gradients
    x = torch.randn(2, 5, 8).transpose(0, 1)
    with torch.no_grad():
        assert torch.equal(stator.to_static(layer, backend="native")(x), layer(x))


def test_what_was_done_before_an_error_is_kept():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = torch.zeros(())

        def forward(self, x):
            self.calls = self.calls + 1
            if x.sum() < 0:
                raise ValueError("negative")
            return x

    counter = Counter()
    static = stator.to_static(counter, backend="native")
    static(torch.ones(1))
    with pytest.raises(ValueError, match="negative"):
        static(-torch.ones(1))
    assert counter.calls == 2


@pytest.mark.parametrize(
    "compute",
    [
        lambda n: n**50,
        lambda n: n**99,
        lambda n: (-n) ** 41,
        lambda n: (n << 40) * (n << 40),
        lambda n: n << 62,
        lambda n: n << 64,
        lambda n: int(n * 1e19),
        lambda n: int(n * 1e300),
        lambda n: 2**62 + n * 2**61 * 2,
        lambda n: round(n * 25 * 10**17, -19),
    ],
)
def test_integers_beyond_64_bits_are_refused_in_the_same_words(compute):
    def program(n):
        return compute(int(n))

    interpreted, native = both(program, (torch.tensor(3),))
    assert interpreted == native


def rounded(x):
    number = float(x)
    return [round(number, digits) for digits in (-3, -2, -1, 0, 1, 2)]


def test_floats_are_rounded_as_python_does():
    values = (1234.5, 15.0, 25.0, 250.0, 149.99999, 1e22, 0.15, 2.675, -55.0, 5.0, 500.0, 999.5)
    interpreted, native = both(rounded, *[(torch.tensor(v, dtype=torch.float64),) for v in values])
    assert interpreted == native


def test_a_stored_tensor_that_is_swapped_is_the_new_one():
    static = stator.to_static(torch.nn.Linear(2, 2), backend="native")
    x = torch.ones(1, 2)
    static(x)
    program = static.forward.program
    stored = {item.name: torch.ones(2, 2) for item in program.stored if "weight" in item.name}
    stored |= {item.name: torch.zeros(2) for item in program.stored if "bias" in item.name}
    run = native().prepare(program).bind(stored)
    assert torch.equal(run([x])[0], torch.full((1, 2), 2.0))
    weight = next(tensor for tensor in stored.values() if tensor.dim() == 2)
    torch._C._swap_tensor_impl(weight, torch.full((2, 2), 3.0))  # `swap_tensors` would refuse
    assert torch.equal(run([x])[0], torch.full((1, 2), 6.0))


def descend(x, depth):
    if x.sum() > depth:
        return descend(x - 1, depth) + 1
    return x


def test_functions_that_call_themselves():
    calls = [(torch.tensor([float(k)]), 0) for k in (0, 3, 150, 900)]
    interpreted, native_answers = both(descend, *calls)
    assert interpreted == native_answers


def test_absent_tensors_and_unsigned_elements():
    def attend(q, n):
        return torch.nn.functional.scaled_dot_product_attention(q, q, q, None, 0.0), int(n) // 2

    calls = [(torch.randn(1, 2, 3, 4), torch.tensor(n, dtype=torch.uint64)) for n in (8, 2**63)]
    interpreted, native_answers = both(attend, *calls)
    assert interpreted == native_answers


def test_an_entry_gives_what_the_long_way_gives():
    def several(x, y):
        return x + y, [x - y], {"product": x * y}

    def plain(x, y):
        return x + y, x - y

    for function in (several, plain, lambda x, y: [x, y], lambda x, y: y):
        static = stator.to_static(function, backend="native")
        x, y = torch.ones(2), torch.full((2,), 3.0)
        wanted = function(x, y)
        for _ in range(3):
            assert repr(static(x, y)) == repr(wanted)
        assert repr(static(x, x)) == repr(function(x, x))  # one tensor twice
        assert repr(static(x.double(), y)) == repr(function(x.double(), y))
    assert static(x, y) is y


def test_a_static_function_that_is_dropped_is_collected():
    layer = stator.to_static(torch.nn.Linear(2, 2), backend="native")
    for _ in range(3):
        layer(torch.ones(1, 2))
    gone = weakref.ref(layer)
    del layer
    gc.collect()
    assert gone() is None


def endless(x):
    while x.sum() > 0:
        x = x + 1 - 1
    return x


def test_a_signal_stops_a_loop_within_a_second():
    static = stator.to_static(endless, backend="native")
    static(torch.zeros(1))

    def stop(signum, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    began = time.process_time()  # not by the clock: others may be at work
    try:
        with pytest.raises(KeyboardInterrupt):
            static(torch.ones(1))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.process_time() - began < 1.3


def count(x, n):
    i = 0
    while i < n:
        x = x + 1
        i += 1
    return x


def test_other_threads_run_meanwhile():
    static = stator.to_static(count, backend="native")
    static(torch.zeros(1), torch.tensor(1))
    answers = []

    def work(start):
        answers.append((start, static(torch.full((1,), float(start)), torch.tensor(2000)).item()))

    threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [(start, start + 2000.0) for start in range(4)]


def test_a_program_with_backward_hooks_of_modules_runs_in_the_interpreter():
    module = torch.nn.Sequential(torch.nn.Linear(2, 2))
    module[0].register_full_backward_hook(lambda module, given, got: None)
    static = stator.to_static(module, backend="native")
    static(torch.ones(1, 2, requires_grad=True))
    assert "instead of native: it cannot call back into Python" in str(stator.explain(static))


def test_a_saved_model_is_run_by_it(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
    spec = [stator.InputSpec([None, 3], "float32")]
    stator.save(model, tmp_path / "model", input_spec=spec)
    x = torch.randn(2, 3)
    loaded = stator.load(tmp_path / "model", backend="native")
    assert torch.equal(loaded(x), model(x))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": [1, {"b": 1, "c": 2, "b": 3}]}', "an object has the key 'b' twice"),
        ("[" * 1001 + "]" * 1001, "it is nested too deeply"),
        ("[" * 1000 + "]" * 1000, "the program must be an object, not a list"),
        ('{"a": }', "parse error at line 1, column 7"),
        ("[1e999]", "number overflow parsing '1e999'"),
        ('{"a": 1} {}', "parse error at line 1, column 10"),
        ("", "attempting to parse an empty input"),
    ],
)
def test_a_text_that_is_no_program_is_refused(text, problem):
    with pytest.raises(ValueError, match=r"\[ST400\]") as caught:
        extension().prepare(text, print)
    assert problem in str(caught.value)
