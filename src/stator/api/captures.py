"""capture_all(): the programs of a model's methods, in both its modes, and their tensors.

A program that two methods or two modes have in common is stored once, and so is a constant.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from stator.api.outputs import select_outputs
from stator.api.saved_states import ROUNDS, ModelState, refuse_shared, type_of, without_unused
from stator.api.static_function import StaticFunction
from stator.errors import CaptureError, UnsupportedCall
from stator.export.encoding import Json, encode_program
from stator.export.methods import MODES, Method, mode_name
from stator.export.states import SavedState
from stator.library.cache_uses import CacheLog
from stator.logs import LOGGER
from stator.optimize.alias import Aliases
from stator.optimize.pipeline import optimize
from stator.program.ir import Arg, Op, StoredTensor, Value, drop_ops
from stator.program.layout import nodes
from stator.program.program import Program
from stator.program.structure import Mapping as Mapping_
from stator.program.structure import Sequence as Sequence_
from stator.program.structure import Structure, positions_in
from stator.recursion_limit import more_frames
from stator.staging.trace import CaptureResult, trace
from stator.state.effects import Effect
from stator.state.host_calls import HOST_CALL, HostCall, host_calls_in, needed_host_calls
from stator.torch_private.modules import tables
from stator.values.describe import name_of


@dataclass(frozen=True)
class Request:
    """A method to save: its function, the arguments to capture it with, the outputs to keep."""

    name: str
    static: StaticFunction
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output_spec: Any

    @property
    def signature(self) -> inspect.Signature | None:
        """The parameters of the function; None for one that Python knows none of."""
        try:
            return inspect.signature(self.static.dygraph_function)
        except (TypeError, ValueError):
            return None


@dataclass
class Capture:
    """What is to be written: programs, tensors that the programs need, and the methods."""

    taken: frozenset[str]  # names of the module's own tensors, which no constant may have
    programs: dict[str, Program] = field(default_factory=dict)
    tensors: dict[str, torch.Tensor] = field(default_factory=dict)
    constants: dict[str, torch.Tensor] = field(default_factory=dict)
    methods: dict[str, Method] = field(default_factory=dict)
    states: Mapping[str, SavedState] = field(default_factory=dict)

    def add(self, name: str, program: Program, tensors: dict[str, torch.Tensor]) -> str:
        """The name under which `program` is stored: another's, if the two are equal."""
        for stored in program.stored:
            stored.name = self._stored_name(stored, tensors[stored.name])
        fingerprint = _fingerprint(program)
        for other, known in self.programs.items():
            if _fingerprint(known) == fingerprint:
                return other
        self.programs[name] = program
        return name

    def _stored_name(self, stored: StoredTensor, tensor: torch.Tensor) -> str:
        """A name for a tensor: its own, or for a constant that of one with the same bytes."""
        if stored.kind != "constant":
            self.tensors[stored.name] = tensor
            return stored.name
        for name, known in self.constants.items():
            if _identical(known, tensor):
                return name
        name = f"constant_{len(self.constants)}"
        while name in self.taken:
            name += "_"
        self.constants[name] = self.tensors[name] = tensor
        return name


def _identical(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one is other:
        return True
    if (one.dtype, one.shape, one.device) != (other.dtype, other.shape, other.device):
        return False
    if one.requires_grad or other.requires_grad or one.layout != torch.strided:
        return False
    left, right = (
        torch.empty(tensor.numel(), dtype=tensor.dtype, device=tensor.device)
        .copy_(tensor.reshape(-1))  # one without items, or with one, may have any stride
        .view(torch.uint8)
        for tensor in (one, other)
    )
    return torch.equal(left, right)


def _fingerprint(program: Program) -> Json:
    """The contents of `program` without source locations."""
    return _without_places(encode_program(program) | {"files": []})


def _without_places(data: Json) -> Json:
    if isinstance(data, list):
        return [_without_places(item) for item in data]
    if not isinstance(data, dict):
        return data
    return {key: _without_places(item) for key, item in data.items() if key != "place"}


@more_frames()  # branches may be nested as deep as the code of the user's is
def capture_all(
    requests: list[Request], owner: torch.nn.Module | None, *, refuse_host_calls: bool = False
) -> Capture:
    """Everything that is to be saved; the mode that the module is in comes first.

    Attributes that a call changes become state: then all is captured again, until no capture
    tells of other state, or of another form of it.
    """
    state = ModelState.of(owner)
    for _ in range(ROUNDS):
        try:
            made, is_settled = _capture_round(requests, owner, state, refuse_host_calls)
        except CaptureError as error:
            if not state.leaves_out(error):
                raise
            continue
        if is_settled:
            if state.unkept:
                LOGGER.warning("the saved model leaves out what calls write to %s and never "
                               "read from there", ", ".join(state.unkept))  # fmt: skip
            used = {use.name for program in made.programs.values() for use in program.state}
            made.states = {name: one for name, one in state.saved().items() if name in used}
            refuse_shared(list(made.programs.values()), state)
            return made
    name, slot = list(state.slots.items())[-1]
    raise CaptureError(
        f"`{name}` is {name_of(slot.kind)[:200]}, and has another type after every call",
        fix="give it one dtype, rank and structure, and keep it",
    )


def _capture_round(
    requests: list[Request],
    owner: torch.nn.Module | None,
    state: ModelState,
    refuse_host_calls: bool,
) -> tuple[Capture, bool]:
    """One capture of each method in each mode; False if `state` has changed by it."""
    made = Capture(frozenset(_names(owner)) if owner is not None else frozenset())
    is_settled = True

    def add(name: str, request: Request) -> str:
        nonlocal is_settled
        captured = _traced(request, owner, state)
        if state.learn(captured, request.static.dygraph_function):
            is_settled = False
        if not is_settled:
            return name
        _drop_host_calls(captured, refuse=refuse_host_calls)
        return made.add(name, _program(request, captured, owner), captured.tensors)

    for request in requests:
        first = add(request.name, request)
        if owner is None:
            made.methods[request.name] = Method(dict.fromkeys(MODES, first), {}, request.signature)
            continue
        chosen, refused = {mode_name(owner.training): first}, {}
        other = mode_name(not owner.training)
        with _other_mode(owner):
            try:
                name = other if request.name == "forward" else f"{request.name}.{other}"
                chosen[other] = add(name, request)
            except Exception as error:  # noqa: BLE001 (kept: the loaded model gives the reason)
                refused[other] = str(error).strip().partition("\n")[0] or type(error).__name__
        made.methods[request.name] = Method(chosen, refused, request.signature)
    return made, is_settled


def _names(owner: torch.nn.Module) -> Iterator[str]:
    for name, _ in owner.named_parameters(remove_duplicate=False):
        yield name
    for name, _ in owner.named_buffers(remove_duplicate=False):
        yield name


@contextlib.contextmanager
def _other_mode(owner: torch.nn.Module) -> Iterator[None]:
    """`owner` in training mode if it is not, and the other way round; each part as before after."""
    flags = {module: module.training for module in owner.modules()}
    owner.train(not owner.training)
    try:
        yield
    finally:
        for module, training in flags.items():
            module.training = training


def _traced(request: Request, owner: torch.nn.Module | None, state: ModelState) -> CaptureResult:
    with torch.set_grad_enabled(True):
        captured = trace(
            request.static.dygraph_function, request.args, request.kwargs,
            name=request.static.__name__, owner=owner, saved=tuple(state.slots.values()),
        )  # fmt: skip
    kept = (effect for effect in captured.effects if not isinstance(effect.target, CacheLog))
    return replace(captured, effects=tuple(kept))  # a saved model asks no cache


def _program(request: Request, captured: CaptureResult, owner: torch.nn.Module | None) -> Program:
    program = _without_effects(captured, owner)
    if request.output_spec is not None:
        program = select_outputs(program, request.output_spec)
    _refuse_shared_constants(program.output_structure)
    return optimize(without_unused(program))


def _refuse_shared_constants(structure: Structure) -> None:
    """A file tells by its leaves that a container is in two places; this one has none."""
    found = [node for node in nodes(structure)
             if isinstance(node, Mapping_ | Sequence_) and not list(positions_in(node))
             and getattr(node, "kind", "dict") != "tuple"]  # fmt: skip
    if len({id(node) for node in found}) < len(found):
        raise CaptureError(
            "a list or a dict of constants is returned in two places: a loaded model would return "
            "two",
            fix="return a copy of it: `list(...)`, `dict(...)`",
        )


def _without_effects(captured: CaptureResult, owner: torch.nn.Module | None) -> Program:
    """The program alone: what it does to buffers of one form is written into it."""
    program = captured.program
    if captured.hooked:
        hooked = next(iter(captured.hooked.values()))
        raise CaptureError(
            f"{type(hooked).__name__} has backward hooks, which are Python: a saved model has none",
            fix="remove them before saving",
        )
    writes = [
        (stored.value, position, effect.place)
        for effect in captured.effects
        for stored, position in _buffer_writes(captured, effect, owner)
    ]
    count = 1 + max(positions_in(program.output_structure), default=-1)
    body = program.body
    for block in program.blocks:
        drop_ops(block, "host::note")  # a loaded model has no Python objects to change
    own = _own_copies(program, [buffer for buffer, _, _ in writes])
    body.outputs = tuple(map(own, body.outputs))
    for buffer, position, place in writes:
        args = (buffer, body.outputs[position])
        body.ops.append(Op("aten::copy_", args, {}, (), place=place))
    body.outputs = (*body.outputs[:count], *program.state_outputs)
    return program


def _drop_host_calls(captured: CaptureResult, *, refuse: bool) -> None:
    """A saved model makes no calls of Python: those whose results it does not need are left out."""
    needed = needed_host_calls(captured.program)
    made = list(host_calls_in(captured.program))
    for number in made:
        if refuse or number in needed:
            call = captured.host_calls[number]
            raise UnsupportedCall(
                f"`{call.name}` is called in every run, and a saved model cannot call Python",
                at=call.place, fix="call it outside of the model, and pass its result",
            )  # fmt: skip
    if made:
        names = dict.fromkeys(_named(captured.host_calls[number]) for number in made)
        LOGGER.warning("the saved model leaves out these Python calls: %s", ", ".join(names))
    for block in captured.program.blocks:
        drop_ops(block, HOST_CALL)


def _named(call: HostCall) -> str:
    return call.name if call.place is None else f"{call.name} at {call.place.short}"


def _own_copies(program: Program, buffers: Sequence[Value]) -> Callable[[Arg], Arg]:
    """A function: an output as it is before the buffers are written; a copy where they share."""
    aliases, body = Aliases(program), program.body
    copies: dict[Value, Value] = {}

    def own(output: Arg) -> Arg:
        if not isinstance(output, Value) or not any(aliases.share(output, b) for b in buffers):
            return output
        if output not in copies:
            copies[output] = Value(f"before_{len(copies)}", output.type)
            body.ops.append(Op("aten::clone", (output,), {}, (copies[output],)))
        return copies[output]

    return own


def _buffer_writes(
    captured: CaptureResult, effect: Effect, owner: torch.nn.Module | None
) -> Iterator[tuple[StoredTensor, int]]:
    """The buffers that an effect replaces by tensors of the same dtype and sizes."""
    structure: Any = effect.state
    for prefix, module in owner.named_modules() if owner is not None else ():
        if effect.target is tables(module).buffers:
            for key, item in zip(structure.keys, structure.items, strict=True):
                name = f"{prefix}.{key}" if prefix else key
                buffer = tables(module).buffers[key]
                assert buffer is not None  # else it is state
                yield _stored(captured, name, buffer), item.position


def _stored(captured: CaptureResult, name: str, buffer: torch.Tensor) -> StoredTensor:
    """The buffer as the program knows it; one that it never reads is added."""
    program = captured.program
    for stored in program.stored:
        if stored.name == name:
            return stored
    new = StoredTensor(Value(f"buffer.{name}", type_of(buffer)), name, "buffer")
    program.stored = (*program.stored, new)
    captured.tensors[name] = buffer
    return new
