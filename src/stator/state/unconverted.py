"""User code that library code runs: it is not converted, so what it changes outside is refused.

    sorted(rows, key=functools.cmp_to_key(compare))    # `compare` runs as it is
    class Model(Base): ...                             # so does `Base.__init_subclass__`

A program would not do again what such code has done. `watched` notices the functions of the user
that a call enters, compares what they can reach before and after, and guards what they can read.
"""

from __future__ import annotations

import collections
import cProfile
import functools
import gc
import inspect
import sys
import types
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.frames import STAGING, is_library_file, is_own_file
from stator.garbage import no_collections
from stator.state.present_contents import present_contents
from stator.state.session import Session
from stator.values.containers import is_plain_object
from stator.values.contents import ObjectState, restore, same_state, state_of
from stator.values.slotted import HEAP_TYPE, slots_of
from stator.values.staged import StagedContainer

CONTAINERS = (list, dict, set, collections.deque)
MOST_OBJECTS, MOST_ITEMS, DEEPEST = 400, 200, 3
IMPORTS = ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>")
GENERATED = "<string>"  # the file of what `dataclass` and `namedtuple` write

# the functions with a code, by its id: codes of two functions may be equal
_known_functions: dict[
    int, tuple[weakref.ref[types.CodeType], weakref.WeakSet[types.FunctionType]]
] = {}


@contextmanager
def watched(session: Session, name: str, given: Iterable[object] = ()) -> Iterator[None]:
    """Refuse what user code, called by the library code `name`, changes outside.

    Both see the caller's containers as the call has left them; library code receives `given`.
    """
    watch = UserCodeWatch(session)
    with present_contents(session, given):
        # the collector would call finalizers of objects that the library code knows nothing of
        with watch, no_collections():
            yield
        watch.check(name)


def stop_watching() -> None:
    """Stop the watch that a class statement started and, because it raised, did not stop."""
    watch = _watch_of(sys.getprofile())
    while watch is not None:
        watch.__exit__()
        watch = _watch_of(sys.getprofile())


def _watch_of(profile: object) -> UserCodeWatch | None:
    owner = getattr(profile, "__self__", None)
    return owner if isinstance(owner, UserCodeWatch) else None


class UserCodeWatch:
    """What the user's functions that some code has entered could reach, as it was before.

    A profiler of the user's goes on: one that is written in Python is called for each event, and
    cProfile, which no one else can call, pauses.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.states: dict[int, tuple[object, ObjectState]] = {}
        self.globals: dict[tuple[int, str], tuple[dict[str, Any], str, object]] = {}
        self.entered: dict[int, types.CodeType] = {}
        self.variables: dict[int, dict[str, object]] = {}  # of functions around, by frame
        self.rebound: list[str] = []
        self.unknown: list[object] = []  # containers whose items only a run knows
        self.outer: Any = None
        self.profiler: Any = None  # of the user's

    def __enter__(self) -> None:
        self.outer = sys.getprofile()
        around = _watch_of(self.outer)
        self.profiler = around.profiler if around is not None else self.outer
        if isinstance(self.outer, cProfile.Profile):
            self.outer.disable()
        elif self.profiler is not None and not callable(self.profiler):
            raise UnsupportedCall(
                f"library code is called while {with_article(type(self.profiler).__name__)} "
                "profiles it, and "
                "may call user code unseen",
                fix="start the profiler after the first call",
            )  # fmt: skip
        sys.setprofile(self.see)

    def __exit__(self, *_: object) -> None:
        if _watch_of(sys.getprofile()) is None:
            return
        if isinstance(self.outer, cProfile.Profile):
            sys.setprofile(None)
            self.outer.enable()
        else:
            sys.setprofile(self.outer)

    def see(self, frame: types.FrameType, event: str, arg: object) -> None:
        """Called by Python for each event of a profiler."""
        if callable(self.profiler):
            self.profiler(frame, event, arg)
        if event not in ("call", "return") or not _is_unconverted(frame.f_code):
            return
        callers = list(_callers(frame))
        if any(caller.f_code.co_filename in IMPORTS for caller in callers):
            return  # a later call has the module, in eager code as well
        if event == "return":
            self._see_variables(frame)
            return
        code = frame.f_code
        if id(code) not in self.entered:
            self.entered[id(code)] = code
            self._see_globals(frame)
            self._see_cells(frame, callers)
        found = dict(frame.f_locals)
        if not code.co_flags & inspect.CO_OPTIMIZED and frame.f_back is not None:  # a class body
            around = frame.f_back.f_locals
            found |= {name: around[name] for name in code.co_freevars if name in around}
        self.variables[id(frame)] = {n: found[n] for n in code.co_freevars if n in found}
        inner = _variables_of(callers)
        for name, value in found.items():
            is_free = name in code.co_freevars and id(value) not in inner
            if self.session.provenance.is_external(value) or (
                self._is_outer(value) or (is_free and not self._is_made_here(value))
            ):
                self._add(value, DEEPEST)

    def _see_variables(self, frame: types.FrameType) -> None:
        """A function ends: has it bound a variable of a function around it?"""
        before = self.variables.pop(id(frame), {})
        now = frame.f_locals if before else {}
        self.rebound += [n for n, old in before.items() if n in now and now[n] is not old]

    def _is_made_here(self, value: object) -> bool:
        return isinstance(value, StagedContainer) or self.session.provenance.is_known_new(value)

    def _is_outer(self, value: object) -> bool:
        """Was it made by the program, outside of the branch or loop that is recorded now?"""
        session = self.session
        return (
            self._is_made_here(value)
            and session.recorder.depth > 0
            and not session.provenance.created_since(session.recorder.scope)(value)
        )

    def _see_globals(self, frame: types.FrameType) -> None:
        names = frame.f_globals
        for name in frame.f_code.co_names:
            self.globals[id(names), name] = (names, name, names.get(name, self))
            if name in names:
                self.session.reads.read_global(names, name)
                self._add(names[name], DEEPEST)

    def _see_cells(self, frame: types.FrameType, callers: list[types.FrameType]) -> None:
        """Guard the variables of functions around, but for those that are running inside.

        `__class__`, which `super()` reads, stays what it is.
        """
        code, variables = frame.f_code, frame.f_locals
        if not code.co_flags & inspect.CO_OPTIMIZED:
            return
        names = {
            name
            for name in code.co_freevars
            if name in variables and name != "__class__" and not self._is_made_here(variables[name])
            if not any(_has_cell(caller, name, variables[name]) for caller in callers)
        }
        for function in self._functions_of(frame) if names else ():
            for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
                if name in names and state_of(cell).get("cell", self) is variables[name]:
                    self.session.reads.read_cell(cell, name)

    def _functions_of(self, frame: types.FrameType) -> list[types.FunctionType]:
        """The functions with the code of `frame`, which does not tell which of them it runs.

        Python looks through all objects for them, so it is asked for those of a code once in a
        process, and again only if the function that runs is none of them.
        """
        code, variables = frame.f_code, frame.f_locals
        known, functions = _known_functions.get(id(code), (None, ()))
        if known is None or known() is not code:
            functions = ()
        if not any(_closes_over(one, variables) for one in functions):
            found = [one for one in gc.get_referrers(code) if isinstance(one, types.FunctionType)]
            functions = weakref.WeakSet(one for one in found if one.__code__ is code)
            forget = functools.partial(_forget_functions, id(code))
            _known_functions[id(code)] = (weakref.ref(code, forget), functions)
        return list(functions)

    def add(self, obj: object) -> None:
        """Keep the state of `obj`, wherever it was made."""
        self._add(obj, DEEPEST)

    def _add(self, obj: object, depth: int) -> None:
        """Keep the state of `obj` and of what is in it."""
        if id(obj) in self.states or len(self.states) > MOST_OBJECTS or not _has_state(obj):
            return
        if self.session.journal.has_noted(obj):
            return  # what becomes of it is part of the program
        state = state_of(obj)
        if not isinstance(state, dict | tuple | frozenset) or len(state) > MOST_ITEMS:
            return
        self.states[id(obj)] = (obj, state)
        self._guard(obj, state)
        if depth > 1:
            for value in state.values() if isinstance(state, dict) else state:
                self._add(value, depth - 1)

    def _guard(self, obj: object, state: ObjectState) -> None:
        """User code that is not followed may read all of `obj`."""
        stand_in = self.session.stand_ins.find(obj)
        if stand_in is not None and stand_in.is_open:
            self.unknown.append(obj)
        if not self.session.provenance.is_external(obj) or isinstance(obj, type):
            return
        if isinstance(obj, CONTAINERS):
            self.session.reads.read_contents(obj)
            return
        for name, value in state.items():
            self.session.reads.read_attribute(obj, name, value)

    def check(self, name: str) -> None:
        """Put back what has been changed, and refuse it."""
        changed = [(obj, old) for obj, old in self.states.values()
                   if not same_state(old, state_of(obj))
                   and not self.session.journal.has_noted(obj)]  # fmt: skip
        bound = [(names, key, old) for names, key, old in self.globals.values()
                 if names.get(key, self) is not old]  # fmt: skip
        for obj, old in changed:
            restore(obj, old)
        for names, key, old in bound:
            names.update({key: old}) if old is not self else names.pop(key, None)
        if self.unknown:
            raise UnsupportedCall(
                f"`{name}` calls {self._functions()} without conversion, which may read "
                f"{_in_words(self.unknown[0])} from outside whose items depend on the data",
                fix="call it in a loop of your own",
            )  # fmt: skip
        if changed or bound or self.rebound:
            names_bound = [*(f"the global `{key}`" for _, key, _ in bound),
                           *(f"the variable `{key}`" for key in self.rebound)]  # fmt: skip
            what = names_bound[0] if names_bound else _in_words(changed[0][0])
            raise UnsupportedCall(
                f"`{name}` calls {self._functions()} without conversion, which changes {what}: "
                "that would happen only during the capture, not in later calls",
                fix="call it in a loop of your own, or change nothing in it",
            )  # fmt: skip

    def _functions(self) -> str:
        return " or ".join(dict.fromkeys(f"`{c.co_qualname}`" for c in self.entered.values()))


def _forget_functions(key: int, known: object) -> None:
    """A code has ended, and another one may have its id by now."""
    if _known_functions.get(key, (None,))[0] is known:
        del _known_functions[key]


def _closes_over(function: types.FunctionType, variables: Mapping[str, object]) -> bool:
    """Does `function` find these values in its cells?"""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return all(state_of(cell).get("cell") is variables.get(name) for name, cell in cells)


def _callers(frame: types.FrameType) -> Iterator[types.FrameType]:
    """The frames below Stator's that have led to this one, as they are."""
    caller = frame.f_back
    while caller is not None and not is_own_file(caller.f_code.co_filename):
        yield caller
        caller = caller.f_back


def _has_cell(frame: types.FrameType, name: str, value: object) -> bool:
    """Is `value` in a variable of the user's function `frame` that functions inside it see?"""
    code = frame.f_code
    is_there = name in code.co_cellvars and frame.f_locals.get(name) is value
    return is_there and _is_unconverted(code)


def _variables_of(frames: list[types.FrameType]) -> set[int]:
    """What the user's functions among them have in variables."""
    users = [frame for frame in frames if _is_unconverted(frame.f_code)]
    return {id(value) for frame in users for value in frame.f_locals.values()}


def _in_words(obj: object) -> str:
    if isinstance(obj, type):
        return f"the class {obj.__name__}"
    return f"a {obj.plain.__name__ if isinstance(obj, StagedContainer) else type(obj).__name__}"


@functools.lru_cache(maxsize=4096)
def _is_users_file(file: str) -> bool:
    return file != GENERATED and not is_library_file(file) and not is_own_file(file)


def _is_unconverted(code: types.CodeType) -> bool:
    return _is_users_file(code.co_filename) and STAGING not in code.co_freevars


def _has_state(obj: object) -> bool:
    if isinstance(obj, type):
        return bool(obj.__flags__ & HEAP_TYPE) and _is_users_class(obj)
    return isinstance(obj, CONTAINERS) or (
        is_plain_object(obj) and _is_users_class(type(obj)) and not slots_of(type(obj))
    )


def _is_users_class(cls: type) -> bool:
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return file is None or _is_users_file(file)
