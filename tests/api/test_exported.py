"""to_exported_program: torch's own control flow from ordinary Python, or a refusal by line."""

import copy

import pytest
import torch

import stator
from stator import InputSpec
from stator.errors import ExportError


def same(function, spec, *calls):
    """The program of torch.export gives what eager code gives."""
    program = stator.to_exported_program(function, spec)
    assert isinstance(program, torch.export.ExportedProgram)
    run = program.module()
    for call in calls:
        wanted, found = function(*call), run(*call)
        torch.testing.assert_close(found, wanted)
    return program


def names_in(module):
    """The functions that a graph calls, those in branches and loops included."""
    found = set()
    for part in module.modules():
        if isinstance(part, torch.fx.GraphModule):
            found |= {str(node.target) for node in part.graph.nodes}
    return found


def test_a_loop_with_a_branch():
    def grow(x):
        steps = 0
        while x.sum() < 100:
            x = x * 2 if x.max() > 3 else x + 1
            steps += 1
        return {"x": x, "steps": steps}

    calls = [(torch.rand(size),) for size in (3, 1, 6)]
    program = same(grow, [InputSpec([None])], *calls, (torch.full((2,), 99.0),))
    assert {"while_loop", "cond"} <= names_in(program.graph_module)


def test_a_question_about_a_size_is_asked_in_each_run():
    def guarded(x, y):
        if x.shape[0] == 0:
            return y
        if x.shape[0] > 3 and y.sum() > 0:
            return y * x.mean()
        return y + x.sum()

    calls = [(torch.rand(size), torch.rand(2)) for size in (5, 0, 1, 3, 4)]
    same(guarded, [InputSpec([None]), InputSpec([2])], *calls)


@pytest.mark.parametrize("loops", [True, False])
def test_there_are_no_gradients_rather_than_wrong_ones(loops):
    def scaled(x):
        while loops and x.sum() < 10:
            x = x * 2
        return x * 3

    run = stator.to_exported_program(scaled, [InputSpec([2])]).module()
    out = run(torch.ones(2, requires_grad=True))
    assert not out.requires_grad
    with pytest.raises(RuntimeError, match="does not require grad"):
        out.sum().backward()


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x):
        if x.sum() > 0:
            self.count += 1
        return self.layer(x) * self.count


def test_buffers_are_written():
    torch.manual_seed(0)
    model = Counter().eval()
    run = stator.to_exported_program(copy.deepcopy(model), [torch.ones(1, 2)]).module()
    for x in (torch.ones(1, 2), -torch.ones(1, 2), torch.ones(1, 2)):
        torch.testing.assert_close(run(x), model(x))
    assert run.count == 2


def test_numbers_are_those_of_python():
    def divide(n, m):
        a, b = n.item(), m.item()
        return a // b, a % b, a / b, -a, abs(a), min(a, b), a > b

    calls = [(torch.tensor(a), torch.tensor(b)) for a in (-7, 7, 0) for b in (3, -3)]
    program = same(divide, [InputSpec([], "int64")] * 2, *calls)
    with pytest.raises(RuntimeError):
        program.module()(torch.tensor(1), torch.tensor(0))


def test_an_integer_that_does_not_fit_is_an_error():
    def power(n):
        product = 1
        for _ in range(n.item()):
            product = product * 1000
        return product

    program = same(power, [InputSpec([], "int64")], (torch.tensor(3),), (torch.tensor(0),))
    with pytest.raises(RuntimeError):
        program.module()(torch.tensor(40))


def test_an_assertion_is_an_error_of_the_program():
    def checked(x):
        assert x.sum() > 0, "must be positive"
        if x.max() > 9:
            raise ValueError("too large")
        return x * 2

    program = same(checked, [InputSpec([None])], (torch.ones(3),))
    with pytest.raises(RuntimeError, match="AssertionError: must be positive"):
        program.module()(-torch.ones(3))
    with pytest.raises(RuntimeError, match="ValueError: too large"):
        program.module()(torch.full((3,), 10.0))


def growing_list(x):
    rows = []
    for row in x:
        if row.sum() > 0:
            rows.append(row)
    return rows


def raising_loop(x):
    for row in x:
        if row.sum() < 0:
            raise ValueError("no")
    return x


def growing_tensor(x):
    while x.sum() < 10:
        x = torch.cat([x, x])
    return x


@pytest.mark.parametrize("function", [growing_list, raising_loop])
def test_what_torch_cannot_hold_is_refused_by_line(function):
    with pytest.raises(ExportError) as refused:
        stator.to_exported_program(function, [InputSpec([None, 2])])
    assert refused.value.at.file == __file__


def test_what_torch_refuses_is_an_export_error():
    with pytest.raises(ExportError) as refused:
        stator.to_exported_program(growing_tensor, [InputSpec([None])])
    assert refused.value.problem == (
        "torch.export does not take the program: UncapturedHigherOrderOpError: Expected "
        "carried_inputs and body_output to have same metadata but found:"
    )


def power(x, n):
    return x if n == 0 else power(x * x, n - 1)


def scaled(x, factor):
    return x * factor


def test_recursion_and_text_are_refused():
    with pytest.raises(ExportError) as refused:
        stator.to_exported_program(power, [InputSpec([3]), InputSpec.int()])
    assert refused.value.problem == "recursion cannot be in a graph of torch.export"
    with pytest.raises(ExportError) as refused:
        stator.to_exported_program(scaled, [InputSpec([3]), InputSpec.float()])
    assert refused.value.problem == "torch.export takes no input of type float: `factor`"


class Averages(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))

    def forward(self, x):
        for row in x:
            if row.abs().max() > 1.5:
                continue
            self.mean.mul_(0.9).add_(row, alpha=0.1)
        return self.mean.clone()


def test_a_loop_with_a_branch_writes_a_buffer():
    torch.manual_seed(0)
    model = Averages()
    run = stator.to_exported_program(copy.deepcopy(model), [InputSpec([None, 2])]).module()
    for count in (3, 0, 1, 6):
        x = torch.randn(count, 2)
        torch.testing.assert_close(run(x), model(x))


def test_a_number_may_be_an_input():
    def repeated(x, n):
        total = 0.0
        for k in range(n):
            total += k / 2
        return x * total

    same(repeated, [InputSpec([3]), InputSpec.int()], *((torch.ones(3), n) for n in (4, 0, 1, -2)))


def missing_or_not(x):
    if x.sum() > 0:
        return None
    return x


def joined_sizes(x, y):
    scaled = x * 2
    return scaled.view(-1, 2) + y


def test_a_result_of_several_types_is_refused_by_line():
    with pytest.raises(ExportError) as refused:
        stator.to_exported_program(missing_or_not, [InputSpec([3])])
    assert refused.value.problem == (
        "the result is one of several types: a graph of torch.export has one"
    )
    assert refused.value.at.file == __file__


def test_what_torch_refuses_has_the_line_and_prints_nothing(capfd):
    with pytest.raises(ExportError) as refused:
        stator.to_exported_program(joined_sizes, [InputSpec([None]), InputSpec([2])])
    assert refused.value.at.line == joined_sizes.__code__.co_firstlineno + 2
    with pytest.raises(ExportError) as refused:
        stator.to_exported_program(growing_tensor, [InputSpec([None])])
    assert refused.value.at.function == "growing_tensor"
    assert capfd.readouterr() == ("", "")


def test_dynamic_sizes_that_must_be_equal():
    def products(x, y, index):
        rows = torch.arange(x.shape[0])
        return x @ y, x[rows, index] + index

    spec = [InputSpec([None, None]), InputSpec([None, None]), InputSpec([None], "int64")]
    calls = [(torch.rand(n, m), torch.rand(m, k), torch.zeros(n, dtype=torch.int64))
             for n, m, k in ((2, 3, 4), (5, 2, 2), (3, 4, 0))]  # fmt: skip
    program = same(products, spec, *calls)
    with pytest.raises((AssertionError, RuntimeError)):
        program.module()(torch.rand(2, 3), torch.rand(4, 4), torch.zeros(2, dtype=torch.int64))
