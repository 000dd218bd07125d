"""Programs written by chance: views, writes, repeats. Every strategy gives what eager gives."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stator import static

EXECUTOR = static.Executor("cpu")
SIZE = 3
CONSTANT = torch.linspace(-1, 1, SIZE * SIZE).reshape(SIZE, SIZE)

PURE = {
    "relu": lambda a, _: torch.relu(a),
    "sigmoid": lambda a, _: torch.sigmoid(a),
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "scale": lambda a, _: a * 0.5,
    "matmul": lambda a, b: (a @ b).tanh(),
    "ones": lambda a, _: torch.ones(SIZE, SIZE).tril() * 0.25,
    "clone": lambda a, _: a.clone(),
    "where": lambda a, b: torch.where(a > 0, a, b),
    "dropout": lambda a, _: torch.dropout(a, 0.5, False),
    "literal": lambda a, _: a + torch.tensor([0.5, 1.0, 1.5]).exp(),
    "constant": lambda a, _: a - CONSTANT,
}
VIEWS = {
    "t": lambda a, _: a.t(),
    "alias": lambda a, _: a.view(SIZE, SIZE),
    "reshape": lambda a, _: a.reshape(SIZE, SIZE),
    "flip": lambda a, _: a.transpose(0, 1),
}
WRITES = {
    "add_": lambda a, _: a.add_(1),
    "row_": lambda a, b: a[0].mul_(0.5),
    "copy_": lambda a, b: a.copy_(b * 0.5),
    "clamp_": lambda a, _: a.clamp_(-2, 2),
}
BRANCHES = {
    "cond": lambda a, b: static.cond(a.sum() > b.sum(), lambda: a * 2, lambda: b.relu()),
    "loop": lambda a, b: static.while_loop(
        lambda k, _: k.sum() < 2, lambda k, v: [k + 1, (v * 0.5).sigmoid() + b], [a * 0, a]
    )[1],
}
OPS = {**PURE, **VIEWS, **WRITES, **BRANCHES}

KINDS = (PURE, PURE, VIEWS, WRITES, BRANCHES)  # pure ones twice as often
steps = st.tuples(
    st.sampled_from(KINDS).flatmap(lambda kind: st.sampled_from(sorted(kind))),
    st.integers(0, 3),
    st.integers(0, 3),
)
programs = st.lists(steps, min_size=6, max_size=14)


def played(program, start):
    """The values that a list of steps makes, from the first ones on."""
    values = list(start)
    for name, first, second in program:
        one, other = values[-1 - first % len(values)], values[-1 - second % len(values)]
        result = OPS[name](one, other)
        if name not in WRITES:
            values.append(result)
    return values


def first_values(x):
    """A tensor of the program's own: what a run is given is never written to."""
    return [x * 1.0, x.exp() * 0.1]


@pytest.mark.slow
@settings(max_examples=60)
@given(programs, st.lists(st.integers(0, 20), min_size=2, max_size=5), st.integers(0, 1000))
def test_every_strategy_gives_what_eager_code_gives(program, chosen, seed):
    x = torch.randn(SIZE, SIZE, generator=torch.Generator().manual_seed(seed))
    wanted = played(program, first_values(x.clone()))
    written = static.Program()
    with static.program_guard(written):
        values = played(program, first_values(static.data("x", [SIZE, SIZE])))
    places = [place % len(values) for place in chosen]
    for strategy in (
        None,
        static.BuildStrategy(enable_inplace=True),
        static.BuildStrategy(memory_reuse=False, constant_folding=False),
    ):
        compiled = static.CompiledProgram(written, strategy) if strategy else written
        for _ in range(2):
            given = EXECUTOR.run(
                compiled, {"x": x}, [values[place] for place in places], return_numpy=False
            )
            for one, place in zip(given, places, strict=True):
                assert torch.equal(one, wanted[place]), (strategy, program, place)
