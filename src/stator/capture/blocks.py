"""Blocks: run a piece of user code into a block of its own, and say what it changed."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from stator.capture.carry import NOTHING, flatten
from stator.capture.foreign_errors import is_not_the_users, users_text
from stator.capture.journal import STAGED, Journal, restore, state_of
from stator.capture.kinds import (
    BOTTOM,
    Fresh,
    Kind,
    ListKind,
    MapKind,
    as_pairs,
    describe,
    describe_state,
    merge_maps,
    never,
)
from stator.capture.places import current_place, place_of, raised_by_stator
from stator.capture.recorder import Recorder
from stator.capture.scope import Attempt, Scope
from stator.capture.values import (
    CapturedText,
    Columns,
    Diverged,
    StagedSet,
    Symbolic,
    Undefined,
    Variant,
    refuse_frozen,
)
from stator.errors import CaptureError, StatorError, UnsupportedCall
from stator.program.ir import Arg


@dataclass
class Recorded:
    """One block: what it gave, and the objects it changed with their states after it."""

    scope: Scope
    value: Any  # NOTHING where the block always raises
    changed: dict[int, tuple[Any, Any]]  # id -> (object, state after)

    def state_after(self, obj: Any) -> Any:
        """The contents of `obj` when this block has run."""
        if self.value is NOTHING:
            return NOTHING
        return self.changed[id(obj)][1] if id(obj) in self.changed else state_of(obj)


def record_block(
    recorder: Recorder, code: Callable[[], Any], *, is_function: bool = False
) -> Recorded:
    """Run `code` into a new block; every object it changed is put back as it was."""
    recorder.journal = Journal(recorder.journal)
    try:
        opened = recorder.open_function() if is_function else recorder.open()
        with opened as scope, _watched(recorder, scope, is_function):
            value = _run(recorder, code)
        recorder.journal.forget(recorder.made_in(scope))
        changed = {id(obj): (obj, state_of(obj)) for obj, _ in recorder.journal.changed()}
    finally:
        recorder.journal.undo()
        assert recorder.journal.parent is not None
        recorder.journal = recorder.journal.parent
    return Recorded(scope, value, changed)


def _watched(
    recorder: Recorder, scope: Scope, is_function: bool
) -> contextlib.AbstractContextManager[None]:
    watch = recorder.watch
    return contextlib.nullcontext() if watch is None else watch.running(scope, is_function)


def _run(recorder: Recorder, code: Callable[[], Any]) -> Any:
    """The value of `code`; an exception of the user's becomes a raise of the program."""
    grad = torch.is_grad_enabled()
    try:
        return code()
    except Diverged:
        return NOTHING
    except StatorError:
        raise
    except Exception as error:
        if raised_by_stator(error):
            raise
        torch._C._set_grad_enabled(grad)
        attempt = next((one for one in reversed(recorder.attempts) if one.catches(error)), None)
        if attempt is not None and not attempt.is_recorded:
            raise TryNeeded(attempt) from error
        record_raise(recorder, error)
        return NOTHING


class TryNeeded(BaseException):
    """A `try` catches what may be raised only when the program runs: it has to be recorded."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt


def record_raise(recorder: Recorder, error: Exception) -> None:
    """The program raises what `error` says."""
    place = place_of(error) or current_place()
    if is_not_the_users(error):
        raise untraceable(error) from error
    if any(isinstance(arg, Variant) for arg in error.args):
        _raise_in_each_way(recorder, error)
        return
    args = tuple(_said(recorder, arg) for arg in error.args)
    builtin, written = class_names(type(error))
    attributes: dict[str, Arg] = {}
    if written:
        recorder.errors[written[0]] = type(error)
        fields = {name: value for name, value in vars(error).items() if _can_be_said(value)}
        args += tuple(_said(recorder, value) for value in fields.values())
        attributes = {"names": written, **({"fields": tuple(fields)} if fields else {})}
    recorder.emit("stator::raise", (builtin, *args), attributes=attributes, place=place)


def untraceable(error: Exception) -> CaptureError:
    """The refusal for an error that is not the user's own."""
    return CaptureError(
        f"this cannot be traced: {type(error).__name__}: {error}",
        at=place_of(error) or current_place(),
        fix="leave this code out with `stator.not_to_static`, or write it with other ops",
    )


def _raise_in_each_way(recorder: Recorder, error: Exception) -> None:
    """An argument of `error` is one of several values: a raise for each."""
    at = next(k for k, arg in enumerate(error.args) if isinstance(arg, Variant))

    def raise_one(value: Any) -> None:
        new = copy.copy(error)
        new.args = (*error.args[:at], value, *error.args[at + 1 :])
        raise new.with_traceback(error.__traceback__)

    with contextlib.suppress(Diverged):
        recorder.apply_all(error.args[at], raise_one)


def _said(recorder: Recorder, value: Any) -> Arg:
    """An argument of an exception, as the program gives it."""
    if isinstance(value, CapturedText):
        return value.value
    if isinstance(value, str):
        return users_text(value)
    return recorder.arg(value) if _can_be_said(value) else str(value)


def _can_be_said(value: Any) -> bool:
    return isinstance(value, Symbolic | bool | int | float | complex | str | None)


def class_names(cls: type) -> tuple[str, tuple[str, ...]]:
    """The builtin class that `cls` is, and the names of the classes before it that users wrote."""
    written: list[str] = []
    for base in cls.__mro__:
        if base.__module__ == "builtins":
            return base.__name__, tuple(written)
        written.append(f"{base.__module__}.{base.__qualname__}")
    return "Exception", tuple(written)


def changed_objects(blocks: Iterable[Recorded]) -> list[Any]:
    """Every object that one of `blocks` changed, in order, once."""
    found: dict[int, Any] = {}
    for block in blocks:
        found.update({key: obj for key, (obj, _) in block.changed.items() if key not in found})
    return list(found.values())


def describe_value(value: Any, fresh: Fresh = never) -> Kind:
    """The kind of what a block gave."""
    return BOTTOM if value is NOTHING else describe(value, fresh)


def describe_states(states: list[Any], fresh: Fresh) -> list[Kind]:
    """The kinds of one object's state after each of several blocks, keys made equal."""
    kinds = [BOTTOM if state is NOTHING else describe_state(state, fresh) for state in states]
    if any(isinstance(kind, ListKind) and kind.form is dict for kind in kinds):
        return [as_pairs(kind) for kind in kinds]
    maps = [kind for kind in kinds if isinstance(kind, MapKind)]
    whole = iter(merge_maps(maps))
    return [next(whole) if isinstance(kind, MapKind) else kind for kind in kinds]


def refuse_aliases(values: list[Any], fresh: Fresh) -> None:
    """One container under two names cannot leave a block: it would be two afterwards."""
    seen: set[int] = set()
    waiting = [value for value in values if value is not NOTHING]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Variant):
            waiting.extend(value.alternatives)
        elif isinstance(value, tuple):
            waiting.extend(value)
        elif isinstance(value, list | dict | StagedSet) and fresh(value):
            if id(value) in seen:
                name = next(c.__name__ for c in (list, dict, set) if isinstance(value, c))
                raise UnsupportedCall(
                    f"a {name} made in a branch or a loop "
                    "of the program is kept under two names",
                    at=current_place(), fix="make it before the branch or the loop",
                )  # fmt: skip
            seen.add(id(value))
            waiting.extend(state_values(value))


def state_values(value: Any) -> list[Any]:
    """The items of a list or dict, whatever they are."""
    state = state_of(value)
    if isinstance(state, Columns):
        return []
    return list(state.values()) if isinstance(state, dict) else list(state)


def with_keys(state: Any, kind: Kind) -> Any:
    """`state` with the keys of `kind`; what it lacks is Undefined."""
    if isinstance(kind, MapKind) and isinstance(state, dict):
        return {key: state.get(key, Undefined(str(key))) for key in kind.keys}
    return state


def put_state(recorder: Recorder, obj: Any, state: Any) -> None:
    """Give `obj` the contents that the blocks have left it with."""
    refuse_frozen(obj)
    recorder.journal.note(obj)
    held = state.columns if isinstance(state, STAGED) else None
    if (held is not None and not isinstance(obj, STAGED)) or isinstance(state, Variant):
        raise UnsupportedCall(
            f"the length of a {type(obj).__name__} depends on the path taken", at=current_place(),
            fix="use a list",
        )  # fmt: skip
    if isinstance(state, dict) and held is None:
        state = {key: item for key, item in state.items() if not isinstance(item, Undefined)}
    is_state = held is None and isinstance(state, dict | tuple | frozenset)
    restore(obj, state if is_state else state_of(state))


def outputs(recorder: Recorder, scope: Scope, values: list[Any], kinds: list[Kind]) -> list[Arg]:
    """The args that `scope` yields for `values`."""
    with recorder.inside(scope):
        return [
            arg
            for value, kind in zip(values, kinds, strict=True)
            for arg in flatten(recorder, value, kind)
        ]
