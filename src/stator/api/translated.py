"""TranslatedLayer: a saved model as a module; its parameters train, its programs run.

NOTE: why `program`, `properties` and the saved methods are found by `__getattr__`. A model's own
children, parameters and buffers may have any name, `program` too, and theirs come first.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import torch

from stator.api.concrete import stoppable
from stator.api.loaded_calls import (
    arguments_in_words,
    call_leaves,
    describe_method,
    spec_names,
)
from stator.api.loaded_devices import Placed, check_devices, device_of_run, placed_arguments
from stator.api.loaded_state import LoadedState, refuse_shared_inputs
from stator.api.moving import moved
from stator.errors import SizeCheckFailed, SpecMismatch
from stator.execute.backend import Executable, Outcome, RaisedError, values_of
from stator.execute.selection import prepare
from stator.execute.structure import unflatten
from stator.export.methods import Method, mode_name
from stator.export.saved_model import SavedModel
from stator.export.sources import EmbeddedSources
from stator.export.tensor_entries import Entry
from stator.frames import user_facing
from stator.notebook import preformatted, unfolding
from stator.optimize.alias import Aliases
from stator.optimize.inherited_modes import turns_on_inherited, without_gradients
from stator.program.program import Program
from stator.program.types import TensorType
from stator.torch_private.modules import tables


@dataclass(frozen=True)
class TensorSlot:
    """Where the module keeps a tensor that a program needs, and what the program takes it for."""

    name: str  # in the program
    path: tuple[str, ...]  # the children that lead to it
    last: str
    dtype: torch.dtype
    device: torch.device


Prepare = Callable[[Program], Executable]
HELP = """A saved model: call it, or one of its methods, as the original was called.

It is an nn.Module: train it, move it, save it again. `help(model.forward)` shows a signature,
`model.program()` the program, `model.properties` what was saved with it.
"""


class LibrariesOnDevice(Protocol):
    """Compiled code beside a saved model, for one device."""

    @property
    def device(self) -> str:
        """`cpu` or `cuda`."""

    def prepare(self, name: str, program: Program) -> Executable | None:
        """The program of that name with its code; None if there is none for it."""


class ForwardMethod:
    """The attribute `forward` of a loaded model; one that is set on the model takes its place."""

    def __get__(self, layer: TranslatedLayer | None, _: type | None = None) -> Any:
        return self if layer is None else LoadedMethod(layer, "forward")


class TranslatedLayer(torch.nn.Module):
    """A loaded model, as `stator.load` returns it: call it, train it, move it, save it again.

    Every saved method can be called by its name. `program(method="forward")` returns the program of
    a method in the current mode, and `properties` has the values that were saved with the model. If
    calls of the original keep state in attributes of its modules, so does the loaded model;
    `reset_state()` restores the state that was saved.
    """

    _stator_methods: Mapping[str, Method]
    _stator_programs: Mapping[str, Program]
    _stator_constants: dict[str, str]  # name in the programs -> name of the buffer
    _stator_properties: dict[str, Any]
    _stator_sources: EmbeddedSources
    _stator_slots: dict[str, tuple[TensorSlot, ...]]
    _stator_runners: dict[tuple[str, str, bool], Executable]
    _stator_modes: dict[str, bool]  # by program: does it turn on the gradients of its caller?
    _stator_backend: str | None
    _stator_libraries: LibrariesOnDevice | None  # that the caller trusts
    _stator_state: LoadedState
    _stator_writers: dict[str, bool]  # by program: does it write to its inputs in place?
    _stator_prepare: Prepare | None = None  # what makes its programs ready to run, if not a backend

    forward = ForwardMethod()

    def __init__(
        self,
        saved: SavedModel,
        backend: str | None = None,
        libraries: LibrariesOnDevice | None = None,
    ) -> None:
        super().__init__()
        self.__doc__ = HELP  # `help` of a model shows its `repr`, and this
        self._stator_backend, self._stator_libraries = backend, libraries
        self._stator_methods = dict(saved.methods)
        self._stator_programs = dict(saved.programs)
        self._stator_properties = dict(saved.properties)
        self._stator_sources = dict(saved.sources)
        self._stator_constants = {
            name: f"_stator_constant_{index}"
            for index, name in enumerate(
                n for n, e in saved.entries.items() if e.kind == "constant"
            )
        }
        self._stator_runners = {}
        self._stator_state, self._stator_writers = LoadedState(saved.states), {}
        self._stator_modes = {}
        made: dict[int, torch.Tensor] = {}
        for name, tensor in saved.tensors.items():
            if saved.entries[name].kind != "state":
                _register(self, name, tensor, saved.entries[name], made)
        self._stator_slots = {
            name: _slots(self, program) for name, program in saved.programs.items()
        }
        self.train(saved.training)

    def extra_repr(self) -> str:
        """Each method with its inputs and outputs, in the mode that the module is in."""
        return "\n".join(
            _description(self, name) for name in self._stator_methods if _is_there(self, name)
        )

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "program":
                return functools.partial(program_of, self)
            if name == "properties":
                return self._stator_properties
            if name == "reset_state":
                return self._stator_state.reset
            state = vars(self).get("_stator_state")
            if state is not None and name in state.states:
                return state.value(name)
            if name in vars(self).get("_stator_methods", ()):
                return LoadedMethod(self, name)
            if name == "__signature__":  # of a call of the module itself
                return inspect.signature(self.forward)
            raise

    def _repr_html_(self) -> str:
        methods = [name for name in self._stator_methods if _is_there(self, name)]
        programs = [
            unfolding(_description(self, name), str(program_of(self, name))) for name in methods
        ]
        return preformatted(repr(self)) + "".join(programs)

    def __dir__(self) -> list[str]:
        own = ("program", "properties", "reset_state")
        return [*super().__dir__(), *own, *self._stator_methods]

    def __getstate__(self) -> dict[str, Any]:
        """Runners hold functions, which cannot be pickled: they are made again when needed.

        Libraries are left out: who unpickles a model has not said that they are trusted.
        """
        return {**vars(self), "_stator_runners": {}, "_stator_libraries": None}

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        """What moves parameters and buffers moves the state."""
        self._stator_state.apply(fn)
        return super()._apply(fn, recurse)

    def _save_to_state_dict(
        self, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name, tensor in self._stator_state.tensors():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any, **more: Any
    ) -> None:
        """State is taken out first: the children know nothing of it. It may be missing."""
        own = [key for key in state_dict if key.startswith(prefix)]
        names = self._stator_state.names_in([key.removeprefix(prefix) for key in own])
        given = {name: state_dict.pop(prefix + name) for name in names}
        copies = {name: tensor.detach().clone() for name, tensor in given.items()}
        _, _, _, _, messages = rest  # local metadata, strict, missing, unexpected, messages
        messages.extend(self._stator_state.take(copies))
        super()._load_from_state_dict(state_dict, prefix, *rest, **more)


class LoadedMethod:
    """A method of a loaded model: call it as the original method was called."""

    def __init__(self, layer: TranslatedLayer, name: str) -> None:
        self.__self__, self.__name__ = layer, name

    @user_facing
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the program gives."""
        return run_method(self.__self__, self.__name__, *args, **kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        method = self.__self__._stator_methods.get(self.__name__)
        signature = method.signature if method is not None else None
        return signature or inspect.signature(type(self).__call__, follow_wrapped=False)

    def __get__(self, _layer: object, _: type | None = None) -> LoadedMethod:
        return self  # with this method, `help` documents the object, not its class

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return f"The saved program: {_description(self.__self__, self.__name__)}"

    def __repr__(self) -> str:
        return f"<saved method {_description(self.__self__, self.__name__)}>"


def _is_there(layer: TranslatedLayer, method: str) -> bool:
    return mode_name(layer.training) in layer._stator_methods[method].programs


def _description(layer: TranslatedLayer, method: str) -> str:
    signature = layer._stator_methods[method].signature
    return describe_method(method, program_of(layer, method), signature)


def program_of(layer: TranslatedLayer, method: str = "forward") -> Program:
    """The program that `method` runs in the mode that `layer` is in."""
    return layer._stator_programs[_program_name(layer, method)]


@user_facing
def run_method(layer: TranslatedLayer, method: str, /, *args: Any, **kwargs: Any) -> Any:
    """What the method gives."""
    name = _program_name(layer, method)
    program = layer._stator_programs[name]
    signature = layer._stator_methods[method].signature
    leaves = call_leaves(program, signature, method, (args, kwargs))
    try:
        return _run(layer, name, leaves, lambda own: spec_names(program, signature).get(own, own))
    except SizeCheckFailed as error:
        error.involved = arguments_in_words(error.involved, program, signature)
        raise


def _run(
    layer: TranslatedLayer, name: str, leaves: tuple[Any, ...], in_words: Callable[[str], str]
) -> Any:
    """What the program of that name gives for the leaves of a call."""
    program = layer._stator_programs[name]
    stored = stored_tensors(layer, name)
    device = _device(layer._stator_slots[name], stored, program, leaves, in_words)
    run = _runner(layer, name, device).bind(stored)
    if layer._stator_prepare is not None:
        run = stoppable(run)
    if not program.state:
        return unflatten(program.output_structure, values_of(run(leaves)))
    state = layer._stator_state.before(program)
    if _writes_inputs(layer, name):
        refuse_shared_inputs(program, leaves, state)
    outputs = values_of(keep_state(layer._stator_state, program, run((*leaves, *state))))
    return unflatten(program.output_structure, outputs)


def _device(
    slots: Sequence[TensorSlot],
    stored: Mapping[str, torch.Tensor],
    program: Program,
    leaves: tuple[Any, ...],
    in_words: Callable[[str], str],
) -> str:
    """The device to run on, if it is not the one of the capture; SpecMismatch if they are mixed."""
    arguments = [*placed_arguments(program, leaves)]
    if all(slot.device == stored[slot.name].device for slot in slots) and all(
        one.captured == one.found for one in arguments
    ):
        return ""  # nearly always, so nothing is put together before
    placed = [Placed(slot.device, stored[slot.name].device, slot.name) for slot in slots]
    device = device_of_run(placed, arguments)
    check_devices(arguments, {one.captured for one in placed or arguments}, device, in_words)
    return device


def stored_tensors(layer: TranslatedLayer, name: str) -> dict[str, torch.Tensor]:
    """The tensors that the program of that name takes beside its inputs."""
    return {slot.name: _tensor(layer, slot) for slot in layer._stator_slots[name]}


def keep_state(state: LoadedState, program: Program, outcome: Outcome) -> Outcome:
    """What a run has left of the state is kept; where it raised, what it was by then."""
    if isinstance(outcome, RaisedError):
        if outcome.effects is not None:
            state.after(program, outcome.effects.values)
        return outcome
    count = len(program.call_outputs)
    state.after(program, outcome[count:])
    return outcome[:count]


def _writes_inputs(layer: TranslatedLayer, name: str) -> bool:
    """Does the program write to an argument, or to the state, in place?"""
    if name not in layer._stator_writers:
        program = layer._stator_programs[name]
        aliases = Aliases(program)
        layer._stator_writers[name] = any(map(aliases.is_written, program.inputs))
    return layer._stator_writers[name]


def _program_name(layer: TranslatedLayer, method: str) -> str:
    if method not in layer._stator_methods:
        listed = ", ".join(layer._stator_methods) or "none"
        raise SpecMismatch(f"this model was saved without a method {method!r}; it has {listed}",
                           fix="call one that it has, or save it with this one")  # fmt: skip
    saved, mode = layer._stator_methods[method], mode_name(layer.training)
    if mode not in saved.programs:
        reason = f": {saved.refused[mode]}" if mode in saved.refused else ""
        raise SpecMismatch(
            f"`{method}` of this model could not be captured in {mode} mode{reason}",
            fix=f"call `.{'train' if mode == 'eval' else 'eval'}()`, or save it again",
        )
    return saved.programs[mode]


def _runner(layer: TranslatedLayer, name: str, device: str) -> Executable:
    key = (name, device, torch.is_grad_enabled() or not _inherits_gradients(layer, name))
    if key not in layer._stator_runners:
        program = layer._stator_programs[name]
        if not key[-1]:
            program = without_gradients(program)
        if device:
            program = moved(program, device)
        layer._stator_runners[key] = (
            _compiled(layer, name, program, device) or prepare(layer._stator_backend, program)
            if layer._stator_prepare is None
            else layer._stator_prepare(program)
        )
    return layer._stator_runners[key]


def _inherits_gradients(layer: TranslatedLayer, name: str) -> bool:
    """Is it another program where the caller records no gradients?"""
    if name not in layer._stator_modes:
        layer._stator_modes[name] = turns_on_inherited(layer._stator_programs[name])
    return layer._stator_modes[name]


def _compiled(
    layer: TranslatedLayer, name: str, program: Program, device: str
) -> Executable | None:
    """The program with its libraries, if there are some for the device that it runs on."""
    libraries = layer._stator_libraries
    if libraries is None:
        return None
    given = (*(item.value for item in program.stored), *program.inputs)
    own = [one.type.device for one in given if isinstance(one.type, TensorType)]
    found = {torch.device(device).type} if device else {torch.device(one).type for one in own}
    return libraries.prepare(name, program) if found == {libraries.device} else None


@contextlib.contextmanager
def prepared_by(layer: TranslatedLayer, prepare: Prepare) -> Iterator[None]:
    """Inside, the programs of `layer` run as `prepare` makes them ready: observed, for example."""
    before = (layer._stator_prepare, layer._stator_runners)
    layer._stator_prepare, layer._stator_runners = prepare, {}
    try:
        yield
    finally:
        layer._stator_prepare, layer._stator_runners = before


def _tensor(layer: TranslatedLayer, slot: TensorSlot) -> torch.Tensor:
    owner: Any = layer
    for part in slot.path:
        owner = tables(owner).modules[part]
    tensor: torch.Tensor | None = tables(owner).parameters.get(
        slot.last, tables(owner).buffers.get(slot.last)
    )
    if tensor is None:  # a parametrization has taken its place
        tensor = getattr(owner, slot.last)
    if tensor.dtype is not slot.dtype:
        now, then = (str(dtype).removeprefix("torch.") for dtype in (tensor.dtype, slot.dtype))
        raise SpecMismatch(
            f"`{slot.name}` is {now} now, and the program was captured for {then}",
            fix="move the model that was saved to this dtype, and save it again",
        )
    return tensor


def check_tensors(layer: TranslatedLayer) -> None:
    """SpecMismatch if a program could not run with the tensors that `layer` has now."""
    for slots in layer._stator_slots.values():
        for slot in slots:
            _tensor(layer, slot)


def _slots(layer: TranslatedLayer, program: Program) -> tuple[TensorSlot, ...]:
    slots = []
    for stored in program.stored:
        kind = stored.value.type
        assert isinstance(kind, TensorType)  # the reader has checked it
        *path, last = layer._stator_constants.get(stored.name, stored.name).split(".")
        dtype = getattr(torch, kind.dtype)
        slots.append(TensorSlot(stored.name, tuple(path), last, dtype, torch.device(kind.device)))
    return tuple(slots)


def _register(
    layer: TranslatedLayer, name: str, tensor: torch.Tensor, entry: Entry, made: dict[int, Any]
) -> None:
    """Put a tensor where the original module had it, whatever its name is."""
    *path, last = layer._stator_constants.get(name, name).split(".")
    owner = _child(layer, path)
    if entry.kind == "parameter":
        if id(tensor) not in made:
            made[id(tensor)] = torch.nn.Parameter(tensor, requires_grad=entry.requires_grad)
        tables(owner).parameters[last] = made[id(tensor)]
        return
    tables(owner).buffers[last] = made.setdefault(id(tensor), tensor)
    if not entry.persistent:
        owner._non_persistent_buffers_set.add(last)


def _child(module: torch.nn.Module, path: list[str]) -> torch.nn.Module:
    for part in path:
        if part not in tables(module).modules:
            tables(module).modules[part] = torch.nn.Module()
        found = tables(module).modules[part]
        assert found is not None
        module = found
    return module
