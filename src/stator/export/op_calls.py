"""TorchNames: the ops that a saved model may call, what it may give them, and torch's constants."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import torch

from stator.export.checking import Damage
from stator.export.decoding import Dialect, decode_size
from stator.export.encoding import Json
from stator.export.op_table import check_ops
from stator.program.ir import Literal, LiteralKind, Op
from stator.program.opset.in_files import may_be_in_file
from stator.program.opset.queries import STATOR_OPS, row_of
from stator.program.program import Program
from stator.program.registry import constant_of
from stator.program.verifier import operand_problem, verify

TYPES: Mapping[str, type] = MappingProxyType(
    {
        "dtype": torch.dtype,
        "layout": torch.layout,
        "memory_format": torch.memory_format,
    }
)
# sparse tensors hold indexes, which a program could write
OTHER_LAYOUTS = frozenset(
    Literal("layout", name)
    for name, value in vars(torch).items()
    if isinstance(value, torch.layout) and value != torch.strided
)


class TorchNames:
    """The vocabulary of this torch: for readers whose programs are to run."""

    def known_op(self, name: str, at: str) -> str:
        """`name`: Stator's own, or registered with torch already. Nothing is imported."""
        if name not in STATOR_OPS and not may_be_in_file(name):
            raise Damage(at, f"calls {name[:100]}, which a saved model may not")
        try:
            row = row_of(name)
        except LookupError:
            raise Damage(
                at, f"calls {name[:100]}, which this version of torch does not have"
            ) from None
        if not row.in_file:
            raise Damage(at, f"names {name}, which is for the process that captured it alone")
        return name

    def check_operands(self, op: Op, at: str) -> None:
        """Damage unless operands, attributes and results fit the signature of the op."""
        if any(arg in OTHER_LAYOUTS for arg in (*op.args, *op.attributes.values())):
            raise Damage(f"{at}:", f"{op.name} is given a layout that a saved model may not have")
        problem = operand_problem(op)
        if problem is not None:
            raise Damage(f"{at}:", problem)

    def literal(self, kind: LiteralKind, text: str, at: str) -> Literal:
        """A dtype, device, layout or memory format that torch has; a device need not be there."""
        if kind == "device":
            _check_device(text, at)
        elif type(vars(torch).get(text)) is not TYPES[kind]:
            raise Damage(at, f"names {text!r}, which is no {kind} of torch")
        return Literal(kind, text)

    def constant(self, literal: Literal) -> object:
        """The object of torch."""
        return constant_of(literal)

    def check_program(self, program: Program) -> None:
        """ProgramError unless `program` keeps every rule."""
        verify(program)

    def check_schemas(self, data: Json, programs: Mapping[str, Program], at: str) -> None:
        """Damage if a program uses an op without a schema, or one that this torch has changed."""
        check_ops(data, programs, at)


def _check_device(text: str, at: str) -> None:
    try:
        torch.device(text)
    except RuntimeError:
        raise Damage(at, f"names {text!r}, which is not a device of torch") from None


TORCH_DIALECT = Dialect(TorchNames(), decode_size)  # of the latest version of the format
