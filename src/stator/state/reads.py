"""ReadLog: what a capture read from outside, each read with a way to repeat it.

The reads become the guards of the program: see `state.guards`.
"""

from __future__ import annotations

import builtins
import contextvars
import functools
import operator
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from stator.capture.provenance import Provenance
from stator.frames import current_place
from stator.location import Location
from stator.state.holding import holding, reference, weak_dicts, weak_method, weakly
from stator.state.read_results import (
    ANY,
    SCALARS,
    Contents,
    Heard,
    attribute_now,
    contents,
    function_parts,
    hooks_of,
    item_of,
    picked,
    tensor_facts,
    unchanged,
    values_in,
)
from stator.state.replaced import original_of
from stator.state.snapshot import class_dicts
from stator.torch_private import modules
from stator.torch_private.fake import FakeTensor
from stator.values.annotations import Args
from stator.values.attributes import class_entry, own_dict
from stator.values.contents import state_of
from stator.values.staged import Columns, StagedList, is_seen_before
from stator.values.union import Union

SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool, Union)
_MISSING = object()


@holding(expected=weak_method, dicts=weak_dicts, owner=weakly, holder=weakly)
@dataclass(frozen=True, slots=True)
class Read:
    """One thing that was read: what it is in words, how to read it again, what it gave."""

    what: str
    again: Callable[[], Any]
    expected: Any
    dicts: tuple[dict[Any, Any], ...] | None  # unwritten, they give the same; None: read again
    owner: Any = None  # its class matters as well
    by_class: bool = False  # its class alone, whatever its attributes are
    tensor: torch.Tensor | None = None  # a stored one, whose dtype and the like were read
    function: types.FunctionType | None = None  # whose code and defaults were used
    names: tuple[str, ...] = ()  # of the parts, where it has several
    is_kind: bool = False  # `again` says whether a place still holds a value of the same kind
    place: Location | None = None  # the line that read it first
    holder: Any = None  # a dict, cell or object that has what was read
    key: Any = None  # its name there; None where the parts of `expected` have names of their own
    keys: int = 0  # how many of the parts are keys of a dict, or members of a set

    def is_unchanged(self) -> bool:
        """Does it give the same now?"""
        return unchanged(self.again(), self.expected)

    @property
    def check(self) -> Callable[[], bool]:
        """`is_unchanged`, by the shortest way."""
        return self.again if self.is_kind else self.is_unchanged

    def in_words(self) -> str:
        """What it is; the part that has changed, where parts have names."""
        if not self.names:
            return self.what
        now = self.again().items
        pairs = zip(self.names, now, self.expected.items, strict=False)
        return self.what + next((name for name, new, old in pairs if not unchanged(new, old)), "")


class ReadLog:
    """What one capture reads of external objects: globals, cells, attributes, items.

    `first_state` gives what an object was before the capture changed it; None where it did not.
    """

    def __init__(
        self, provenance: Provenance, first_state: Callable[[object], Any] = lambda _: None
    ) -> None:
        self.provenance, self._first_state = provenance, first_state
        self._reads: dict[tuple[object, ...], Read] = {}
        self.heard: Heard | None = None  # every read, while someone listens
        self._live: dict[int, object] = {}  # what represents places that every run reads again
        self._live_contents: dict[int, object] = {}

    def live(self, value: object, what: str, again: Callable[[], object], kind: object) -> None:
        """`value` represents a place that every run reads again; its `kind` must stay the same."""
        self._live[id(value)] = value
        self._reads[(id(value), "live")] = Read(what, again, kind, None, is_kind=True)

    def live_contents(self, obj: list[object], what: str, fit: Callable[[], bool]) -> None:
        """Every run reads again what `obj` holds; its items must `fit`."""
        self._live_contents[id(obj)] = obj
        self._reads[(id(obj), "live contents")] = Read(what, fit, True, None, is_kind=True)

    def read_attribute(self, obj: object, name: str, value: object) -> None:
        """`obj.name` was read and gave `value`."""
        is_outside = self.provenance.is_external(obj) and not is_seen_before(obj)
        if not is_outside or self._is_new(obj, name, value):
            return
        self._read_class(obj)
        if isinstance(obj, torch.nn.Module) or _is_plain_attribute(obj, name):
            what = f"{obj.__name__ if isinstance(obj, type) else type(obj).__name__}.{name}"
            of = reference(obj)
            self._watch((id(obj), "attribute", name),
                        lambda: original_of(attribute_now(of(), name, _MISSING)), value, what,
                        _attribute_dicts(obj, name), obj,
                        holder=_holder(obj, name), name=name)  # fmt: skip
            self.provenance.add_external(value)
        else:
            self._read_descriptor(obj, name)

    def read_plainly(self, obj: object, name: str, value: object) -> None:
        """`object.__getattribute__(obj, name)` gave `value`, whatever `obj.name` would be."""
        if not self.provenance.is_external(obj) or self._is_new(obj, name, value):
            return
        self._read_class(obj)
        if _is_plain_attribute(obj, name):
            of = reference(obj)
            self._watch((id(obj), "plain attribute", name), lambda: plain_attribute(of(), name),
                        value, f"{type(obj).__name__}.{name}",
                        holder=_holder(obj, name), name=name)  # fmt: skip
            self.provenance.add_external(value)
        else:
            self._read_descriptor(obj, name)

    def read_plain_absence(self, obj: object, name: str) -> None:
        """`object.__getattribute__(obj, name)` found nothing."""
        of = reference(obj)
        self.watch(obj, ("plain attribute", name),
                   lambda: plain_attribute(of(), name) is _MISSING, True,
                   f"the absence of `{name}`")  # fmt: skip

    def read_method(self, obj: object, function: types.FunctionType) -> None:
        """`function` was called as the method or property of that name that `obj` has."""
        found = original_entry(type(obj), function.__name__)
        if found is function or (isinstance(found, property) and found.fget is function):
            self._read_descriptor(obj, function.__name__)

    def _read_descriptor(self, obj: object, name: str) -> None:
        """The class of `obj` says what `obj.name` is: a method, a property, a descriptor."""
        cls = obj if isinstance(obj, type) else type(obj)
        found = original_entry(cls, name)
        if self.provenance.is_external(obj) and found is not _MISSING:
            self._read_class(obj)
            of = reference(obj)
            self._watch((id(obj), "descriptor", name), lambda: _descriptor(of(), name), found,
                        f"{cls.__name__}.{name}", _attribute_dicts(obj, name), obj)  # fmt: skip

    def _read_class(self, obj: object) -> None:
        """The class of `obj` decides what its attributes are."""
        if not isinstance(obj, type | types.ModuleType):
            of = reference(obj)
            self._watch((id(obj), "class"), lambda: type(of()), type(obj),
                        f"the class of a {type(obj).__name__}", (), obj, by_class=True)  # fmt: skip

    def read_target(self, method: types.MethodType) -> None:
        """The captured function is this method, as the class of its object has it."""
        owner, name = method.__self__, method.__name__
        if self.provenance.is_external(owner) and not isinstance(owner, type):
            cls, of = type(owner), reference(owner)
            self._watch((id(owner), "target", name), lambda: original_entry(type(of()), name),
                        original_entry(cls, name), f"{cls.__name__}.{name}", class_dicts(cls),
                        owner, by_class=True)  # fmt: skip

    def read_absent_attribute(self, obj: object, name: str) -> None:
        """`obj` has no attribute `name`."""
        if self.provenance.is_external(obj):
            of = reference(obj)
            self._watch((id(obj), "attribute", name), lambda: hasattr(of(), name), False,
                        f"the absence of `{name}`")  # fmt: skip

    def read_tensor_method(self, name: str) -> None:
        """The method `name` of tensors is used as torch, or its replacement, defines it."""
        found = original_entry(torch.Tensor, name)
        if found is not _MISSING:
            self._watch((id(torch.Tensor), "descriptor", name),
                        lambda: original_entry(torch.Tensor, name), found, f"Tensor.{name}",
                        class_dicts(torch.Tensor))  # fmt: skip

    def read_function(self, function: types.FunctionType) -> None:
        """`function` was called: its code and its defaults count."""
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.provenance.add_external(value)
        if function.__kwdefaults__:
            self.provenance.add_external(function.__kwdefaults__)
            self.read_contents(function.__kwdefaults__)
        self._reads.setdefault(
            (id(function), "function"),
            Read(f"function {function.__name__}", functools.partial(function_parts, function),
                 function_parts(function), None, function=function),
        )  # fmt: skip

    def read_item(self, obj: object, key: object, value: object) -> None:
        """`obj[key]` was read and gave `value`."""
        owner = self.provenance.owner_of(obj)
        if owner is not obj:
            self.read_attribute(owner, str(key), value)
        elif (
            self.provenance.is_external(obj)
            and not is_seen_before(obj)
            and isinstance(key, SCALARS)
            and not self._is_new(obj, key, value)
        ):
            dicts = (obj,) if type(obj) is dict else None
            if type(obj) is not tuple:  # it cannot change
                self._watch((id(obj), "item", key), lambda: item_of(obj, key, _MISSING), value,
                            f"[{key!r}]", dicts, holder=dicts and obj, name=key)  # fmt: skip
            self.provenance.add_external(value)

    def watch(
        self, obj: Any, key: Any, read: Callable[[], Any], value: Any, what: str, *dicts: Any
    ) -> None:
        """`read()`, about an object of the caller's, gave `value`; `dicts` decide, if any."""
        if self.provenance.is_external(obj):
            self._watch((id(obj), *key), read, value, what, dicts or None)

    def watch_absent(self, obj: object, key: object) -> None:
        """`obj` has nothing under `key`, and some paths of the program leave it so."""
        of = reference(obj)
        self.watch(obj, ("absent", key), lambda: key in state_of(of()), False, f"`{key}`")

    def watch_call(self, function: Callable[..., object], args: Args, value: object) -> None:
        """`function(*args)`, which tells the state of the process, gave `value`."""
        owner = getattr(function, "__self__", None)
        name = getattr(function, "__name__", "it")
        what = f"{name}()"
        if isinstance(owner, contextvars.ContextVar):
            what = f"context variable {owner.name}"
        key = (id(function if owner is None else owner), "call", name, *map(repr, args))
        self._watch(key, lambda: function(*args), value, what)
        self.provenance.add_external(value)

    def read_hooks(self, module: torch.nn.Module) -> None:
        """`module` was called, with the hooks that it has."""
        if self.provenance.is_external(module):
            dicts: Any = (vars(module), *modules.hook_tables(module))
            name, hooks, of = (
                f"hooks of {type(module).__name__}",
                hooks_of(module),
                reference(module),
            )
            read = Read(name, lambda: hooks_of(of()), hooks, dicts)
            self._reads.setdefault((id(module), "hooks"), read)

    def read_all_attributes(self, module: torch.nn.Module) -> None:
        """Whatever `module` has was read, by code that is not followed."""
        own = vars(module)
        if self.provenance.is_external(module) and own:
            pick, of = operator.itemgetter(*own), reference(module)
            expected = self._without_live(picked(own, pick).items)
            self._reads.setdefault((id(module), "attributes"), Read(
                f"{type(module).__name__}.", lambda: picked(of().__dict__, pick), expected,
                (own,), module, names=tuple(own), holder=module,
            ))  # fmt: skip

    def read_global_hooks(self) -> None:
        """A module was called, with the hooks that all modules have."""
        tables = modules.global_hook_tables()
        self._reads.setdefault((0, "hooks of all"), Read(
            "hooks of all modules", lambda: values_in(tables), values_in(tables), tables
        ))  # fmt: skip

    def read_contents(self, obj: object) -> None:
        """A list, dict or set of the caller's was looked at as a whole."""
        if isinstance(obj, torch.nn.Module):
            obj = modules.tables(obj).modules
            self.provenance.add_external(obj)
        owner = self.provenance.owner_of(obj)
        if owner is not obj:
            self._read_attributes(owner)
        if is_seen_before(obj):
            return  # it represents one whose contents were read when it was first seen
        if self.provenance.is_external(obj) and id(obj) not in self._live_contents:
            dicts = (obj,) if type(obj) is dict else None
            items = contents(obj).items
            expected = self._without_live(items)
            for item in items:
                if not self._is_new(obj, None, item):
                    self.provenance.add_external(item)
            keys = len(items) if isinstance(obj, set) else len(items) // 2 if dicts else 0
            self._watch((id(obj), "contents"), lambda: contents(obj), expected,
                        f"what a {type(obj).__name__} holds", dicts,
                        holder=obj if dicts else None, keys=keys)  # fmt: skip

    def _without_live(self, items: tuple[object, ...]) -> Contents:
        """`items`, with a mark for each that every run reads again."""
        return Contents(tuple(ANY if id(item) in self._live else item for item in items))

    def _read_attributes(self, obj: object) -> None:
        """All attributes of `obj` were looked at, by its `__dict__`."""
        before, of = self._first_state(obj), reference(obj)
        names = tuple(vars(obj) if before is None else before)
        self.watch(obj, ("names",), lambda: Contents(tuple(vars(of()))), Contents(names),
                   f"the attributes of a {type(obj).__name__}")  # fmt: skip
        for name, value in tuple(vars(obj).items()):
            self.read_attribute(obj, name, value)

    def read_global(self, names: dict[str, Any], name: str, place: Location | None = None) -> None:
        """The global `name` of a module with these globals is read, by the function at `place`.

        A name that is no global is a builtin, or is missing: it may become a global later.
        """
        value = names.get(name, vars(builtins).get(name, _MISSING))
        if not self._is_new(names, name, value):
            self._watch((id(names), "global", name),
                        lambda: names.get(name, vars(builtins).get(name, _MISSING)), value,
                        f"global {name}", (names, vars(builtins)), place=place,
                        holder=names if name in names else None, name=name)  # fmt: skip
            if name in names or getattr(value, "__module__", None) != "builtins":
                self.provenance.add_external(value)

    def read_cell(self, cell: types.CellType, name: str) -> None:
        """The variable `name` of an enclosing function, kept in `cell`, is read."""
        value = cell_contents(cell)
        if value is not _MISSING and not self._is_new(cell, "cell", value):
            self._watch(
                (id(cell), "cell", name), lambda: cell_contents(cell), value, f"variable {name}",
                holder=cell, name="cell",
            )  # fmt: skip
            self.provenance.add_external(value)

    def read_slot(self, obj: Any, key: Any, value: Any) -> None:
        """What `obj`, of whatever kind, has under `key`."""
        if isinstance(obj, types.CellType):
            self.read_cell(obj, str(key))
        elif isinstance(obj, contextvars.ContextVar):
            self.watch_call(obj.get, (), value)
        elif isinstance(obj, dict):
            self.read_item(obj, key, value)
        else:
            self.read_attribute(obj, key, value)

    def read_tensors(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """The program keeps these, and was recorded for their dtypes, sizes and so on."""
        for name, tensor in tensors.items():
            known = tensor if tensor.layout is torch.strided else None
            self._reads[(id(tensor), "tensor")] = Read(
                f"dtype, device, sizes or requires_grad of {name}",
                functools.partial(tensor_facts, tensor), tensor_facts(tensor), None, tensor=known,
            )  # fmt: skip

    def _watch(
        self,
        key: tuple[object, ...],
        again: Callable[[], Any],
        value: object,
        what: str,
        dicts: tuple[dict[Any, Any], ...] | None = None,
        owner: object = None,
        place: Location | None = None,
        *,
        by_class: bool = False,
        holder: object = None,
        name: object = None,
        keys: int = 0,
    ) -> None:
        """Keep a first read, unless it gave what this very capture has put there."""
        if self.heard is not None:
            self.heard[key] = (what, ANY if self._is_of_the_capture(value) else value)
        if key not in self._reads and not self._is_of_the_capture(value):
            at = place or current_place()
            self._reads[key] = Read(
                what, again, value, dicts, owner, by_class,
                place=at, holder=holder, key=name, keys=keys,
            )  # fmt: skip

    def _is_new(self, obj: object, key: object, value: object) -> bool:
        """Has this capture put `value` into `obj`, under `key` or, as with None, anywhere?"""
        is_new = self._was_put(obj, key, value)
        if is_new and self.heard is not None and not isinstance(obj, types.CellType):
            self.heard[id(obj), "new", key] = (f"what a {type(obj).__name__} holds", ANY)
        return is_new

    def _was_put(self, obj: object, key: object, value: object) -> bool:
        tables = modules.tables(obj) if isinstance(obj, torch.nn.Module) else ()
        classes = obj.__mro__ if isinstance(obj, type) else type(obj).__mro__
        for holder in (obj, *tables, *(classes if key is not None else ())):
            before = self._first_state(holder)
            if isinstance(before, dict) and key is not None:
                now = state_of(holder)
                if key in now and now[key] is value and before.get(key, _MISSING) is not value:
                    return True
            elif before is not None:
                held = (*before, *before.values()) if isinstance(before, dict) else before
                return not isinstance(before, Columns) and all(item is not value for item in held)
        return False

    def _is_of_the_capture(self, value: object) -> bool:
        if id(value) in self._live or isinstance(value, SYMBOLIC):
            return True
        if isinstance(value, StagedList):
            return not self.provenance.is_external(value)
        return isinstance(value, FakeTensor)

    def has_read(self, obj: object, key: object, value: object) -> bool:
        """Was what `obj` has under `key`, which was `value`, read as well as written?"""
        kinds = ("attribute", "plain attribute", "item", "global")
        if any((id(obj), kind, key) in self._reads for kind in kinds):
            return True
        if isinstance(obj, types.CellType):
            return any(read[:2] == (id(obj), "cell") for read in self._reads)
        return (id(obj), "contents") in self._reads or any(
            read.expected is value
            for (_, kind, *name), read in self._reads.items()
            if kind == "attribute" and name == [key]
        )

    def looks_at(self, obj: object) -> tuple[tuple[Any, ...], ...]:
        """The reads that were made of `obj` itself: their kinds, and names where they have one."""
        return tuple(key[1:] for key in self._reads if key[0] == id(obj))

    def by_key(self) -> Mapping[tuple[object, ...], Read]:
        """Everything that was read, by the id of the object, the kind of read and its details."""
        return self._reads

    def all(self) -> tuple[Read, ...]:
        """Everything that was read, in order."""
        return tuple(self._reads.values())


def cell_contents(cell: types.CellType) -> Any:
    """What `cell` holds; a mark where it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def plain_attribute(obj: object, name: str) -> Any:
    """What `obj` has under `name` without a `__getattribute__` of its own; a mark for nothing."""
    try:
        return original_of(object.__getattribute__(obj, name))
    except AttributeError:
        return _MISSING


def original_entry(cls: type, name: str) -> Any:
    """What `cls` or a base of it has under `name`; a mark for nothing."""
    return original_of(class_entry(cls, name, _MISSING))


def _descriptor(obj: object, name: str) -> Any:
    """What the class has under `name`; a mark where the object hides it."""
    if isinstance(obj, type):
        return original_entry(obj, name)
    found = original_entry(type(obj), name)
    return _MISSING if name in own_dict(obj) and not hasattr(type(found), "__set__") else found


def _is_plain_attribute(obj: object, name: str) -> bool:
    """Stored on the object, its class or a slot of it, not made by a descriptor."""
    is_field = isinstance(obj, tuple) and name in getattr(type(obj), "_fields", ())
    if is_field or name in own_dict(obj):
        return True
    found = original_entry(obj if isinstance(obj, type) else type(obj), name)
    is_slot = isinstance(found, types.MemberDescriptorType)
    return is_slot or (found is not _MISSING and not hasattr(type(found), "__get__"))


def _attribute_dicts(obj: object, name: str) -> tuple[dict[object, object], ...] | None:
    """The dicts that decide what `obj.name` is; None where others may."""
    if isinstance(obj, type):
        return class_dicts(obj)
    own = getattr(obj, "__dict__", None)
    if type(own) is not dict:
        return None
    found = original_entry(type(obj), name)
    if isinstance(found, types.MemberDescriptorType):
        return None
    if isinstance(obj, torch.nn.Module) and name not in own and found is _MISSING:
        return (own, *modules.tables_up_to(obj, name), *class_dicts(type(obj)))
    return (own, *class_dicts(type(obj)))


def _holder(obj: object, name: str) -> Any:
    """The object or the table of a module that has `name`; None if its class has it."""
    if name in own_dict(obj) and not isinstance(obj, type):
        return obj
    tables = modules.tables(obj) if isinstance(obj, torch.nn.Module) else ()
    return next((table for table in tables if name in table), None)
