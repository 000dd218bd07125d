"""The backend `native`: programs run in C++ (`runtime/`), with the GIL released.

A program is handed over once, as the JSON of `docs/format.md`; its tensors are the live ones. What
the runtime raises comes back as data and becomes a `RaisedError`. A program that it cannot run is
run by the interpreter: one that calls back into Python (backward hooks of modules, observers), one
with a constant that the format cannot hold, and one that may catch an error of a custom op, which
may be written in Python.
"""

from __future__ import annotations

import functools
import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from stator.errors import FormatError, InputError, IntegerOverflow, SizeCheckFailed
from stator.execute.backend import (
    DEFAULT_OPTIONS,
    Capability,
    EffectsDone,
    Outcome,
    RaisedError,
    Run,
    RunOptions,
)
from stator.execute.raised import NOTE
from stator.export.encoding import encode_program
from stator.extension import extension
from stator.location import Location
from stator.program.ir import Op, ops_in
from stator.program.opset.queries import may_raise
from stator.program.program import Program
from stator.program.raise_fields import TEXT

NAME = "native"
OWN_SPACES = ("aten", "stator", "host", "prims", "stator_regions")


@dataclass(frozen=True)
class NativeExecutable:
    """A program that the runtime has planned."""

    program: Program
    plan: Any

    def bind(self, stored: Mapping[str, torch.Tensor]) -> Run:
        """The program over these tensors."""
        for item in self.program.stored:
            if item.name not in stored:
                raise InputError(f"program {self.program.name} needs the {item.kind} `{item.name}`")
        run = self.plan.bind([stored[item.name] for item in self.program.stored])
        return NativeRun(self.program, run)


@dataclass(frozen=True, slots=True)
class NativeRun:
    """A planned program over its tensors."""

    program: Program
    direct: Any  # of the extension: the entry of a call runs it without this object

    def __call__(self, inputs: Sequence[object]) -> Outcome:
        """Run it."""
        if len(inputs) != len(self.program.inputs):
            raise InputError(
                f"program {self.program.name} takes {len(self.program.inputs)} inputs, "
                f"not {len(inputs)}"
            )
        outcome: Outcome = self.direct(inputs)
        return outcome


@dataclass(frozen=True)
class NativeBackend:
    """Runs programs in C++."""

    module: Any  # the extension
    name: str = NAME
    capabilities: frozenset[Capability] = frozenset(
        {Capability.PENDING_EFFECTS, Capability.GRADIENTS}
    )
    # what `refusal` has planned, for `prepare`, which comes next
    _planned: deque[tuple[Program, Any]] = field(default_factory=functools.partial(deque, maxlen=1))

    def refusal(self, program: Program) -> str:
        """Why the interpreter must run `program`; empty if nothing speaks against this backend."""
        names = {op.name for op in program.ops()}
        custom = sorted(name for name in names if name.partition("::")[0] not in OWN_SPACES)
        if custom and "stator::try" in names:
            return f"it cannot catch what {custom[0]} may raise in Python"
        if any(map(_has_own_text, program.ops())):
            return "it cannot make the text of a user's exception"
        if any(map(_raises_while_handling, program.ops())):
            return "it cannot keep what a handler has caught as the context of what it raises"
        try:
            self._planned.append((program, self._plan(program)))
        except FormatError as error:
            return error.problem
        return ""

    def prepare(self, program: Program, options: RunOptions = DEFAULT_OPTIONS) -> NativeExecutable:
        """`program`, planned."""
        del options  # what they ask for beside the default is no capability of this backend
        for planned, direct in list(self._planned):
            if planned is program:
                self._planned.clear()
                return NativeExecutable(program, direct)
        return NativeExecutable(program, self._plan(program))

    def _plan(self, program: Program) -> Any:
        """`program` as the runtime runs it; FormatError if the runtime cannot hold it."""
        try:
            return self.module.prepare(_text(program), _raised)
        except ValueError as error:
            raise FormatError(str(error).partition("] ")[2] or str(error)) from error


def _has_own_text(op: Op) -> bool:
    """Does it raise an exception that says something else than its arguments?"""
    fields = op.attributes.get("fields") if op.name == "stator::raise" else None
    return isinstance(fields, tuple) and TEXT in fields


def _raises_while_handling(op: Op) -> bool:
    """Is it a `try` with a handler that may raise another exception?"""
    if op.name != "stator::try":
        return False
    _, *handlers = op.blocks
    return any(
        may_raise(inner) and inner.name != "stator::reraise"
        for handler in handlers
        for inner in ops_in(handler)
    )


def _text(program: Program) -> str:
    return json.dumps(encode_program(program, whole_paths=True))


def _raised(error: dict[str, Any]) -> RaisedError:
    """What the runtime says of an error, as the rest of Stator knows it."""
    place = Location(*error["place"]) if error["place"] else None
    notes = (f"{NOTE} at {place}" if place else NOTE, *error["notes"][1:])
    original, name = error["error"], error["class_name"]
    if original is not None:
        name = type(original).__name__
        for note in notes:
            original.add_note(note)
    if error["code"] == IntegerOverflow.code:
        name, original = IntegerOverflow.__name__, IntegerOverflow(error["message"], at=place)
    return RaisedError(
        SizeCheckFailed.__name__ if error["code"] == SizeCheckFailed.code else name,
        error["args"],
        classes=error["classes"],
        fields=error["fields"],
        place=place,
        notes=notes if error["notes"] else (),
        involved=error["involved"],
        effects=EffectsDone(*error["noted"]) if "noted" in error else None,
        before_running=error["before_running"],
        error=original,
    )


@dataclass(frozen=True)
class NativeLibraries:
    """Compiled code beside a saved model, loaded: the regions of its programs are run by it."""

    code: Any  # of the extension
    device: str

    def prepare(self, name: str, program: Program) -> NativeExecutable | None:
        """The program of that name with its code; None if there is none for it."""
        plan = self.code.prepare(name, _raised)
        return None if plan is None else NativeExecutable(program, plan)


def load_libraries(module: Any, folder: str, digest: str, device: str) -> NativeLibraries:
    """The code in `folder` for the model whose text has this digest: loading it runs code of it.

    FormatError says why it is not to be used.
    """
    try:
        return NativeLibraries(module.compiled(folder, digest, device), device)
    except ValueError as error:
        raise FormatError(str(error).partition("] ")[2] or str(error)) from None


@functools.cache
def native() -> NativeBackend | None:
    """The backend; None if it is not built."""
    module = extension()
    return None if module is None else NativeBackend(module)
