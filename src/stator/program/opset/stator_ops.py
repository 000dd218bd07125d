"""The rows of Stator's own ops: one place for all that is known about each.

A signature lists operands, then attributes after `;`, then results:

    int float bool complex number     Python numbers, `number` is any of them
    promoted                          the kind that arithmetic on the operands gives, at least int
    scalar                            a number or a text
    tensor text list<T> T?            `T?` may be absent; `any` is a value of any type
    T                                 the same type wherever the signature has it: operands fit what
                                      the results declare
    *name: T                          any number of them
    [T]                               several values as one operand
    name?: T                          may be left out

A list is a value: an op that changes one gives a new list. An op that only selects between values
(`select`, `if` with empty blocks) evaluates nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from stator.program.opset.raising import (
    formatting,
    ordering,
    slicing,
    unless_constant,
    unless_nonzero,
    unless_not_negative,
    unless_power_is_total,
    unless_whole,
)
from stator.program.opset.row import Kind, OpRow, Rule, by_value, never, settled

NONE: frozenset[str] = frozenset()
QUESTIONS = frozenset(  # of `text_is`
    {
        "isdigit", "isdecimal", "isnumeric", "isalpha", "isalnum", "isspace", "isupper", "islower",
        "isascii", "isprintable",
    }
)  # fmt: skip


def _number(name: str, signature: str, meaning: str, raises: Rule = never) -> OpRow:
    return OpRow(
        f"stator::{name}", "number", signature, meaning,
        raises=raises, reads=False, aliases=NONE, pure=True,
    )  # fmt: skip


def _math(name: str, raises: Rule = by_value, *, two: bool = False, result: str = "float") -> OpRow:
    operands = "a: number, b: number" if two else "a: number"
    call = f"{name}(a, b)" if two else f"{name}(a)"
    return _number(name, f"({operands}) -> {result}", f"Python's `math.{call}`", raises)


def _list(
    name: str,
    signature: str,
    meaning: str,
    raises: Rule = never,
    aliases: frozenset[str] | Literal["all"] = "all",
) -> OpRow:
    return OpRow(
        f"stator::{name}", "list", signature, meaning, raises=raises, reads=False, aliases=aliases
    )


def _text(name: str, signature: str, meaning: str, raises: Rule = never) -> OpRow:
    return OpRow(f"stator::{name}", "text", signature, meaning, raises=raises, aliases=NONE)


def _mode(name: str, signature: str, meaning: str, verb: str) -> OpRow:
    return OpRow(
        f"stator::{name}", "mode", signature, meaning, raises=never, aliases=NONE, verb=verb
    )


def _control(
    name: str,
    kind: Kind,
    signature: str,
    meaning: str,
    blocks: tuple[str, ...] = (),
    raises: Rule = never,
    verb: str = "",
) -> OpRow:
    return OpRow(
        f"stator::{name}", kind, signature, meaning, blocks=blocks, raises=raises, verb=verb
    )


def _host(name: str, signature: str, meaning: str) -> OpRow:
    """An op that calls back into the process that captured the program; never in a file."""
    return OpRow(f"host::{name}", "host", signature, meaning, raises=never, in_file=False)


NUMBER_ROWS = (
    _number("add", "(a: number, b: number) -> promoted", "a + b"),
    _number("sub", "(a: number, b: number) -> promoted", "a - b"),
    _number("mul", "(a: number, b: number) -> promoted", "a * b"),
    _number("truediv", "(a: number, b: number) -> number",
            "a / b, never an integer; ZeroDivisionError if b is 0", unless_nonzero),
    _number("floordiv", "(a: number, b: number) -> promoted",
            "a // b, rounded down; ZeroDivisionError if b is 0", unless_nonzero),
    _number("mod", "(a: number, b: number) -> promoted",
            "a % b, with the sign of b; ZeroDivisionError if b is 0", unless_nonzero),
    _number("pow", "(a: number, b: number) -> number", "a ** b", unless_power_is_total),
    _number("neg", "(a: number) -> promoted", "-a"),
    _number("abs", "(a: number) -> number", "the absolute value"),
    _number("min", "(*items: T) -> T", "the smallest, the first of equals"),
    _number("max", "(*items: T) -> T", "the largest, the first of equals"),
    _number("bitand", "(a: number, b: number) -> number", "a & b of integers or bools"),
    _number("bitor", "(a: number, b: number) -> number", "a | b of integers or bools"),
    _number("bitxor", "(a: number, b: number) -> number", "a ^ b of integers or bools"),
    _number("lshift", "(a: number, b: number) -> number",
            "a << b; ValueError if b is negative", unless_not_negative),
    _number("rshift", "(a: number, b: number) -> number",
            "a >> b; ValueError if b is negative", unless_not_negative),
    _number("invert", "(a: number) -> int", "~a of an integer or bool"),
    _number("eq", "(a: scalar, b: scalar) -> bool", "a == b of numbers or strings"),
    _number("ne", "(a: scalar, b: scalar) -> bool", "a != b of numbers or strings"),
    _number("lt", "(a: scalar, b: scalar) -> bool", "a < b of numbers or strings"),
    _number("le", "(a: scalar, b: scalar) -> bool", "a <= b of numbers or strings"),
    _number("gt", "(a: scalar, b: scalar) -> bool", "a > b of numbers or strings"),
    _number("ge", "(a: scalar, b: scalar) -> bool", "a >= b of numbers or strings"),
    _number("and", "(*items: T) -> T",
            "the first that is 0 or False, else the last; all have been computed"),
    _number("or", "(*items: T) -> T",
            "the first that is not 0 or False, else the last; all have been computed"),
    _number("not", "(a: number) -> bool", "whether a is 0 or False"),
    _number("int", "(a: number) -> int",
            "a as an integer, cut off; OverflowError for infinity, ValueError for NaN",
            unless_whole),
    _number("float", "(a: number) -> float", "a as a float", unless_whole),
    _number("bool", "(a: number) -> bool", "whether a is not 0"),
    _number("complex", "(a: number, b?: number) -> complex", "a + bj", never),
    _number("real", "(a: number) -> number", "the real part"),
    _number("imag", "(a: number) -> number", "the imaginary part"),
    _number("round", "(a: number, digits?: int) -> number",
            "rounded half to even; an integer if `digits` is left out; else the number with that "
            "many decimal digits that is nearest to the exact value of a, as a float or an integer "
            "like a", unless_whole),
    _number("floor", "(a: number) -> int", "the largest integer up to a", unless_whole),
    _number("ceil", "(a: number) -> int", "the smallest integer from a on", unless_whole),
    _number("trunc", "(a: number) -> int", "a without its fraction", unless_whole),
    _number("select", "(index: int, items: [T]) -> T", "the item at that index", settled),
)  # fmt: skip

MATH_ROWS = (
    *(_math(name) for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan",
        "asin", "acos", "sinh", "cosh", "acosh", "atanh", "gamma", "lgamma",
    )),
    *(_math(name, never) for name in ("cbrt", "atan", "tanh", "asinh", "erf", "erfc")),
    _math("atan2", never, two=True),
    _math("hypot", never, two=True),
    _math("fmod", two=True),
    _math("copysign", never, two=True),
    *(_math(name, never, result="bool") for name in ("isnan", "isinf", "isfinite")),
)  # fmt: skip

CONTROL_ROWS = (
    _control("if", "branch", "(condition: bool) -> *results: any",
             "runs one block, and gives what it yields", ("then", "else")),
    _control("while", "loop", "(condition: bool, *carried: any) -> *carried: any",
             "while the condition is true, runs the body on the carried values, which yields the "
             "next condition and carried values; gives the last carried values",
             ("each iteration",)),
    OpRow("stator::region", "region", "() -> *results: any",
          "runs the block, and gives what it yields: ops that a backend may compile as one",
          blocks=("ops",), raises=never, in_file=False),
    _control("call", "call", "(*args: any; function: text) -> *results: any",
             "runs that function of the program on values of its own; functions may call "
             "themselves", (), by_value),
    _control("try", "try",
             "(*start: any; number: int, catches: [[text]], asks: [[[text]]]) -> *results: any",
             "runs the body; if it raises an exception of a class that `catches` names at place k, "
             "handler k instead, on the exception's class and text, what was kept last (at first, "
             "`start`), and for each list of names in its `asks` whether the exception is of such "
             "a class", ("try", "handler...")),
    _control("keep", "keep", "(*values: any; number: int)",
             "what the handlers of the `try` of that number receive if a later op raises"),
    _control("note", "keep", "(*state: any)",
             "what the state of the model is if the program raises from here on"),
    _control("reraise", "raise", "()", "in a handler: raises again what it has caught",
             (), by_value, "may raise again"),
    _control("custom_gradient", "gradient", "(results: [tensor], inputs: [any]) -> *results: any",
             "gives `results`; the backward pass runs the block on their gradients, which yields "
             "those of `inputs`", ("backward",)),
    _control("gradients", "gradient",
             "(outputs: [tensor], inputs: [tensor], given: [tensor?]?; retain?: any, "
             "create?: bool, materialize?: bool) -> *results: tensor?",
             "the gradients of `outputs` with respect to `inputs`, as `torch.autograd.grad` "
             "computes them", (), by_value),
    _control("hook", "gradient", "(tensor: tensor)",
             "in the backward pass, the gradient of the tensor goes through the block, which "
             "yields another or nothing", ("backward",)),
)  # fmt: skip

HOST_ROWS = (
    OpRow("host::call", "host", "(*values: any; number: int) -> *result: any",
          "calls a function of the Python process that captured the program", in_file=False,
          verb="calls Python"),
    _host("hook_inputs", "(*tensors: any; module: text, places: [int], count: int) -> "
          "*tensors: any", "the tensors as they go into a module that has backward hooks"),
    _host("hook_outputs", "(*tensors: any; module: text, places: [int], count: int) -> "
          "*tensors: any", "the tensors as they come out of it"),
    _host("note", "(*values: any; effects: int)",
          "what Python objects hold if the program raises from here on"),
)  # fmt: skip

EFFECT_ROWS = (
    _control("assert", "check", "(condition: bool, message?: any)",
             "raises AssertionError if the condition is false", (), by_value, "asserts"),
    _control("raise", "raise", "(type: text, *args: any; names?: [text], fields?: [text])",
             "raises the exception of that class; `names` are classes of it that users wrote, the "
             "last of the arguments its attributes `fields`", (), by_value, "may raise"),
    _control("demand", "check", "(condition: bool, text: text)",
             "raises if what the capture relied on does not hold"),
    _control("print", "output", "(*parts: any; sep?: text?, end?: text?)",
             "writes to the standard output", (), never, "prints"),
    _mode("set_grad", "(enabled: bool; inherited?: bool)",
          "gradients are recorded from here on, or not, until the next one or the end of the "
          "program; one that is `inherited` turns them on only if the caller has them on",
          "sets grad mode"),
    _mode("set_inference", "(enabled: bool)", "inference mode from here on, in the same way",
          "sets inference mode"),
    _mode("set_autocast",
          "(device: any, enabled: bool, dtype?: any, cache?: bool, deeper?: int)",
          "torch's automatic casts, in the same way; `deeper` is the change in the number of open "
          "contexts", "sets autocast"),
    _mode("seed", "(seed: int)", "`torch.manual_seed(seed)`", "sets the random seed"),
    _mode("random_state", "() -> tensor",
          "the state of torch's random generator: a tensor of bytes that the program owns",
          "reads the random state"),
    _mode("set_random_state", "(state: tensor)", "puts such a state back", "sets the random state"),
)  # fmt: skip

TEXT_ROWS = (
    _text("format", "(value: any, conversion?: text?, spec?: text?) -> text",
          "one value as text: `conversion` is `s`, `r`, `a` or nothing, `spec` as in Python",
          formatting),
    _text("join", "(*parts: text) -> text", "the strings joined"),
    _text("text_length", "(text: text) -> int", "the number of characters"),
    _text("text_slice", "(text: text, start?: int?, stop?: int?, step?: int?) -> text",
          "`text[start:stop:step]`, in code points as all positions are", slicing),
    _text("text_find", "(text: text, part: text, start?: int?, stop?: int?, last?: bool) -> int",
          "`text.find(part, start, stop)`; with `last`, Python's `rfind`"),
    _text("text_code", "(text: text) -> int",
          "`ord(text)`; TypeError unless it has one character", by_value),
    _text("text_case", "(text: text, case: text) -> text",
          "the string in `upper` or `lower` case, by the rules of Unicode", unless_constant),
    _text("text_is", "(text: text, question: text) -> bool",
          "Python's `text.isdigit()` and its like, by the name of the method", unless_constant),
    _text("text_int", "(text: text, base?: int) -> int",
          "`int(text, base)`; ValueError if the text is no such number", by_value),
    _text("text_float", "(text: text) -> float",
          "`float(text)`; ValueError if the text is no number", by_value),
)  # fmt: skip

LIST_ROWS = (
    _list("list_make", "(*items: T) -> list<T>", "a list of these items"),
    _list("list_length", "(list: list<T>) -> int", "how many items it has", never, NONE),
    _list("list_get", "(list: list<T>, index: int) -> T",
          "one item; a negative index counts from the end", by_value),
    _list("list_slice", "(list: list<T>, start?: int?, stop?: int?, step?: int?) -> list<T>",
          "`list[start:stop:step]`", slicing),
    _list("list_append", "(list: list<T>, item: T) -> list<T>", "the list with one more item"),
    _list("list_insert", "(list: list<T>, index: int, item: T) -> list<T>",
          "the list with the item put before that index"),
    _list("list_set", "(list: list<T>, index: int, item: T) -> list<T>",
          "the list with one item replaced", by_value),
    _list("list_delete", "(list: list<T>, index: int) -> list<T>",
          "the list without one item", by_value),
    _list("list_order", "(reverse: bool, *columns: list<any>) -> list<int>",
          "the indexes of the items in order, by the first column, then the next", ordering, NONE),
    _list("list_tensor", "(list: list<any>; dtype: any, device: any) -> tensor",
          "`torch.tensor(list)`", by_value, NONE),
    _list("tensor_list", "(tensor: tensor) -> list<any>", "`tensor.tolist()`", never, NONE),
)  # fmt: skip

MATH_OPS = tuple(row.name.removeprefix("stator::") for row in MATH_ROWS)
STATOR_ROWS: Mapping[str, OpRow] = MappingProxyType(
    {
        row.name: row
        for row in (
            *NUMBER_ROWS, *MATH_ROWS, *CONTROL_ROWS, *EFFECT_ROWS, *TEXT_ROWS, *LIST_ROWS,
            *HOST_ROWS,
        )
    }
)  # fmt: skip
