"""Fused code inside graphs: what is compiled together, where results go, and what is not used.

On tapes, with the ops in the place of compiled code, but for the tests that compile.
"""

import dataclasses
import warnings

import pytest
import torch
from torch import nn

import stator
from stator.cudagraph.backend import GraphBackend
from stator.execute import selection
from stator.inductor import definitions
from stator.inductor.definitions import DEFINITIONS
from stator.optimize.alias import Aliases
from stator.optimize.selects import selects
from stator.program.ir import ops_in
from stator.program.regions import regions_in
from stator.regions.operators import REGIONS
from tests.cudagraph.tape import COMPILED, FUSED, TARGET, uncompiled
from tests.cudagraph.test_backend import check_same


@pytest.fixture(autouse=True)
def quiet():
    TARGET.nodes = []
    REGIONS.clear()  # of the functions of other tests
    with torch.no_grad():
        yield


def with_backend(monkeypatch, backend: GraphBackend):
    monkeypatch.setitem(selection.PROVIDERS, "cudagraph", selection.Provider(lambda: backend))


@pytest.fixture
def fused(monkeypatch):
    with_backend(monkeypatch, FUSED)


def recorded(function, *calls):
    """`function` with fused code in its graphs, after calls that were each the same as eager's."""
    static = stator.to_static(function, backend="cudagraph")
    for call in calls:
        for _ in range(4):
            check_same(static(*call), function(*call))
    return static


def fusion_of(static):
    """The fused code of the one region of a function."""
    (region,) = {one for one in REGIONS.values() if one.program.name == static.__name__}
    return region.fusion


def runs(fusion):
    """The names of the ops that are compiled together."""
    return [[op.name for op in one.blocks[0].ops] for one in regions_in(fusion.program)]


def countdown(x, limit):
    total = torch.zeros_like(x)
    while total < limit:
        x = x * 0.9
        x = x + 0.01
        total = total + 1.0
    return x, total


def test_the_body_of_a_loop_is_one_call_that_writes_what_the_loop_carries(fused):
    static = recorded(countdown, (torch.tensor(0.5), torch.tensor(7.0)))
    assert runs(fusion_of(static))[1] == [
        "aten::mul.Tensor", "aten::add.Tensor", "aten::add.Tensor", "aten::lt.Tensor",
    ]  # fmt: skip
    before, body = fusion_of(static)._codes.values()
    assert before.places == (None, None)
    assert None not in body.places
    check_same(
        static(torch.tensor(2.0), torch.tensor(3.0)), countdown(*map(torch.tensor, (2.0, 3.0)))
    )


def fibonacci(a, b, limit):
    while b.sum() < limit:
        a, b = b * 1.0 + 0.0, (a + b) * 1.0
    return a, b


def swapped(a, b, limit):
    while a.sum() + b.sum() < limit:
        a, b = b, (a + b) * 1.0 + 0.5
    return a, b


@pytest.mark.parametrize("function", [fibonacci, swapped])
def test_what_is_read_later_is_not_overwritten(fused, function):
    recorded(function, (torch.ones(3), torch.ones(3), torch.tensor(90.0)))


def decided(x):
    for i in range(3):
        if x.sum() > 0.5 * i:
            x = x * 1.1 - 0.05
        else:
            x = x + 0.2
    return x


def test_short_branches_are_choices_in_one_run(fused):
    static = recorded(decided, (torch.ones(4),), (-torch.ones(4),))
    (run,) = runs(fusion_of(static))
    assert run.count("aten::where.self") == 3
    assert TARGET.nodes == []


def kept_on_one_path(x):
    y = x * 1.0 + 0.0
    if y.sum() > 0:
        return x
    return y * 2.0 + 1.0


def test_a_result_that_may_be_an_argument_is_no_choice(fused):
    static = recorded(kept_on_one_path, (torch.ones(4),), (-torch.ones(4),))
    x = torch.ones(4)
    assert static(x) is x
    assert not [name for run in runs(fusion_of(static)) for name in run if "where" in name]


def both(x, limit):
    n = 0
    while n < 6 and x.sum() * 0.5 < limit:
        x = x * 1.5 + 0.5
        n += 1
    return x, n


def either(x, limit):
    n = 0
    while n < 2 or x.sum() * 0.5 < limit:
        x = x * 1.5 + 0.5
        n += 1
    return x, n


@pytest.mark.parametrize("function", [both, either])
def test_and_or_are_no_branches(fused, function):
    static = recorded(
        function, (torch.ones(3), torch.tensor(9.0)), (torch.ones(3), torch.tensor(0.0)),
        (torch.ones(3), torch.tensor(500.0)),
    )  # fmt: skip
    ops = ops_in(fusion_of(static).program.body)
    assert {op.name for op in ops}.isdisjoint({"stator::if"})


@pytest.mark.parametrize("size", [128, 256])
def test_a_choice_is_for_little_data(fused, size):
    static = recorded(decided, (torch.randn(size, size),))
    names = {op.name for op in ops_in(fusion_of(static).program.body)}
    assert ("stator::if" in names) == (size == 256)


def differing(block, inputs, layout, places):
    plain = uncompiled(block, inputs, layout, places)
    return lambda given: [one + 1 for one in plain(given)]


def failing(block, inputs, layout, places):
    raise NotImplementedError("no compiler today\nnor tomorrow")


@pytest.mark.parametrize(
    ("compile_", "why"),
    [
        (differing, "its results differ from those of the ops"),
        (failing, "NotImplementedError: no compiler today"),
    ],
)
def test_code_that_does_not_do_is_a_warning_and_not_used(monkeypatch, compile_, why):
    with_backend(monkeypatch, dataclasses.replace(FUSED, compile=compile_))
    with pytest.warns(UserWarning, match="runs without fused code") as seen:
        static = recorded(decided, (torch.ones(4),))
    assert [str(one.message) for one in seen] == [
        f"a CUDA graph of `decided` runs without fused code: {why}"
    ]
    assert seen[0].filename == __file__
    assert fusion_of(static).failure == why


def test_a_recording_whose_results_differ_is_not_used(monkeypatch):
    def right_at_first(block, inputs, layout, places):
        plain, calls = uncompiled(block, inputs, layout, places), []

        def run(given):
            calls.append(1)
            return [one + (len(calls) > 1) for one in plain(given)]

        return run

    with_backend(monkeypatch, dataclasses.replace(FUSED, compile=right_at_first))
    with pytest.warns(UserWarning, match="its results differ from those of the ops"):
        recorded(decided, (torch.ones(4),))


def test_a_recording_that_fails_with_fused_code_is_a_warning(monkeypatch):
    def wrong_when_recorded(block, inputs, layout, places):
        plain, calls = uncompiled(block, inputs, layout, places), []

        def run(given):
            calls.append(1)
            if len(calls) > 1:
                raise MemoryError("no room for it")
            return plain(given)

        return run

    with_backend(monkeypatch, dataclasses.replace(FUSED, compile=wrong_when_recorded))
    static = stator.to_static(decided, backend="cudagraph")
    for _ in range(2):
        check_same(static(torch.ones(4)), decided(torch.ones(4)))
    with pytest.warns(UserWarning, match="MemoryError: no room for it"):
        static(torch.ones(4))
    check_same(static(torch.ones(4)), decided(torch.ones(4)))


def test_fusing_draws_no_numbers_of_the_callers(fused):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    recorded(decided, (torch.ones(4),))
    assert torch.equal(torch.get_rng_state(), before)


def test_a_region_is_compiling_until_its_code_is_there(monkeypatch):
    jobs = []
    with_backend(monkeypatch, dataclasses.replace(FUSED, enqueue=jobs.append))
    static = stator.to_static(decided, backend="cudagraph")
    for _ in range(3):
        static(torch.ones(4))
    (status,) = [one for one in stator.compiled() if one.place.startswith("test_fusing")]
    assert status.state == "compiling"
    jobs.pop()()
    check_same(static(torch.ones(4)), decided(torch.ones(4)))
    (status,) = [one for one in stator.compiled() if one.place.startswith("test_fusing")]
    assert status.state == "ready"


def attending(q, k, v, mask):
    seen = mask > 0
    first = nn.functional.scaled_dot_product_attention(q, k, v, seen)
    return nn.functional.scaled_dot_product_attention(first + 1.0, k, v, seen) * 2.0


def attending_to_more(q, k, v, mask):
    seen = (mask > 0).clone()
    first = nn.functional.scaled_dot_product_attention(q, k, v, seen)
    seen.logical_or_(mask < 0)
    return nn.functional.scaled_dot_product_attention(first + 1.0, k, v, seen) * 2.0


def test_a_mask_that_is_written_to_is_made_again(fused):
    given = [*(torch.randn(1, 2, 3, 4) for _ in range(3)), torch.tensor([[1.0, -1.0, 1.0]])]
    static = stator.to_static(attending_to_more, backend="cudagraph")
    for _ in range(4):
        torch.testing.assert_close(static(*given), attending_to_more(*given))


def decided_before(x):
    is_large = (x.sum() > 0).clone()
    decides = bool(is_large)
    is_large.logical_not_()
    return x * 2.0 + 1.0 if decides else x - 1.0 + is_large


def test_a_choice_is_by_what_was_read(fused):
    recorded(decided_before, (torch.ones(4),), (-torch.ones(4),))


def test_the_mask_of_two_attentions_is_made_once(fused):
    q, k, v = (torch.randn(1, 2, 3, 4) for _ in range(3))
    mask = torch.tensor([[1.0, 1.0, -1.0], [1.0, -1.0, 1.0], [1.0, 1.0, 1.0]])
    static = stator.to_static(attending, backend="cudagraph")
    for _ in range(4):
        torch.testing.assert_close(static(q, k, v, mask), attending(q, k, v, mask))
    names = [op.name for op in ops_in(fusion_of(static).program.body)]
    assert names.count("aten::masked_fill.Scalar") == 1
    assert names.count("aten::scaled_dot_product_attention") == 2
    assert not fusion_of(static).failure


def test_nothing_is_fused_where_the_strategy_says_so(fused):
    strategy = stator.static.BuildStrategy(fuse_ops=False)
    static = stator.to_static(decided, backend="cudagraph", build_strategy=strategy)
    for _ in range(4):
        check_same(static(torch.ones(4)), decided(torch.ones(4)))
    assert [region.fusion for region in REGIONS.values()] == [None]


def test_selects_keeps_branches_that_give_what_is_kept():
    static = stator.to_static(decided)
    static(torch.ones(4))
    program = static.concrete_programs[0].program
    outputs = Aliases(program).in_groups_of(program.body.outputs)
    assert "stator::if" in {op.name for op in ops_in(selects(program, outputs).body)}
    chosen = selects(program, lambda value: False)
    assert "stator::if" not in {op.name for op in ops_in(chosen.body)}


@pytest.mark.parametrize("is_little", [False, True])
def test_cells_are_those_of_torch(monkeypatch, is_little):
    monkeypatch.setattr(definitions, "_is_little", lambda *given: is_little)
    x, h, c = torch.randn(3, 5), torch.randn(3, 4), torch.randn(3, 4)
    for name, cell in (
        ("gru_cell", nn.GRUCell(5, 4)), ("rnn_tanh_cell", nn.RNNCell(5, 4)),
        ("rnn_relu_cell", nn.RNNCell(5, 4, nonlinearity="relu", bias=False)),
    ):  # fmt: skip
        weights = [cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh]
        torch.testing.assert_close(DEFINITIONS[f"aten::{name}"](x, h, *weights), cell(x, h))
    cell = nn.LSTMCell(5, 4)
    weights = [cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh]
    torch.testing.assert_close(DEFINITIONS["aten::lstm_cell"](x, (h, c), *weights), cell(x, (h, c)))
    product = DEFINITIONS["aten::matmul"](x, torch.ones(5, 2))
    torch.testing.assert_close(product, x @ torch.ones(5, 2))


@pytest.mark.slow
def test_compiled_code_in_a_loop(monkeypatch):
    with_backend(monkeypatch, COMPILED)
    static = stator.to_static(countdown, backend="cudagraph")
    call = (torch.tensor(0.5), torch.tensor(7.0))
    for _ in range(3):
        check_same(static(*call), countdown(*call))
    stator.compiled(wait=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            torch.testing.assert_close(static(*call), countdown(*call))
    assert len(fusion_of(static)._codes) == 2
    (recorded_one,) = next(iter(REGIONS.values()))._recorded.values()
    assert recorded_one.fusing == "none"
