"""Gradients that users write or ask for: `autograd.Function`, hooks, `autograd.grad`.

The forward of a Function is recorded in place, without gradients. An op then gives its results the
user's own gradient, which is a block of the program:

    y = Straight.apply(x)      stator::set_grad(False)
                               %1 = aten::round(%x)
                               stator::set_grad(True)
                               %2 = stator::custom_gradient((%1), (%x)) (%3) { ...; yield %4 }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from stator.capture.blocks import BlockRecord, record_block
from stator.capture.flatten import NOTHING
from stator.capture.recorder import Recorder
from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.library.used_tensors import is_used_by
from stator.program.ir import Arg, Value
from stator.state.session import Session
from stator.values.annotations import Args, Staged
from stator.values.union import Union


class Context:
    """What replaces `ctx` while the forward and the backward of a Function are captured."""

    def __init__(self, inputs: tuple[Staged, ...]) -> None:
        self._inputs = inputs
        self.is_forward = True
        self.saved_tensors: tuple[Any, ...] = ()
        self._without_gradient: tuple[Any, ...] = ()

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """Which inputs require a gradient; in the backward, which may do so in some run.

        Autograd drops what a run does not need.
        """
        return tuple(
            isinstance(x, torch.Tensor)
            and (x.requires_grad if self.is_forward else _is_differentiable(x))
            for x in self._inputs
        )

    def save_for_backward(self, *tensors: object) -> None:
        """Keep these for the backward."""
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors: object) -> None:
        """These results have no gradient."""
        self._without_gradient = tensors

    def mark_dirty(self, *_tensors: object) -> None:
        """Refused: an input that is changed in place is a result as well."""
        raise UnsupportedCall("`ctx.mark_dirty` is not supported", fix="return a new tensor")

    def set_materialize_grads(self, value: bool) -> None:
        """Refused where a gradient may be None: only a run knows."""
        if not value:
            raise UnsupportedCall(
                "`ctx.set_materialize_grads(False)` is not supported",
                fix="leave it out: a gradient that is absent is zeros then",
            )

    def save_for_forward(self, *_tensors: object) -> None:
        """Forward mode has no part in a program."""


BY_POSITION = (r"(\.apply\(.*?)\b\w+\s*=\s*", r"\1")  # of one keyword argument


def is_function_apply(function: object) -> bool:
    """Is this `SomeFunction.apply`?"""
    owner = getattr(function, "__self__", None)
    return (
        getattr(function, "__name__", "") == "apply"
        and isinstance(owner, type)
        and issubclass(owner, torch.autograd.Function)
    )


def apply_function(
    session: Session, function: Staged, args: tuple[object, ...], kwargs: dict[str, object]
) -> Staged:
    """`SomeFunction.apply(*args)`."""
    if kwargs:
        raise UnsupportedCall(
            f"`{function.__self__.__name__}.apply` receives keyword arguments",
            fix="pass them by position",
            edit=BY_POSITION if len(kwargs) == 1 else None,
        )
    cls, recorder = function.__self__, session.recorder
    context = Context(args)
    recorder.provenance.add_created(context)
    with torch.no_grad():
        outputs = _forward(session, cls, context, args)
    context.is_forward = False
    several = outputs if isinstance(outputs, tuple) else (outputs,)
    if torch.is_grad_enabled():
        made = iter(_with_gradient(session, cls, context, args, several))
        replaced = tuple(next(made) if _has_gradient(out, context) else out for out in several)
    else:  # a program is for one grad mode, and a saved one is captured with gradients
        replaced = tuple(_not_itself(out, args) for out in several)
    return replaced if isinstance(outputs, tuple) else replaced[0]


def _not_itself(out: Staged, args: Args) -> Staged:
    """A result of a forward; an argument that it gives back is another tensor."""
    is_argument = isinstance(out, torch.Tensor) and any(out is arg for arg in args)
    return out.detach() if is_argument else out


def _forward(session: Session, cls: Staged, context: Context, args: Args) -> Staged:
    if cls.setup_context is torch.autograd.Function.setup_context:
        return session.interpreter.call(cls.forward, context, *args)
    outputs = session.interpreter.call(cls.forward, *args)
    session.interpreter.call(cls.setup_context, context, args, outputs)
    return outputs


def _has_gradient(out: object, context: Context) -> bool:
    return (
        isinstance(out, torch.Tensor)
        and _is_differentiable(out)
        and not any(out is one for one in context._without_gradient)
    )


def _is_differentiable(tensor: torch.Tensor) -> bool:
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def _with_gradient(
    session: Session,
    cls: object,
    context: Context,
    args: Args,
    outputs: tuple[Staged, ...],
) -> list[torch.Tensor]:
    """The results that have a gradient: the one that the backward says.

    NOTE: also where nothing requires one now: a parameter may be unfrozen, a saved model trained.
    """
    recorder = session.recorder
    results = [out for out in outputs if _has_gradient(out, context)]
    wanted = torch.is_grad_enabled() and any(
        isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args
    )
    inputs = [arg for arg in args if isinstance(arg, torch.Tensor)]

    def backward(grads: list[object]) -> tuple[Staged, ...]:
        given = iter(grads)
        every = [
            next(given) if _has_gradient(out, context) else _absent_gradient(out) for out in outputs
        ]
        return _gradients(session, cls, context, args, every)

    block = _backward_block(session, results, len(inputs), backward)
    given = tuple(tuple(recorder.arg(tensor) for tensor in part) for part in (results, inputs))
    made = [recorder.new_tensor(r.dtype, r.shape, r.device, wanted) for r in results]
    values = [recorder.new_value(recorder.tensor_type(tensor)) for tensor in made]
    recorder.emit("stator::custom_gradient", given, values, blocks=[block.scope.block])
    for tensor, value in zip(made, values, strict=True):
        recorder.bind(tensor, value)
    return made


def _absent_gradient(out: object) -> Staged:
    return torch.zeros_like(out) if isinstance(out, torch.Tensor) else None


def _gradients(
    session: Session, cls: Staged, context: Context, args: tuple[object, ...], grads: list[Staged]
) -> tuple[object, ...]:
    """What the backward gives for each tensor that the forward was given."""
    answer = session.interpreter.call(cls.backward, context, *grads)
    answers = answer if isinstance(answer, tuple) else (answer,)
    if len(answers) < len(args) or any(one is not None for one in answers[len(args) :]):
        raise RuntimeError(
            f"function {cls.__name__}Backward returned an incorrect number of gradients "
            f"(expected {len(args)}, got {len(answers)})"
        )
    pairs = zip(args, answers, strict=False)
    return tuple(answer for arg, answer in pairs if isinstance(arg, torch.Tensor))


def _backward_block(
    session: Session,
    results: Sequence[torch.Tensor],
    count: int,
    code: Callable[[list[Staged]], Staged],
) -> BlockRecord:
    """A block that is given a gradient for each of `results` and yields `count` that `code` makes.

    One that always raises does so when autograd gets there: a forward may keep nothing for a
    backward that no run of this program needs.
    """
    recorder, inputs = session.recorder, []

    def run() -> Staged:
        grads = []
        for result in results:
            grad = recorder.new_tensor(result.dtype, result.shape, result.device, False)
            inputs.append(recorder.new_value(recorder.tensor_type(grad)))
            recorder.bind(grad, inputs[-1])
            grads.append(grad)
        recorder.scope.block.outputs = tuple(_leaf(recorder, one) for one in code(grads))
        return True

    recorded = record_block(recorder, run)
    recorded.scope.block.inputs = tuple(inputs)
    if recorded.value is NOTHING:
        recorded.scope.block.outputs = (None,) * count
    if recorded.changed:
        raise UnsupportedCall(
            "a backward or a gradient hook changes Python objects, which a program cannot do later",
            fix="return what it computes, or hook the result of the static function",
        )
    return recorded


def _leaf(recorder: Recorder, gradient: object) -> Value | None:
    if gradient is None or isinstance(gradient, torch.Tensor):
        return None if gradient is None else recorder.tensor_arg(gradient)
    raise UnsupportedCall(
        f"a backward returns {with_article(type(gradient).__name__)} as a gradient, or None on "
        "some paths",
        fix="return a tensor on every path",
    )


class Handle:
    """What `register_hook` gives inside a program."""

    def remove(self) -> None:
        """Refused: the hook is part of the program."""
        raise UnsupportedCall("a hook is removed inside the program",
                              fix="register it only where it is used")  # fmt: skip


def register_hook(session: Session, tensor: torch.Tensor, hook: object) -> Handle:
    """`tensor.register_hook(hook)`: the hook becomes a block of the program."""

    def changed(grads: list[object]) -> tuple[Staged, ...]:
        return (session.interpreter.call(hook, *grads),)

    block = _backward_block(session, [tensor], 1, changed)
    recorder = session.recorder
    recorder.emit("stator::hook", (recorder.arg(tensor),), blocks=[block.scope.block])
    return Handle()


def hook_module(
    session: Session, module: torch.nn.Module, values: Staged, *, comes_out: bool
) -> tuple[object, ...]:
    """What goes into a module with backward hooks, or comes out of it: its tensors are watched."""
    recorder, places = session.recorder, []
    for place, value in enumerate(values):
        if isinstance(value, Union):
            raise UnsupportedCall(
                f"{type(module).__name__} has backward hooks, and takes or returns "
                "a value that depends on the path taken",
                fix="remove the hooks",
            )  # fmt: skip
        if isinstance(value, torch.Tensor):
            places.append(place)
    given = [recorder.arg(values[place]) for place in places]
    made = list(values)
    with recorder.quiet():
        for place in places:
            made[place] = values[place].view_as(values[place])
    results = [recorder.new_value(recorder.tensor_type(made[place])) for place in places]
    options: dict[str, Arg] = {
        "module": session.hooked_name(module), "places": tuple(places), "count": len(values),
    }  # fmt: skip
    name = "host::hook_outputs" if comes_out else "host::hook_inputs"
    recorder.emit(name, given, results, attributes=options)
    for place, result in zip(places, results, strict=True):
        recorder.bind(made[place], result)
    return tuple(made)


def requires_grad(
    session: Session, tensor: torch.Tensor, requires_grad: bool | torch.SymBool = True
) -> torch.Tensor:
    """`tensor.requires_grad_()`: torch does not dispatch it, so it is recorded by hand."""
    recorder = session.recorder
    if not isinstance(tensor, torch.nn.Parameter):
        _refuse_outer(session, tensor, "requires_grad_")
    value, flag = recorder.tensor_arg(tensor), recorder.arg(requires_grad)
    is_outer = recorder.depth > 0 and tensor not in recorder.scope.tensors
    recorder.grad_varies |= is_outer or isinstance(requires_grad, torch.SymBool)
    with recorder.quiet():
        tensor.requires_grad_(requires_grad if isinstance(requires_grad, bool) else True)
    recorder.leaves.record(recorder, tensor, value, flag)
    return tensor


def detach_in_place(session: Session, tensor: torch.Tensor) -> Staged:
    """`tensor.detach_()`."""
    _refuse_outer(session, tensor, "detach_")
    return session.interpreter.call_library(torch.Tensor.detach_, (tensor,), {})


def _refuse_outer(session: Session, tensor: torch.Tensor, name: str) -> None:
    """An error if only one path makes a tensor of the program require gradients, or not."""
    recorder = session.recorder
    owner = next((one for one in recorder.scope.chain() if tensor in one.tensors), None)
    if owner is not None and owner is not recorder.scope and recorder.depth:
        raise UnsupportedCall(
            f"`{name}` is called in a branch or a loop, on a tensor that was made before it",
            fix="call it before, or use `detach()` and a new variable",
        )


def gradients_inside(
    session: Session,
    outputs: object,
    inputs: object,
    grad_outputs: object = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Staged:
    """`torch.autograd.grad`: an op of the program; a run has the graph that it walks."""
    if is_grads_batched:
        rest = (retain_graph, create_graph, allow_unused, materialize_grads)
        return _batched_gradients(session, outputs, inputs, grad_outputs, rest)
    recorder, wanted = session.recorder, _tensors(inputs)
    if allow_unused and not materialize_grads:
        is_used = list(map(is_used_by(recorder, _tensors(outputs)), wanted))
        kept = [one for one, used in zip(wanted, is_used, strict=True) if used]
        given_to = (grad_outputs, retain_graph, create_graph)
        found = iter(gradients_inside(session, outputs, kept, *given_to) if kept else ())
        return tuple(next(found) if used else None for used in is_used)
    given = tuple(
        None if part is None else tuple(map(recorder.arg, _tensors(part)))
        for part in (outputs, wanted, grad_outputs)
    )
    made = [recorder.new_tensor(t.dtype, t.shape, t.device, create_graph) for t in wanted]
    values = [recorder.new_value(recorder.tensor_type(tensor)) for tensor in made]
    retain = create_graph if retain_graph is None else retain_graph
    options: dict[str, Arg] = {
        "retain": retain,
        "create": create_graph,
        "materialize": materialize_grads,
    }
    recorder.emit("stator::gradients", given, values, attributes=options)
    for tensor, value in zip(made, values, strict=True):
        recorder.bind(tensor, value)
    return tuple(made)


def _batched_gradients(
    session: Session, outputs: object, inputs: object, grad_outputs: object, options: Args
) -> Staged:
    """`is_grads_batched`: the gradients for each row of `grad_outputs`, stacked."""
    retain, create, unused, materialize = options
    rows = _tensors(grad_outputs)
    count = rows[0].shape[0] if rows else 0
    if not isinstance(count, int) or not count:
        raise UnsupportedCall(
            "`torch.autograd.grad` with `is_grads_batched` needs a known number of rows, at "
            "least one",
            fix="use torch.vmap around it, or a loop",
        )  # fmt: skip
    found = []
    for row in range(count):
        keeps = True if row < count - 1 else retain
        given = [one[row] for one in rows]
        found.append(
            gradients_inside(
                session, outputs, inputs, given, keeps, create, unused, False, materialize
            )
        )
    return tuple(
        None if each[0] is None else torch.stack(each) for each in zip(*found, strict=True)
    )


def _tensors(given: Staged) -> list[Staged]:
    return [given] if isinstance(given, torch.Tensor) else list(given)
