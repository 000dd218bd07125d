"""split_checks: which demands come first."""

from stator.execute.checks import split_checks
from stator.program.ir import Block, Op, Value
from stator.program.program import Program
from stator.program.sizes import Symbol
from stator.program.structure import ConstantValue
from stator.program.types import NumberType, TensorType


def made(*ops):
    """A program of one input over these ops; `ops` take (input, size, flag, item)."""
    x = Value("x", TensorType("float32", (Symbol("s0"),), "cpu"))
    size, flag = Value("1", NumberType("int")), Value("2", NumberType("bool"))
    item = Value("3", NumberType("int"))
    every = {
        "size": Op("aten::sym_size.int", (x, 0), {}, (size,)),
        "flag": Op("stator::gt", (size, 2), {}, (flag,)),
        "item": Op("aten::item", (x,), {}, (item,)),
        "demand": Op("stator::demand", (flag, "more"), {}, ()),
        "late": Op("stator::demand", (item, "data"), {}, ()),
        "print": Op("stator::print", ("a",), {}, ()),
        "raise": Op("stator::assert", (flag, "users"), {}, ()),
    }
    body = Block((), [every[name] for name in ops], ())
    program = Program("p", (x,), (), body, ConstantValue(None), ConstantValue(None), {})
    names = {id(op): name for name, op in every.items()}
    return [[names[id(op)] for op in block.ops] for block in split_checks(program)]


def test_a_demand_on_sizes_comes_first_with_what_it_needs():
    checks, body = made("print", "size", "flag", "demand")
    assert checks == ["size", "flag", "demand"]
    assert body == ["print", "size", "flag"]


def test_a_demand_on_data_stays():
    checks, body = made("item", "late")
    assert checks == []
    assert body == ["item", "late"]


def test_a_demand_after_an_error_of_the_users_stays():
    checks, body = made("size", "flag", "raise", "demand")
    assert checks == []
    assert body == ["size", "flag", "raise", "demand"]
