"""close_functions: a function of the program takes what it uses of the blocks around it."""

from stator.capture.closures import close_functions
from stator.program.ir import Block, Op, Value
from stator.program.types import NumberType

INT = NumberType("int")


def call(name, *args):
    return Op("stator::call", args, {"function": name}, (Value("r", INT),))


def test_a_value_from_outside_becomes_an_input_that_every_call_passes_on():
    outside, own = Value("1", INT), Value("2", INT)
    inner = call("walk", own)
    walk = Block((own,), [inner, Op("stator::add", (own, outside), {}, (Value("3", INT),))])
    outer = call("walk", 5)
    functions = close_functions(Block((), [outer]), {"walk": walk}, ())
    assert outer.args == (5, outside)
    assert list(functions) == ["walk"]
    assert len(walk.inputs) == 2
    assert inner.args == (own, walk.inputs[1])
    assert walk.ops[1].args == (own, walk.inputs[1])


def test_what_a_called_function_needs_is_needed_by_its_caller():
    outside = Value("1", INT)
    last = Block((), [Op("stator::neg", (outside,), {}, (Value("2", INT),))])
    first = Block((), [call("last")])
    close_functions(Block((), [call("first")]), {"first": first, "last": last}, ())
    assert first.ops[0].args == first.inputs
    assert len(first.inputs) == len(last.inputs) == 1


def test_stored_values_are_seen_and_functions_that_are_not_called_are_dropped():
    stored = Value("1", INT)
    used = Block((), [Op("stator::neg", (stored,), {}, (Value("2", INT),))])
    functions = close_functions(
        Block((), [call("used")]), {"used": used, "left": Block()}, [stored]
    )
    assert list(functions) == ["used"]
    assert used.inputs == ()
