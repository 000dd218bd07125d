"""Program -> text, for people; two captures of one source print the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from stator.program.ir import Arg, Block, InputFacts, Literal, Op, StateUse, StoredTensor, Value


class Printable(Protocol):
    """What of a program is printed: `Program` prints itself with this module."""

    name: str
    stored: tuple[StoredTensor, ...]
    body: Block
    functions: dict[str, Block]
    input_facts: dict[Value, InputFacts]
    state: tuple[StateUse, ...]

    @property
    def call_inputs(self) -> tuple[Value, ...]:
        """The inputs that a call gives."""

    @property
    def state_inputs(self) -> tuple[Value, ...]:
        """What the state is before a run."""

    @property
    def call_outputs(self) -> tuple[Arg, ...]:
        """What a call gives."""

    @property
    def state_outputs(self) -> tuple[Arg, ...]:
        """What the state is after a run."""


def print_program(program: Printable, *, places: bool = True) -> str:
    """The text form of `program`; with `places`, each op ends with its line in the user's file."""
    inputs = ", ".join(_input(value, program) for value in program.call_inputs)
    state = f"; state {_typed(program.state_inputs)}" if program.state else ""
    lines = [f"program {program.name}({inputs}{state}) {{"]
    for stored in program.stored:
        lines.append(f'  %{stored.value.name}: {stored.value.type} = {stored.kind} "{stored.name}"')
    lines += _block_lines(program.body, 1, places)
    left = f"; state {_arguments(program.state_outputs)}" if program.state else ""
    lines += [("  return " + _arguments(program.call_outputs)).rstrip() + left, "}"]
    for name, function in program.functions.items():
        lines.append(f"function {name}({_typed(function.inputs)}) {{")
        lines += _block_lines(function, 1, places)
        lines += [("  return " + _arguments(function.outputs)).rstrip(), "}"]
    return "\n".join(lines)


def print_op(op: Op) -> str:
    """The text form of `op` alone; of its blocks, how many there are."""
    inside = f" {{ {len(op.blocks)} {'block' if len(op.blocks) == 1 else 'blocks'} }}"
    return f"{_results(op)}{op.name}({_call_arguments(op)}){inside if op.blocks else ''}"


def print_call(op: Op) -> str:
    """The call of `op`, without its results and its blocks: `aten::add.Tensor(%1, 2)`."""
    return f"{op.name}({_call_arguments(op)})"


def _block_lines(block: Block, depth: int, places: bool) -> Iterator[str]:
    for op in block.ops:
        yield from _op_lines(op, depth, places)


def _op_lines(op: Op, depth: int, places: bool) -> Iterator[str]:
    pad = "  " * depth
    where = f"  # {op.place.short}" if places and op.place else ""
    head = f"{_results(op)}{print_call(op)}"
    if not op.blocks:
        yield f"{pad}{head}{where}"
        return
    for index, block in enumerate(op.blocks):
        inputs = f" ({_typed(block.inputs)})" if block.inputs else ""
        start = f"{head}{inputs} {{" if index == 0 else f"}}{inputs} {{"
        yield f"{pad}{start}{where if index == 0 else ''}"
        yield from _block_lines(block, depth + 1, places)
        if block.outputs:
            yield f"{pad}  yield {_arguments(block.outputs)}"
    yield f"{pad}}}"


def _results(op: Op) -> str:
    return f"{_typed(op.results)} = " if op.results else ""


def _typed(values: tuple[Value, ...]) -> str:
    return ", ".join(f"%{value.name}: {value.type}" for value in values)


def _input(value: Value, program: Printable) -> str:
    """An input, with its layout where the program relies on it."""
    facts = program.input_facts.get(value)
    layout = facts.layout if facts is not None else None
    if layout is None:
        return f"%{value.name}: {value.type}"
    shown = layout if isinstance(layout, str) else f"strides {list(layout)}"
    return f"%{value.name}: {value.type} {shown}"


def _call_arguments(op: Op) -> str:
    named = [f"{name}={_argument(arg)}" for name, arg in op.attributes.items()]
    return ", ".join([_argument(arg) for arg in op.args] + named)


def _arguments(args: tuple[Arg, ...]) -> str:
    return ", ".join(_argument(arg) for arg in args)


def _argument(arg: Arg) -> str:
    if isinstance(arg, Value):
        return f"%{arg.name}"
    if isinstance(arg, Literal):
        return arg.text
    if isinstance(arg, tuple):
        return f"[{_arguments(arg)}]"
    return repr(arg)
