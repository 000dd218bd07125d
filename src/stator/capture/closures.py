"""close_functions(): functions of the program take what they use of the blocks around them.

    def walk(k): ... total + walk(k - 1)      a function of the program, recorded inside a block
    %9 = call(%3, function='walk')        ->  %9 = call(%3, %total, function='walk')

While it is recorded, a function sees the values of the blocks around it, as an inner block does. A
function that runs has values of its own: the others become inputs, and every call passes them on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from stator.program.ir import Arg, Block, Op, Value, ops_in, values_in

Functions = Mapping[str, Block]


def close_functions(body: Block, functions: Functions, seen: Iterable[Value]) -> dict[str, Block]:
    """The functions that `body` reaches, changed in place; all of them see the values `seen`."""
    reached = _reached(body, functions)
    free = _free_values(reached, set(seen))
    for name, block in reached.items():
        new = {value: Value(f"{value.name}_{name}", value.type) for value in free[name]}
        block.inputs = (*block.inputs, *new.values())
        _pass_on(block, new, free)
    _pass_on(body, {}, free)
    return reached


def _reached(body: Block, functions: Functions) -> dict[str, Block]:
    """The functions that a run can come to; a capture leaves others behind."""
    reached: dict[str, Block] = {}
    waiting = [body]
    while waiting:
        for name in map(_called, ops_in(waiting.pop())):
            if name is not None and name not in reached:
                reached[name] = functions[name]
                waiting.append(functions[name])
    return reached


def _called(op: Op) -> str | None:
    return str(op.attributes["function"]) if op.name == "stator::call" else None


def _free_values(functions: Functions, seen: set[Value]) -> dict[str, dict[Value, None]]:
    """For each function, in order, the values that it or a function that it calls needs."""
    made = {name: set(_defined(block)) for name, block in functions.items()}
    free = {
        name: dict.fromkeys(v for v in _used(block) if v not in made[name] and v not in seen)
        for name, block in functions.items()
    }
    calls = {
        name: [*filter(None, map(_called, ops_in(block)))] for name, block in functions.items()
    }
    is_settled = False
    while not is_settled:
        is_settled = True
        for name, callees in calls.items():
            found = [v for one in callees for v in free[one] if v not in made[name]]
            if not free[name].keys() >= set(found):
                free[name].update(dict.fromkeys(found))
                is_settled = False
    return free


def _defined(block: Block) -> Iterator[Value]:
    yield from block.inputs
    for op in ops_in(block):
        yield from op.results
        for inner in op.blocks:
            yield from inner.inputs


def _used(block: Block) -> Iterator[Value]:
    for op in ops_in(block):
        yield from values_in(op.args)
        yield from values_in(op.attributes)
        for inner in op.blocks:
            yield from values_in(inner.outputs)
    yield from values_in(block.outputs)


def _pass_on(
    block: Block, new: Mapping[Value, Value], free: Mapping[str, Mapping[Value, None]]
) -> None:
    """`block` with its own inputs for values of other blocks; each call passes what it needs."""
    for op in ops_in(block):
        more = free.get(_called(op) or "", {})
        op.args = tuple(_replaced(arg, new) for arg in (*op.args, *more))
        op.attributes = {name: _replaced(arg, new) for name, arg in op.attributes.items()}
        for inner in op.blocks:
            inner.outputs = tuple(_replaced(arg, new) for arg in inner.outputs)
    block.outputs = tuple(_replaced(arg, new) for arg in block.outputs)


def _replaced(arg: Arg, new: Mapping[Value, Value]) -> Arg:
    if isinstance(arg, tuple):
        return tuple(_replaced(one, new) for one in arg)
    return new.get(arg, arg) if isinstance(arg, Value) else arg
