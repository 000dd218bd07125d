"""What nothing needs goes; what can be seen stays."""

import pytest
import torch

import stator
from stator.execute.interpreter import run
from stator.optimize.prune import drop_unused_stored, prune
from stator.program.ir import ops_in
from stator.program.verifier import verify
from tests.program.builder import BOOL, INT, Builder, tensor


def names(program):
    return [op.name for op in ops_in(program.body)]


def test_unused_ops_go_with_all_that_only_they_used():
    build = Builder()
    x = build.input("x", tensor("n"))
    doubled = build.op("aten::mul.Tensor", x, 2, gives=tensor("n"))
    build.op("aten::relu", doubled, gives=tensor("n"))
    program = build.program(build.op("aten::neg", x, gives=tensor("n")))
    assert names(verify(prune(program))) == ["aten::neg"]
    assert len(program.body.ops) == 3


def test_effects_stay_with_all_that_they_use():
    build = Builder()
    x, count = build.input("x", tensor("n")), build.store("count", tensor(), "buffer")
    build.op("stator::print", build.op("aten::neg", x, gives=tensor("n")))
    build.op("aten::add_.Tensor", count, 1, gives=tensor())
    build.op("aten::dropout", x, 0.5, True, gives=tensor("n"))
    build.op("stator::set_grad", False)
    program = build.program()
    assert names(verify(prune(program))) == names(program)


def test_unused_results_of_a_branch_go():
    build = Builder()
    x, test = build.input("x", tensor(2)), build.input("test", BOOL)
    with build.block() as then:
        unused = build.op("aten::abs", x, gives=tensor(2))
        then.outputs = (unused, build.op("aten::neg", x, gives=tensor(2)))
    with build.block() as orelse:
        orelse.outputs = (x, x)
    _, kept = build.op("stator::if", test, gives=[tensor(2)] * 2, blocks=[then, orelse])
    pruned = verify(prune(build.program(kept)))
    assert names(pruned) == ["stator::if", "aten::neg"]
    assert pruned.body.ops[0].results == (kept,)
    assert torch.equal(run(pruned, [torch.ones(2), True], {})[0], -torch.ones(2))


def test_a_branch_without_effect_or_use_goes_whole():
    build = Builder()
    x, test = build.input("x", tensor(2)), build.input("test", BOOL)
    with build.block() as then:
        then.outputs = (build.op("aten::neg", x, gives=tensor(2)),)
    with build.block() as orelse:
        orelse.outputs = (x,)
    build.op("stator::if", test, gives=tensor(2), blocks=[then, orelse])
    assert names(verify(prune(build.program(x)))) == []


def test_a_branch_that_prints_stays_without_its_results(capsys):
    build = Builder()
    test = build.input("test", BOOL)
    with build.block() as then:
        build.op("stator::print", "seen")
        then.outputs = (1,)
    with build.block() as orelse:
        orelse.outputs = (2,)
    build.op("stator::if", test, gives=INT, blocks=[then, orelse])
    pruned = verify(prune(build.program()))
    assert pruned.body.ops[0].results == ()
    run(pruned, [True], {})
    assert capsys.readouterr().out == "seen\n"


def counting_loop():
    """`for k in range(n): a, b, unused = b, a + 1, unused + 1`."""
    build = Builder()
    n = build.input("n", INT)
    k, a, b, unused = (build.value(INT, name) for name in ("k", "a", "b", "unused"))
    with build.block(k, a, b, unused) as body:
        after = build.op("stator::add", k, 1, gives=INT)
        more = build.op("stator::add", a, 1, gives=INT)
        wasted = build.op("stator::add", unused, 1, gives=INT)
        body.outputs = (build.op("stator::lt", after, n, gives=BOOL), after, b, more, wasted)
    start = build.op("stator::lt", 0, n, gives=BOOL)
    results = build.op("stator::while", start, 0, 0, 10, 0, gives=[INT] * 4, blocks=[body])
    return build, results


@pytest.mark.parametrize("iterations", [0, 1, 2, 5])
def test_carried_values_that_nothing_needs_go_and_those_needed_by_turns_stay(iterations):
    build, results = counting_loop()
    program = build.program(results[1])
    pruned = verify(prune(program))
    loop = pruned.body.ops[-1]
    assert [value.name for value in loop.blocks[0].inputs] == ["k", "a", "b"]
    assert len(loop.results) == len(loop.args) - 1 == 3
    assert run(pruned, [iterations], {}) == run(program, [iterations], {})


def test_functions_that_nothing_calls_go():
    build = Builder()
    for name, callee in (("used", "deep"), ("deep", None), ("unused", "deep")):
        with build.block() as body:
            if callee:
                build.op("stator::call", function=callee)
        build.function(name, body)
    build.op("stator::call", function="used")
    assert list(verify(prune(build.program())).functions) == ["used", "deep"]


def test_stored_tensors_that_nothing_reads_go():
    build = Builder()
    test = build.input("test", BOOL)
    kept, inner = build.store("kept", tensor(2)), build.store("inner", tensor(2))
    build.store("unused", tensor(2))
    with build.block() as then:
        then.outputs = (inner,)
    with build.block() as orelse:
        orelse.outputs = (kept,)
    result = build.op("stator::if", test, gives=tensor(2), blocks=[then, orelse])
    dropped = verify(drop_unused_stored(build.program(result)))
    assert [item.name for item in dropped.stored] == ["kept", "inner"]


def test_an_allocation_that_fails_in_eager_fails_though_nothing_uses_it():
    def wasteful(x):
        while x.sum() < 5:
            x = x + 1
            torch.empty(10**15)
        return x

    static = stator.to_static(wasteful)
    assert static(torch.full((2,), 9.0)).tolist() == [9.0, 9.0]
    with pytest.raises(RuntimeError, match="alloc"):
        static(torch.zeros(2))
