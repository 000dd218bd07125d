"""Program, program_guard, data: a program that is written by hand from ordinary torch calls."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from stator.capture.modes import Modes
from stator.english import with_article
from stator.errors import CaptureError, InputError, StatorError
from stator.frames import place_of, user_facing
from stator.locks import ONE_AT_A_TIME
from stator.optimize.for_test import for_test as turned_to_test
from stator.program import structure as shape
from stator.program.ir import Block, Op, Value
from stator.program.printer import print_program
from stator.program.program import Program
from stator.program.verifier import verify
from stator.static.builder import Builder, modules_named
from stator.static.watching import ForeignCodeMode
from stator.torch_private.dispatch import enable_python_dispatcher

_open = threading.local()  # the programs that this thread is writing, the innermost last


class StaticProgram:
    """A program with its tensors: written under `program_guard`, or loaded.

    Each run reads the current parameters and buffers, so it uses what training has changed.
    """

    def __init__(self, name: str = "main") -> None:
        self.name = name
        self._builder: Builder | None = Builder()
        self._recorded: Program | None = None
        self._tensors: Mapping[str, torch.Tensor] = self._builder.stored_tensors
        self._private: frozenset[str] = frozenset()
        self._origin: StaticProgram | None = None
        self._fetches: tuple[Value, ...] = ()
        self._snapshot: tuple[int, Program] | None = None
        self._modes = Modes.current()

    @classmethod
    def of(
        cls, recorded: Program, tensors: Mapping[str, torch.Tensor], *, private: frozenset[str],
        origin: StaticProgram | None = None, fetches: Sequence[Value] = (),
    ) -> StaticProgram:  # fmt: skip
        """A finished program around its data."""
        made = cls(recorded.name)
        made._builder, made._recorded, made._tensors = None, recorded, tensors
        made._private, made._origin, made._fetches = private, origin, tuple(fetches)
        return made

    # ---- looking inside

    @property
    def version(self) -> int:
        """Grows whenever something is written."""
        return 0 if self._builder is None else self._builder.written

    @property
    def fetches(self) -> list[Value]:
        """What a loaded program was saved to give; nothing for one that is written by hand."""
        return list(self._fetches)

    @property
    def recorded(self) -> Program:
        """The program as data, as it is now; its outputs are those it was loaded with."""
        builder = self._builder
        if builder is None:
            assert self._recorded is not None
            return self._recorded
        if self._snapshot is None or self._snapshot[0] != builder.written:
            self._snapshot = (builder.written, self._taken(builder))
        return self._snapshot[1]

    def _taken(self, builder: Builder) -> Program:
        leaves = tuple(shape.Leaf(index) for index in range(len(builder.inputs)))
        given = shape.Sequence("tuple", (shape.Sequence("tuple", leaves), shape.Mapping((), ())))
        body = Block((), list(self._top_block(builder).ops), ())
        recorded = Program(
            self.name, tuple(builder.inputs), tuple(builder.stored), body, given,
            shape.Sequence("list", ()), dict(builder.functions),
        )  # fmt: skip
        return verify(recorded)

    @staticmethod
    def _top_block(builder: Builder) -> Block:
        return builder.scope.root.block

    @property
    def tensors(self) -> Mapping[str, torch.Tensor]:
        """The parameters, buffers and constants, by name: live."""
        return self._tensors

    @property
    def private(self) -> frozenset[str]:
        """The constants that only the program holds."""
        return self._private if self._builder is None else frozenset(self._builder.literals)

    @property
    def modes(self) -> Modes:
        """Grad mode and autocast where the program was begun."""
        return self._modes

    def is_path_check(self, op: Op) -> bool:
        """Did Python code ask what `op` checks? In a loaded program this is not known."""
        if self._builder is None:
            return self._origin.is_path_check(op) if self._origin else op.name == "stator::demand"
        return any(op is check for check in self._builder.path_checks)

    def list_vars(self) -> list[Value]:
        """Every value: the inputs, what is stored, and what ops make, those in blocks included."""
        return [*self.recorded.values()]

    def __str__(self) -> str:
        return print_program(self.recorded)

    def clone(self, for_test: bool = False) -> StaticProgram:
        """A copy as the program is now; with `for_test`, dropout and batch norm evaluate.

        The copy shares the tensors, and the values can be fetched from both.
        """
        recorded = self.recorded
        if for_test:
            checks = self._builder.training_checks if self._builder else ()
            recorded = verify(turned_to_test(recorded, checks))
        clone = StaticProgram.of(
            recorded, self._tensors, private=self.private, origin=self, fetches=self._fetches
        )
        clone._modes = self._modes
        return clone

    # ---- values

    def value_of(self, wanted: Any, role: str) -> Value:
        """The value that a name, a Value or a symbolic tensor represents."""
        recorded = self.recorded
        visible = [
            *recorded.inputs, *(item.value for item in recorded.stored),
            *(value for op in recorded.body.ops for value in op.results),
        ]  # fmt: skip
        value = wanted if isinstance(wanted, Value) else self._find(wanted, visible)
        if value is None or not any(value is one for one in visible):
            raise _no_such_value(self, wanted, role)
        return value

    def _find(self, wanted: Any, visible: list[Value]) -> Value | None:
        if isinstance(wanted, torch.Tensor):
            builder = self._builder_of_origin()
            return builder.find(wanted) if builder else None
        named = {value.name: value for value in visible}
        named.update({item.name: item.value for item in self.recorded.stored})
        return named.get(wanted) if isinstance(wanted, str) else None

    def _builder_of_origin(self) -> Builder | None:
        return self._origin._builder_of_origin() if self._origin else self._builder

    # ---- writing

    @contextmanager
    def written(self) -> Iterator[None]:
        """Torch calls inside are recorded."""
        builder = self._builder
        if builder is None:
            raise InputError(f"the program `{self.name}` is finished: it was loaded or cloned",
                             fix="write a new `Program()`")  # fmt: skip
        if any(program is self for program in _stack()):
            raise InputError(f"the program `{self.name}` is being written already",
                             fix="use one `program_guard` for it")  # fmt: skip
        with ONE_AT_A_TIME, _recording(builder):
            _stack().append(self)
            try:
                yield
            finally:
                _stack().pop()


def _stack() -> list[StaticProgram]:
    if not hasattr(_open, "programs"):
        _open.programs = []
    programs: list[StaticProgram] = _open.programs
    return programs


@contextmanager
def _recording(builder: Builder) -> Iterator[None]:
    grad = torch.is_grad_enabled()
    watch = ForeignCodeMode(builder, builder.refusals)
    try:
        with modules_named(builder), watch, builder.fake, enable_python_dispatcher(), builder:
            yield
        builder.refusals.raise_first()
    except StatorError:
        builder.refusals.first = None  # it is on its way to the user
        raise
    except Exception as error:
        if type(error).__module__.startswith("torch."):
            first = next(line for line in f"{error}\n-".splitlines() if line.strip())
            raise CaptureError(
                f"torch cannot record this: {type(error).__name__}: {first}",
                at=place_of(error), fix="write it with other ops",
            ) from error  # fmt: skip
        raise
    finally:
        torch.set_grad_enabled(grad)


def _no_such_value(program: StaticProgram, wanted: Any, role: str) -> InputError:
    inner = {value.name for value in program.list_vars()}
    name = wanted.name if isinstance(wanted, Value) else wanted
    if isinstance(wanted, torch.Tensor):
        return InputError(
            f"a tensor to {role} is not one of the program `{program.name}`",
            fix="give a tensor made under its `program_guard`, or a name",
        )
    if not isinstance(name, str):
        return InputError(f"{with_article(type(wanted).__name__)} cannot be a {role}",
                          fix="give a name, a Value or a tensor of the program")  # fmt: skip
    if name in inner:
        return InputError(f"`{name}` is made inside a branch or a loop, and does not exist after "
                          "it",
                          fix="return it from there")  # fmt: skip
    return InputError(
        f"the program `{program.name}` has no value `{name}` to {role}",
        fix="`program.list_vars()` lists them",
    )


@contextmanager
def program_guard(program: StaticProgram) -> Iterator[None]:
    """Record torch calls inside the `with` into `program` instead of running them."""
    if not isinstance(program, StaticProgram):
        raise InputError(f"program_guard is given {with_article(type(program).__name__)}",
                         fix="give a `stator.static.Program`")  # fmt: skip
    with program.written():
        yield


def current_program() -> StaticProgram | None:
    """The program that is being written in this thread; None outside of `program_guard`."""
    return _stack()[-1] if _stack() else None


def current_builder() -> Builder | None:
    """The recorder of that program."""
    program = current_program()
    return program._builder if program else None


@user_facing
def data(name: str, shape: Sequence[int | None], dtype: str | torch.dtype = "float32") -> Any:
    """Add an input to the program that is being written; a size of None (or -1) is dynamic."""
    builder = current_builder()
    if builder is None:
        raise InputError("`data` is called outside of `program_guard`",
                         fix="call it under `with program_guard(program):`")  # fmt: skip
    found = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
    if not isinstance(found, torch.dtype):
        raise InputError(f"{dtype!r} is not a dtype", fix='give one such as "float32" or "int64"')
    return builder.input(name, [_size(size) for size in shape], found)


def _size(size: Any) -> int | None:
    if size is None or size == -1:
        return None
    if type(size) is not int or size < 0:
        raise InputError(f"{size!r} is not a size", fix="give a number >= 0, or None for any size")
    return size
