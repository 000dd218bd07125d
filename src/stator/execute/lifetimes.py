"""Where the values of a block are used for the last time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stator.program.ir import Block, Op, Value, operands_of, ops_in, values_in

NO_VALUES: frozenset[Value] = frozenset()
Needs = Mapping[Op, frozenset[Value]]


def needs_in(block: Block) -> Needs:
    """For each op of `block`, at any depth: the values of blocks around it that it names.

    Each op is looked at once, however deep it is: an op is known before those around it.
    """
    known: dict[Op, frozenset[Value]] = {}
    for op in reversed(list(ops_in(block))):
        named = {*operands_of(op)}
        for inner in op.blocks:
            named.update(_needs_of_block(inner, known))
        known[op] = frozenset(named)
    return known


def _needs_of_block(block: Block, known: Needs) -> Iterator[Value]:
    own = {*block.inputs, *(result for op in block.ops for result in op.results)}
    yield from (value for value in values_in(block.outputs) if value not in own)
    for op in block.ops:
        yield from (value for value in known[op] if value not in own)


def last_uses(block: Block, needs: Needs) -> list[tuple[Value, ...]]:
    """For each op of `block`, then for its end: the block's own values that nothing uses later."""
    end = len(block.ops)
    last = dict.fromkeys(block.inputs, end)
    for index, op in enumerate(block.ops):
        last.update({value: index for value in needs[op] if value in last})
        last.update(dict.fromkeys(op.results, index))
    last.update({value: end for value in values_in(block.outputs) if value in last})
    released: list[list[Value]] = [[] for _ in range(end + 1)]
    for value, index in last.items():
        released[index].append(value)
    return [tuple(values) for values in released]


def last_uses_from_outside(
    block: Block, dying: frozenset[Value], needs: Needs
) -> list[frozenset[Value]]:
    """For each op of `block`: the values of `dying` that nothing uses after it.

    `dying` are values of blocks around, which nothing uses once `block` has run.
    """
    last = {
        value: index for index, op in enumerate(block.ops) for value in needs[op] if value in dying
    }
    for value in values_in(block.outputs):
        last.pop(value, None)
    uses: list[set[Value]] = [set() for _ in block.ops]
    for value, index in last.items():
        uses[index].add(value)
    return [frozenset(values) for values in uses]
