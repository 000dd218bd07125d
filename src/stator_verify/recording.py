"""first_difference(): the first op of a program that does not do what eager code does.

NOTE: how the two are laid side by side. Both are run under a dispatch mode, which sees the same
ATen ops of both: what a program has as `aten::linear` comes down to the same `aten::addmm`. Each
has its line: eager's by the frame that runs, the program's by the op that does. The two lists are
aligned by op and line, as `diff` does. The first aligned pair with equal inputs and unequal results
is the op that is wrong. If there is none before results differ, or none at all, the paths part:
then the branch or loop around the first op that only one of the two runs is named.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from stator.api.example import Example
from stator.api.verification import FirstDifference
from stator.execute.observing import Observer
from stator.frames import current_place
from stator.location import Location
from stator.program.ir import Op, Value, ops_in
from stator.program.program import Program
from stator.torch_private.dispatch import TorchDispatchMode
from stator_verify.comparison import Tolerance, both_texts, unequal
from stator_verify.outcome import Exhausted, Runnable, Setting, run
from stator_verify.trees import tensors_in

LIMIT = 4_000  # ops that are recorded of a run
CONTROL = {"stator::if": "branch", "stator::while": "loop", "stator::try": "try"}


@dataclass(frozen=True)
class OpRun:
    """An ATen op that ran: what it was given and gave, and the op of the program it belongs to."""

    name: str
    place: Location | None  # None while gradients are computed
    given: list[Any]
    gave: list[Any]
    around: tuple[Op, ...]  # the ops of the program that were open, the innermost last

    @property
    def key(self) -> tuple[str, str]:
        """What the lists are aligned by; a saved model has no folders in its places."""
        return self.name, self.place.short if self.place else ""


class EagerRecorder(TorchDispatchMode, Observer):
    """Writes down every ATen op; as an observer it knows the op of the program as well."""

    def __init__(self, *, observes: bool) -> None:
        super().__init__()
        self.observes = observes  # then what runs outside of the program's ops is not its own
        self.ran: list[OpRun] = []
        self.open: list[Op] = []
        self.begun = 0
        self.is_forward = False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Run the op, and write it down."""
        if len(self.ran) >= LIMIT and self.is_forward:
            raise Exhausted
        if self.is_forward and self.observes and not self.open:
            return func(*args, **(kwargs or {}))
        given = _values((*args, *(kwargs or {}).values()))
        result = func(*args, **(kwargs or {}))
        place = (self.open[-1].place if self.open else current_place()) if self.is_forward else None
        self.ran.append(OpRun(func.name(), place, given, _values(result), tuple(self.open)))
        return result

    def begin(self, op: Op, _values: Mapping[Value, Any]) -> None:
        """The op that the next ATen ops belong to."""
        self.begun += 1
        if self.begun > 10 * LIMIT:
            raise Exhausted
        self.open.append(op)

    def end(self, _op: Op, _values: Mapping[Value, Any], _results: Sequence[Any]) -> None:
        """Back to the op around it."""
        self.open.pop()

    def fail(self, _op: Op, _error: BaseException) -> None:
        """Back to the op around it."""
        self.open.pop()

    def calling(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """`call`, told apart from the gradients that are computed after it."""

        def called(*args: Any, **kwargs: Any) -> Any:
            self.is_forward = True
            try:
                return call(*args, **kwargs)
            finally:
                self.is_forward = False

        return called


def _values(tree: Any) -> list[Any]:
    tree = tree if isinstance(tree, tuple | list) else (tree,)
    numbers = [one for one in tree if isinstance(one, bool | int | float)]
    return [one.detach().clone() for one in tensors_in(tree)] + numbers


def recorded(target: Runnable, example: Example, setting: Setting, *, learns: bool) -> list[OpRun]:
    """The ATen ops of a run."""
    recorder = EagerRecorder(observes=target.observed is not None)
    watched = dataclasses.replace(target, call=recorder.calling(target.call))
    with contextlib.ExitStack() as stack:
        if target.observed is not None:
            stack.enter_context(target.observed(recorder))
        run(watched, example, setting, learns=learns, around=recorder)
    return recorder.ran


# ---- side by side


@dataclass
class Gap:
    """A stretch that only one of the two runs, or each in its own way."""

    eager: Sequence[OpRun] = field(default_factory=list)
    other: Sequence[OpRun] = field(default_factory=list)
    next_eager: OpRun | None = None  # what eager code runs here, in the stretch or after it

    @property
    def is_replaced(self) -> bool:
        """Does the program run another op of the very line?"""
        if not self.other or self.next_eager is None:
            return False
        return self.other[0].key[1] == self.next_eager.key[1] != ""


def first_difference(
    eager: list[OpRun], other: list[OpRun], programs: Sequence[Program], tolerance: Tolerance
) -> FirstDifference | None:
    """The first op that differs; None where every op does as in eager code."""
    gaps: list[Gap] = []
    for tag, part in _stretches(eager, other):
        if tag == "gap":
            gaps.append(part)
            continue
        for one, same in zip(part.eager, part.other, strict=True):
            if _same(one.gave, same.gave, tolerance):
                continue
            is_wrong = _same_tensors(one.given, same.given, tolerance) or not gaps
            if is_wrong and not any(gap.is_replaced for gap in gaps):
                return _wrong_op(one, same)
            return _parted(_telling(gaps), programs)
    return _parted(_telling(gaps), programs) if gaps else None


def _stretches(eager: list[OpRun], other: list[OpRun]) -> Iterator[tuple[str, Gap]]:
    matcher = difflib.SequenceMatcher(
        None, [one.key for one in eager], [one.key for one in other], autojunk=False
    )
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        following = eager[i1] if i1 < len(eager) else None
        yield "same" if tag == "equal" else "gap", Gap(eager[i1:i2], other[j1:j2], following)


def _telling(gaps: list[Gap]) -> Gap:
    """The first stretch with ops of the program: ops that are missing may just be folded."""
    replaced = next((gap for gap in gaps if gap.is_replaced), None)
    return replaced or next((gap for gap in gaps if gap.other), gaps[-1])


def _same(want: list[Any], got: list[Any], tolerance: Tolerance) -> bool:
    return len(want) == len(got) and all(
        _same_value(a, c, tolerance) for a, c in zip(want, got, strict=True)
    )


def _same_tensors(want: list[Any], got: list[Any], tolerance: Tolerance) -> bool:
    first, second = ([x for x in one if isinstance(x, torch.Tensor)] for one in (want, got))
    return _same(first, second, tolerance)


def _same_value(want: Any, got: Any, tolerance: Tolerance) -> bool:
    if not isinstance(want, torch.Tensor) or not isinstance(got, torch.Tensor):
        return type(want) is type(got) and repr(want) == repr(got)
    if want.dtype != got.dtype or want.shape != got.shape:
        return False
    return not bool(unequal(want, got, tolerance).any())


# ---- in words


def _wrong_op(eager: OpRun, other: OpRun) -> FirstDifference:
    op = other.around[-1] if other.around else None
    name = op.name if op is not None else other.name
    place = op.place if op is not None else other.place
    when = "" if other.place is not None else " when gradients are computed"
    inner = "" if name == other.name else f" (its {other.name})"
    gives, has = _both_shown(other.gave, eager.gave)
    return FirstDifference(name, f"{name}{inner}{when} gives {gives}, eager has {has}", place)


def _both_shown(got: list[Any], want: list[Any]) -> tuple[str, str]:
    """What two ops gave, in words; the first that differs, where there are several."""
    for one, other in zip(got, want, strict=False):
        if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
            if one.shape != other.shape or one.dtype != other.dtype:
                return _kind(one), _kind(other)
            if not _same_value(one, other, Tolerance()):
                return both_texts(one, other)
        elif one != other:
            return repr(one), repr(other)
    return f"{len(got)} values", f"{len(want)} values"


def _kind(tensor: torch.Tensor) -> str:
    return f"{tensor.dtype} of shape {list(tensor.shape)}"


def _parted(gap: Gap, programs: Sequence[Program]) -> FirstDifference:
    if gap.is_replaced and gap.next_eager is not None:
        return _replaced(gap.other[0], gap.next_eager)
    control = _control(gap, programs)
    runs = f"runs {_step(gap.other[0])}" if gap.other else "continues"
    instead = f"eager runs {_step(gap.eager[0])}" if gap.eager else "eager continues"
    if control is None:
        name, place = (gap.other or gap.eager)[0].name, (gap.other or gap.eager)[0].place
        return FirstDifference(name, f"it {runs} where {instead}", place)
    word = CONTROL[control.name]
    text = f"the {word} {control.name} leaves the path of eager code: it {runs} where {instead}"
    return FirstDifference(control.name, text, control.place)


def _replaced(other: OpRun, eager: OpRun) -> FirstDifference:
    op = other.around[-1] if other.around else None
    name, place = (op.name, op.place) if op is not None else (other.name, other.place)
    return FirstDifference(name, f"it runs {name} where eager runs {eager.name}", place)


def _step(ran: OpRun) -> str:
    where = f" (line {ran.place.line})" if ran.place is not None else ""
    return f"{ran.around[-1].name if ran.around else ran.name}{where}"


def _control(gap: Gap, programs: Sequence[Program]) -> Op | None:
    """The branch or loop around the first op of the gap."""
    if gap.other:
        around = [op for op in gap.other[0].around if op.name in CONTROL]
        if around:
            return around[-1]
    lines = {one.place.short for one in gap.eager[:1] if one.place is not None}
    found = None
    for program in programs:
        for op in program.ops():  # outer ones come first
            if op.name in CONTROL and any(_stands_in(inner, lines) for inner in _inside(op)):
                found = op
        if found is not None:
            return found
    return None


def _inside(op: Op) -> Iterator[Op]:
    for block in op.blocks:
        yield from ops_in(block)


def _stands_in(op: Op, lines: set[str]) -> bool:
    return op.place is not None and op.place.short in lines
