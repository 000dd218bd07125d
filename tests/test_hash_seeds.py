"""The order of sets reaches no output: one source gives one text, whatever the hash seed.

`scripts/check` runs these under two PYTHONHASHSEEDs and compares the texts they keep. The names in
the functions are many and unlike on purpose: they are what a set would put in another order.
"""

import pytest
import torch

import stator
from stator import InputSpec

LENGTH = InputSpec([None], "float32", "x")


def many_loop_variables(x):
    alpha, beta, gamma, delta, epsilon = x, x + 1, 2, 0.5, None
    while alpha.sum() < 100:
        alpha, beta = beta * 2, alpha + gamma
        gamma += 1
        delta = delta * 1.5
        epsilon = beta
    return alpha, beta, gamma, delta, epsilon


def one_sided_names(x):
    if x.sum() > 0:
        quick, brown, fox = x * 2, 3, "left"
    else:
        quick, brown, lazy = x - 1, 4, x * 3
        fox = "right"
        quick = quick + lazy
    return quick, brown, fox


def nested_branches(x):
    low, mid, high = x.min(), x.mean(), x.max()
    if low > 0:
        if high > 3:
            low, high = high, low
        elif mid > 2:
            mid = mid * 2
        else:
            high = high + low
    return low, mid, high


def early_exits(x):
    total, seen, last = x.sum(), 0, x
    for step in range(10):
        if total > 50:
            break
        if total < -50:
            return last, seen
        total, last = total * 2 + step, last + step
        seen += 1
    else:
        seen = -1
    return total, seen


def growing_lists(x):
    kept, dropped, marks = [], [], []
    for value in x:
        if value > 0:
            kept.append(value)
            marks.append((value, "kept"))
        else:
            dropped.append(-value)
    return kept, dropped, marks


def filtered(x):
    return [value * 2 for value in x if value > 1]


def written_dict(x):
    table = {"sum": x.sum(), "count": 0, "peak": x.max()}
    while table["sum"] < 20:
        table["sum"] = table["sum"] * 2
        table["count"] += 1
        if table["sum"] > 10:
            table["peak"] = table["peak"] + 1
    return table


def written_cells(x):
    count, trail = 0, x

    def step(by):
        nonlocal count, trail
        count += 1
        trail = trail * by

    while trail.sum() < 30:
        step(2)
        if trail.max() > 10:
            step(3)
    return count, trail


class Tally:
    def __init__(self, start):
        self.zeta, self.eta, self.theta = start, 0, None


def written_attributes(x):
    tally = Tally(x)
    while tally.zeta.sum() < 40:
        tally.zeta = tally.zeta + 1
        tally.eta += 2
        tally.theta = tally.zeta * 2
    return tally.zeta, tally.eta, tally.theta


def depth(n):
    if n <= 1:
        return 0
    return 1 + max(depth(n // 2), depth(n // 3))


def recursion(x):
    return depth(x.sum())


def logic_and_sizes(x):
    rows, wide = x.shape[0], x.repeat(2)
    while (rows > 1 and (wide > 0).any()) or rows > 5:
        rows, wide = rows - 1, torch.cat([wide, wide[:1]])
    return rows, wide if 0 < rows <= 3 else -wide


ZOO = (
    many_loop_variables, one_sided_names, nested_branches, early_exits, growing_lists, filtered,
    written_dict, written_cells, written_attributes, recursion, logic_and_sizes,
)  # fmt: skip
INPUTS = (torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 0.5]))


@pytest.mark.parametrize("function", ZOO, ids=lambda function: function.__name__)
def test_a_function_gives_the_same_texts_under_any_seed(function, keep_text, tmp_path):
    static = stator.to_static(function, input_spec=[LENGTH])
    for x in INPUTS:
        assert repr(static(x)) == repr(function(x))
    (concrete,) = static.concrete_programs
    stator.save(function, tmp_path / "saved", input_spec=[LENGTH])
    for text in (static.code, str(concrete.captured.program), str(static.program)):
        keep_text(text)
    keep_text((tmp_path / "saved.stator").read_text())  # with the digest of all its bytes
