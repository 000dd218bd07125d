"""What the effect and text ops do: a table of Python functions, one for each op."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import torch

from stator.execute.raised_parts import builtin_exception
from stator.program.opset.stator_ops import QUESTIONS
from stator.program.raise_fields import TEXT

Error = TypeVar("Error", bound=BaseException)


def run_assert(condition: object, message: object = None) -> None:
    """Python's `assert condition, message`."""
    if not condition:
        raise AssertionError(*_given(message))


class UserException(Exception):
    """An exception with attributes, or of a class that the user wrote, inside the program.

    The program knows the class by its name only; `builtin` is the builtin exception in
    its place, `classes` has the names of the user's classes that it is an instance of.
    """

    def __init__(
        self, builtin: Exception, classes: tuple[str, ...], fields: Mapping[str, object]
    ) -> None:
        super().__init__(*builtin.args)
        self.builtin, self.classes, self.fields = builtin, classes, fields

    def __str__(self) -> str:
        return str(self.fields.get(TEXT, self.builtin))


def run_raise(
    type_name: str, *said: object, names: Sequence[str] = (), fields: Sequence[str] = ()
) -> None:
    """Raises the builtin exception of that name; of any other name, a RuntimeError with it."""
    count = len(said) - len(fields)
    error = builtin_exception(type_name, said[:count])
    if names or fields:
        raise UserException(error, tuple(names), dict(zip(fields, said[count:], strict=True)))
    raise error


def without_wrappers(error: Error) -> Error | Exception:
    """`error` as it leaves the program: for a UserException, the builtin one."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen.__context__, UserException):
            seen.__context__ = _unwrapped(seen.__context__)
        seen = seen.__context__
    return _unwrapped(error) if isinstance(error, UserException) else error


def _unwrapped(error: UserException) -> Exception:
    builtin = error.builtin
    builtin.__notes__ = list(getattr(error, "__notes__", ()))
    builtin.__context__ = error.__context__
    return builtin.with_traceback(error.__traceback__)


def class_names(error: Exception) -> frozenset[str]:
    """The names of the classes that `error` is an instance of: of builtin ones without a module.

    Those that users wrote are known to the program only; what an op raises may be of torch's own.
    """
    written: tuple[str, ...] = ()
    if isinstance(error, UserException):
        written, error = error.classes, error.builtin
    return frozenset((*map(_class_name, type(error).__mro__), *written))


def _class_name(cls: type) -> str:
    if cls.__module__ == "builtins":
        return cls.__name__
    return f"{cls.__module__}.{cls.__qualname__}"


def type_name(error: Exception) -> str:
    """`type(error).__name__`, of the class that the user wrote if there is one."""
    if isinstance(error, UserException):
        if error.classes:
            return error.classes[0].rpartition(".")[2]
        error = error.builtin
    return type(error).__name__


def _given(message: object) -> tuple[object, ...]:
    return () if message is None else (message,)


def run_set_grad(enabled: bool, *, inherited: bool = False) -> None:  # noqa: ARG001
    """Grad mode from here on."""
    torch.set_grad_enabled(enabled)


def run_set_inference(enabled: bool) -> None:
    """Inference mode from here on: the context that was opened last ends, or a new one begins."""
    if INFERENCE.open and INFERENCE.open[-1][0] == enabled:
        INFERENCE.open.pop()[1].__exit__(None, None, None)
    else:
        before = torch.is_inference_mode_enabled()
        context = torch.inference_mode(enabled)
        context.__enter__()
        INFERENCE.open.append((before, context))


class Inference(threading.local):
    """The inference contexts that programs have open in this thread, with the mode before each."""

    def __init__(self) -> None:
        self.open: list[tuple[bool, torch.inference_mode]] = []


INFERENCE = Inference()


def run_set_autocast(
    device: str | torch.device,
    enabled: bool,
    dtype: torch.dtype | None = None,
    cache: bool = True,
    deeper: int = 0,
) -> None:
    """Autocast for one kind of device from here on.

    `deeper` is the change in the number of open contexts; when none is left, torch forgets the
    weights it has cast.
    """
    kind = torch.device(device).type
    torch.set_autocast_enabled(kind, enabled)
    if dtype is not None:
        torch.set_autocast_dtype(kind, dtype)
    torch.set_autocast_cache_enabled(cache)
    _nest(deeper)


def _nest(deeper: int) -> None:
    for _ in range(deeper):
        torch.autocast_increment_nesting()
    for _ in range(-deeper):
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()


def _nesting() -> int:
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


@contextlib.contextmanager
def modes_restored(devices: Sequence[str]) -> Iterator[None]:
    """Grad and inference mode, and autocast for `devices`, are afterwards what they were before."""
    grad, inferences, nesting = torch.is_grad_enabled(), len(INFERENCE.open), _nesting()
    cache = torch.is_autocast_cache_enabled()
    casts = [
        (kind, torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in devices
    ]
    try:
        yield
    finally:
        while len(INFERENCE.open) > inferences:
            INFERENCE.open.pop()[1].__exit__(None, None, None)
        torch.set_grad_enabled(grad)
        for kind, enabled, dtype in casts:
            run_set_autocast(kind, enabled, dtype, cache)
        _nest(nesting - _nesting())
        if nesting == 0:
            torch.clear_autocast_cache()  # copies of weights, which may change before the next run


def run_seed(seed: int) -> None:
    """`torch.manual_seed(seed)`."""
    torch.manual_seed(seed)


CONVERSIONS: Mapping[str | None, Callable[[object], object]] = MappingProxyType(
    {None: lambda value: value, "": lambda value: value, "s": str, "r": repr, "a": ascii}
)


def run_format(value: object, conversion: str | None = None, spec: str | None = None) -> str:
    """What `{value!conversion:spec}` gives in an f-string."""
    return format(CONVERSIONS[conversion](value), spec or "")


def run_join(*parts: str) -> str:
    """The parts, put together."""
    return "".join(parts)


def run_text_slice(
    text: str, start: int | None = None, stop: int | None = None, step: int | None = None
) -> str:
    """`text[start:stop:step]`."""
    return text[start:stop:step]


def run_text_find(
    text: str,
    part: str,
    start: int | None = None,
    stop: int | None = None,
    last: bool = False,
) -> int:
    """`text.find(part, start, stop)`, or `rfind`."""
    return text.rfind(part, start, stop) if last else text.find(part, start, stop)


def run_text_case(text: str, case: str) -> str:
    """`text` in upper or lower case."""
    if case not in ("upper", "lower"):
        raise ValueError(f"no case of strings is called {case}")
    return text.upper() if case == "upper" else text.lower()


def run_text_is(text: str, question: str) -> bool:
    """`text.isdigit()` and its like."""
    if question not in QUESTIONS:
        raise ValueError(f"no question about strings is called {question}")
    return bool(getattr(text, question)())


EFFECT_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "stator::assert": run_assert,
        "stator::raise": run_raise,
        "stator::print": print,
        "stator::set_grad": run_set_grad,
        "stator::set_inference": run_set_inference,
        "stator::set_autocast": run_set_autocast,
        "stator::seed": run_seed,
        "stator::random_state": torch.get_rng_state,
        "stator::set_random_state": torch.set_rng_state,
        "stator::format": run_format,
        "stator::join": run_join,
        "stator::text_length": len,
        "stator::text_slice": run_text_slice,
        "stator::text_find": run_text_find,
        "stator::text_code": ord,
        "stator::text_case": run_text_case,
        "stator::text_is": run_text_is,
        "stator::text_int": int,
        "stator::text_float": float,
    }
)
