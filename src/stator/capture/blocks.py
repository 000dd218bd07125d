"""Blocks: run a piece of user code into a block of its own, and say what it changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from stator.capture.assumptions import narrowed_state
from stator.capture.errors.boundary import internal
from stator.capture.errors.capture_artifacts import is_raised_by_user_code
from stator.capture.flatten import NOTHING, flatten
from stator.capture.journal import Journal
from stator.capture.raising import record_raise
from stator.capture.recorder import Recorder
from stator.capture.scope import Attempt, Scope
from stator.capture.union_tags import present_tags
from stator.english import with_article
from stator.errors import StatorError, UnsupportedCall
from stator.frames import is_users, traces_of
from stator.program.ir import Arg
from stator.torch_private.dispatch import set_grad_mode
from stator.values.containers import EXCEPTION, is_plain_object
from stator.values.contents import restore, state_of
from stator.values.describe import describe, describe_state
from stator.values.freezing import refuse_frozen
from stator.values.kinds import BOTTOM, Fresh, Kind, ListKind, is_map, leaf_types, never
from stator.values.merge import as_pairs, merge_maps
from stator.values.pooled import Reference, can_be_pooled
from stator.values.sites import Shared, class_site
from stator.values.staged import Columns, StagedContainer, StagedSet, python_name
from stator.values.symbolic import CannotLeave, Diverged, Undefined
from stator.values.union import Union


@dataclass
class BlockRecord:
    """One block: what it gave, and the objects it changed with their states after it."""

    scope: Scope
    value: Any  # NOTHING where the block always raises
    changed: dict[int, tuple[Any, Any]]  # id -> (object, state after)

    def state_after(self, obj: object) -> Any:
        """The contents of `obj` when this block has run."""
        if self.value is NOTHING:
            return NOTHING
        return self.changed[id(obj)][1] if id(obj) in self.changed else state_of(obj)


def record_block(
    recorder: Recorder,
    code: Callable[[], object],
    *,
    is_function: bool = False,
    repeats: bool = False,
) -> BlockRecord:
    """Run `code` into a new block; every object it changed is put back as it was."""
    recorder.journal = Journal(recorder.journal)
    try:
        opened = recorder.open_function() if is_function else recorder.open()
        with (
            opened as scope,
            recorder.running(scope, is_function=is_function, repeats=repeats),
        ):
            value = _run(recorder, code)
        recorder.journal.forget(recorder.provenance.created_since(scope))
        with recorder.inside(scope):
            changed = {
                id(obj): (obj, narrowed_state(recorder, state_of(obj), before))
                for obj, before in recorder.journal.changed()
            }
    finally:
        recorder.journal.undo()
        assert recorder.journal.parent is not None
        recorder.journal = recorder.journal.parent
    return BlockRecord(scope, value, changed)


def _run(recorder: Recorder, code: Callable[[], object]) -> Any:
    """The value of `code`; an exception of the user's becomes a raise of the program."""
    grad = torch.is_grad_enabled()
    try:
        return code()
    except Diverged:
        return NOTHING
    except StatorError:
        raise
    except Exception as error:
        set_grad_mode(grad)
        attempt = next(
            (one for one in reversed(recorder.attempts)
             if (one.is_recorded or one.waits) and one.catches(error)),
            None,
        )  # fmt: skip
        if attempt is not None and attempt.waits:
            raise TryNeeded(attempt) from error
        record_raise(recorder, error)
        return NOTHING
    except BaseException as error:
        if type(error).__module__.partition(".")[0] == "stator" or not _is_from_user(error):
            raise
        raise UnsupportedCall(
            f"{with_article(type(error).__name__)}, which is not an `Exception`, is raised in a "
            "branch or a loop of the program",
            fix="raise an `Exception`",
        ) from error  # fmt: skip


def _is_from_user(error: BaseException) -> bool:
    """Has user code raised it? Ctrl-C arrives at any of its instructions, a `raise` does not."""
    if isinstance(error, KeyboardInterrupt):
        return is_raised_by_user_code(error)
    traces = list(traces_of(error))
    return bool(traces) and is_users(traces[-1].tb_frame)


class TryNeeded(BaseException):
    """A `try` catches what may be raised only when the program runs: it has to be recorded."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt


def changed_objects(blocks: Iterable[BlockRecord]) -> list[object]:
    """Every object that one of `blocks` changed, in order, once."""
    found: dict[int, object] = {}
    for block in blocks:
        found.update({key: obj for key, (obj, _) in block.changed.items() if key not in found})
    return list(found.values())


def describe_value(value: object, fresh: Fresh = never) -> Kind:
    """The kind of what a block gave."""
    return BOTTOM if value is NOTHING else describe(value, fresh)


@internal
def describe_states(states: list[object], fresh: Fresh) -> list[Kind]:
    """The kinds of one object's state after each of several blocks, keys made equal."""
    return with_equal_keys(
        [BOTTOM if state is NOTHING else describe_state(state, fresh) for state in states]
    )


def with_equal_keys(kinds: list[Kind]) -> list[Kind]:
    """The kinds of several states of one object, with the keys of all of them."""
    if any(isinstance(kind, ListKind) and kind.form is dict for kind in kinds):
        return [as_pairs(kind) for kind in kinds]
    maps = [kind for kind in kinds if is_map(kind)]
    whole = iter(merge_maps(maps))
    return [next(whole) if is_map(kind) else kind for kind in kinds]


def refuse_aliases(values: Sequence[object], fresh: Fresh, states: Sequence[object] = ()) -> None:
    """One container under two names cannot leave a block: it would be two afterwards.

    A name is a variable, which has one of `values`, or an attribute or a key of an object that the
    block has changed, whose contents are one of `states`.
    """
    seen: set[int] = set()
    waiting = [value for value in values if value is not NOTHING]
    for state in states:
        waiting += state.values() if isinstance(state, dict) else [state]
    while waiting:
        value = waiting.pop()
        if isinstance(value, CannotLeave) and fresh(value):
            raise UnsupportedCall(
                f"{with_article(value.what)} made in a branch or a loop of the program is used "
                "after it",
                fix="make it where it is used, or make a list of it",
            )  # fmt: skip
        if isinstance(value, Union):
            waiting.extend(value.alternatives)
        elif isinstance(value, tuple):
            waiting.extend(value)
        elif isinstance(value, Reference):
            continue  # it is known by reference
        elif _has_contents(value) and fresh(value):
            if id(value) in seen:
                raise _kept_twice(value)
            seen.add(id(value))
            waiting.extend(state_values(value))


def _has_contents(value: object) -> bool:
    return isinstance(value, list | dict | StagedSet | Exception) or is_plain_object(value)


def _kept_twice(value: object) -> BaseException:
    refusal = UnsupportedCall(
        f"{with_article(python_name(value))} made in a branch or a loop of the program is kept "
        "under two names",
        fix="make it before the branch or the loop",
    )  # fmt: skip
    if isinstance(value, StagedContainer):
        return Shared(value.sites, refusal) if value.sites else refusal
    cls = type(value)
    return Shared(frozenset({class_site(cls)}), refusal) if can_be_pooled(cls) else refusal


def state_values(value: object) -> list[object]:
    """The items of a list or dict, or the attributes of an object, whatever they are."""
    if isinstance(value, Exception):
        return list(EXCEPTION.parts(value).items)
    state = state_of(value)
    if isinstance(state, Columns):
        return []
    return list(state.values()) if isinstance(state, dict) else list(state)


def with_keys(state: object, kind: Kind) -> Any:
    """`state` with the keys of `kind`; what it lacks is Undefined."""
    if is_map(kind) and isinstance(state, dict):
        return {key: state.get(key, Undefined(str(key))) for key in kind.named}
    return state


@internal
def put_state(recorder: Recorder, obj: object, state: object) -> None:
    """Set the contents of `obj` to those that it has after the blocks."""
    refuse_frozen(obj)
    recorder.journal.note(obj)
    held = state.columns if isinstance(state, StagedContainer) else None
    if (held is not None and not isinstance(obj, StagedContainer)) or isinstance(state, Union):
        raise UnsupportedCall(
            f"the length of {with_article(type(obj).__name__)} depends on the path "
            "taken",
            fix="use a list",
        )  # fmt: skip
    if isinstance(state, dict) and held is None:
        state = {key: item for key, item in state.items() if not isinstance(item, Undefined)}
    is_state = held is None and isinstance(state, dict | tuple | frozenset)
    restore(obj, state if is_state else state_of(state))


def outputs(recorder: Recorder, scope: Scope, values: list[object], kinds: list[Kind]) -> list[Arg]:
    """The args that `scope` yields for `values`."""
    with recorder.inside(scope):
        return [
            arg
            for value, kind in zip(values, kinds, strict=True)
            for arg in whole(recorder, value, kind)
        ]


def whole(recorder: Recorder, value: object, kind: Kind) -> list[Arg]:
    """The leaves of `value`, which is no part of another one: its tag is always there."""
    return present_tags(recorder, flatten(recorder, value, kind), leaf_types(kind))
