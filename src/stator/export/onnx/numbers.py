"""Python numbers: int64, double and bool scalars, with the meaning that they have in Python.

`//` and `%` round down, a division by zero is an error, and so is an integer that does not fit into
64 bits. What ONNX cannot compute exactly is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import onnx_ir as ir

from stator.export.onnx.lowering import Lowering, Text, is_small
from stator.export.onnx.scope import D
from stator.export.onnx.types import NUMBERS
from stator.program.ir import Arg, Op, Value
from stator.program.types import NumberType, TextType
from stator.program.typing_rules import present

LIMIT = float(2**63 - 4096)  # estimates in double are no nearer than that
EXACT = 2**53  # integers up to this are exact as doubles
Rule = Callable[[Lowering, Op], ir.Value]


def kind_of_number(arg: Arg) -> str:
    """`int`, `float` or `bool`."""
    if isinstance(arg, Value):
        kind = present(arg.type)
        return kind.kind if isinstance(kind, NumberType) else "text"
    return type(arg).__name__ if isinstance(arg, bool | int | float | complex) else "text"


def number(to: Lowering, arg: Arg, kind: str) -> ir.Value:
    """A number as one of kind `kind`."""
    if kind not in NUMBERS:
        to.refuse("ONNX has no complex numbers")
    if not isinstance(arg, Value):
        convert = {"int": int, "float": float, "bool": bool}[kind]
        return to.scope.constant(convert(arg), NUMBERS[kind])
    found = to.value(arg)
    if kind == "float" and kind_of_number(arg) == "int" and not is_small(to, arg):
        size = to.scope.scalar("Abs", found)
        fits = to.scope.scalar("LessOrEqual", size, to.scope.int64(EXACT))
        to.check(fits, "OverflowError", "an integer above 2**53 meets a float")
    return to.scope.cast(found, NUMBERS[kind])


def result_kind(op: Op) -> str:
    """The kind of number that `op` gives."""
    kind = op.results[0].type
    assert isinstance(kind, NumberType)
    return kind.kind


def common_kind(op: Op) -> str:
    """The kind in which operands are compared."""
    kinds = {kind_of_number(arg) for arg in op.args}
    return "float" if "float" in kinds else "int" if "int" in kinds else "bool"


def arithmetic(name: str) -> Rule:
    """`+`, `-` or `*`; an integer must fit into 64 bits."""

    def lower(to: Lowering, op: Op) -> ir.Value:
        kind = result_kind(op)
        one, other = (number(to, arg, kind) for arg in op.args)
        if kind == "int":
            if all(is_small(to, arg) for arg in op.args):
                if name != "Mul":
                    to.small.add(op.results[0])
            else:
                estimate = [to.scope.cast(value, D.DOUBLE) for value in (one, other)]
                _fits(to, to.scope.scalar(name, *estimate))
        return to.scope.scalar(name, one, other)

    return lower


def _fits(to: Lowering, estimate: ir.Value) -> None:
    size = to.scope.scalar("Abs", estimate)
    small = to.scope.scalar("Less", size, to.scope.constant(LIMIT, D.DOUBLE))
    to.check(small, "IntegerOverflow", "an integer does not fit into 64 bits")


def divisor(to: Lowering, arg: Arg, kind: str, text: str) -> ir.Value:
    """A divisor that is not 0; a run with 0 reports an error and divides by 1."""
    found = number(to, arg, kind)
    if not isinstance(arg, Value) and arg != 0:
        return found
    zero = to.scope.constant(0, NUMBERS[kind])
    is_zero = to.scope.scalar("Equal", found, zero)
    to.check(to.scope.scalar("Not", is_zero), "ZeroDivisionError", text)
    return to.scope.scalar("Where", is_zero, to.scope.constant(1, NUMBERS[kind]), found)


def truediv(to: Lowering, op: Op) -> ir.Value:
    """`a / b`, a float."""
    text = "float division by zero" if common_kind(op) == "float" else "division by zero"
    return to.scope.scalar("Div", number(to, op.args[0], "float"),
                  divisor(to, op.args[1], "float", text))  # fmt: skip


def floordiv(to: Lowering, op: Op) -> ir.Value:
    """`a // b`, rounded down."""
    kind = result_kind(op)
    if kind == "float":
        return _float_division(to, op)[0]
    one, other = (
        number(to, op.args[0], kind),
        divisor(to, op.args[1], kind, "integer division or modulo by zero"),
    )
    if is_small(to, op.args[0]):
        to.small.add(op.results[0])
    rest = to.scope.scalar("Mod", one, other, fmod=0)
    return to.scope.scalar("Div", to.scope.scalar("Sub", one, rest), other)


def mod(to: Lowering, op: Op) -> ir.Value:
    """`a % b`, with the sign of b."""
    kind = result_kind(op)
    if kind == "float":
        return _float_division(to, op)[1]
    if is_small(to, op.args[0]) or is_small(to, op.args[1]):
        to.small.add(op.results[0])
    other = divisor(to, op.args[1], kind, "integer modulo by zero")
    return to.scope.scalar("Mod", number(to, op.args[0], kind), other, fmod=0)


def _float_division(to: Lowering, op: Op) -> tuple[ir.Value, ir.Value]:
    """`divmod` of floats, as Python computes it."""
    scope = to.scope
    zero, one = scope.constant(0.0, D.DOUBLE), scope.constant(1.0, D.DOUBLE)
    name = "float floor division by zero" if op.name == "stator::floordiv" else "float modulo"
    a, b = number(to, op.args[0], "float"), divisor(to, op.args[1], "float", name)
    rest = scope.scalar("Mod", a, b, fmod=1)
    quotient = scope.scalar("Div", scope.scalar("Sub", a, rest), b)
    is_whole = scope.scalar("Equal", rest, zero)
    signs_differ = scope.scalar(
        "Xor", scope.scalar("Less", rest, zero), scope.scalar("Less", b, zero)
    )
    adjust = scope.scalar("And", scope.scalar("Not", is_whole), signs_differ)
    signed_zero = scope.scalar("Where", scope.scalar("Less", b, zero),
                         scope.constant(-0.0, D.DOUBLE), zero)  # fmt: skip
    moved = scope.scalar("Where", adjust, scope.scalar("Add", rest, b), rest)
    modulo = scope.scalar("Where", is_whole, signed_zero, moved)
    lower = scope.scalar("Sub", quotient, one)
    chosen = scope.scalar("Where", adjust, lower, quotient)
    floor = scope.scalar("Floor", chosen)
    distance = scope.scalar("Sub", chosen, floor)
    above = scope.scalar("Greater", distance, scope.constant(0.5, D.DOUBLE))
    rounded = scope.scalar("Where", above, scope.scalar("Add", floor, one), floor)
    return rounded, modulo


def power(to: Lowering, op: Op) -> ir.Value:
    """`a ** b`: of integers by multiplication, of floats where Python gives a float."""
    base, exponent = op.args[:2]
    if result_kind(op) == "int":
        if not isinstance(exponent, int) or not 0 <= exponent <= 63:
            to.refuse("a power of integers needs a constant exponent from 0 to 63 in ONNX")
        found, product = number(to, base, "int"), to.scope.int64(1)
        estimate, factor = to.scope.constant(1.0, D.DOUBLE), to.scope.cast(found, D.DOUBLE)
        for _ in range(int(exponent)):  # type: ignore[arg-type] # an int
            product = to.scope.scalar("Mul", product, found)
            estimate = to.scope.scalar("Mul", estimate, factor)
        _fits(to, estimate)
        return product
    if result_kind(op) != "float":
        to.refuse("ONNX has no complex numbers")
    a, b = number(to, base, "float"), number(to, exponent, "float")
    result = to.scope.scalar("Pow", a, b)
    defined = to.scope.scalar("Not", to.scope.scalar("IsNaN", result))
    to.check(defined, "ValueError", "a power that is no float")
    to.check(_finite(to, result), "OverflowError", "(34, 'Numerical result out of range')")
    return result


def _finite(to: Lowering, value: ir.Value) -> ir.Value:
    return to.scope.scalar("Not", to.scope.scalar("IsInf", value))


def compare(name: str, *, negated: bool = False) -> Rule:
    """A comparison of numbers or strings."""

    def lower(to: Lowering, op: Op) -> ir.Value:
        kinds = {kind_of_number(arg) for arg in op.args}
        if "text" in kinds:
            if name != "Equal":
                to.refuse("ONNX cannot order strings")
            pair = [to.value(arg, TextType()) for arg in op.args]
        else:
            kind = common_kind(op)
            pair = [number(to, arg, "int" if kind == "bool" else kind) for arg in op.args]
        found = to.scope.scalar(name, *pair)
        return to.scope.scalar("Not", found) if negated else found

    return lower


def extreme(name: str) -> Rule:
    """`min` or `max`: a later item counts only if it is less or greater."""

    def lower(to: Lowering, op: Op) -> ir.Value:
        kind = result_kind(op)
        compared = "int" if kind == "bool" else kind
        best = number(to, op.args[0], compared)
        for arg in op.args[1:]:
            item = number(to, arg, compared)
            best = to.scope.scalar("Where", to.scope.scalar(name, item, best), item, best)
        if all(is_small(to, arg) for arg in op.args):
            to.small.add(op.results[0])
        return to.scope.cast(best, NUMBERS[kind])

    return lower


def truth(to: Lowering, arg: Arg) -> ir.Value:
    """Whether a number is not 0."""
    kind = kind_of_number(arg)
    found = number(to, arg, kind)
    if kind == "bool":
        return found
    return to.scope.scalar(
        "Not", to.scope.scalar("Equal", found, to.scope.constant(0, NUMBERS[kind]))
    )


def connect(name: str) -> Rule:
    """`and` or `or` of numbers: one of the operands."""

    def lower(to: Lowering, op: Op) -> ir.Value:
        kind = result_kind(op)
        result = number(to, op.args[-1], kind)
        for arg in reversed(op.args[:-1]):
            item = number(to, arg, kind)
            if kind == "bool":
                result = to.scope.scalar(name, item, result)
                continue
            pair = (result, item) if name == "And" else (item, result)
            result = to.scope.scalar("Where", truth(to, arg), *pair)
        return result

    return lower


def bitwise(logical: str, name: str) -> Rule:
    """`&`, `|` or `^`."""

    def lower(to: Lowering, op: Op) -> ir.Value:
        kind = result_kind(op)
        pair = [number(to, arg, kind) for arg in op.args]
        return to.scope.scalar(logical if kind == "bool" else name, *pair)

    return lower


def shift(to: Lowering, op: Op) -> ir.Value:
    """`a << b` or `a >> b`, by a power of two from a table."""
    one, count = number(to, op.args[0], "int"), number(to, op.args[1], "int")
    low = to.scope.scalar("GreaterOrEqual", count, to.scope.int64(0))
    to.check(low, "ValueError", "negative shift count")
    high = to.scope.scalar("Less", count, to.scope.int64(63))
    to.check(high, "IntegerOverflow", "a shift by more than 62 bits")
    within = to.scope.scalar("And", low, high)
    index = to.scope.scalar("Where", within, count, to.scope.int64(0))
    table = to.scope.int64([2**bits for bits in range(63)])
    factor = to.scope.scalar("Gather", table, index)
    if op.name == "stator::lshift":
        estimate = [to.scope.cast(value, D.DOUBLE) for value in (one, factor)]
        _fits(to, to.scope.scalar("Mul", *estimate))
        return to.scope.scalar("Mul", one, factor)
    rest = to.scope.scalar("Mod", one, factor, fmod=0)
    return to.scope.scalar("Div", to.scope.scalar("Sub", one, rest), factor)


def negate(to: Lowering, op: Op) -> ir.Value:
    """`-a`."""
    if is_small(to, op.args[0]):
        to.small.add(op.results[0])
    return to.scope.scalar("Neg", number(to, op.args[0], result_kind(op)))


def absolute(to: Lowering, op: Op) -> ir.Value:
    """`abs(a)`."""
    if is_small(to, op.args[0]):
        to.small.add(op.results[0])
    return to.scope.scalar("Abs", number(to, op.args[0], result_kind(op)))


def rounded(name: str) -> Rule:
    """A float as an integer, by `Floor`, `Ceil`, `Round` or, without a name, cut off."""

    def lower(to: Lowering, op: Op) -> ir.Value:
        if len(op.args) > 1 and op.args[1] is not None:
            to.refuse("rounding to decimal digits has no exact counterpart in ONNX")
        if kind_of_number(op.args[0]) != "float":
            if is_small(to, op.args[0]):
                to.small.add(op.results[0])
            return number(to, op.args[0], "int")
        found = number(to, op.args[0], "float")
        to.check(to.scope.scalar("Not", to.scope.scalar("IsNaN", found)), "ValueError",
                 "cannot convert float NaN to integer")  # fmt: skip
        to.check(_finite(to, found), "OverflowError", "cannot convert float infinity to integer")
        whole = to.scope.scalar(name, found) if name else found
        _fits(to, whole)
        fine = to.scope.scalar("Less", to.scope.scalar("Abs", whole),
                                to.scope.constant(LIMIT, D.DOUBLE))  # fmt: skip
        safe = to.scope.scalar("Where", fine, whole, to.scope.constant(0.0, D.DOUBLE))
        return to.scope.cast(safe, D.INT64)

    return lower


def to_float(to: Lowering, op: Op) -> ir.Value:
    """`float(a)`."""
    return number(to, op.args[0], "float")


def select(to: Lowering, op: Op) -> ir.Value:
    """The item at an index."""
    kind = result_kind(op)
    index, items = number(to, op.args[0], "int"), op.args[1]
    assert isinstance(items, tuple)
    if all(isinstance(item, int) for item in items):
        to.small.add(op.results[0])
    result = number(to, items[-1], kind)
    for place in reversed(range(len(items) - 1)):
        here = to.scope.scalar("Equal", index, to.scope.int64(place))
        result = to.scope.scalar("Where", here, number(to, items[place], kind), result)
    return result


def function(name: str, domain: str = "") -> Rule:
    """A function of `math`; `domain` says for which arguments Python raises."""

    def lower(to: Lowering, op: Op) -> ir.Value:
        found = number(to, op.args[0], "float")
        zero, one = to.scope.constant(0.0, D.DOUBLE), to.scope.constant(1.0, D.DOUBLE)
        if domain in ("positive", "not negative"):
            bad = "LessOrEqual" if domain == "positive" else "Less"
            fails = to.scope.scalar(bad, found, zero)
            to.check(to.scope.scalar("Not", fails), "ValueError", "math domain error")
        if domain == "unit":
            size = to.scope.scalar("Abs", found)
            fails = to.scope.scalar("Greater", size, one)
            to.check(to.scope.scalar("Not", fails), "ValueError", "math domain error")
        if domain == "finite":
            to.check(_finite(to, found), "ValueError", "math domain error")
        result = to.scope.scalar(name, found)
        if domain == "overflow":
            fine = to.scope.scalar("Or", _finite(to, result), to.scope.scalar("IsInf", found))
            to.check(fine, "OverflowError", "math range error")
        return result

    return lower


def classified(name: str) -> Rule:
    """`isnan` and `isinf`."""
    return lambda to, op: to.scope.scalar(name, number(to, op.args[0], "float"))


def is_finite(to: Lowering, op: Op) -> ir.Value:
    """`isfinite`."""
    found = number(to, op.args[0], "float")
    either = to.scope.scalar("Or", *(to.scope.scalar(n, found) for n in ("IsNaN", "IsInf")))
    return to.scope.scalar("Not", either)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "stator::add": arithmetic("Add"),
        "stator::sub": arithmetic("Sub"),
        "stator::mul": arithmetic("Mul"),
        "stator::truediv": truediv,
        "stator::floordiv": floordiv,
        "stator::mod": mod,
        "stator::pow": power,
        "stator::neg": negate,
        "stator::abs": absolute,
        "stator::min": extreme("Less"),
        "stator::max": extreme("Greater"),
        "stator::bitand": bitwise("And", "BitwiseAnd"),
        "stator::bitor": bitwise("Or", "BitwiseOr"),
        "stator::bitxor": bitwise("Xor", "BitwiseXor"),
        "stator::lshift": shift,
        "stator::rshift": shift,
        "stator::invert": lambda to, op: to.scope.scalar(
            "BitwiseNot", number(to, op.args[0], "int")
        ),
        "stator::eq": compare("Equal"),
        "stator::ne": compare("Equal", negated=True),
        "stator::lt": compare("Less"),
        "stator::le": compare("LessOrEqual"),
        "stator::gt": compare("Greater"),
        "stator::ge": compare("GreaterOrEqual"),
        "stator::and": connect("And"),
        "stator::or": connect("Or"),
        "stator::not": lambda to, op: to.scope.scalar("Not", truth(to, op.args[0])),
        "stator::bool": lambda to, op: truth(to, op.args[0]),
        "stator::int": rounded(""),
        "stator::trunc": rounded(""),
        "stator::floor": rounded("Floor"),
        "stator::ceil": rounded("Ceil"),
        "stator::round": rounded("Round"),
        "stator::float": to_float,
        "stator::select": select,
        "stator::exp": function("Exp", "overflow"),
        "stator::log": function("Log", "positive"),
        "stator::sqrt": function("Sqrt", "not negative"),
        "stator::sin": function("Sin", "finite"),
        "stator::cos": function("Cos", "finite"),
        "stator::tan": function("Tan", "finite"),
        "stator::asin": function("Asin", "unit"),
        "stator::acos": function("Acos", "unit"),
        "stator::atan": function("Atan"),
        "stator::tanh": function("Tanh"),
        "stator::erf": function("Erf"),
        "stator::isnan": classified("IsNaN"),
        "stator::isinf": classified("IsInf"),
        "stator::isfinite": is_finite,
    }
)


def lower_number(to: Lowering, op: Op) -> None:
    """A number op."""
    if op.name not in RULES:
        to.refuse(f"{op.name} of Python numbers has no exact counterpart in ONNX",
                  "compute it on a tensor")  # fmt: skip
    to.bind(op.results[0], RULES[op.name](to, op))


def lower_text(to: Lowering, op: Op) -> None:
    """A text op that a message does not need."""
    found = to.scope.find(op.args[0]) if isinstance(op.args[0], Value) else None
    if isinstance(op.args[0], str) and op.name == "stator::text_length":
        to.bind(op.results[0], to.scope.int64(len(op.args[0])))
    elif isinstance(found, Text) or found is None or found.dtype is D.STRING:
        to.refuse(f"{op.name}: ONNX has no such operation on strings")
