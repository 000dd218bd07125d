"""A scope knows the blocks around it."""

from stator.capture.modes import Modes
from stator.capture.scope import Scope


def test_the_chain_goes_from_the_innermost_block_outwards():
    top = Scope(None, Modes.current())
    inner = Scope(top, Modes.current())
    assert list(inner.chain()) == [inner, top]
    assert (top.depth, inner.depth) == (0, 1)


def test_a_function_of_the_program_is_never_at_the_top():
    top = Scope(None, Modes.current())
    function = Scope(Scope(top, Modes.current()), Modes.current(), is_function=True)
    assert function.depth == 1
    assert Scope(function, Modes.current()).root is function
    assert function.program is top


def test_a_scope_is_younger_than_the_one_opened_before_it():
    first, second = Scope(None, Modes.current()), Scope(None, Modes.current())
    assert first.start < second.start
