"""renumber: names in the order a reader meets them."""

from stator.program.naming import SymbolNames, renumber
from stator.program.sizes import AnySize, SizeExpr, Symbol
from stator.program.types import ListType, NumberType, OptionalType
from tests.program.builder import Builder, tensor

U3, U7 = Symbol("u3"), Symbol("u7")


def test_symbols_are_named_in_the_order_they_are_met():
    names = SymbolNames()
    assert str(names.of(tensor(U7, SizeExpr("add", (U3, U7))))) == "f32[s0, s1 + s0]"
    assert str(names.of(ListType(OptionalType(tensor(U3, AnySize()))))) == "list<f32[s1, ?]?>"
    assert names.of(NumberType("int")) == NumberType("int")


def test_symbols_that_have_a_name_keep_it():
    assert str(SymbolNames().of(tensor("n", U3, "s7"))) == "f32[n, s0, s7]"


def test_a_program_that_was_renumbered_stays_as_it_is():
    build = Builder()
    x = build.input("x", tensor(U7, SizeExpr("mul", (2, U3))))
    y = build.op("aten::neg", x, gives=tensor(U7, SizeExpr("mul", (2, U3))))
    program = renumber(build.program(y))
    once = str(program)
    assert "%1: f32[s0, 2*s1] = aten::neg(%x)" in once
    assert str(renumber(program)) == once


def test_the_names_that_users_give_are_kept_and_never_given_again():
    names = SymbolNames({"u3": "batch", "u9": "s0"})
    assert str(names.of(tensor(U7, U3, Symbol("u9")))) == "f32[s1, batch, s0]"
