"""ObjectStates: what a call can reach and change, kept as it is, to be put back and to be compared.

Reached are attributes of modules and of the user's objects, items of containers, closure variables,
the globals that a function names, and so on through the functions that those are. Eager code and
the program run on the same objects, so tied tensors stay tied; what a run changes is put back.
"""

from __future__ import annotations

import collections
import enum
import functools
import sysconfig
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch

from stator.frames import is_library_file, within
from stator.library.markers import original_function
from stator.values.contents import restore
from stator_verify.trees import (
    Container,
    TreeSnapshot,
    file_of,
    is_users_class,
    is_users_object,
    kept,
    kind_of,
)

# containers of the standard library that keep their contents in attributes
IN_PYTHON = (collections.ChainMap, collections.UserDict, collections.UserList)
PLAIN = (type(None), bool, int, float, complex, str, bytes)
CLEAR = ("_parameters", "_buffers", "_modules")  # dicts of a module that users do not see
OWN = "__stator_"  # what Stator keeps on objects
UNBOUND = object()
SITE = tuple(sysconfig.get_paths()[name] for name in ("purelib", "platlib"))


@dataclass(frozen=True)
class Holder:
    """An object with contents, by key: how to read them, and how to write them."""

    obj: Any
    path: str
    read: Callable[[], dict[Any, Any]]
    write: Callable[[dict[Any, Any]], None]
    label: Callable[[Any], str]
    part: str | None = ""  # which part of the object these are the keys of; None: not to be seen


@dataclass
class Tensor:
    """A tensor, and what it held."""

    obj: torch.Tensor
    path: str
    before: torch.Tensor
    version: int
    learns: bool
    grad: torch.Tensor | None

    def changed(self) -> bool:
        """Has anything been written to it?

        NOTE: batch norm writes its buffers without telling their version, so that the version alone
        is asked of parameters only, which may be large.
        """
        if self.obj._version != self.version or self.obj.shape != self.before.shape:
            return True
        is_parameter = isinstance(self.obj, torch.nn.Parameter)
        return not is_parameter and not same_bytes(self.obj.detach(), self.before)

    def restore(self) -> None:
        """Write back what it held; it is no part of a graph that a run has made it part of."""
        if self.obj.requires_grad and not self.learns and not self.obj._is_view():
            self.obj.detach_()
        if self.changed():
            with torch.no_grad():
                if self.obj.shape != self.before.shape:
                    self.obj.set_(self.before.clone())  # type: ignore[call-overload]
                else:
                    self.obj.copy_(self.before)
            self.version = self.obj._version
        if self.obj.is_leaf and self.obj.grad is not self.grad:
            self.obj.grad = self.grad


@dataclass
class ObjectStates:
    """All that `roots` lead to, as it was when this was made."""

    roots: Mapping[str, Any]
    holders: list[tuple[Holder, dict[Any, Any]]] = field(default_factory=list)
    tensors: dict[int, Tensor] = field(default_factory=dict)
    others: list[tuple[Any, Any]] = field(default_factory=list)  # arrays, generators

    def __post_init__(self) -> None:
        for _, value in reach(self.roots):
            if isinstance(value, Holder):
                self.holders.append((value, value.read()))
        for path, value in reach(self.roots):
            if isinstance(value, torch.Tensor):
                before = value.detach().clone()
                grad = value.grad if value.is_leaf else None
                kept_one = Tensor(value, path, before, value._version, value.requires_grad, grad)
                self.tensors[id(value)] = kept_one
            elif isinstance(value, numpy.ndarray):
                self.others.append((value, value.copy()))
            elif isinstance(value, torch.Generator):
                self.others.append((value, value.get_state()))

    def restore(self) -> None:
        """Put everything back."""
        for holder, contents in self.holders:
            if not _same(holder.read(), contents):
                holder.write(contents)
        for tensor in self.tensors.values():
            tensor.restore()
        for obj, before in self.others:
            if isinstance(obj, torch.Generator):
                obj.set_state(before)
            else:
                obj[...] = before

    def now(self) -> dict[str, Any]:
        """What is there now, by path: kinds and keys of containers, tensors, plain values."""
        found: dict[str, Any] = {}
        for path, value in reach(self.roots):
            if isinstance(value, Holder):
                contents = value.read()
                if value.part is not None:
                    keys = tuple(map(str, contents))
                    found[path + value.part] = Container(kind_of(value.obj), keys)
                for key, item in contents.items():
                    if isinstance(item, PLAIN):
                        found[path + value.label(key)] = item
            elif isinstance(value, torch.Tensor):
                found[path] = self._tensor_now(value)
            elif isinstance(value, numpy.ndarray):
                found[path] = TreeSnapshot(torch.tensor(value), False, 0)
        return found

    def _tensor_now(self, value: torch.Tensor) -> TreeSnapshot:
        known = self.tensors.get(id(value))
        if known is None or known.changed():
            return kept(value)
        return TreeSnapshot(known.before, value.requires_grad, 0)

    def learned(self) -> dict[str, torch.Tensor]:
        """The tensors that gradients flow to, by path."""
        return {
            one.path: one.obj
            for one in self.tensors.values()
            if one.obj.requires_grad and one.obj.is_leaf
        }


def same_bytes(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Do they hold the same? A NaN is the same as itself here."""
    if one.layout != torch.strided or one.is_conj() or one.is_neg():
        return False
    left, right = (tensor.contiguous().flatten() for tensor in (one, other))
    return torch.equal(left.view(torch.uint8), right.view(torch.uint8))


def _same(now: dict[Any, Any], before: dict[Any, Any]) -> bool:
    return list(now) == list(before) and all(now[key] is before[key] for key in before)


# ---- what is reached


def reach(roots: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every holder, tensor, array and generator that `roots` lead to, each once, with its path."""
    seen: dict[int, Any] = {}
    pending = list(roots.items())[::-1]
    while pending:
        path, value = pending.pop()
        if isinstance(value, PLAIN) or id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, torch.Tensor | numpy.ndarray | torch.Generator):
            yield path, value
            continue
        for holder in holders_of(value, path):
            yield holder.path, holder
            inner = [(holder.path + holder.label(k), v) for k, v in holder.read().items()]
            pending.extend(reversed(inner))


def holders_of(value: Any, path: str) -> Iterator[Holder]:
    """How the contents of `value` are read and written; nothing for what has none."""
    original = original_function(value)
    value = value if original is None else original
    for kind, holders in HOLDERS:
        if isinstance(value, kind):
            yield from holders(value, path)
            return
    if is_users_object(value):
        yield from _of_object(value, path)


def _of_method(method: types.MethodType, path: str) -> Iterator[Holder]:
    yield _fixed({"": method.__self__, "()": method.__func__}, path)


def _of_dict(value: dict[Any, Any], path: str) -> Iterator[Holder]:
    """NOTE: read as `dict` reads it; a subclass may make items when it is asked for them."""
    write = functools.partial(restore, value)
    yield Holder(value, path, lambda: dict(dict.items(value)), write, _item)


def _of_list(value: Any, path: str) -> Iterator[Holder]:
    def write(new: dict[Any, Any]) -> None:
        restore(value, tuple(new.values()))

    yield Holder(value, path, lambda: dict(enumerate(value)), write, _item)


def _of_set(value: set[Any], path: str) -> Iterator[Holder]:
    def read() -> dict[Any, Any]:
        return dict.fromkeys(sorted(value, key=repr))

    yield Holder(value, path, read, functools.partial(restore, value), _item)


def _of_tuple(value: tuple[Any, ...], path: str) -> Iterator[Holder]:
    yield _fixed(dict(enumerate(value)), path, _item)


def _of_object(value: Any, path: str) -> Iterator[Holder]:
    yield Holder(value, path, lambda: _visible(vars(value)), _vars_writer(value), _attribute)
    yield _fixed(_code_of(type(value)), path)


def _fixed(contents: dict[Any, Any], path: str, label: Callable[[Any], str] = str) -> Holder:
    return Holder(contents, path, lambda: contents, lambda _: None, label, None)


def _of_module(module: torch.nn.Module, path: str) -> Iterator[Holder]:
    def read() -> dict[str, Any]:
        return {key: v for key, v in _visible(vars(module)).items() if key not in CLEAR}

    yield Holder(module, path, read, _vars_writer(module, CLEAR), _attribute)
    for key in CLEAR:
        inner = vars(module)[key]
        yield Holder(
            inner, path, functools.partial(dict, inner), functools.partial(restore, inner),
            _attribute, f".{key}",
        )  # fmt: skip
    yield _fixed(_code_of(type(module)), path)


def _of_function(function: types.FunctionType, path: str) -> Iterator[Holder]:
    """Closure variables, the globals that it names, defaults, its own attributes."""
    if not _is_walked(function.__code__.co_filename):
        return
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    yield Holder(
        cells, "", lambda: _read_cells(cells), lambda new: _write_cells(cells, new), str, None
    )
    around = function.__globals__
    names = tuple(name for name in dict.fromkeys(_names(function.__code__)) if name in around)
    yield Holder(
        function, "", lambda: {name: around[name] for name in names if name in around},
        around.update, str, None,
    )  # fmt: skip
    defaults = (function.__defaults__ or (), function.__kwdefaults__ or {}, vars(function))
    yield _fixed(dict(enumerate(defaults)), f"{path}{function.__name__}.", lambda _: "default")


def _code_of(cls: type) -> dict[str, Any]:
    """The class itself and its methods, as far as users wrote them: they name globals."""
    users = [base for base in cls.__mro__ if is_users_class(base) and _is_walked(file_of(base))]
    found: dict[str, Any] = {f"({base.__qualname__})": base for base in users}
    for base in users:
        for name, value in vars(base).items():
            function = original_function(value) or getattr(value, "__func__", value)
            if isinstance(function, types.FunctionType):
                found[f"({base.__qualname__}.{name})"] = function
    return found


@functools.cache
def _is_walked(file: str) -> bool:
    """Are the globals of code in `file` looked at? Installed packages have too many."""
    return not is_library_file(file) and not within(file, SITE)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _read_cells(cells: dict[str, types.CellType]) -> dict[str, Any]:
    return {name: _contents(cell) for name, cell in cells.items()}


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND


def _write_cells(cells: dict[str, types.CellType], new: dict[str, Any]) -> None:
    for name, value in new.items():
        if value is UNBOUND:
            del cells[name].cell_contents
        else:
            cells[name].cell_contents = value


def _of_class(cls: type, path: str) -> Iterator[Holder]:
    if not is_users_class(cls) or not _is_walked(file_of(cls)) or issubclass(cls, enum.Enum):
        return  # an enum keeps what it has looked up

    def read() -> dict[str, Any]:
        return {
            key: value
            for key, value in vars(cls).items()
            if isinstance(value, (*PLAIN, list, dict, torch.Tensor)) and not key.startswith("__")
        }

    def write(new: dict[str, Any]) -> None:
        for key in read().keys() - new.keys():
            delattr(cls, key)
        for key, value in new.items():
            setattr(cls, key, value)

    yield Holder(cls, path, read, write, _attribute)


def _visible(contents: dict[str, Any]) -> dict[str, Any]:
    """Attributes without what Stator keeps there itself."""
    return {
        key: value
        for key, value in contents.items()
        if not key.startswith(OWN) and original_function(value) is None
    }


def _vars_writer(obj: Any, hidden: tuple[str, ...] = ()) -> Callable[[dict[str, Any]], None]:
    def write(new: dict[str, Any]) -> None:
        contents = vars(obj)
        for key in _visible(contents).keys() - new.keys() - {*hidden}:
            del contents[key]
        for key, value in new.items():
            if contents.get(key, UNBOUND) is not value:
                contents[key] = value

    return write


def _item(key: Any) -> str:
    return f"[{key!r}]"


def _attribute(key: Any) -> str:
    return f".{key}"


HOLDERS: tuple[tuple[Any, Callable[[Any, str], Iterator[Holder]]], ...] = (
    (IN_PYTHON, _of_object),
    (types.MethodType, _of_method),
    (types.FunctionType, _of_function),
    (dict, _of_dict),
    (list | collections.deque, _of_list),
    (set, _of_set),
    (tuple, _of_tuple),
    (type, _of_class),
    (torch.nn.Module, _of_module),
)
