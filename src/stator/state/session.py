"""Session: what the parts of one capture share."""

from __future__ import annotations

import array
import collections
import collections.abc
import decimal
import gc
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy
import torch

from stator.capture.branches import apply_to_all, apply_variant
from stator.capture.interpreter import PythonInterpreter
from stator.capture.journal import Journal
from stator.capture.recorder import ApplyVariant, Recorder
from stator.capture.try_names import TryNames
from stator.errors import UnsupportedCall
from stator.location import Location
from stator.state.decisions import Decisions
from stator.state.reads import ReadLog
from stator.state.stand_ins import StandIns, has_stand_in, staged_copy
from stator.state.state_inputs import StateInputs
from stator.torch_private.modules import tables
from stator.values.annotations import Staged
from stator.values.freezing import refuse_frozen
from stator.values.pooled import Reference, pool_of
from stator.values.sites import SiteGroups, outside_site
from stator.values.staged import is_table
from stator.values.union import maybe_absent

CONTAINERS = (
    list, dict, set, bytearray, array.array, collections.deque, collections.abc.Mapping,
    torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.Sequential,
)  # fmt: skip
PARAMETERS = (torch.nn.ParameterList, torch.nn.ParameterDict)
VIEW_TYPES = {"keys": type({}.keys()), "values": type({}.values()), "items": type({}.items())}
VIEWS = tuple(VIEW_TYPES.values())


WEAK = (weakref.WeakSet, weakref.WeakKeyDictionary, weakref.WeakValueDictionary)


def error_modes() -> tuple[tuple[str, object], ...]:
    """What numpy does about a division by zero and the like."""
    return tuple(numpy.geterr().items())


def decimal_context() -> tuple[object, ...]:
    """Precision, rounding and traps of decimal numbers."""
    now = decimal.getcontext()
    traps = tuple(trap.__name__ for trap, is_set in now.traps.items() if is_set)
    return (now.prec, now.rounding, now.Emin, now.Emax, now.capitals, now.clamp, traps)


def read_modes(session: Session, left: object, right: object) -> None:
    """`left` and `right` are computed with: some numbers have modes that the caller sets."""
    if isinstance(left, numpy.generic) or isinstance(right, numpy.generic):
        session.reads.watch_call(error_modes, (), session.error_modes)
    if isinstance(left, decimal.Decimal) or isinstance(right, decimal.Decimal):
        session.reads.watch_call(decimal_context, (), session.decimal_context)


def weak_reference(what: str) -> UnsupportedCall:
    """The refusal of a look at objects that the program would keep alive."""
    return UnsupportedCall(f"a {what} from outside is used: a program would keep its object alive",
                           fix="get the object outside, and pass it as an argument")  # fmt: skip


class EffectLog(Protocol):
    """What is recorded of external effects before each op that may raise."""

    @property
    def effects(self) -> Sequence[object]:
        """One entry for each such op so far."""

    def forget(self, start: int, restored: Sequence[tuple[object, Sequence[object]]]) -> None:
        """The entries from number `start` on say nothing of what is put back in any case."""


class Session:
    """One capture: its recorder, its interpreter, and what it knows of the world outside."""

    def __init__(
        self,
        make_interpreter: Callable[[Session], PythonInterpreter],
        pooled: SiteGroups | None = None,
    ) -> None:
        self.pooled = pooled or SiteGroups()  # where containers are known by reference
        self.recorder = Recorder(
            self._with_stand_ins(apply_variant), self._with_stand_ins(apply_to_all)
        )
        self.recorder.listeners.append(TryNames(self.recorder))
        self.provenance = self.recorder.provenance
        self.reads = ReadLog(self.provenance, lambda obj: self.journal.first_state(obj))
        self.decisions = Decisions()
        self.stand_ins = StandIns(self.provenance)
        self.recorder.exceptions.original = self.stand_ins.original
        self.state_inputs = StateInputs()
        self.replaced: list[torch.Tensor] = []  # those in places that every run reads again
        self.effect_log: EffectLog | None = None
        self.host_calls: list[Any] = []  # `state.host_calls.HostCall`, by number
        self.host_classes: dict[str, type] = {}  # of records among their arguments
        self.hooked_modules: dict[str, torch.nn.Module] = {}  # those with backward hooks
        self.library_modules: dict[int, tuple[torch.nn.Module, bool]] = {}
        self.spent_iterators: dict[int, object] = {}  # whose position only a run knows
        self.running_generators: list[tuple[object, object]] = []  # their code, and the block
        # generators taken one by one whose code runs when they are closed, and where they begin
        self.closing_generators: list[tuple[Any, Location | None]] = []
        # iterators of Python's own, and those of the program that represent them, by id
        self.native_iterators: dict[int, tuple[object, Any]] = {}
        self.writes: dict[tuple[int, object], tuple[object, object]] = {}  # objects and their keys
        # what functions with a cache, which the capture has created, have given, by their ids
        self.remembered: dict[int, tuple[object, dict[Any, Any]]] = {}
        self.cache_uses: dict[int, int] = {}  # how often each `library.cache_uses.CacheLog` asked
        self.unasked: set[int] = set()  # cached functions with a use that only runs ask for
        self.checked_keys: set[type] = set()  # whose `__hash__` and `__eq__` change nothing
        self.takes_ahead = False  # does a loop ask for items before a run knows that it needs them?
        self.is_kept = False  # is it asked after the capture, too?
        self.error_modes, self.decimal_context = error_modes(), decimal_context()
        self.outer_filters = warnings.filters
        self.filter_scopes: dict[int, object] = {}  # by filters: where they were set
        self.shows_warnings = warnings._showwarnmsg_impl  # type: ignore[attr-defined]
        self.handling: list[object] = []  # what the handlers that run now have caught
        self.interpreter = make_interpreter(self)
        self.recorder.exceptions.text_of = lambda error: self.interpreter.call(str, error)

    def close(self) -> None:
        """The capture has ended: what its parts hold goes now, not with a collection.

        They refer to each other, and to all objects of the user's that the capture has met.
        """
        if self.is_kept:
            return
        parts = (self.journal, self.reads, self.stand_ins, self.state_inputs, self.provenance)
        self.interpreter.close()
        for part in (*parts, self.recorder, self):
            vars(part).clear()

    @property
    def journal(self) -> Journal:
        """What Python code has changed in the current block."""
        return self.recorder.journal

    def note(self, obj: object) -> None:
        """`obj` is about to be changed by user code."""
        refuse_frozen(obj)
        if isinstance(obj, Reference):
            obj = pool_of(obj).cells
        self.journal.note(self.provenance.owner_of(obj))

    def note_change(self, obj: object, before: object) -> None:
        """Code that is not followed has changed `obj`, which was `before`."""
        refuse_frozen(obj)
        self.journal.note_change(self.provenance.owner_of(obj), before)

    def wrote(self, obj: object, key: object) -> None:
        """User code sets `key` of `obj`, perhaps to what it was: a later call must set it, too."""
        if not isinstance(obj, Reference):  # which is no one else's
            self.writes[id(obj), key] = (obj, key)

    def is_local(self, obj: object) -> bool:
        """Was `obj` created by this capture, so that no one outside can see it change?"""
        return self.provenance.is_local(obj, self.recorder.scope)

    def add_module(self, module: torch.nn.Module) -> None:
        """`module` is external, unless this capture has created it; however it was reached."""
        if not self.is_local(module):
            self.provenance.add_external(module)

    def staged(self, value: object) -> Staged:
        """The stand-in of an external list, set or deque; any other value unchanged.

        A view of a dict with data-dependent items is a list of these.
        """
        if isinstance(value, VIEWS):
            return self._seen_view(value)
        if isinstance(value, WEAK) and self.provenance.is_external(value):
            raise weak_reference(type(value).__name__)
        if isinstance(value, CONTAINERS) and self.provenance.is_of_external(value):
            self.reads.read_contents(value)
        if isinstance(value, PARAMETERS) and self.provenance.is_external(value):
            self._read_parameters(value)
        return self.stand_in(value) if self.has_stand_in(value) else value

    def has_stand_in(self, value: object) -> bool:
        """Is `value` a container that converted code uses through a stand-in?"""
        return has_stand_in(value) or (isinstance(value, dict) and self.is_written(value))

    def is_written(self, value: object) -> bool:
        """Does the program change `value`, which is from outside? An earlier attempt knows it."""
        return self.pooled.group_of(outside_site(value)) is not None

    def _read_parameters(self, holder: torch.nn.Module) -> None:
        """What a list or a dict of parameters holds: it keeps them as a module does."""
        self.reads.read_all_attributes(holder)
        for table in (tables(holder).parameters, vars(holder).get("_keys")):
            if table is not None:
                self.provenance.add_external(table)
                self.reads.read_contents(table)

    def seen_item(self, value: object) -> Staged:
        """The stand-in of an external list, set or deque, which a new container is to hold."""
        return self.stand_in(value) if self.has_stand_in(value) else value

    def argument(self, value: object) -> Staged:
        """The same as `staged`; a tuple holds the stand-ins of what it holds."""
        return self.seen(value) if type(value) is tuple else self.staged(value)

    def seen(self, value: object) -> Staged:
        """The same as `staged`, also inside tuples, lists and dicts: for what only reads it."""
        return self.stand_ins.seen(self.staged(value))

    def stand_in(self, external: object) -> Staged:
        """The staged container that represents `external`; its changes are written back."""
        found = self.stand_ins.find(external)
        if found is None:
            self.reads.read_contents(external)
            found = staged_copy(external)
            self.stand_ins.add(external, found)
        return found

    def _seen_view(self, view: object) -> Staged:
        """`view`, if Python knows what its dict holds by now; else what the dict gives now."""
        name = next(name for name, cls in VIEW_TYPES.items() if isinstance(view, cls))
        (table,) = gc.get_referents(view)
        if self.provenance.is_external(table):
            self.reads.read_contents(table)
        if is_table(table) or any(map(maybe_absent, dict.values(table))):
            return self.interpreter.call(getattr(table, name))
        return view

    def _with_stand_ins(self, apply: ApplyVariant) -> ApplyVariant:
        """`apply`, such that an external list among the alternatives is seen as its stand-in."""

        def seen(value: object) -> object:
            return self.stand_in(value) if self.has_stand_in(value) else value

        return lambda recorder, variant, function: apply(
            recorder, variant, lambda value: function(seen(value))
        )

    def hooked_name(self, module: torch.nn.Module) -> str:
        """The program's name for a module whose backward hooks run with it."""
        names = (name for name, one in self.hooked_modules.items() if one is module)
        name = next(names, f"module_{len(self.hooked_modules)}")
        self.hooked_modules[name] = module
        return name
