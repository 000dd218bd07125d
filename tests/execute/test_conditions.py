"""Calls that ordinary code makes keep every condition; calls that leave their memory break one."""

import pytest
import torch

from stator.execute.conditions import with_conditions
from stator.program.registry import resolve


def call(name, *args, **attributes):
    return with_conditions(name, resolve(name))(*args, **attributes)


def broken(name, *args, **attributes):
    with pytest.raises(RuntimeError) as caught:
        call(name, *args, **attributes)
    return str(caught.value)


def whole(*values):
    return torch.tensor(values, dtype=torch.int64)


LOWEST = whole(-(2**63))
PROBS = torch.rand(4, 2, 5).log_softmax(2)
DATA = torch.arange(6.0)


@pytest.mark.parametrize(
    ("name", "args", "attributes"),
    [
        ("aten::native_batch_norm",
         (torch.rand(2, 3), None, None, None, None, True, 0.1, 1e-5), {}),
        ("aten::arange.start_step", (0, 10, 3), {}),
        ("aten::arange.start_step", (2**40, -(2.0**60), -(2**59)), {"dtype": torch.int64}),
        ("aten::_weight_norm", (torch.rand(4, 3), torch.rand(4, 1), 0), {}),
        ("aten::_weight_norm", (torch.rand(4, 3), torch.rand(()), -1), {}),
        ("aten::segment_reduce", (DATA, "sum"), {"lengths": whole(2, 0, 4)}),
        ("aten::segment_reduce", (DATA, "sum"), {"offsets": whole(0, 2, 6)}),
        ("aten::segment_reduce", (torch.rand(2, 3), "max"),
         {"lengths": whole(1, 2).expand(2, 2).contiguous(), "axis": 1}),
        ("aten::ctc_loss.IntList", (PROBS, whole(1, 2, 3, 4), [4, 3], [3, 1]), {}),
        # what follows the lengths of padded targets may be anything
        ("aten::ctc_loss.IntList",
         (PROBS, torch.tensor([[1, 2, 3], [4, -1, 99]]), [4, 3], [3, 1]), {}),
        ("aten::ctc_loss.Tensor",
         (PROBS, torch.tensor([[1, 2, 3], [4, -1, 99]]), whole(4, 3), whole(3, 1)), {}),
        ("aten::repeat_interleave.Tensor", (whole(1, 0, 2),), {"output_size": 3}),
        ("aten::repeat_interleave.self_Tensor", (DATA, whole(2)), {"output_size": 12}),
        ("aten::repeat_interleave.self_Tensor",
         (torch.rand(2, 3), whole(1, 2), 0), {"output_size": 3}),
        ("aten::repeat_interleave.self_Tensor",
         (torch.rand(2, 3), whole(3), 1), {"output_size": 9}),
        ("aten::div.Tensor_mode", (LOWEST, whole(2)), {"rounding_mode": "trunc"}),
        ("aten::div.Tensor_mode", (LOWEST, whole(-1)), {"rounding_mode": None}),
        ("aten::div.Scalar_mode", (DATA, -1), {"rounding_mode": "trunc"}),
        ("aten::lcm", (whole(4, -6), whole(6, 9)), {}),
        ("aten::linalg_eigvals", (torch.rand(3, 3),), {}),
    ],
)  # fmt: skip
def test_an_ordinary_call_gives_what_torch_gives(name, args, attributes):
    torch.testing.assert_close(
        call(name, *args, **attributes), resolve(name)(*args, **attributes), equal_nan=True
    )


@pytest.mark.parametrize(
    ("problem", "name", "args", "attributes"),
    [
        ("dim(input) >= 2, and has 1 and 2",
         "aten::native_batch_norm", (DATA, None, None, None, None, True, 0.1, 1e-5), {}),
        ("given(training, running_mean) >= 1, and has 0 and 1",
         "aten::native_batch_norm", (torch.rand(2, 3), *[None] * 4, False, 0.1, 1e-5), {}),
        ("value(end) > -4611686018427387904, and has -9223372036854775808 and "
         "-4611686018427387904", "aten::arange.start_step", (0, -(2**63), -1), {}),
        ("value(start) < 4611686018427387904, and has 4611686018427387904 and "
         "4611686018427387904", "aten::arange.start_step", (2**62, -(2**61), -1), {}),
        ("numel(g) == side(v, dim), and has 1 and 4",
         "aten::_weight_norm", (torch.rand(4, 3), torch.rand(1)), {}),
        ("most(lengths) <= size(data, axis), and has 7 and 6",
         "aten::segment_reduce", (DATA, "sum"), {"lengths": whole(7), "unsafe": True}),
        ("least_sum(lengths) == size(data, axis), and has 4 and 6",
         "aten::segment_reduce", (DATA, "sum"), {"lengths": whole(2, 2), "unsafe": True}),
        ("least_step(offsets) >= 0, and has -2 and 0",
         "aten::segment_reduce", (DATA, "sum"), {"offsets": whole(0, 4, 2)}),
        ("most_of(targets, target_lengths) < size(log_probs, -1), and has 5 and 5",
         "aten::ctc_loss.IntList", (PROBS, whole(1, 2, 3, 5), [4, 3], [3, 1]), {}),
        ("sum(target_lengths) <= numel(targets), and has 6 and 4",
         "aten::ctc_loss.IntList", (PROBS, whole(1, 2, 3, 4), [4, 3], [3, 3]), {}),
        ("sum(repeats) == value(output_size), and has 9223372036854775807 and 2",
         "aten::repeat_interleave.Tensor", (whole(*[2**62] * 4),), {"output_size": 2}),
        ("least(repeats) >= 0, and has -4 and 0",
         "aten::repeat_interleave.Tensor", (whole(8, -4),), {"output_size": 4}),
        ("overflows(self, other, rounding_mode) == 0, and has 1 and 0",
         "aten::div.Tensor_mode", (LOWEST, whole(-1)), {"rounding_mode": "trunc"}),
        ("lowest(self, other) == 0, and has 1 and 0", "aten::lcm", (whole(3), LOWEST), {}),
        ("infinite(self) == 0, and has 1 and 0",
         "aten::linalg_eigvals", (torch.full((3, 3), torch.nan),), {}),
        ("total(n, num_generated) < 1073741824, and has 1073741824 and 1073741824",
         "aten::_sobol_engine_draw",
         (whole(1, 2), 1, torch.zeros(2, 30, dtype=torch.int64), 2, 2**30 - 1, None), {}),
    ],
)  # fmt: skip
def test_a_call_that_would_leave_its_memory_is_an_error(problem, name, args, attributes):
    assert broken(name, *args, **attributes) == f"{name} needs {problem}"


def test_a_tensor_without_values_is_not_looked_at():
    meta = torch.empty(3, device="meta", dtype=torch.int64)
    assert call("aten::lcm", meta, meta).is_meta
