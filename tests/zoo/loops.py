"""`while` and `for` over all that can be iterated, zero, one and many iterations."""

from __future__ import annotations

import torch

from tests.zoo.programs import f, i, program, r


@program((f(1.0, 2.0),), (f([200.0]),), (f([1.0]),), dynamic=({0},), trains=True)
def doubles_until_large(x):
    """`while` on a tensor; no iteration, or many."""
    while x.sum() < 100:
        x = x * 2
    return x


@program((i(3),), (i(0),), (i(1),))
def while_else(n):
    """`else` runs when the test ends the loop, not when `break` does."""
    total = torch.zeros((), dtype=torch.int64)
    while n > 0:
        total += n
        if total > 4:
            break
        n = n - 1
    else:
        total = total - 100
    return total


@program((i(5),), (i(0),), (i(-3),), (i(1),))
def range_of_a_tensor(n):
    """`range(tensor)`, in ints that index and multiply."""
    total = 0
    last = -1
    for k in range(n):
        total = total + k * k
        last = k
    return total, last


@program((i(7), i(-2)), (i(0), i(-1)), (i(3), i(-5)), (i(3), i(2)))
def range_with_a_negative_step(start, step):
    """Start and step are data; the sign of the step is known only then."""
    seen = []
    for k in range(int(start), -1, int(step)):
        seen.append(k)
        if len(seen) > 5:
            break
    return seen


@program((r(3, 2),), (r(0, 2),), (r(1, 2),), dynamic=({0},), trains=True)
def rows_of_a_tensor(x):
    """`for row in tensor` over a dynamic size."""
    total = torch.zeros(2)
    for row in x:
        if row.sum() > 0:
            total = total + row
    return total


@program(
    (r(3, 2), f(1.0, 2.0, 3.0)),
    (r(2, 2), f(1.0, 2.0, 3.0)),
    (r(0, 2), f([1.0])),
    dynamic=({0}, {0}),
)
def zip_stops_at_the_shorter(x, y):
    """`zip` of two tensors of different sizes; `enumerate` around it."""
    total = torch.zeros(2)
    count = 0
    for k, (row, scale) in enumerate(zip(x, y), start=1):
        total = total + row * scale * k
        count = k
    return total, count


@program((r(4),), (r(1),), (r(0),), dynamic=({0},))
def reversed_tensor(x):
    """`reversed` of a tensor; the loop variable lives on after the loop."""
    out = x.new_zeros(())
    v = out - 1
    for v in reversed(x):
        out = out * 0.5 + v
    return out, v


@program((i(4),), (i(0),), (i(9),))
def for_else_with_break(n):
    """`for ... else` in a recorded loop."""
    for k in range(n):
        if k * k > 20:
            found = k
            break
    else:
        found = -1
    return found


@program((i(2), i(3)), (i(0), i(3)), (i(3), i(0)))
def loops_in_branches_in_loops(n, m):
    """Three levels, with a counter through all of them."""
    total = 0
    for a in range(n):
        if a % 2 == 0:
            for c in range(m):
                total += a + c
                if total > 5:
                    total -= 1
        else:
            k = m
            while k > 0:
                total += 10
                k = k - 1
    return total


@program((f(1.0, 2.0, 3.0),), (f([1.0]),), (f([]),), dynamic=({0},))
def growing_cat(x):
    """A loop variable that changes its size on each iteration."""
    out = x[:0]
    for v in x:
        out = torch.cat([out, out[:1], v.reshape(1)])
    return out, out.shape[0]


@program(
    (i(3),),
    (i(0),),
    (i(1),),
)
def none_before_the_loop(n):
    """None before the first iteration, a tensor after it."""
    best = None
    for k in range(n):
        if best is None:
            best = n * 2
        else:
            best = best + k
    return best


@program((i(3),), (i(0),), may_raise=True, same_message=False)
def loop_variable_after_the_loop(n):
    """With no iteration the loop variable is unbound: eager's UnboundLocalError."""
    for k in range(n):
        pass
    return k


@program((i(3),), (i(0),), (i(5),))
def while_true_with_two_breaks(n):
    """`while True`, left at two places."""
    k = 0
    while True:
        if k >= n:
            how = "end"
            break
        k += 1
        if k * k > 10:
            how = "large"
            break
    return k, how


@program((f(1.0, -1.0, 2.0),), (f([-1.0]),), (f([]),), dynamic=({0},))
def continue_before_an_append(x):
    """`continue` skips the rest of the iteration; the list is returned as a list."""
    kept = []
    for v in x:
        if v < 0:
            continue
        kept.append(v * 2)
    return kept


@program((i(4),), (i(0),), (i(1),))
def changes_of_the_range_variable(n):
    """Assigning the loop variable or the bound changes nothing for the next iteration."""
    seen = 0
    for k in range(n):
        k = k * 10
        n = n + 1
        seen += k
    return seen, n


@program((f(1.0, 2.0, 3.0),), (f(-5.0, 1.0),), (f([]),), dynamic=({0},))
def loop_writes_what_it_walks_over(x):
    """Rows are views: writing one writes the tensor being iterated."""
    x = x.clone()
    for k, v in enumerate(x):
        if k + 1 < len(x):
            x[k + 1] += v
    return x


@program(
    (i(3), f(1.0, 2.0)), (i(0), f(1.0, 2.0)), (i(2), f([3.0])), dynamic=(None, {0}), trains=False
)
def fibonacci_swap(n, x):
    """Names exchanged on every iteration."""
    a, c = x, x * 2
    for _ in range(n):
        a, c = c, a + c
    return a, c


@program((i(3),), (i(0),))
def int_turns_float_in_a_loop(n):
    """An int before the loop, a float after the first iteration; without one it stays an int."""
    k = 1
    for _ in range(n):
        k = k / 2
    return k


@program((i(0, 1, 2),), (i(2, 2),), (i([]),), dynamic=({0},))
def list_of_python_values_indexed_in_a_loop(x):
    """A Python list of strings and one of numbers, indexed by an iteration's data."""
    names, scales = ["a", "b", "c"], [1.0, 10.0, 100.0]
    total, text = 0.0, ""
    for v in x:
        total += scales[int(v)]
        text = names[int(v)]
    return total, text


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), (f(-1.0, -2.0),), trains=True)
def zip_of_two_lists(x):
    """`zip` ends with the shorter list; a branch inside on the data."""
    total = x.sum()
    for part, weight in zip([x, x * 2, x * 3], [10.0, 100.0]):
        if part[0] > 0:
            total = total + part.sum() * weight
    return total


@program(
    (f(1.0, 2.0, 3.0),),
    (f([5.0]),),
    (f([]),),
    (f(-1.0, 2.0),),
    dynamic=({0},),
    trains=True,
)
def zip_of_a_tensor_and_a_list(x):
    """`zip` ends with the shorter: a tensor of any length, and a list of two."""
    total = x.sum()
    for value, weight in zip(x, [10.0, 100.0]):
        if value > 0:
            total = total + value * weight
    return total


@program(
    (f(1.0, 2.0), f([7.0]), 3), (f(60.0, 60.0), f([7.0]), 3), (f(0.1, 0.2), f([90.0]), 2),
    (f(1.0, 1.0), f([1e9]), 9), trains=True,
)  # fmt: skip
def break_continue_and_return(x, limit, most):
    """All three jumps in one loop whose test is a tensor."""
    seen = []
    while x.sum() < 100:
        x = x * 2
        if len(seen) >= most and x[0] > 4:
            return x, seen
        if x.min() < 1:
            continue
        seen.append(x)
        if x.max() > limit:
            break
    return x + 1, seen


@program((f(1.0, 2.0, 3.0),), (f([9.0]),), (f([]),), (f(2.0, 9.0, 1.0),), dynamic=({0},))
def break_with_else_over_rows(x):
    """`else` of a loop that runs only if no `break` was reached; nested loops with flags."""
    total = x.sum() * 0
    for row in x:
        for other in x:
            if other > row and row > 1:
                break
            if other == row:
                continue
            total = total + other
        else:
            total = total + 100
        if row > 8:
            break
    else:
        total = total + 1000
    return total


@program((f(1.0, 2.0),), (f(-1.0, 2.0),))
def annotated_before_it_is_bound(x):
    """`part: Tensor` without a value binds nothing."""
    part: torch.Tensor
    last: int
    for k in range(2):
        part = x * k
        x = x + part
    if x.sum() > 0:
        last = 1
    else:
        last = 2
    return x, last


@program((f(1.0, -2.0),), (f(-3.0, -4.0),), (f(-1.0, 2.0),), may_raise=True)
def inner_loop_always_raises(x):
    """The body of an inner loop raises in any case, also where the outer one goes round again."""
    n, seen = 0, []
    for row in x:
        for k in range(int(row)):
            n = n + k
            seen.append(row)
            raise ValueError(f"above {n}")
        n = n - 1
    return x + n, len(seen)


@program((i(10),), (i(0),), (i(40000),))
def ended_by_an_error(n):
    """A loop that only a data-dependent error ends."""
    k = 0
    try:
        while True:
            k += 1
            if k * k > n:
                raise ValueError(k)
    except ValueError:
        return k
