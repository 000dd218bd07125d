"""select(): which backend runs a program.

The user names a backend with `backend=`, or with the variable `STATOR_BACKEND` for every call
that has no `backend=`; without a name it is `native` if that is built, or else the interpreter. A
name that does not exist, or that is not built here, is an error, at once. Otherwise the backend of
that name runs the program, unless it lacks a capability that the program needs, or refuses it;
then the interpreter, which can run everything, does. `explain` shows which one runs a program, and
why.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass

from stator.errors import Edit, UnknownOption
from stator.execute.backend import DEFAULT_OPTIONS, Backend, Executable, RunOptions, needs_of
from stator.execute.interpreter import INTERPRETER
from stator.logs import LOGGER
from stator.program.program import Program

VARIABLE = "STATOR_BACKEND"
PREFERRED = ("native", INTERPRETER.name)  # without a name: the first of these that is built
ALWAYS = INTERPRETER.name
BACKEND_ARGUMENT: Edit = (r"backend=(['\"])[\w-]*\1", f'backend="{ALWAYS}"')


@dataclass(frozen=True)
class Provider:
    """A backend that can be named. `find` gives None where it is not built, `build` is the way."""

    find: Callable[[], Backend | None]
    build: str = ""


def _native() -> Backend | None:
    """The native backend. It is above this module, and brought by the first use of any backend."""
    module = importlib.import_module("stator.native.backend")
    backend: Backend | None = module.native()
    return backend


def _inductor() -> Backend | None:
    """The backend that compiles regions; it is above this module, too."""
    module = importlib.import_module("stator.inductor.backend")
    backend: Backend = module.INDUCTOR
    return backend


def _cudagraph() -> Backend | None:
    """The backend that records CUDA graphs; None where torch or the driver has none."""
    module = importlib.import_module("stator.cudagraph.backend")
    backend: Backend | None = module.cudagraph()
    return backend


PROVIDERS: dict[str, Provider] = {  # by the name that `backend=` takes: add one here
    INTERPRETER.name: Provider(lambda: INTERPRETER),
    "native": Provider(_native, build="run `stator build-native`"),
    "inductor": Provider(_inductor),
    "cudagraph": Provider(_cudagraph, build="use a CUDA build of torch on a machine with a GPU"),
}


@dataclass(frozen=True)
class Selection:
    """The backend that runs a program, and why."""

    backend: Backend
    reason: str

    def __str__(self) -> str:
        return f"{self.backend.name} ({self.reason})"

    def prepare(self, program: Program, options: RunOptions = DEFAULT_OPTIONS) -> Executable:
        """`program` in that backend."""
        return self.backend.prepare(program, options)


def check_backend(name: str | None) -> None:
    """UnknownOption if there is no such backend here; None is the default."""
    _wanted(name)


def select(name: str | None, program: Program, options: RunOptions = DEFAULT_OPTIONS) -> Selection:
    """The backend for `program`: the one that was asked for, or the interpreter in its place."""
    backend, reason = _wanted(name)
    lacking = needs_of(program, options) - backend.capabilities
    refusal = backend.refusal(program)
    if lacking:
        refusal = f"it cannot {' or '.join(sorted(need.value for need in lacking))}"
    if not refusal:
        return Selection(backend, reason)
    LOGGER.info("%s runs in the interpreter, not in %s: %s", program.name, backend.name, refusal)
    return Selection(INTERPRETER, f"instead of {backend.name}: {refusal}")


def prepare(
    name: str | None, program: Program, options: RunOptions = DEFAULT_OPTIONS
) -> Executable:
    """`program`, ready to run in the backend that `select` gives."""
    return select(name, program, options).prepare(program, options)


def _wanted(name: str | None) -> tuple[Backend, str]:
    """The backend that is asked for, and by what."""
    if name is not None:
        return _available(name), "backend="
    variable = os.environ.get(VARIABLE)
    if variable:
        return _available(variable, by_variable=True), VARIABLE
    built = (PROVIDERS[name].find() for name in PREFERRED)
    return next(backend for backend in built if backend is not None), "the default"


def _available(name: str, *, by_variable: bool = False) -> Backend:
    provider = PROVIDERS.get(name) if isinstance(name, str) else None
    asked = f" (from {VARIABLE})" if by_variable else ""
    edit = None if by_variable else BACKEND_ARGUMENT
    if provider is None:
        raise UnknownOption(
            f"there is no backend {name!r}{asked}",
            fix=f"use one of {', '.join(PROVIDERS)}", edit=edit,
        )  # fmt: skip
    backend = provider.find()
    if backend is None:
        raise UnknownOption(
            f"the backend {name!r}{asked} is not built here",
            fix=f"{provider.build}, or use {ALWAYS}", edit=edit,
        )  # fmt: skip
    return backend
