"""functionalize: in-place ops become plain ones, and nobody can tell by the results."""

import importlib.util
import random

import pytest
import torch

import stator
from stator.optimize.functionalize import functionalize
from stator.program.ir import ops_in
from stator.program.opset.queries import written_by
from tests.optimize.captured import capture, outputs, same

X = torch.arange(12.0).reshape(3, 4) - 5


def checked(function, *tensors):
    """The program without writes; it gives what eager gives, and what eager leaves in inputs."""
    captured = capture(function, *tensors)
    functional = functionalize(captured.program)
    assert not any(written_by(op) for op in ops_in(functional.program.body))
    given = [tensor.clone() for tensor in tensors]
    wanted = function(*given)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    found = outputs(functional.program, captured.tensors, *[t.clone() for t in tensors])
    count = len(found) - len(functional.written)
    assert same(found[:count], wanted)
    changed = dict(zip(functional.written, found[count:], strict=True))
    for value, tensor, left in zip(captured.program.inputs, tensors, given, strict=True):
        assert torch.equal(changed.get(value, tensor), left)
    return functional


def refused(function, *tensors):
    with pytest.raises(stator.errors.ExportError) as caught:
        functionalize(capture(function, *tensors).program)
    return caught.value.problem


def test_a_write_to_a_row_is_seen_in_the_whole():
    def function(x):
        y = x.clone()
        y[1] = 7.0
        y[0].add_(1)
        return y

    checked(function, X)


def test_a_write_to_the_whole_is_seen_in_a_view():
    def function(x):
        y = x.clone()
        row, column = y[1], y.t()[2]
        y.mul_(2)
        return row, column + 1, y

    checked(function, X)


def test_a_write_through_several_views_arrives():
    def function(x):
        y = x.clone()
        y[1:].t()[::2].unsqueeze(0).view(2, 2).fill_(9)
        return y

    checked(function, X)


def test_the_inputs_that_are_written_are_further_outputs():
    def function(x, y):
        x.add_(1)
        return x * y

    functional = checked(function, X, X + 1)
    assert [value.name for value in functional.written] == ["x"]


def test_a_write_in_a_branch_is_seen_after_it():
    def function(x):
        y = x.clone()
        if x.sum() > 0:
            y[0] = 1.0
        else:
            y[:, 1:3] = 2.0
        return y * 2

    checked(function, X)
    checked(function, X + 9)


def test_a_write_in_a_loop_is_seen_in_the_next_iteration():
    def function(x):
        y, total = x.clone(), x.new_zeros(())
        row = y[2]
        while total < 20:
            y[0] += 1.0
            row.add_(y[0])
            total = total + 5
        return y, row

    checked(function, X)


def test_a_write_through_a_mask_becomes_a_new_tensor():
    def function(x):
        y = x.clone()
        y[x > 2] = 0.0
        y.masked_fill_(x < -3, 4.0)
        return y

    checked(function, X)


def test_a_write_keeps_the_dtype_of_what_is_written():
    def function(x):
        y = x * 2
        y += torch.ones(3, 4, dtype=torch.float64)
        return y

    checked(function, X)


def test_a_tensor_can_be_written_before_a_list_holds_it():
    def function(x, n):
        items, count = [x * 3], torch.tensor(0)
        while count < n:
            item = x * count
            item[0] = 4.0
            items.append(item)
            count = count + 1
        return torch.stack(items)

    checked(function, X, torch.tensor(2))


def test_a_write_to_one_of_two_tensors_is_refused_if_the_other_is_used():
    def function(x):
        one, two = x * 2, x * 3
        if x.sum() > 0:
            chosen = one
        else:
            chosen = two
        chosen.add_(1)
        return one + two

    assert "is used after memory that it may share was written" in refused(function, X)


def test_a_use_of_what_may_be_a_copy_is_refused_after_a_write():
    def function(x):
        y = x * 2
        flat = y.reshape(12)
        y.add_(1)
        return flat

    assert "is used after memory that it may share was written" in refused(function, X)


# ---- random programs

STATEMENTS = (
    "a.add_(1)", "b.mul_(2)", "a[0] = 3.0", "b[1] += a[0]", "a[:, 1] = b[:, 2]",
    "row.add_(a[1])", "a = a * 2", "b = a.clone()", "row = b[{i}]", "row = a.t()[{i}]",
    "a[1:] = b[1:] - 1", "a[b > 1] = 0.5", "b.copy_(a)", "c = a[{i}:]", "c.sub_(1)",
    "c = c.t()", "b.t()[0] = 2.0", "row.zero_()", "a, b = b, a", "row = row.clone()",
)  # fmt: skip


def body(draw, indent, depth):
    pad, lines = "    " * indent, []
    for _ in range(draw.randint(2, 5)):
        kind = draw.random()
        if depth and kind < 0.2:
            lines += [f"{pad}if {draw.choice('ab')}.sum() > {draw.randint(-9, 9)}:"]
            lines += body(draw, indent + 1, depth - 1)
            if draw.random() < 0.5:
                lines += [f"{pad}else:", *body(draw, indent + 1, depth - 1)]
        elif depth and kind < 0.35:
            lines += [f"{pad}for k{depth} in range(n):", *body(draw, indent + 1, depth - 1)]
        else:
            lines.append(pad + draw.choice(STATEMENTS).format(i=draw.randint(0, 1)))
    return lines


def random_function(seed, folder):
    draw = random.Random(seed)
    lines = ["def function(x, n):", "    a, b = x.clone(), x * 2", "    row, c = a[0], b[1:]"]
    lines += [*body(draw, 1, 2), "    return a, b, row, c"]
    file = folder / f"random_{seed}.py"
    file.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(f"random_{seed}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.function


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 40, 10))
def test_random_writes_give_what_eager_gives(start, tmp_path):
    """Each of 10 functions is right on all inputs, or refused; some are right."""
    right = 0
    for seed in range(start, start + 10):
        function = random_function(seed, tmp_path)
        square = torch.linspace(-2, 2, 9).reshape(3, 3)
        for x, n in ((square, torch.tensor(2)), (square + 1, torch.tensor(0))):
            try:
                captured = capture(function, x, n)
                functional = functionalize(captured.program)
            except stator.StatorError:
                break
            try:
                wanted = function(x.clone(), n)
            except RuntimeError:  # sizes that do not fit
                continue
            found = outputs(functional.program, captured.tensors, x.clone(), n)
            assert same(found, wanted), seed
        else:
            right += 1
    assert right >= 2
