"""select(): which backend runs a program.

The user names a backend with `backend=`, or with the variable `STATOR_BACKEND` for every call
that has no `backend=`; without a name `default_for` chooses by the device of the program. A name
that does not exist, or that is not built here, is an error, at once. Otherwise the backend of that
name runs the program, unless it lacks a capability that the program needs, or refuses it; then the
interpreter, which can run everything, does. `explain` shows which one runs a program, and why.
"""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from stator.errors import Edit, UnknownOption
from stator.execute.backend import DEFAULT_OPTIONS, Backend, Executable, RunOptions, needs_of
from stator.execute.interpreter import INTERPRETER
from stator.logs import LOGGER
from stator.program.program import Program
from stator.program.types import TensorType

VARIABLE = "STATOR_BACKEND"
ALWAYS = INTERPRETER.name


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


# Without a name: the first of these that is built, by the device that a program is on.
# NOTE: why no device has a backend that fuses or records here. What a program gives by default is
# what eager code gives, to the bit, and it takes no memory beyond that; who accepts tolerances, or
# a graph for each combination of sizes, says so.
EXACT = ("native", INTERPRETER.name)
DEFAULTS: Mapping[str, tuple[str, ...]] = MappingProxyType({"cpu": EXACT, "cuda": EXACT})
# what is faster there, if it is built, and what it takes: `explain` names it
FASTER: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"cuda": ("cudagraph", "records loops and branches as CUDA graphs")}
)


def default_for(device: str, providers: Mapping[str, Provider]) -> tuple[Backend, str]:
    """The backend for programs on `device` where none is named, and why."""
    built = (providers[name].find() for name in DEFAULTS.get(device, EXACT))
    backend = next(one for one in built if one is not None)
    name, what = FASTER.get(device, ("", ""))
    if name and providers[name].find() is not None:
        return backend, f'the default; backend="{name}" {what}'
    return backend, "the default"


def check_backend(name: str | None, *others: str) -> None:
    """UnknownOption if there is no such backend here; None is the default.

    `others` are names that the caller takes, too.
    """
    if name is not None:
        _available(name, others=others)
    elif os.environ.get(VARIABLE):
        _available(os.environ[VARIABLE], by_variable=True)


def select(name: str | None, program: Program, options: RunOptions = DEFAULT_OPTIONS) -> Selection:
    """The backend for `program`: the one that was asked for, or the interpreter in its place."""
    backend, reason = _wanted(name, program)
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


def _wanted(name: str | None, program: Program) -> tuple[Backend, str]:
    """The backend that is asked for, and by what."""
    if name is not None:
        return _available(name), "backend="
    variable = os.environ.get(VARIABLE)
    if variable:
        return _available(variable, by_variable=True), VARIABLE
    return default_for(_device(program), PROVIDERS)


def _device(program: Program) -> str:
    """The type of device that the tensors of a program are on; the CPU if it is given none."""
    given = (*program.inputs, *(stored.value for stored in program.stored))
    kinds = [value.type for value in given if isinstance(value.type, TensorType)]
    others = [kind.device for kind in kinds if not kind.device.startswith("cpu")]
    return others[0].partition(":")[0] if others else "cpu"


def _available(name: str, *, by_variable: bool = False, others: Sequence[str] = ()) -> Backend:
    provider = PROVIDERS.get(name) if isinstance(name, str) else None
    asked = f" (from {VARIABLE})" if by_variable else ""
    if provider is None:
        known = (*PROVIDERS, *others)
        near = difflib.get_close_matches(str(name), known, 1)
        raise UnknownOption(
            f"there is no backend {name!r}{asked}", fix=f"use one of {', '.join(known)}",
            edit=_edit(near[0]) if near and not by_variable else None,
        )  # fmt: skip
    backend = provider.find()
    if backend is None:
        raise UnknownOption(
            f"the backend {name!r}{asked} is not built here",
            fix=f"{provider.build}, or use {ALWAYS}",
            edit=None if by_variable else _edit(ALWAYS),
        )  # fmt: skip
    return backend


def _edit(backend: str) -> Edit:
    """The edit that names another backend."""
    return r"backend=(['\"])[\w-]*\1", f'backend="{backend}"'
