"""fold_tensors: ops on tensors that are known before the program runs are done once.

    %m = aten::tril(%ones); f(%m)    ->   %c = constant "folded_0"; f(%c)

Known are the results of ops without tensors (`arange`, `ones`), and the stored constants that the
caller names as private: no one else holds them, so no one can change them. Parameters and buffers
are never known. A result that is written to, or that leaves the program, is made again by each run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from stator.optimize.alias import Aliases
from stator.optimize.substitution import substituted_all
from stator.program.ir import Block, Op, StoredTensor, Value
from stator.program.opset.queries import is_pure
from stator.program.program import Program
from stator.program.registry import constant_of, resolve
from stator.program.sizes import is_static
from stator.program.types import TensorType

LARGEST = 2**24  # bytes of one result; beyond it, making it again is cheaper than keeping it
AUTOCAST = "stator::set_autocast"


@dataclass
class _Folding:
    aliases: Aliases
    tensors: dict[str, torch.Tensor]
    known: dict[Value, torch.Tensor]
    new: list[StoredTensor] = field(default_factory=list)


def fold_tensors(
    program: Program, tensors: Mapping[str, torch.Tensor], *, private: Collection[str] = ()
) -> tuple[Program, dict[str, torch.Tensor]]:
    """`program` with what is known worked out, and its tensors with the results among them."""
    folding = _Folding(Aliases(program), dict(tensors), {})
    for item in program.stored:
        own = item.name in private and item.kind == "constant"
        if own and not folding.aliases.is_written(item.value):
            folding.known[item.value] = tensors[item.name]
    functions = {name: _folded(block, folding) for name, block in program.functions.items()}
    body = _folded(program.body, folding)
    stored = (*program.stored, *folding.new)
    return replace(program, stored=stored, body=body, functions=functions), folding.tensors


def _folded(block: Block, folding: _Folding) -> Block:
    if any(op.name == AUTOCAST for op in block.ops):  # there, an op does not mean what it says
        return block
    ops = []
    for op in block.ops:
        result = _result(op, folding)
        if result is None:
            blocks = tuple(_folded(inner, folding) for inner in op.blocks)
            ops.append(replace(op, blocks=blocks))
        else:
            _keep(op.results[0], result, folding)
    return Block(block.inputs, ops, substituted_all(block.outputs, {}))


def _keep(value: Value, tensor: torch.Tensor, folding: _Folding) -> None:
    name = f"folded_{len(folding.new)}"
    while name in folding.tensors:
        name += "_"
    folding.known[value] = tensor
    folding.tensors[name] = tensor
    folding.new.append(StoredTensor(value, name, "constant"))


def _result(op: Op, folding: _Folding) -> torch.Tensor | None:
    """What `op` gives in every run; None where that is not known, or where each needs its own."""
    if not op.name.startswith("aten::") or len(op.results) != 1 or not is_pure(op):
        return None
    kind, aliases = op.results[0].type, folding.aliases
    if not isinstance(kind, TensorType) or not is_static(kind.shape):
        return None
    if aliases.is_written(op.results[0]) or aliases.is_given(op.results[0]):
        return None
    args = _values_of((op.args, tuple(op.attributes.values())), folding)
    return None if args is None else _run(op, args, kind)


def _values_of(arg: Any, folding: _Folding) -> Any:
    """The objects that `arg` represents, tuples as lists; None if one is not known."""
    if isinstance(arg, tuple):
        items = [_values_of(item, folding) for item in arg]
        missing = any(
            item is None and given is not None for item, given in zip(items, arg, strict=True)
        )
        return None if missing else items
    return folding.known.get(arg) if isinstance(arg, Value) else constant_of(arg)


def _run(op: Op, args: list[Any], kind: TensorType) -> torch.Tensor | None:
    """The op, done now; None where it raises: it is left to raise when the program runs."""
    positional, named = args
    modes = [torch.autocast(device, enabled=False) for device in ("cpu", "cuda")]
    try:
        with torch.inference_mode(False), torch.no_grad(), modes[0], modes[1]:
            result = resolve(op.name)(*positional, **dict(zip(op.attributes, named, strict=True)))
    except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
        return None
    if not isinstance(result, torch.Tensor) or result.nbytes > LARGEST:
        return None
    return result if _is(result, kind) else None


def _is(tensor: torch.Tensor, kind: TensorType) -> bool:
    """Whether `tensor` is what was captured: a factory without a dtype follows torch's default."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    return (dtype, tuple(tensor.shape), str(tensor.device)) == (
        kind.dtype, kind.shape, kind.device,
    )  # fmt: skip
