"""sizes_in_lists(): the dynamic sizes of inputs that the items of lists really have.

A list of type `list<f32[n]>` may hold items of another dynamic size: the types of programs do not
distinguish them. So everything that puts an item into a list, or a list in the place of another, is
looked at. Where the sizes of both are not the same, the size that is named is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stator.program.ir import Arg, Op, Value, ops_in
from stator.program.program import Program
from stator.program.sizes import Symbol
from stator.program.types import ListType, TensorType, Type
from stator.program.typing_rules import present

Sizes = Mapping[Symbol, tuple[Value, int]]
ADDING = {"stator::list_append": 1, "stator::list_insert": 2, "stator::list_set": 2}
KEEPING = frozenset({*ADDING, "stator::list_slice", "stator::list_delete"})
EXACT = frozenset({*KEEPING, "stator::list_make", "aten::unbind.int"})


def sizes_in_lists(program: Program) -> Sizes:
    """Each size, with an input and the dimension that it is the size of."""
    sizes = {
        size: (value, dim)
        for value in reversed(program.inputs)
        if isinstance(value.type, TensorType)
        for dim, size in enumerate(value.type.shape)
        if isinstance(size, Symbol)
    }
    wrong: set[Symbol] = set()
    for value in program.inputs:
        if _is_list(value.type):
            wrong.update(_other_sizes(value.type, None))
    for op in ops_in(program.body):
        for given, wanted in _moves(op):
            wrong.update(_other_sizes(wanted, given))
    return {size: where for size, where in sizes.items() if size not in wrong}


def _moves(op: Op) -> Iterator[tuple[Type | None, Type]]:
    """The type of what becomes part of a list or takes its place, and the type that it is given."""
    if op.blocks:
        yield from _joins(op)
        return
    if op.name == "stator::list_get":
        yield _item(_type(op.args[0])), op.results[0].type
        return
    if op.name in KEEPING:
        yield _type(op.args[0]), op.results[0].type
    items = op.args if op.name == "stator::list_make" else ()
    if op.name in ADDING:
        items = (op.args[ADDING[op.name]],)
    for item in items:
        wanted = _item(op.results[0].type)
        assert wanted is not None
        yield _type(item), wanted
    if op.name not in EXACT:
        yield from ((None, one.type) for one in op.results if _is_list(one.type))


def _joins(op: Op) -> Iterator[tuple[Type | None, Type]]:
    """What goes into the blocks of an op and comes out of them."""
    pairs: list[tuple[Arg, Value]] = []
    for block in op.blocks:
        if op.name == "stator::while":
            pairs += zip(op.args[1:], block.inputs, strict=True)
            pairs += zip(block.outputs[1:], block.inputs, strict=True)
            pairs += zip(block.outputs[1:], op.results, strict=True)
        elif op.name == "stator::if":
            pairs += zip(block.outputs, op.results, strict=True)
        else:
            pairs += [(None, value) for value in (*block.inputs, *op.results)]
    yield from ((_type(given), value.type) for given, value in pairs if _is_list(value.type))


def _type(arg: Arg) -> Type | None:
    return arg.type if isinstance(arg, Value) else None


def _item(kind: Type | None) -> Type | None:
    found = None if kind is None else present(kind)
    return found.element if isinstance(found, ListType) else None


def _is_list(kind: Type) -> bool:
    return isinstance(present(kind), ListType)


def _other_sizes(wanted: Type, given: Type | None) -> Iterator[Symbol]:
    """The dynamic sizes in `wanted` that a value of type `given` need not have; None is any."""
    wanted, found = present(wanted), None if given is None else present(given)
    if isinstance(wanted, ListType):
        yield from _other_sizes(wanted.element, _item(found))
    elif isinstance(wanted, TensorType):
        sizes = found.shape if isinstance(found, TensorType) else (None,) * len(wanted.shape)
        for size, other in zip(wanted.shape, sizes, strict=True):
            if isinstance(size, Symbol) and size != other:
                yield size
