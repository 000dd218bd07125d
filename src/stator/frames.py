"""Which frames are the user's; where user code is now; tracebacks without library frames."""

from __future__ import annotations

import dis
import functools
import importlib.util
import inspect
import os
import re
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import ParamSpec, TypeVar

from stator import logs
from stator.location import Location

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_RETURNS = ("RETURN_VALUE", "RETURN_CONST")  # the latter in Python 3.12 and 3.13
STAGING = "stator__"  # the name under which rewritten code finds what it calls
OWN_FOLDER = os.path.dirname(os.path.abspath(__file__))
VERIFY_FOLDER = os.path.join(os.path.dirname(OWN_FOLDER), "stator_verify")
COMMAND_FOLDER = os.path.join(OWN_FOLDER, "cli")  # what calls the command is no user's code
CAPTURE_FILE = os.path.join(OWN_FOLDER, "staging", "trace.py")  # what calls it is not captured


def _folder_of(package: str) -> str:
    """Where `package` is installed; it need not be imported for that."""
    spec = importlib.util.find_spec(package)
    return os.path.dirname(spec.origin) if spec is not None and spec.origin else OWN_FOLDER


TORCH_FOLDER = _folder_of("torch")
_PACKAGES = (TORCH_FOLDER, OWN_FOLDER, VERIFY_FOLDER, sysconfig.get_paths()["stdlib"])
_SITE = tuple(sysconfig.get_paths()[name] for name in ("purelib", "platlib"))
# another environment than this one may have them; sympy calls mpmath
_LIBRARIES = tuple(map(_folder_of, ("numpy", "sympy", "mpmath")))
_GENERATED = re.compile(r"_\d+__$")  # names that the rewrite makes
# what of torch a user meets in eager code as well; the rest is there because of the capture
_TORCH_SHOWN = re.compile(r"(nn|optim|distributions)\b|functional\.py|_tensor\.py|autograd\b")


@functools.cache
def is_library_file(file: str) -> bool:
    """Is `file` part of torch, numpy, the standard library or Stator itself?"""
    if file.startswith("<"):
        return file.startswith(("<frozen", "<__array_function__"))
    inside = within(file, _PACKAGES) or within(file, _LIBRARIES)
    return inside and not (within(file, _SITE) and not within(file, _LIBRARIES + _PACKAGES[:3]))


@functools.cache
def is_own_file(file: str) -> bool:
    """Is `file` part of Stator?"""
    return within(file, (OWN_FOLDER, VERIFY_FOLDER))


@functools.cache
def is_command_file(file: str) -> bool:
    """Is `file` part of the command `stator`?"""
    return within(file, (COMMAND_FOLDER,))


@functools.cache
def is_machinery_file(file: str) -> bool:
    """Is `file` part of what runs a capture: Stator, torch, or what torch computes sizes by?"""
    return within(file, (OWN_FOLDER, TORCH_FOLDER, *_LIBRARIES[1:]))


def within(file: str, folders: tuple[str, ...]) -> bool:
    """Is `file` in one of the folders, or below?"""
    return any(file.startswith(folder + os.sep) for folder in folders)


def current_place() -> Location | None:
    """The line of user code that runs now."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not is_command_file(frame.f_code.co_filename):
        if is_users(frame):
            return place_in(frame)
        frame = frame.f_back
    return None


def recorded_place() -> Location | None:
    """The line of the captured code that runs now; None if the capture has left it.

    The line that asked for the capture is no part of the program, and has no op.
    """
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != CAPTURE_FILE:
        if is_users(frame):
            return place_in(frame)
        frame = frame.f_back
    return None


def place_of_result(function: object) -> Location | None:
    """Where a function of the user's returns; its start, if it does in several places."""
    code = _users_code(function)
    if code is None and callable(function):
        code = _users_code(inspect.unwrap(function, stop=_users_code))  # a library's decorator
    if code is None:
        return None
    returns = [one.offset for one in dis.get_instructions(code) if one.opname in _RETURNS]
    found = {_places(code).at(offset) for offset in returns}
    return found.pop() if len(found) == 1 else _places(code).at(-1)


def _users_code(function: object) -> types.CodeType | None:
    code = getattr(function, "__code__", None)
    is_users_own = isinstance(code, types.CodeType) and not is_library_file(code.co_filename)
    return code if is_users_own else None


def is_converted(frame: types.FrameType) -> bool:
    """Does `frame` run user code that Stator has rewritten?"""
    return STAGING in frame.f_code.co_freevars and is_users(frame)


def converted_frames(
    frame: types.FrameType | None, until: types.FrameType | None
) -> Iterator[types.FrameType]:
    """The frames of converted code from `frame` outwards, up to the frame `until`."""
    while frame is not None and frame is not until:
        if is_converted(frame):
            yield frame
        frame = frame.f_back


def is_same_function(frame: types.FrameType, *, within: types.FrameType) -> bool:
    """Does `frame` run a piece that the rewrite has made of the function that `within` runs?"""
    inner, outer = frame.f_code, within.f_code
    is_thunk = inner.co_name == "<lambda>" and not inner.co_argcount  # `a and b`: a function for b
    if not is_thunk and inner.co_qualname != outer.co_qualname:
        return False
    return any(const is inner for const in outer.co_consts)


def place_in(frame: types.FrameType) -> Location:
    """Where `frame` is now."""
    return _places(frame.f_code).at(frame.f_lasti)


def is_users(frame: types.FrameType) -> bool:
    """Not a library's file, nor code that a dataclass of a library has had made."""
    file = frame.f_code.co_filename
    if file != "<string>":
        return not is_library_file(file)
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] not in ("stator", "torch")


def place_of(error: BaseException) -> Location | None:
    """The innermost line of user code that `error` came through."""
    found = None
    for trace in traces_of(error):
        code = trace.tb_frame.f_code
        if not is_library_file(code.co_filename):
            found = replace(_places(code).at(trace.tb_lasti), line=line_of(trace))
    return found


def traces_of(error: BaseException) -> Iterator[types.TracebackType]:
    """The steps of the traceback of `error`, the outermost first."""
    trace = error.__traceback__
    while trace is not None:
        yield trace
        trace = trace.tb_next


def line_of(trace: types.TracebackType) -> int:
    """Its line; that of the function if it left from an instruction that is on no line.

    An exception that another thread puts in may leave from any instruction.
    """
    line: int | None = trace.tb_lineno
    return trace.tb_frame.f_code.co_firstlineno if line is None else line


def hide_library_frames(error: BaseException) -> None:
    """Take Stator's frames, and those of torch that the capture brings in, out of the traceback.

    NOTE: a bare `raise` after it adds no frame of its own, so the boundary itself is hidden too.
    Inside another call of Stator nothing is hidden: the outer call does it.
    """
    if logs.frames_are_shown():
        return
    caller = sys._getframe(1).f_back
    while caller is not None:
        if is_own_file(caller.f_code.co_filename):
            return
        caller = caller.f_back
    seen: set[int] = set()
    chain: BaseException | None = error
    while chain is not None and id(chain) not in seen:
        seen.add(id(chain))
        chain.__traceback__ = _shown(chain)
        chain = chain.__cause__ or chain.__context__


def without_frames(error: BaseException) -> None:
    """An error that is not reported lets go of what the functions that it left hold."""
    chain: BaseException | None = error
    seen: set[int] = set()
    while chain is not None and id(chain) not in seen:
        seen.add(id(chain))
        chain.__traceback__ = None
        chain = chain.__cause__ or chain.__context__


def user_facing(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """`function`, whose errors come without library frames: for what users call."""

    @functools.wraps(function)
    def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            hide_library_frames(error)
            raise

    return called


def _shown(error: BaseException) -> types.TracebackType | None:
    kept: list[types.TracebackType] = []
    hidden = False
    for trace in traces_of(error):
        code = trace.tb_frame.f_code
        hidden = is_hidden(code) or (hidden and is_between(code))
        kept += [] if hidden else [trace]
    linked = None
    for trace in reversed(kept):
        linked = types.TracebackType(linked, trace.tb_frame, trace.tb_lasti, line_of(trace))
    return linked


def is_hidden(code: types.CodeType) -> bool:
    """Is `code` Stator's, or what of torch is there because of the capture?"""
    return _is_hidden_file(code.co_filename)


@functools.cache
def _is_hidden_file(file: str) -> bool:
    if within(file, (TORCH_FOLDER,)):
        return _TORCH_SHOWN.match(os.path.relpath(file, TORCH_FOLDER)) is None
    return is_own_file(file)


def is_between(code: types.CodeType) -> bool:
    """The standard library's code for `with` and wrappers, which hidden frames go through."""
    return os.path.basename(code.co_filename) in ("contextlib.py", "functools.py")


class _Places:
    """The places of the instructions of `code`.

    NOTE: `frame.f_lineno` reads the table of lines from its start, which makes the cost of a long
    function grow with the square of its length. Here the table is read once.
    """

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self._lines: tuple[int | None, ...] = ()
        self._columns: tuple[int | None, ...] = ()
        columns = tuple(zip(*code.co_positions(), strict=True))  # for each unit, 4 numbers
        if columns:
            self._lines, _, self._columns, _ = columns
        self._name = _visible_name(code.co_qualname)
        self._found: dict[int, Location] = {}

    def at(self, instruction: int) -> Location:
        """The place of the instruction; before the first one, that of the function."""
        found = self._found.get(instruction)
        if found is None:
            found = self._found[instruction] = self._location(instruction)
        return found

    def _location(self, instruction: int) -> Location:
        line, column, unit = None, None, instruction // 2
        if 0 <= unit < len(self._lines):
            line, column = self._lines[unit], self._columns[unit]
        code = self.code
        line = code.co_firstlineno if line is None else line
        return Location(code.co_filename, line, column or 0, self._name)


# NOTE: by identity, not by `functools.cache`: code objects compare by value, and CPython compares
# two equal ones with nested functions (the same source, compiled twice) in exponential time.
_PLACES_KEPT = 4096
_places_by_id: dict[int, _Places] = {}


def _places(code: types.CodeType) -> _Places:
    found = _places_by_id.get(id(code))
    if found is None:
        if len(_places_by_id) >= _PLACES_KEPT:
            _places_by_id.clear()
        # the code is kept, so that its id stays its own
        found = _places_by_id[id(code)] = _Places(code)
    return found


def _visible_name(qualified: str) -> str:
    """The function's own name, without the pieces that the rewrite nested into it."""
    parts = [
        part for part in qualified.split(".") if part != "<locals>" and not _GENERATED.search(part)
    ]
    return parts[-1] if parts else qualified
