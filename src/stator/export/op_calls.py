"""known_op(), check_operands(): the ops that a saved model may call, and what it may give them."""

from __future__ import annotations

from stator.export.checking import Damage
from stator.program.ir import Op
from stator.program.opset.in_files import may_be_in_file
from stator.program.opset.queries import STATOR_OPS, row_of
from stator.program.verifier import operand_problem


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
    problem = operand_problem(op)
    if problem is not None:
        raise Damage(f"{at}:", problem)
