"""known_op(), check_operands(): the ops that a saved model may call, and what it may give them."""

from __future__ import annotations

import torch

from stator.export.checking import Damage
from stator.program.ir import Literal, Op
from stator.program.opset.in_files import may_be_in_file
from stator.program.opset.queries import STATOR_OPS, row_of
from stator.program.verifier import operand_problem

# sparse tensors hold indexes, which a program could write
OTHER_LAYOUTS = frozenset(
    Literal("layout", name)
    for name, value in vars(torch).items()
    if isinstance(value, torch.layout) and value != torch.strided
)


def known_op(name: str, at: str) -> str:
    """`name`, which must be Stator's own or registered with torch already: nothing is imported."""
    if name not in STATOR_OPS and not may_be_in_file(name):
        raise Damage(at, f"calls {name[:100]}, which a saved model may not")
    try:
        row = row_of(name)
    except LookupError:
        raise Damage(at, f"calls {name[:100]}, which is no op of this torch") from None
    if not row.in_file:
        raise Damage(at, f"names {name}, which is for the process that captured it alone")
    return name


def check_operands(op: Op, at: str) -> None:
    """Damage unless operands, attributes and results are as the signature of the op has them."""
    if any(arg in OTHER_LAYOUTS for arg in (*op.args, *op.attributes.values())):
        raise Damage(f"{at}:", f"{op.name} is given a layout that a saved model may not have")
    problem = operand_problem(op)
    if problem is not None:
        raise Damage(f"{at}:", problem)
