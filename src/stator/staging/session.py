"""Session: one capture, as staging sees it: the recorder, what was converted, what was read."""

from __future__ import annotations

import array
import collections.abc
import types
from dataclasses import dataclass, field
from typing import Any

import torch

from stator.capture.branches import apply_to_all, apply_variant, capture_if
from stator.capture.journal import Journal
from stator.capture.places import current_place
from stator.capture.recorder import Recorder
from stator.capture.values import Locals, StagedList, Variant, refuse_frozen
from stator.location import Location
from stator.logs import LOGGER
from stator.staging.guards import Guards
from stator.staging.protocols import user_method
from stator.staging.truth import known, to_int, truth

CONTAINERS = (
    list, dict, set, bytearray, array.array, collections.deque, collections.abc.Mapping,
    torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.Sequential,
)  # fmt: skip


@dataclass(frozen=True)
class Decision:
    """What staging did with one construct or callee, for `explain`."""

    what: str  # "if", "while", "for", "call"
    choice: str  # "recorded", "python", "converted", "library", "left alone"
    why: str
    place: Location | None
    defined: Location | None = None  # of a callee that is converted: where it stands

    def __str__(self) -> str:
        where = self.place.short if self.place is not None else "somewhere"
        return f"{where}: {self.what} {self.choice}: {self.why}"


@dataclass
class Session:
    """The state of one capture."""

    recorder: Recorder = field(default_factory=lambda: Recorder(apply_variant, apply_to_all))
    guards: Guards = field(default_factory=Guards)
    decisions: list[Decision] = field(default_factory=list)
    converted: dict[types.FunctionType, types.FunctionType] = field(default_factory=dict)
    library_modules: dict[int, tuple[torch.nn.Module, bool]] = field(default_factory=dict)

    cells_written: dict[types.FunctionType, dict[str, types.CellType]] = field(default_factory=dict)
    born_codes: set[types.CodeType] = field(default_factory=set)  # functions made by this capture
    globals_written: set[types.FunctionType] = field(default_factory=set)
    shadows: dict[int, tuple[list[Any], StagedList]] = field(default_factory=dict)
    held: dict[int, tuple[Any, Any]] = field(default_factory=dict)  # of live trees: where it is
    installed: list[tuple[Any, Any]] = field(default_factory=list)  # live slots, what is in them
    hooked: dict[str, torch.nn.Module] = field(default_factory=dict)  # those with backward hooks
    arrays: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    handlers: int = 0  # how many recorded handlers of a `try` run now
    staging: Any = None
    notes: Any = None  # what is said before an op that may raise (`effects.Notes`)

    def __post_init__(self) -> None:
        self.guards.before = lambda obj: self.journal.first_state(obj)

    def attach(self, staging: Any) -> None:
        """`staging` is what converted code of this capture calls."""
        self.staging = staging

    @property
    def journal(self) -> Journal:
        """What Python code has changed in the current block."""
        return self.recorder.journal

    def decide(self, what: str, choice: str, why: str, defined: Location | None = None) -> None:
        """Keep a decision, with the line of user code it is about."""
        decision = Decision(what, choice, why, current_place(), defined)
        self.decisions.append(decision)
        LOGGER.debug("%s", decision)

    def note(self, obj: Any) -> None:
        """`obj` is about to be changed by user code."""
        refuse_frozen(obj)
        self.journal.note(obj)

    def seen(self, value: Any) -> Any:
        """`value` as converted code sees it: a plain list from outside by its shadow."""
        if isinstance(value, CONTAINERS) and self.guards.is_outside(value):
            self.guards.read_contents(value)
        return self.shadow(value) if type(value) is list else value

    def shadow(self, plain: list[Any]) -> StagedList:
        """The staged list that stands for a list from outside; its changes are written back."""
        if id(plain) not in self.shadows:
            self.guards.read_contents(plain)
            self.shadows[id(plain)] = (plain, StagedList(plain))
            self.shadows[id(plain)][1].stamp = 0  # it stands for an object from before
            if self.guards.is_outside(plain):
                self.guards.own(self.shadows[id(plain)][1])
        return self.shadows[id(plain)][1]

    def plain(self, value: Any) -> Any:
        """The list from outside that `value` stands for; anything else as it is."""
        if not isinstance(value, StagedList):
            return value
        pairs = self.shadows.values()
        return next((plain for plain, shadow in pairs if shadow is value), value)

    def hooked_name(self, module: torch.nn.Module) -> str:
        """The program's name for a module whose backward hooks run with it."""
        known = next((name for name, one in self.hooked.items() if one is module), None)
        name = known or f"module_{len(self.hooked)}"
        self.hooked[name] = module
        return name

    def own_module(self, module: torch.nn.Module) -> None:
        """`module` is the caller's, unless this capture has made it; however it was reached."""
        if not self.is_own(module):
            self.guards.own(module)

    def is_own(self, obj: Any) -> bool:
        """Was `obj` made by this capture, so that nobody outside can see it change?"""
        top = list(self.recorder.scope.chain())[-1]
        return isinstance(obj, Locals) or self.recorder.made_in(top)(obj)

    def is_user_object(self, value: Any) -> bool:
        """An object with attributes that user code may change."""
        return hasattr(value, "__dict__") and not isinstance(value, type | types.FunctionType)

    def truth(self, value: Any) -> Any:
        """`bool(value)`, also where a user has written what that means."""
        if isinstance(value, Variant):
            value = self.recorder.apply(value, self.truth)
        method = user_method(value, "__bool__")
        return truth(self.recorder, value if method is None else self.call(method, value))

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """A call as converted code makes it."""
        if args and isinstance(function, types.FunctionType):
            self.guards.read_method(args[0], function)
        return self.staging.call(function, *args, **kwargs)

    def run(self, definition: Any, *args: Any, **kwargs: Any) -> Any:
        """A builtin that is written out in Python (`staging/definitions.py`), converted."""
        return self.staging.call.run(definition, args, kwargs)

    def arithmetic(self, left: Any, sign: str, right: Any) -> Any:
        """`left SIGN right`, as converted code would write it."""
        return self.staging.arithmetic(left, sign, right)

    def raise_if(self, condition: Any, error: Exception) -> None:
        """The program raises `error` where `condition` holds."""
        condition = known(self.recorder, condition)

        def fail() -> None:
            raise error

        if condition is True:
            fail()
        if condition is not False:
            capture_if(self.recorder, condition, fail, _nothing)

    def refuse_if(self, condition: Any, why: str) -> None:
        """The program refuses to go on where `condition` holds."""
        condition = known(self.recorder, condition)
        if condition is not False:
            fine = torch.sym_not(condition) if not isinstance(condition, bool) else False
            self.recorder.emit("stator::demand", (self.recorder.arg(fine), why))

    def either(self, condition: torch.SymBool) -> Variant:
        """A captured truth value as one of True and False."""
        number = to_int(self.recorder, condition)
        return Variant(number, (False, True), self.recorder.apply)

    def choose(self, condition: Any, yes: Any, no: Any) -> Any:
        """`yes()` or `no()`, as `condition` says."""
        condition = known(self.recorder, condition)
        if isinstance(condition, bool):
            return yes() if condition else no()
        return capture_if(self.recorder, condition, yes, no)

    def select(self, condition: Any, yes: Any, no: Any) -> Any:
        """`yes if condition else no`, of two values."""
        condition = known(self.recorder, condition)
        if isinstance(condition, bool):
            return yes if condition else no
        return capture_if(self.recorder, condition, lambda: yes, lambda: no)

    def index(self, value: Any) -> Any:
        """`operator.index(value)` for a tensor; anything else as it is."""
        return self.staging.index(value)

    def contains(self, container: Any, item: Any) -> Any:
        """`item in container`, item by item."""
        return self.staging.call.builtins.contains(container, item)

    def getitem(self, obj: Any, key: Any) -> Any:
        """`obj[key]`, as converted code would write it."""
        return self.staging.getitem(obj, key)

    def compare(self, left: Any, sign: str, right: Any) -> Any:
        """`left SIGN right`, as converted code would write it."""
        return self.staging.compare(left, sign, right)

    def for_each(self, iterable: Any, body: Any) -> None:
        """A loop over `iterable`, as converted code would write it."""
        self.staging.for_stmt(iterable, body, None, tuple, _nothing_of, ())

    def append(self, items: StagedList, item: Any) -> None:
        """`items.append(item)`, as converted code would write it."""
        self.note(items)
        self.staging.call(items.append, item)


def _nothing() -> None:
    return None


def _nothing_of(_: Any) -> None:
    return None
