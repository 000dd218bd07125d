"""Outcome: one run, and all that it did; Target: what can be run."""

from __future__ import annotations

import contextlib
import io
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import torch

from stator.api.example import Example
from stator.execute.observing import Observer
from stator.frames import is_library_file
from stator_verify.examples import Copier, leaves_of, words
from stator_verify.state import ObjectStates
from stator_verify.trees import FlatTree, Item, flat, tensors_in


@dataclass(frozen=True)
class Runnable:
    """One form of what is verified that can be run.

    `live` where it runs on the caller's own objects; what a run does to Python objects is not
    looked at where it does not. `module` has the tensors where they are not the caller's (a model
    that was loaded). `observed` lets an observer see the ops of a run.
    """

    name: str
    call: Callable[..., Any]
    live: bool = True
    module: torch.nn.Module | None = None
    observed: Callable[[Observer], AbstractContextManager[None]] | None = None


class Exhausted(BaseException):  # not an Exception: code under test must not catch it
    """A run takes too long."""


@dataclass(frozen=True)
class Outcome:
    """Everything that one call did."""

    result: list[Item]
    error: Exception | None
    printed: str
    arguments: list[Item]
    state: Mapping[str, Any]
    shared: tuple[tuple[int, int], ...]  # (tensor of the result, argument) that share memory
    gradients: Mapping[str, torch.Tensor | None] | None = None
    backward: Exception | None = None  # what computing gradients raised
    exhausted: bool = False
    lines: int = 0  # of user code, where they were counted


@dataclass(frozen=True)
class Setting:
    """How runs are made: from which state, with which seed."""

    state: ObjectStates
    seed: int
    names: list[str]


def run(
    target: Runnable,
    example: Example,
    setting: Setting,
    *,
    learns: bool = False,
    lines: int | None = None,
    around: AbstractContextManager[Any] | None = None,
) -> Outcome:
    """Run `target` on a copy of `example`, from the state that everything started with.

    With `learns` every float argument requires grad, and gradients are computed. More than `lines`
    lines of user code are not run. `around` is entered for the call, and again for its gradients.
    """
    setting.state.restore()
    own = ObjectStates({"": target.module}) if target.module is not None else None
    copier = Copier(learns=learns)
    given = copier.example(example)
    try:
        with quiet(setting.seed):
            made = _PlannedRun(target, given, setting, own, around or contextlib.nullcontext())
            return made.outcome(learns, lines)
    finally:
        setting.state.restore()
        if own is not None:
            own.restore()


def in_turn(target: Runnable, calls: Sequence[Example]) -> Runnable:
    """A target that makes these calls, one after the other, and gives what each has given."""

    def call() -> dict[str, FlatTree]:
        copies = [Copier().example(one) for one in calls]
        return {
            f"call {k}": FlatTree(flat(target.call(*one.args, **one.kwargs)))
            for k, one in enumerate(copies, 1)
        }

    return replace(target, call=call)


@contextlib.contextmanager
def quiet(seed: int) -> Iterator[None]:
    """Random numbers from `seed`, and no warnings: some come once in a process only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            yield


@dataclass(frozen=True)
class _PlannedRun:
    """A run that is to be made: of what, on what, and what is `around` the ops of it."""

    target: Runnable
    given: Example
    setting: Setting
    own: ObjectStates | None
    around: AbstractContextManager[Any]

    def outcome(self, learns: bool, lines: int | None) -> Outcome:
        """Call it, and look at all that it did."""
        result, error, exhausted, printed = None, None, False, io.StringIO()
        given, counter = self.given, Lines(lines)
        with contextlib.redirect_stdout(printed):
            try:
                with counter.counting(), self.around:
                    result = self.target.call(*given.args, **given.kwargs)
            except Exhausted:
                exhausted = True
            except Exception as raised:  # noqa: BLE001  # whatever it raises is the outcome
                error = raised
        gradients, backward = None, None
        if learns and error is None and not exhausted:
            with self.around:
                gradients, backward = _gradients(result, given, self.setting, self.own)
        return Outcome(
            flat(result, "the result"), error, printed.getvalue(),
            _arguments(given, self.setting.names), (self.own or self.setting.state).now(),
            _shared(result, (given.args, given.kwargs)),
            gradients, backward, exhausted, counter.count,
        )  # fmt: skip


def _arguments(given: Example, names: list[str]) -> list[Item]:
    found = []
    for k, arg in enumerate(given.args):
        found += flat(arg, f"the argument {names[k] if k < len(names) else k}")
    for name, arg in given.kwargs.items():
        found += flat(arg, f"the argument {name}")
    return found


def _shared(result: Any, arguments: Any) -> tuple[tuple[int, int], ...]:
    """Which tensors of the result share memory with which arguments."""
    places = [kept_place(tensor) for tensor in tensors_in(arguments)]
    return tuple(
        (k, n)
        for k, tensor in enumerate(tensors_in(result))
        for n, place in enumerate(places)
        if place and kept_place(tensor) == place
    )


def kept_place(tensor: torch.Tensor) -> int:
    """Where its memory begins; 0 if it has none."""
    strided = tensor.layout == torch.strided and tensor.numel() > 0
    return tensor.untyped_storage().data_ptr() if strided else 0


# ---- gradients


def _gradients(
    result: Any, given: Example, setting: Setting, own: ObjectStates | None
) -> tuple[dict[str, torch.Tensor | None], Exception | None]:
    """The gradients of a weighted sum of the results, by the name of what they are of."""
    wanted = {
        words(leaf.path, setting.names): leaf.value
        for leaf in leaves_of(given)
        if isinstance(leaf.value, torch.Tensor) and leaf.value.requires_grad
    }
    wanted |= (own or setting.state).learned()
    loss = _loss([one for one in tensors_in(result) if one.requires_grad], setting.seed)
    if loss is None or not wanted:
        return {}, None
    try:
        found = torch.autograd.grad(loss, list(wanted.values()), allow_unused=True)
    except RuntimeError as error:
        return {}, error
    return dict(zip(wanted, found, strict=True)), None


def _loss(results: list[torch.Tensor], seed: int) -> torch.Tensor | None:
    generator = torch.Generator().manual_seed(seed)
    loss: torch.Tensor | None = None
    for result in results:
        weight = torch.rand(result.shape, generator=generator).to(result.device) + 0.5
        part = (result.abs() if result.is_complex() else result).to(torch.float64)
        term = (part * weight).sum()
        loss = term if loss is None else loss + term
    return loss


# ---- lines


class Lines:
    """Counts the lines of user code that run, and stops a run that takes too many."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.count = 0

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Count inside; nothing is done where there is no limit."""
        if self.limit is None:
            yield
            return
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def _enter(self, frame: types.FrameType, _event: str, _arg: Any) -> Any:
        return None if is_library_file(frame.f_code.co_filename) else self._line

    def _line(self, _frame: types.FrameType, event: str, _arg: Any) -> Any:
        if event == "line":
            self.count += 1
            if self.limit is not None and self.count > self.limit:
                raise Exhausted
        return self._line
