"""Runs a zoo program at one stage and as it is, and says where they differ.

    rewritten    Python to Python, under a staging object that runs everything at once
    captured     `to_static`: captured, optimised, interpreted
    unoptimised  the same without the optimiser
    saved        saved, loaded, interpreted: one model for all calls of one kind

Compared are results, printed text, raised errors, what becomes of the arguments, module state,
watched Python state, which arguments the results share memory with, and gradients.
"""

from __future__ import annotations

import contextlib
import copy
import io
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

import stator
from stator import InputSpec, StatorError
from stator.rewrite.convert import convert
from tests.rewrite.plain_staging import PlainStaging
from tests.seeds import seed
from tests.zoo.comparison import compare, tensors_in
from tests.zoo.programs import Program

STAGES = ("rewritten", "captured", "unoptimised", "saved")


@dataclass(frozen=True)
class Outcome:
    """Everything that one call did."""

    result: Any
    error: BaseException | None
    printed: str
    arguments: Any
    state: Any
    watched: Any
    shared: list[tuple[int, int]]
    gradients: list[torch.Tensor | None]


def check(program: Program, stage: str, folder: Path) -> None:
    """Fail where `program` at `stage` does anything that eager does not."""
    refusal = program.refused if stage in ("captured", "unoptimised") else None
    if stage == "saved":
        refusal = program.refused or program.refused_saved
    if stage == "rewritten" and (program.refused or "").startswith("ST1"):
        refusal = program.refused
    if refusal is not None:
        _check_refusal(program, stage, refusal, folder)
        return
    for calls in groups(program.calls, stage):
        eager = outcomes(program, lambda target: target, calls)
        _check_eager(program, eager)
        staged = outcomes(program, lambda t, c=calls: at_stage(program, t, c, stage, folder), calls)
        for k, (want, got) in enumerate(zip(eager, staged, strict=True)):
            difference = differs(program, want, got, stage)
            if difference:
                call = calls[k]
                pytest.fail(f"{program.name}{call}: {difference}", pytrace=False)


def _check_eager(program: Program, outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        if outcome.error is not None and not program.may_raise:
            raise outcome.error


def _check_refusal(program: Program, stage: str, code: str, folder: Path) -> None:
    if program.reset is not None:
        program.reset()
    with pytest.raises(StatorError) as caught:
        at_stage(program, program.make(), program.calls, stage, folder)(
            *copy.deepcopy(program.calls[0])
        )
    assert caught.value.code == code, str(caught.value)
    place = caught.value.at
    assert place is not None, str(caught.value)
    assert place.line in program.lines, str(caught.value)


def groups(calls: tuple[Any, ...], stage: str) -> list[list[Any]]:
    """A saved model holds for one kind of call: dtypes, ranks and Python values are fixed."""
    if stage != "saved":
        return [list(calls)]
    groups: dict[str, list[Any]] = {}
    for call in calls:
        groups.setdefault(repr(_map(_kind, call)), []).append(call)
    return list(groups.values())


def _kind(value: Any) -> Any:
    return (value.dtype, value.dim()) if isinstance(value, torch.Tensor) else value


def _map(function: Callable[[Any], Any], tree: Any) -> Any:
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[_map(function, item) for item in tree])
    if isinstance(tree, list | tuple):
        return type(tree)(_map(function, item) for item in tree)
    if isinstance(tree, dict):
        return {key: _map(function, item) for key, item in tree.items()}
    return function(tree)


# ---- the stages


def at_stage(program: Program, target: Any, calls: Any, stage: str, folder: Path) -> Any:
    """What to call instead of `target`."""
    if stage == "rewritten":
        return _rewritten(target)
    if stage == "saved":
        path = folder / f"model{len(list(folder.iterdir()))}"
        stator.save(target, path, input_spec=spec_of(program, calls[0]))
        return stator.load(path)
    return stator.to_static(target)


def _rewritten(target: Any) -> Any:
    if isinstance(target, torch.nn.Module):
        new = convert(type(target).forward, PlainStaging()).function
        target.forward = types.MethodType(new, target)
        return target
    if not isinstance(target, types.FunctionType):
        return target
    return convert(target, PlainStaging()).function


def spec_of(program: Program, call: tuple[Any, ...]) -> list[Any]:
    """The input specification that saves `program` for calls like this one."""
    dynamic = program.dynamic or (None,) * len(call)

    def leaf(value: Any, dims: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        shape = [None if d in (dims or ()) else size for d, size in enumerate(value.shape)]
        learns = program.trains and value.is_floating_point()
        return InputSpec(shape, value.dtype, stop_gradient=not learns)

    return [
        _map(lambda value, dims=dims: leaf(value, dims), value)
        for value, dims in zip(call, dynamic, strict=True)
    ]


# ---- one run


def outcomes(program: Program, stage: Callable[[Any], Any], calls: list[Any]) -> list[Outcome]:
    """What each of `calls` did, one after the other."""
    if program.reset:
        program.reset()
    target = program.make()
    function = stage(target)
    owner = function if isinstance(function, torch.nn.Module) else target
    return [_outcome(program, function, owner, call) for call in calls]


def _outcome(program: Program, function: Any, owner: Any, call: tuple[Any, ...]) -> Outcome:
    arguments = copy.deepcopy(call)
    leaves = list(tensors_in(arguments))
    if program.trains:
        for leaf in leaves:
            leaf.requires_grad_(leaf.is_floating_point())
    if isinstance(owner, torch.nn.Module):
        owner.zero_grad(set_to_none=True)
    seed(1)
    result, error, printed = None, None, io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result = function(*arguments)
        except Exception as raised:  # noqa: BLE001  # whatever eager raises is the answer
            error = raised
    gradients = _gradients(result, owner, leaves) if program.trains and error is None else []
    watched = copy.deepcopy(program.watch()) if program.watch else None
    return Outcome(
        _snapshot(result), error, printed.getvalue(), _snapshot(arguments), _state(owner), watched,
        _shared(result, leaves), gradients,
    )  # fmt: skip


def _snapshot(tree: Any) -> Any:
    """`tree` as it is now: a later call may write its tensors."""

    def leaf(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return value.detach().clone().requires_grad_(value.requires_grad)

    return _map(leaf, tree)


def _state(owner: Any) -> Any:
    """A module's tensors, then its plain attributes."""
    if not isinstance(owner, torch.nn.Module):
        return {}, {}
    tensors = {name: tensor.detach().clone() for name, tensor in owner.state_dict().items()}
    modules = [(name, module) for name, module in owner.named_modules()]
    plain = {
        f"{name}.{key}": copy.copy(value)
        for name, module in modules
        for key, value in vars(module).items()
        if not key.startswith("_") and key != "forward" and not key.startswith("__stator")
    }
    return tensors, plain


def _shared(result: Any, leaves: list[torch.Tensor]) -> list[tuple[int, int]]:
    """Which tensors of the result share memory with which arguments."""
    places = [leaf.untyped_storage().data_ptr() for leaf in leaves]
    return [
        (k, n)
        for k, tensor in enumerate(tensors_in(result))
        for n, place in enumerate(places)
        if tensor.numel() and tensor.untyped_storage().data_ptr() == place
    ]


def _gradients(result: Any, owner: Any, leaves: list[torch.Tensor]) -> list[torch.Tensor | None]:
    outputs = [tensor for tensor in tensors_in(result) if tensor.requires_grad]
    loss = sum((((k + 1.0) * t).sum() + 0.1 * (t * t).sum() for k, t in enumerate(outputs)), 0.0)
    if isinstance(loss, torch.Tensor):
        loss.backward()
    owned = owner.parameters() if isinstance(owner, torch.nn.Module) else ()
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    return [None if t.grad is None else t.grad.clone() for t in (*wanted, *owned)]


# ---- the comparison


def differs(program: Program, want: Outcome, got: Outcome, stage: str) -> str | None:
    """What is not as in eager."""
    if want.error is not None or got.error is not None:
        found = _errors_differ(program, want.error, got.error, stage)
    else:
        found = compare(want.result, got.result)
    if found is None and want.printed != got.printed:
        found = f"prints {got.printed!r}, eager prints {want.printed!r}"
    found = found or compare(want.arguments, got.arguments, "argument")
    if found is None and want.shared != got.shared:
        found = f"results share memory with arguments {got.shared}, in eager {want.shared}"
    tensors = _tensors_of(got)
    if stage == "saved":  # plain attributes are part of the state there
        tensors = {name: tensor for name, tensor in tensors.items() if name in _tensors_of(want)}
    found = found or compare(_tensors_of(want), tensors, "state")
    if stage != "saved":
        found = found or compare(want.state[1], got.state[1], "attribute")
        found = found or compare(want.watched, got.watched, "outside")
    return found or _gradients_differ(want.gradients, got.gradients)


def _tensors_of(outcome: Outcome) -> dict[str, torch.Tensor]:
    return {n: t for n, t in outcome.state[0].items() if not n.startswith("_stator_")}


def _errors_differ(program: Program, want: Any, got: Any, stage: str) -> str | None:
    if want is None or got is None:
        if got is not None:
            return f"raises {type(got).__name__}: {got}"
        return f"raises nothing, eager raises {want!r}"
    kind = type(want) if stage != "saved" else _in_a_file(want)
    if isinstance(want, NameError):
        kind = NameError if isinstance(got, NameError) else kind
    elif type(got) is not kind:
        return f"raises {got!r}, eager raises {want!r}"
    if program.same_message and str(want) != str(got):
        return f"raises {got!r}, eager raises {want!r}"
    return _links_differ(want, got) if stage == "saved" else _chains_differ(want, got)


def _in_a_file(error: BaseException) -> type:
    """A file knows no classes of the user's: the builtin one below."""
    return next(base for base in type(error).__mro__ if base.__module__ == "builtins")


def _links_differ(want: BaseException, got: BaseException) -> str | None:
    """The same of a saved model, as far as a file has it."""
    for name in ("__cause__", "__context__"):
        kinds = [one if one is None else _in_a_file(one) for one in
                 (getattr(error, name) for error in (want, got))]  # fmt: skip
        if kinds[0] is not kinds[1]:
            return f"{name} of {got!r} is a {kinds[1]}, in eager a {kinds[0]}"
        if kinds[0] is not None and (
            found := _links_differ(*(getattr(e, name) for e in (want, got)))
        ):
            return found
    return None


def _chains_differ(want: Any, got: Any, what: str = "the error") -> str | None:
    """What user code has given to the exceptions, and what each was raised from."""
    if want is None or got is None or type(want) is not type(got):
        same = type(want) is type(got) or isinstance(want, NameError)
        return None if same else f"{what} is {got!r}, in eager {want!r}"
    fields = ({k: v for k, v in vars(one).items() if k != "__notes__"} for one in (want, got))
    found = compare(*fields, f"attributes of {what}")
    if found is None and want.__suppress_context__ != got.__suppress_context__:
        found = f"{what} hides its context: {got.__suppress_context__}"
    found = found or _chains_differ(want.__cause__, got.__cause__, f"the cause of {what}")
    return found or _chains_differ(want.__context__, got.__context__, f"the context of {what}")


def _gradients_differ(want: list[Any], got: list[Any]) -> str | None:
    if len(want) != len(got):
        return f"there are {len(got)} gradients, in eager {len(want)}"
    for k, (a, c) in enumerate(zip(want, got, strict=True)):
        if a is None and c is None:
            continue
        a = torch.zeros_like(c) if a is None else a
        c = torch.zeros_like(a) if c is None else c
        if not torch.allclose(a, c, rtol=1e-4, atol=1e-5, equal_nan=True):
            return f"gradient {k} is {c.tolist()}, in eager {a.tolist()}"
    return None
