"""The backend `inductor`: what calls give before, while and after regions are compiled."""

import re
import threading
import warnings

import pytest
import torch

import stator
from stator.inductor import region as regions
from stator.inductor.queue import QUEUE
from stator.regions.operators import REGIONS

LONG = torch.linspace(-1, 1, 512)
OPEN = [stator.InputSpec([None, 16])]


def chain(x):
    return (x.exp() + 1).tanh().sigmoid() * x


def static(function, spec=None):
    return stator.to_static(function, backend="inductor", input_spec=spec)


def ready(function, *calls, spec=None):
    """`function`, static, with its regions compiled for these calls and used once."""
    made = static(function, spec)
    for _ in range(2):
        for call in calls:
            made(*call)
        assert QUEUE.wait(60)
    return made


def status():
    return [one for one in stator.compiled(wait=True, timeout=60) if one.state != "not called"]


@pytest.fixture(autouse=True)
def no_regions_of_others():
    for one in list(REGIONS):
        REGIONS.pop(one, None)


def check(made, function, *inputs):
    """Values, strides and gradients are those of eager code."""
    eager = [one.detach().clone().requires_grad_(one.requires_grad) for one in inputs]
    expected, found = function(*eager), made(*inputs)
    assert torch.allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert found.stride() == expected.stride()
    assert found.requires_grad == expected.requires_grad
    if expected.requires_grad:
        weights = torch.linspace(0, 1, expected.numel()).view_as(expected)
        (expected * weights).sum().backward()
        (found * weights).sum().backward()
        for one, other in zip(inputs, eager, strict=True):
            assert (one.grad is None) == (other.grad is None)
            if one.grad is not None:
                assert torch.allclose(one.grad, other.grad, rtol=1e-5, atol=1e-6)
                one.grad = None


def test_calls_are_right_before_and_after_compiling(traced):
    made = static(chain)
    check(made, chain, LONG)
    assert [one.state for one in status()] == ["ready"]
    for _ in range(3):
        check(made, chain, LONG)
        check(made, chain, LONG.clone().requires_grad_())
        QUEUE.wait()
    assert [(one.state, one.layouts) for one in status()][0] == ("ready", 1)


def test_one_compilation_serves_all_sizes(traced):
    made = ready(chain, (torch.ones(5, 16),), spec=OPEN)
    for n in (5, 7, 40, 2):
        check(made, chain, torch.randn(n, 16))
    assert [one.layouts for one in status()] == [1]
    check(made, chain, torch.randn(1, 16))  # a size of 1 is compiled for itself
    check(made, chain, torch.empty(0, 16))  # nothing to compute: not compiled
    assert [one.layouts for one in status()] == [2]


def test_gradients_of_all_orders(traced):
    x = torch.linspace(-1, 1, 512, dtype=torch.float64)
    made = ready(chain, (x.clone().requires_grad_(),))
    for _ in range(3):
        check(made, chain, x.clone().requires_grad_())

    def second(function):
        y = x.clone().requires_grad_()
        (first,) = torch.autograd.grad(function(y).sum(), y, create_graph=True)
        return torch.autograd.grad(first.square().sum(), y)[0]

    assert torch.allclose(second(made), second(chain))


def test_an_input_that_no_gradient_reaches_has_none(traced):
    def two(x, y):
        return (chain(x), chain(y))

    given = LONG.clone().requires_grad_(), LONG.clone().requires_grad_()
    made = ready(two, given)
    for _ in range(3):
        x, y = (one.detach().requires_grad_() for one in given)
        made(x, y)[0].sum().backward()
        assert y.grad is None
        expected = LONG.clone().requires_grad_()
        chain(expected).sum().backward()
        assert torch.allclose(x.grad, expected.grad)


def test_the_gradient_of_a_result_by_another_is_whole(traced):
    def two(x):
        y = chain(x)
        return (y, chain(y))

    made = ready(two, (LONG.clone().requires_grad_(),))

    def gradient(function):
        y, z = function(LONG.clone().requires_grad_())
        return torch.autograd.grad((z + y).sum(), y)[0]

    assert torch.allclose(gradient(made), gradient(two))


def test_regions_in_loops_and_branches(traced):
    def f(x, limit):
        while x.abs().sum() < limit:
            x = chain(x).abs() + x + 1
        return chain(x) if x.mean() > 0 else chain(-x)

    calls = [(LONG, torch.tensor(n)) for n in (0.0, 3000.0)] + [(-LONG - 1, torch.tensor(0.0))]
    made = ready(f, *calls)
    for x, limit in calls * 2:
        check(made, f, x, limit)
    assert len(status()) == 3


def test_other_memory_layouts_are_other_code(traced):
    def f(x):
        return (x.exp() + 1).tanh().sigmoid() * 2

    x = torch.randn(32, 16)
    views = [x, x.t().contiguous().t(), torch.randn(32, 20)[:, :16], torch.randn(16).expand(32, 16)]
    made = ready(f, *((view,) for view in views), spec=OPEN)
    for view in views:
        check(made, f, view)


def failing(*_):
    raise RuntimeError("no compiler today\nand more")


def test_a_failed_compilation_is_one_warning_at_the_users_line(monkeypatch):
    monkeypatch.setattr(regions.CompiledRegion, "compile_for", broken(failing))
    made = static(chain)
    check(made, chain, LONG)
    assert [one.state for one in status()] == ["failed"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check(made, chain, LONG)
        check(made, chain, LONG)
    (warning,) = caught
    assert str(warning.message) == (
        "a region of `chain` runs uncompiled: RuntimeError: no compiler today"
    )
    assert warning.filename == __file__
    assert warning.lineno == chain.__code__.co_firstlineno + 1


def broken(compile_instead):
    """`compile_for`, with another compiler."""
    own = regions.CompiledRegion.compile_for

    def compile_for(self, layout):
        self.compile = compile_instead
        own(self, layout)

    return compile_for


def spoilt(change):
    """A compiler whose code gives other results."""

    def compile_region(block, inputs, layout):
        code = regions.compile_region(block, inputs, layout)
        forward = code.forward
        object.__setattr__(code, "forward", lambda args: change(list(forward(args))))
        return code

    return compile_region


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda found: [found[0] + 1e-2], "its results differ from those of the ops"),
        (lambda found: [found[0].double()], "its results differ from those of the ops"),
        (
            lambda found: [found[0].t().contiguous().t()],
            "its results have another memory layout than those of the ops",
        ),
        (lambda _: failing(), "RuntimeError when it was run: no compiler today\nand more"),
    ],
)
def test_code_that_gives_other_results_is_never_used(traced, monkeypatch, change, problem):
    monkeypatch.setattr(regions.CompiledRegion, "compile_for", broken(spoilt(change)))
    x = torch.randn(32, 16)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = ready(chain, (x,))
        for _ in range(2):
            check(made, chain, x)
    assert [one.failure for one in status()] == [problem]
    assert [str(one.message) for one in caught] == [
        f"a region of `chain` runs uncompiled: {problem}"
    ]


def test_a_write_between_the_passes_is_an_error_as_in_eager_code(traced):
    made = ready(chain, (LONG.clone().requires_grad_(),))
    made(LONG.clone().requires_grad_()).sum().backward()
    base = LONG.clone().requires_grad_()
    x = base * 1
    y = made(x)
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_autocast_and_transforms_run_the_ops(traced):
    made = ready(lambda x: chain(x @ x), (torch.randn(32, 32),))
    x = torch.randn(32, 32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(made(x), chain(x @ x))
    values, tangents = torch.func.jvp(lambda x: made(x), (x,), (x,))
    expected, others = torch.func.jvp(lambda x: chain(x @ x), (x,), (x,))
    assert torch.allclose(values, expected)
    assert torch.allclose(tangents, others)


def test_threads_call_while_regions_are_compiled(traced):
    made, problems = static(chain, OPEN), []

    def work(seed):
        for n in (3, 5, 9, 1, 17):
            x = torch.randn(n, 16, generator=torch.Generator().manual_seed(seed))
            for _ in range(5):
                if not torch.allclose(made(x), chain(x), rtol=1e-5, atol=1e-6):
                    problems.append((seed, n))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_a_program_without_regions_runs_as_it_is():
    made = static(lambda x: x + 1)
    assert made(torch.ones(2)).tolist() == [2, 2]
    assert status() == []


def test_explain_shows_regions_and_why_ops_are_in_none(traced):
    made = static(lambda x: chain(x) + torch.rand_like(x))
    made(LONG)
    text = str(stator.explain(made))
    assert "runs in: inductor (backend=)" in text
    assert re.search(r"a region of 6 ops, compiled as one \(\w+\)  \(test_backend.py:", text)
    assert "1 op is in none: each draws random numbers" in text


@pytest.mark.slow
def test_explain_says_how_far_each_region_is(traced):
    made = static(chain)
    made(LONG)
    assert QUEUE.wait(60)
    text = str(stator.explain(made))
    assert "compiled as one (ready)" in text


def test_inductor_itself():
    x = torch.randn(8, 16)
    made = static(chain, OPEN)
    made(x)
    assert stator.compiled(wait=True)[0].state == "ready"
    for n in (8, 8, 30):
        check(made, chain, torch.randn(n, 16))
    assert [(one.state, one.layouts) for one in status()] == [("ready", 1)]
