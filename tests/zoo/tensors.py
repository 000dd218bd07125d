"""In-place writes, shapes that only a run knows, dtypes, numpy, and Python's logic on tensors."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from tests.zoo.programs import b, f, i, program, r


@program((f(1.0, -2.0, 3.0),), (f([-1.0]),), (f([]),), dynamic=({0},))
def masked_write_in_a_branch(x):
    """A mask assignment on one path, of the caller's tensor."""
    if x.sum() > 0:
        x[x < 0] = 0.0
    else:
        x[x < 0] *= 2
    return x + 1


@program((f(1.0, -2.0, 3.0),), (f([-1.0]),), (f([]),), dynamic=({0},), trains=True)
def nonzero_then_size(x):
    """A size that comes from data, used in arithmetic, a branch and a reshape."""
    kept = x[x > 0]
    n = kept.shape[0]
    if n > 1:
        return kept.reshape(n, 1) * n, n
    return kept.reshape(1, n) - n, n


@program((i(3), f(1.0, 2.0)), (i(0), f(1.0, 2.0)), (i(1), f([5.0])), dynamic=(None, {0}))
def repeat_by_data(n, x):
    """`repeat`, `expand`, `new_zeros` with a number from data."""
    k = int(n)
    return x.repeat(k), x.expand(k, -1), x.new_zeros(k, 2), torch.arange(k)


@program((i(4),), (i(0),), (i(1),))
def write_by_a_symbolic_index(n):
    """Items written at an index that the loop makes."""
    out = torch.zeros(5)
    for k in range(n):
        out[k] = k * 2
        out[k + 1 :] += 1
    return out


@program((i(1, 2, 3),), (i([5]),), (i([]),), dynamic=({0},))
def int_tensor_true_division(x):
    """int64 by an int is float32; floor division and remainder stay int64, also for negatives."""
    if x.sum() > 5:
        x = -x
    return x / 2, x // 2, x % 3, x.float().mean() if len(x) > 0 else x.sum()


@program((f(1.0, 2.0, dtype=torch.float64),), (f(-1.0, 2.0, dtype=torch.float64),), trains=True)
def float64_stays(x):
    """float64 with Python numbers that are symbolic."""
    k = 0.1
    if x[0] > 0:
        k = 0.2
    return x * k, x.sum() + k, torch.full((2,), k)


@program((f(1.0, 2.0, dtype=torch.bfloat16),), (f(-1.0, 2.0, dtype=torch.bfloat16),))
def bfloat16_stays(x):
    """bfloat16 with symbolic numbers keeps its dtype; joined with float32 it promotes."""
    k = 1
    while x.sum() < 10:
        x = x * 2 + 1
        k += 1
    return x * k, x + torch.ones(2), x.sum().item()


@program((b(True, False),), (b(False, False),), (b([]),), dynamic=({0},))
def bool_arithmetic(m):
    """Sums, inversions and comparisons of bool tensors; a bool taken out is a bool."""
    if m.any():
        out = ~m
    else:
        out = m | True
    return out, out.sum(), bool(out.all()), m.any().item()


@program((f(1.0), f(2.0)), (f(-1.0), f(2.0)), (f(0.0), f(0.0)), (f(1.0), f(0.0)))
def and_or_give_values(x, y):
    """`and` and `or` give one of their operands, not a bool."""
    return x and y, x or y, (x > 0) and (y > 0), not x, x and 3, y or "none"


@program((f(1.0), f(2.0)), (f(-1.0), f(2.0)), (f(3.0), f(2.0)), may_raise=True)
def short_circuit(x, y):
    """The right side runs only when it is needed: its print and its assert too."""

    def checked(v):
        print("checked")
        assert v > 0, "not positive"
        return v > 1

    if x > 0 and checked(y - x):
        return x
    if x < 0 or checked(x):
        return y
    return x + y


@program((f(1.0),), (f(5.0),), (f(-1.0),))
def chained_comparison(x):
    """Each operand of a chain is computed once, and only as far as needed."""

    def middle(v):
        print("middle")
        return v * 2

    return 0 < middle(x) < 5, 0 < x.item() <= 4 < 10, x if -2 < x < 0 else -x


@program((f(1.0, 2.0),), (f(-1.0, 2.0),))
def number_in_a_tensor(x):
    """`in` of a tensor; `not in` of a tuple of sizes."""
    return 2.0 in x, 7.0 in x, x.shape[0] not in (1, 3), x[0].item() in (1.0, 5.0)


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), (f([3.0]),), dynamic=({0},))
def through_numpy(x):
    """To numpy, a function of numpy, and back."""
    a = x.numpy()
    c = np.maximum(a, 0) * 2 + np.array([1.0], dtype=np.float32)
    y = torch.from_numpy(c)
    if y.sum() > 5:
        y = y / 2
    return y


@program((f(1.5, 2.0),), (f(-1.0, 2.0),), (f([3.0]),), dynamic=({0},))
def tolist_and_item(x):
    """`tolist` of a tensor of unknown size, `item` of one element."""
    values = x.tolist()
    total = 0.0
    for v in values:
        total += v
    return total, values[0], len(values), x[-1].item()


@program((r(2, 3),), (r(4, 3),), (r(0, 3),), (r(1, 3),), dynamic=({0},), trains=True)
def size_arithmetic(x):
    """Sizes in arithmetic, `view(-1)`, `//`, `numel`, `size()`, `len`, `ndim`."""
    n, d = x.shape
    half = n // 2
    y = x[:half].reshape(-1, d) if half else x
    return y * (n + 1) / d, x.numel(), x.size(0) - len(x), x.ndim, tuple(y.shape), n * d > 6


@program(
    (r(2, 3),),
    (r(4, 3),),
    (r(1, 3),),
    dynamic=({0},),
)
def sizes_as_results(x):
    """`torch.Size`, a size and a product of sizes as results."""
    y = torch.cat([x, x[:1]])
    return y.shape, x.shape[0], y.shape[0] * 2, y.size(-1)


@program((f(1.0, 2.0, 3.0, 4.0),), (f(-1.0, 2.0, 3.0, 4.0),))
def rank_changes_in_a_branch(x):
    """Results of different rank on two paths, used where both fit."""
    if x[0] > 0:
        y = x.reshape(2, 2)
    else:
        y = x
    return y.sum(-1), y.dim()


@program((f(1.0, 2.0),), (f(-1.0, 2.0),))
def chained_in_place_calls(x):
    """In-place calls in a chain write their owner."""
    y = x.clone()
    y.mul_(2).add_(x).clamp_(max=5)
    if x[0] > 0:
        y[:1].sub_(1).neg_()
    return y


@program((f(1.0),), (f(-1.0),), (f(2.0),))
class ChainedBufferUpdate(nn.Module):
    """The usual running mean: a chain of in-place calls on a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(()))

    def forward(self, x):
        self.mean.mul_(0.9).add_(x, alpha=0.1)
        return x - self.mean


@program((f(1.0),), (f(-1.0),), (f(2.0),))
class BufferReplacedAndWritten(nn.Module):
    """A buffer that is replaced on one path and written in place on the other."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(()))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        if x > 0:
            self.mean.add_(x)
            self.count += 1
        else:
            self.mean = self.mean * 0.5
        return x - self.mean


@program((r(4, 3),), (r(4, 3, seed=2),), trains=True)
class BatchNormAndDropout(nn.Module):
    """Buffers of a library module change; random numbers are drawn as in eager."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        y = self.norm(x)
        if y[0, 0] > 0:
            y = self.drop(y)
        return y


@program((f(1.0, 2.0),), (f(-1.0, 2.0),))
def swap_rows_in_place(x):
    """`x[0], x[1] = x[1], x[0]` reads views: eager's surprising answer."""
    if x[0] < x[1]:
        x[0], x[1] = x[1], x[0]
    return x


@program((i(2),), (i(0),), (i(5),))
def out_argument_and_copy(n):
    """`out=`, `copy_`, `fill_` and `index_add_` in a recorded loop."""
    total = torch.zeros(3)
    for k in range(n):
        torch.add(total, 1, out=total)
        total.index_add_(0, torch.tensor([0, 2]), torch.ones(2) * k)
    return total


@program((f(1.0, 2.0), f(1.0, 2.0)), (f(-1.0, 2.0), f(3.0, 4.0)))
def two_arguments_written(x, y):
    """Both arguments are written; which, the data says."""
    target, other = (x, y) if x[0] > 0 else (y, x)
    target += other
    other.zero_()
    return target.sum()


@program((f(3.0, 1.0, 2.0),), (f([1.0]),), dynamic=({0},))
def sort_and_topk(x):
    """Results that are named tuples: `sort`, `max` with a dimension."""
    values, order = x.sort()
    best = x.max(0)
    if best.indices > 0:
        values = values + best.values
    return values, order, best.indices


@program((f(1.0, 0.0, 3.0),), (f([0.0]),), (f([]),), (f(2.0, 2.0, 0.0, 1.0),), dynamic=({0},))
def places_of_what_is_not_zero(x):
    """`nonzero` gives as many rows as the data says; a loop walks them."""
    total = torch.zeros(())
    for place in x.nonzero()[:, 0]:
        total = total * 10 + x[place]
    return total, x[x > 1], x.nonzero().shape[0]


@program((f(1.0, 2.0), i(1)), (f(1.0, 2.0), i(0)))
def indexed_by_a_captured_bool(x, n):
    """A bool adds a dimension of size 0 or 1, also where only a run knows which."""
    flag = int(n) > 0
    y = x.clone()
    y[flag] = 7.0
    return x[flag], x[flag, 0], x[..., flag], y


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), trains=True)
def gradient_through_as_tensor(x):
    """`torch.as_tensor` of a tensor is that tensor: its gradient goes on."""
    y = torch.as_tensor(x)
    return y * x, torch.as_tensor(x, dtype=torch.float64) * 2, y is x


@program((f(1.0, 2.0),), (f(-1.0, 2.0),))
def written_through_as_tensor(x):
    """A write to `torch.as_tensor(x)` is a write to `x`."""
    torch.as_tensor(x).add_(1)
    torch.as_tensor(x, dtype=x.dtype, device=x.device).mul_(2)
    torch.as_tensor(x, dtype=torch.float64).add_(100)
    return x * 1


@program((f(1.0, 2.0),), (f(-1.0, 2.0),))
def methods_of_tensors_by_the_class(x):
    """`torch.Tensor.squeeze(x)` is `x.squeeze()`."""
    total = x.sum()
    return torch.Tensor.squeeze(total, 0), torch.Tensor.item(total), torch.Tensor.tolist(x)


@program((f(1.0, 2.0), i(3)), (f(-1.0, 2.0), i(4)), trains=True)
def dtypes_that_are_asked_for(x, n):
    """`promote_types` and `result_type` say what dtypes alone decide, and leave nothing to run."""
    wide = torch.promote_types(x.dtype, torch.float64)
    return x.to(wide) + n.to(torch.result_type(n, x))


@program((r(2, 3, 4),), (r(1, 3, 5, seed=1),), dynamic=({0, 2},), trains=True)
def axes_from_a_range_of_torch(x):
    """`torch.arange(...).tolist()` of constants gives Python numbers, which `dim` can take."""
    axes = torch.arange(1, x.dim()).tolist()
    back = (torch.arange(3) * 2 - 1).tolist()
    return x.sum(dim=axes) * back[2] + len(axes)


@program((f(1.0, 2.0),), (f(-1.0, 2.0),))
def range_that_is_written_before_it_is_listed(x):
    """What was written to a view of it counts, in a branch too."""
    places = torch.arange(3)
    first = places[:1]
    if x[0] > 0:
        first.add_(5)
    return x * places.tolist()[0], places.tolist()


@program((r(6, 2),), (r(27, 2, seed=1),), (r(3, 2, seed=2),), dynamic=({0},))
def distances_of_few_and_many(x):
    """`cdist` of an open size: above 25 rows torch computes it in another way."""
    return torch.cdist(x, x).sum(1) + x.shape[0]


@program((f(1.0, 2.0, 3.0, 4.0),), (f(-1.0, 2.0, -3.0, -4.0),))
def bounds_that_may_be_none(x):
    """An index and bounds of slices that are None on one path: read, written and deleted."""
    n = 2 if x.sum() > 0 else None
    y, z, numbers, rest = x.clone(), x.clone(), [1, 2, 3], [4, 5, 6]
    y[:n] = 0
    z[n] = 9
    numbers[:n] = [7]
    del rest[n:]
    return y, z, x[:n].sum(), x[::n], numbers, rest, "abcd"[:n]


@program((r(8),), (r(16, seed=1),), (r(32, seed=2),), dynamic=({0},))
def strides_by_powers(x):
    """Bounds and steps of slices that are powers of two of a captured number."""
    n, total = int(math.log2(x.shape[0])), x.sum()
    for k in range(n - 1, -1, -1):
        total = total * 0.5 + x[2**k - 1 : x.shape[0] : 2**k].sum()
    return total


@program((f(1.0, 2.0, 2.0),), (f([3.0]),), (f(1.0, 4.0, 5.0, 6.0),), dynamic=({0},), trains=True)
def padded_with_a_size(x):
    """A size, and a number made of one, where torch wants a float."""
    last = nn.functional.pad(torch.where(x[1:] - x[:-1])[0], [0, 1], value=x.size(0) - 1)
    return last, nn.functional.pad(x, [1, x.size(0)], value=x.size(0) * 0.5)


@program((f(1.0, 2.0),), (f(0.0, 0.4),), (f(-3.0, 0.0),), (f(3.0, 0.1),), may_raise=True)
def ranges_to_a_float_of_data(x):
    """`arange` with bounds and steps that are floats of a run: the grid of a solver."""
    steps = torch.ceil(x.sum() / 0.5 + 1).item()
    grid = torch.arange(0, steps, dtype=x.dtype) * 0.5
    return grid, torch.arange(steps), torch.arange(0.25, steps, 0.5), grid.shape[0]


@program((f(0.2, 0.4, 0.9),), (f(0.5, 0.1, 0.3),), stages=("rewritten", "captured", "unoptimised"))
def arrays_of_numpy_leave(x):
    """Arrays as results, their views too; a row of captured numbers next to an array."""
    given = x.numpy()
    last = (((1 - x[0]) / x[0]) ** 0.5).item()
    row = np.concatenate([np.sqrt(given), [last, given[0]]])
    given[1] = 0.75
    return row, {"view": given[1:], "counts": np.arange(3) * 2}, np.cumsum(given > 0.3)


@program((f(0.2, 0.4, 0.9),), (f(0.5, 0.1, 0.3),))
def numbers_of_numpy_beside_tensors(x):
    """An item of an array in arithmetic with a tensor is a number, and the result a tensor."""
    factor = np.sqrt(x.numpy())[1]
    x = x * factor - factor
    x *= factor
    return x / factor, x > factor


@program((r(3, 3),), (-r(3, 3, seed=3),), (r(3, 3) - 9,))
def layout_of_a_path(x):
    """The strides of what a branch gives are those of the run."""
    y = x.t() if x.sum() > 0 else (x * 2).t()
    z = x.t() if x.sum() > 0 else x.long().t()
    return y.is_contiguous(), y.stride(), y.contiguous().view(-1), z.contiguous().view(-1)


@program((r(3, 3),), (r(3, 3) - 9,), (r(3, 3) + 90,))
def layout_of_an_iteration(x):
    """The strides of what a loop gives are those of the run."""
    y, k, seen = x, 0, 0
    while x.sum() * k < 100 and k < 3:
        seen += int(y.is_contiguous())
        y, k = (y + 1).t(), k + 1
    return y.is_contiguous(), y.stride(), y.contiguous().view(-1), seen
