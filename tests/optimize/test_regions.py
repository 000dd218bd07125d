"""outline: runs of ops that may be compiled become regions, and the program means the same."""

import pytest
import torch

from stator.export.encoding import encode_program
from stator.optimize.inline import inline
from stator.optimize.pipeline import optimize
from stator.optimize.prune import prune
from stator.optimize.regions import TOO_FEW, outline
from stator.program.ir import ops_in
from stator.program.regions import REGION, region_inputs, without_regions
from tests.optimize.captured import capture, count, names, outputs, same

LONG = torch.linspace(-1, 1, 512)


def outlined(function, *tensors):
    captured = capture(function, *tensors)
    made = outline(optimize(captured.program))
    eager = function(*tensors)
    expected = tuple(eager) if isinstance(eager, tuple | list) else (eager,)
    assert same(outputs(made.program, captured.tensors, *tensors), expected)
    plain = without_regions(made.program)
    assert count(plain, REGION) == 0
    assert same(outputs(plain, captured.tensors, *tensors), expected)
    return made


def chain(x):
    return (x.exp() + 1).tanh().sigmoid() * x


def test_a_run_of_pointwise_ops_is_one_region():
    made = outlined(chain, LONG)
    assert names(made.program) == [
        REGION, "aten::exp", "aten::add.Tensor", "aten::tanh", "aten::sigmoid", "aten::mul.Tensor"
    ]  # fmt: skip
    (region,) = made.regions
    assert [value.name for value in region_inputs(region)] == ["x"]
    assert made.left_out == {}


def test_a_short_run_and_a_small_one_are_not_worth_it():
    assert outlined(lambda x: (x.exp() + 1).tanh(), LONG).left_out == {TOO_FEW: 3}
    assert outlined(chain, LONG[:8]).left_out == {TOO_FEW: 5}


def test_products_alone_are_not_worth_it():
    def products(a):
        return (((a @ a) @ a) @ a).relu() @ a

    assert outlined(products, torch.ones(32, 32)).regions == ()


def test_branches_and_loops_have_regions_in_their_blocks():
    def f(x):
        n = 0
        while x.sum() < 1000:
            x = chain(x).abs() + 1
            n += 1
        return chain(x) if x.mean() > 3 else chain(x + 1)

    made = outlined(f, LONG)
    assert len(made.regions) == 3
    assert all(op.name != REGION for op in made.program.body.ops)


def test_what_uses_no_result_goes_before_the_region(capsys):
    def f(x, y):
        x = x.exp() + 1
        print("between")
        n = int(y.sum())
        return (x.tanh().sigmoid() * x, n)

    made = outlined(f, LONG, torch.ones(3))
    assert len(made.regions) == 1
    assert names(made.program).index("stator::print") < names(made.program).index(REGION)
    assert capsys.readouterr().out == "between\n" * 3  # eager, and the program twice


def test_an_op_that_uses_a_result_ends_the_region():
    def f(x):
        y = chain(x)
        return chain(y + float(y.sum().item()))

    made = outlined(f, LONG)
    assert len(made.regions) == 2
    assert made.left_out == {
        "is not among the ops that are compiled": 1,  # item
        "takes a data-dependent number": 1,  # y + number
    }


def test_views_and_sizes_of_results_are_taken_outside():
    def f(x):
        y = chain(x)
        top = y.view(2, -1)[0]
        return (top, y.reshape(-1, 2).t())

    made = outlined(f, LONG)
    (region,) = made.regions
    assert len(region.results) == 1
    after = made.program.body.ops[made.program.body.ops.index(region) + 1 :]
    assert [op.name for op in after] == [
        "aten::view", "aten::select.int", "aten::reshape", "aten::t"
    ]  # fmt: skip


def test_results_that_share_memory_in_eager_code_share_it_here():
    captured = capture(lambda x: ((y := chain(x)), y.view(2, -1)), LONG)
    y, view = outputs(outline(captured.program).program, captured.tensors, LONG)
    y[0] = 5
    assert view[0, 0] == 5


def test_tensors_that_are_written_are_in_no_region():
    def f(x):
        y = x.exp()
        y.add_(1)
        return chain(y)

    made = outlined(f, LONG)
    assert made.left_out["has to do with a tensor that the program writes to"] == 4
    assert made.regions == ()  # what does not touch it is too short


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: torch.rand_like(x) + chain(x), "draws random numbers"),
        (lambda x: chain(x)[x.long().abs()], "may raise an error that depends on values"),
        (lambda x: (chain(x), x.long() * 3), "computes integers"),
        (lambda x: torch.fft.rfft(chain(x)).abs(), "is not among the ops that are compiled"),
    ],
)
def test_every_op_left_out_has_a_reason(function, reason):
    captured = capture(function, LONG)
    made = outline(optimize(captured.program))
    assert made.left_out[reason] >= 1
    assert len(made.regions) == 1


def test_a_mode_ends_a_region():
    def f(x):
        y = chain(x)
        with torch.no_grad():
            return chain(y)

    assert len(outlined(f, LONG).regions) == 2


def test_dropout_and_batch_norm_are_in_a_region_only_in_evaluation():
    layers = torch.nn.Sequential(
        torch.nn.BatchNorm1d(64), torch.nn.Sigmoid(), torch.nn.Tanh(), torch.nn.Dropout(),
        torch.nn.GELU(), torch.nn.Softmax(-1),
    )  # fmt: skip
    x = torch.ones(8, 64)
    for mode, expected in ((True, 0), (False, 1)):
        layers.train(mode)
        captured = capture(lambda x: layers(x), x)
        made = outline(optimize(captured.program))
        assert len(made.regions) == expected


def test_a_value_whose_gradient_can_be_seen_is_used_outside_its_region():
    def f(x):
        y = chain(x)
        return (y, chain(y))  # the caller may ask for the gradient of the second by the first

    assert len(outlined(f, LONG).regions) == 2

    def g(x):
        y = chain(x)
        return chain(y)

    assert len(outlined(g, LONG).regions) == 1


def test_a_value_with_a_hook_is_used_outside_its_region():
    def f(x):
        y = chain(x)
        y.register_hook(lambda grad: grad * 2)
        return chain(y)

    captured = capture(f, LONG.clone().requires_grad_())
    made = outline(optimize(captured.program))
    assert len(made.regions) == 2


def test_regions_are_taken_out_before_a_program_is_written():
    captured = capture(chain, LONG)
    made = outline(captured.program).program
    assert "stator::region" not in str(encode_program(made))
    assert count(inline(made).program, REGION) == 0
    assert outline(made).program.body.ops[0].name == REGION  # it can be outlined again


def test_what_is_unused_in_a_region_can_be_pruned():
    captured = capture(lambda x: (chain(x), chain(x + 1)), LONG)
    made = outline(captured.program).program
    (region,) = [op for op in ops_in(made.body) if op.name == REGION]
    made.body.outputs = made.body.outputs[:1]
    (kept,) = [op for op in ops_in(prune(made).body) if op.name == REGION]
    assert (len(region.results), len(kept.results)) == (2, 1)
