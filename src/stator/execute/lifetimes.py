"""Where the values of a block are used for the last time."""

from __future__ import annotations

from stator.program.ir import Block, Value, used_by, values_in

NO_VALUES: frozenset[Value] = frozenset()


def last_uses(block: Block) -> list[tuple[Value, ...]]:
    """For each op of `block`, then for its end: the block's own values that nothing uses later."""
    end = len(block.ops)
    last = dict.fromkeys(block.inputs, end)
    for index, op in enumerate(block.ops):
        last.update({value: index for value in used_by(op) if value in last})
        last.update(dict.fromkeys(op.results, index))
    last.update({value: end for value in values_in(block.outputs) if value in last})
    released: list[list[Value]] = [[] for _ in range(end + 1)]
    for value, index in last.items():
        released[index].append(value)
    return [tuple(values) for values in released]


def last_uses_from_outside(block: Block, dying: frozenset[Value]) -> list[frozenset[Value]]:
    """For each op of `block`: the values of `dying` that nothing uses after it.

    `dying` are values of blocks around, which nothing uses once `block` has run.
    """
    last = {
        value: index
        for index, op in enumerate(block.ops)
        for value in used_by(op)
        if value in dying
    }
    for value in values_in(block.outputs):
        last.pop(value, None)
    uses: list[set[Value]] = [set() for _ in block.ops]
    for value, index in last.items():
        uses[index].add(value)
    return [frozenset(values) for values in uses]
