"""inline: calls become copies of their functions."""

import pytest
import torch

from stator.optimize.inline import DEPTH, MOST_NESTED, inline
from tests.optimize.captured import capture, count, outputs, same


def halvings(n):
    if n <= 1:
        return 0
    return 1 + halvings(n // 2)


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@pytest.mark.parametrize("function", [halvings, fibonacci])
def test_a_recursion_gives_the_same(function):
    captured = capture(function, torch.tensor(7))
    inlined = inline(captured.program)
    assert not inlined.program.functions
    assert count(inlined.program, "stator::call") == 0
    for n in (0, 1, 5, 7):
        found = outputs(inlined.program, captured.tensors, torch.tensor(n))
        assert same(found, (function(torch.tensor(n)),))


def test_a_recursion_that_is_too_deep_is_an_error():
    captured = capture(halvings, torch.tensor(7))
    inlined = inline(captured.program, depth=3)
    assert inlined.depth == 3
    with pytest.raises(RecursionError, match="calls itself more than 3 times deep"):
        outputs(inlined.program, captured.tensors, torch.tensor(1000))


def test_a_program_without_functions_stays_as_it_is():
    captured = capture(lambda x: x + 1, torch.ones(2))
    assert inline(captured.program).program is captured.program


def test_copies_are_not_too_deep_inside_each_other_for_a_file():
    def walked(n):
        def even(k):
            return True if k == 0 else odd(k - 1)

        def odd(k):
            return False if k == 0 else even(k - 1)

        return even(int(n))

    found = inline(capture(walked, torch.tensor(4)).program)
    assert 0 < found.depth < DEPTH
    assert deepest(found.program.body) <= MOST_NESTED + 1


def deepest(block):
    """How many blocks are inside each other."""
    inner = [deepest(one) for op in block.ops for one in op.blocks]
    return 1 + max(inner) if inner else 0
