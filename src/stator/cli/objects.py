"""`package.module:Name`, `file.py:make().encode`: the object of the user's that is meant."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.util
import inspect
import os
import re
import sys
import sysconfig
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from stator.api.static_function import StaticFunction
from stator.cli.failures import CommandFailure, user_code
from stator.cli.input_text import parse_setting
from stator.cli.screen import working
from stator.frames import OWN_FOLDER, within

PART = re.compile(r"(?P<name>\w+)(?P<called>\(\))?")  # `layers.0` too
EXAMPLE = "name it as `package.module:Name` or `file.py:Name`"


@dataclass(frozen=True)
class CommandSubject:
    """What a command works on: an object of the user's, and the function of it that is captured."""

    name: str
    object: Any  # what was named: a module, a static function or a callable
    function: Any  # as it was written: the forward of a module, what a static function was made of
    module: torch.nn.Module | None  # the module that it is, or is a method of
    own_spec: Any  # given to `to_static` in the user's code

    @property
    def static(self) -> StaticFunction:
        """A static form of it, of our own: nothing is captured yet."""
        return StaticFunction(self.function)

    def put_in_mode(self, mode: str | None) -> None:
        """Training or evaluation; None leaves the module as it is."""
        if mode is not None and self.module is not None:
            self.module.train(mode == "train")


def load_subject(target: str, init: Sequence[str] = (), mode: str | None = None) -> CommandSubject:
    """The object that `target` names; a class of modules, or a factory, is called with `init`."""
    where, _, path = target.rpartition(":")
    if not where or not path:
        raise CommandFailure(f"`{target}` names no object", fix=EXAMPLE)
    settings = dict(map(parse_setting, init))
    with working(f"importing {where}"), user_code(f"{where} could not be imported"):
        module = _import(where)
    with user_code(f"{target} could not be made"):
        found, unused = _follow(module, path, target, settings)
    if unused:
        raise CommandFailure(f"{target} is not made here, so it takes no --init",
                      fix="leave --init out, or name a class or a factory `make()`")  # fmt: skip
    subject = _subject(found, path, target)
    subject.put_in_mode(mode)
    return subject


def _import(where: str) -> types.ModuleType:
    if where.endswith(".py") or os.sep in where:
        return _import_file(Path(where))
    if not all(part.isidentifier() for part in where.split(".")):
        raise CommandFailure(f"`{where}` is neither a module nor a .py file", fix=EXAMPLE)
    _search(Path.cwd())
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{where}.".startswith(f"{error.name}."):
            raise  # the module is there, and imports one that is not
        raise CommandFailure(f"there is no module `{error.name}`",
                      fix="run it where the module can be imported, or give the path of its file"
                      ) from error  # fmt: skip


def _import_file(file: Path) -> types.ModuleType:
    if not file.is_file():
        near = difflib.get_close_matches(file.name, _names_in(file.parent), 1)
        raise CommandFailure(f"there is no file {file}",
                      fix=f"did you mean {file.parent / near[0]}?" if near else "check the path"
                      )  # fmt: skip
    _search(file.resolve().parent)
    name = file.stem if file.stem not in sys.modules else f"{file.stem}__of_stator"
    spec = importlib.util.spec_from_file_location(name, file.resolve())
    if spec is None or spec.loader is None:
        raise CommandFailure(f"{file} is not a Python file", fix=EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look their module up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _search(folder: Path) -> None:
    """As `python file.py` and `python -m` do: modules beside the user's own can be imported."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@contextlib.contextmanager
def fresh_imports() -> Iterator[None]:
    """What is imported of the user's inside is forgotten after: another file may import its own.

    Two versions of a model may each have a module `layers` beside them.
    """
    modules, path = {*sys.modules}, [*sys.path]
    try:
        yield
    finally:
        sys.path[:] = path
        for name in {*sys.modules} - modules:
            if not _is_installed(sys.modules[name]):
                del sys.modules[name]


def _is_installed(module: Any) -> bool:
    file = getattr(module, "__file__", None)
    paths = getattr(module, "__path__", ())
    where = file or next(iter(paths), None)
    folders = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))
    return where is None or within(where, (*folders, OWN_FOLDER))


def _names_in(folder: Path) -> list[str]:
    return [file.name for file in folder.glob("*.py")] if folder.is_dir() else []


def _follow(
    module: types.ModuleType, path: str, target: str, settings: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """What is at `path`; and the settings, if nothing has used them."""
    found: Any = module
    unused = settings
    for text in path.split("."):
        part = PART.fullmatch(text)
        if part is None:
            raise CommandFailure(f"`{text}` in `{target}` is not a name",
                          fix="write NAME, or NAME() to call it")  # fmt: skip
        found = _attribute(found, part["name"], target)
        is_module_class = isinstance(found, type) and issubclass(found, torch.nn.Module)
        if part["called"] or is_module_class:
            found, unused = _made(found, unused, target), {}
    return found, unused


def _attribute(owner: Any, name: str, target: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        what = getattr(owner, "__name__", type(owner).__name__)
        if isinstance(owner, types.ModuleType):
            what = target.rpartition(":")[0]
        known = [known for known in dir(owner) if not known.startswith("_")]
        near = difflib.get_close_matches(name, known, 3)
        shown = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(known[:12])}"
        raise CommandFailure(f"`{what}` has no `{name}`", fix=shown) from None


def _made(maker: Any, settings: dict[str, Any], target: str) -> Any:
    """The module or object that a class or a factory makes."""
    if not callable(maker):
        raise CommandFailure(f"{target} cannot be called: it is of the type {type(maker).__name__}",
                      fix="leave the () out")  # fmt: skip
    try:
        inspect.signature(maker).bind(**settings)
    except TypeError as error:
        raise CommandFailure(
            f"{target} cannot be made: {error}",
            details=f"{getattr(maker, '__name__', target)}{inspect.signature(maker)}",
            fix="give each argument with --init NAME=VALUE",
        ) from error
    except ValueError:
        pass  # no signature is known: the call itself will tell
    return maker(**settings)


def _subject(found: Any, path: str, target: str) -> CommandSubject:
    name = path.replace("()", "")
    if isinstance(found, torch.nn.Module):
        forward = found.forward
        spec = forward.input_spec if isinstance(forward, StaticFunction) else None
        return CommandSubject(name, found, _written(forward), found, spec)
    if isinstance(found, StaticFunction):
        return CommandSubject(name, found, found.dygraph_function, _owner(found), found.input_spec)
    if callable(found) and not isinstance(found, type):
        return CommandSubject(name, found, found, _owner(found), None)
    kind = "a class" if isinstance(found, type) else f"of the type {type(found).__name__}"
    raise CommandFailure(f"{target} is {kind}, which cannot be captured",
                  fix="name a function, an nn.Module or a class of one, or a factory `make()`"
                  )  # fmt: skip


def _written(function: Any) -> Any:
    return function.dygraph_function if isinstance(function, StaticFunction) else function


def _owner(function: Any) -> torch.nn.Module | None:
    owner = getattr(_written(function), "__self__", None)
    return owner if isinstance(owner, torch.nn.Module) else None
