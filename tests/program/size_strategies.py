"""Sizes by chance, for hypothesis."""

from hypothesis import strategies as some

from stator.program.sizes import OPS, AnySize, SizeExpr, Symbol

NAMES = ("s0", "s1", "batch")


def sizes():
    """Any size."""
    return some.one_of(some.integers(0, 100), symbols(), expressions(), some.just(AnySize()))


def symbols():
    return some.sampled_from(NAMES).map(Symbol)


def expressions():
    leaves = some.one_of(some.integers(-9, 9), symbols(), some.floats(-4, 4).map(abs))
    return _expression(some.recursive(leaves, _expression, max_leaves=12))


def _expression(args):
    return some.sampled_from(sorted(OPS)).flatmap(
        lambda op: some.builds(
            SizeExpr,
            some.just(op),
            some.lists(args, min_size=OPS[op][0] or 2, max_size=OPS[op][0] or 4).map(tuple),
        )
    )


def bindings():
    """What each symbol represents."""
    return some.fixed_dictionaries({name: some.integers(0, 1000) for name in NAMES})
