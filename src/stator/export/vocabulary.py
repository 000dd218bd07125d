"""Vocabulary: what a reader of a file makes of the names of torch in it: ops, dtypes, devices.

A reader that is to run the programs holds each name against torch (`TorchNames` in `op_calls`). One
that only shows what a file says takes the names as they are written, and needs no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from stator.export.encoding import Json
from stator.program.boundary import check_boundary
from stator.program.ir import Literal, LiteralKind, Op
from stator.program.program import Program


class Vocabulary(Protocol):
    """The names that a file may use; each method raises Damage for one that it may not."""

    def known_op(self, name: str, at: str) -> str:
        """`name`, which must be the name of an op."""

    def check_operands(self, op: Op, at: str) -> None:
        """Damage unless operands, attributes and results fit the signature of the op."""

    def literal(self, kind: LiteralKind, text: str, at: str) -> Literal:
        """A dtype, device, layout or memory format of torch."""

    def constant(self, literal: Literal) -> object:
        """The value of `literal` in a structure."""

    def check_program(self, program: Program) -> None:
        """ProgramError unless `program` keeps the rules of programs."""

    def check_schemas(self, data: Json, programs: Mapping[str, Program], at: str) -> None:
        """Damage unless the ops of `programs` still are what the table of schemas says."""


@dataclass(frozen=True)
class WrittenConstant:
    """A constant of torch in a structure, by its name only; it prints as torch's own does."""

    literal: Literal

    def __repr__(self) -> str:
        text = self.literal.text
        if self.literal.kind != "device":
            return f"torch.{text}"
        kind, _, index = text.partition(":")
        return f"device(type={kind!r}, index={index})" if index else f"device(type={kind!r})"


class WrittenNames:
    """Every name as it is written: for readers that run nothing."""

    def known_op(self, name: str, at: str) -> str:  # noqa: ARG002 (the protocol's)
        """`name`, unchecked."""
        return name

    def check_operands(self, op: Op, at: str) -> None:
        """Nothing is checked."""

    def literal(self, kind: LiteralKind, text: str, at: str) -> Literal:  # noqa: ARG002 (the same)
        """The literal of that name, unchecked."""
        return Literal(kind, text)

    def constant(self, literal: Literal) -> WrittenConstant:
        """The name of the constant."""
        return WrittenConstant(literal)

    def check_program(self, program: Program) -> None:
        """ProgramError if what it takes and gives breaks a rule; its ops are not checked."""
        check_boundary(program)

    def check_schemas(self, data: Json, programs: Mapping[str, Program], at: str) -> None:
        """Nothing is checked."""
