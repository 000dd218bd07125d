"""What the effect, text and list ops do: a table of Python functions, one for each op.

A list is a value: every op here that changes one gives a new list.
"""

from __future__ import annotations

import builtins
import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch


def run_assert(condition: object, message: object = None) -> None:
    """Python's `assert condition, message`."""
    if not condition:
        raise AssertionError(*_given(message))


def run_raise(
    type_name: str, *said: object, names: Sequence[str] = (), fields: Sequence[str] = ()
) -> None:
    """Raises the builtin exception of that name; of any other name, a RuntimeError that says it."""
    count = len(said) - len(fields)
    error: Any = _exception(type_name, said[:count])
    if names:
        error.stator_classes = tuple(names)  # see class_names
        error.stator_fields = dict(zip(fields, said[count:], strict=True))
    raise error


def class_names(error: Exception) -> frozenset[str]:
    """The names of the classes that `error` is an instance of, those that users wrote included."""
    builtin = {cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins"}
    written: tuple[str, ...] = getattr(error, "stator_classes", ())
    return frozenset((*builtin, *written))


def type_name(error: Exception) -> str:
    """`type(error).__name__`, of the class that the user wrote if there is one."""
    written: tuple[str, ...] = getattr(error, "stator_classes", ())
    return written[0].rpartition(".")[2] if written else type(error).__name__


def _exception(type_name: str, said: tuple[object, ...]) -> Exception:
    found = getattr(builtins, type_name, None)
    if isinstance(found, type) and issubclass(found, Exception):
        with contextlib.suppress(TypeError):  # UnicodeDecodeError needs more than a message
            return found(*said)
    return RuntimeError(": ".join([type_name, *map(str, said)]))


def _given(message: object) -> tuple[object, ...]:
    return () if message is None else (message,)


def run_set_grad(enabled: bool) -> None:
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


CONVERSIONS: Mapping[str | None, Callable[[object], object]] = MappingProxyType(
    {None: lambda value: value, "": lambda value: value, "s": str, "r": repr, "a": ascii}
)


def run_format(value: object, conversion: str | None = None, spec: str | None = None) -> str:
    """What `{value!conversion:spec}` gives in an f-string."""
    return format(CONVERSIONS[conversion](value), spec or "")


def run_join(*parts: str) -> str:
    """The parts, put together."""
    return "".join(parts)


def run_list_make(*items: Any) -> list[Any]:
    """`[*items]`."""
    return list(items)


def run_list_get(items: list[Any], index: int) -> Any:
    """`items[index]`."""
    return items[index]


def run_list_slice(
    items: list[Any], start: int | None = None, stop: int | None = None, step: int | None = None
) -> list[Any]:
    """`items[start:stop:step]`."""
    return items[start:stop:step]


def run_list_append(items: list[Any], item: Any) -> list[Any]:
    """`items` with `item` at its end."""
    return [*items, item]


def run_list_insert(items: list[Any], index: int, item: Any) -> list[Any]:
    """`items` with `item` put before `index`."""
    changed = list(items)
    changed.insert(index, item)
    return changed


def run_list_set(items: list[Any], index: int, item: Any) -> list[Any]:
    """`items` with `item` in place of what stands at `index`."""
    changed = list(items)
    changed[index] = item
    return changed


def run_list_delete(items: list[Any], index: int) -> list[Any]:
    """`items` without what stands at `index`."""
    changed = list(items)
    del changed[index]
    return changed


def run_list_extend(items: list[Any], other: list[Any]) -> list[Any]:
    """`items + other`."""
    return [*items, *other]


def run_list_repeat(items: list[Any], times: int) -> list[Any]:
    """`items * times`."""
    return items * times


def run_list_reverse(items: list[Any]) -> list[Any]:
    """`items[::-1]`."""
    return items[::-1]


def run_list_pop(items: list[Any], index: int) -> list[Any]:
    """What `items.pop(index)` leaves."""
    changed = list(items)
    changed.pop(index)
    return changed


def run_list_take(items: list[Any], indexes: list[int]) -> list[Any]:
    """The items at `indexes`."""
    return [items[index] for index in indexes]


def run_list_order(reverse: bool, *columns: list[Any]) -> list[int]:
    """The places of the items, in the order that `sorted` gives them."""
    keys: Any = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)


def run_list_tensor(items: list[Any], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """`torch.tensor(items)`."""
    return torch.tensor(items, dtype=dtype, device=device)


EFFECT_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "stator::assert": run_assert,
        "stator::raise": run_raise,
        "stator::print": print,
        "stator::set_grad": run_set_grad,
        "stator::set_inference": run_set_inference,
        "stator::set_autocast": run_set_autocast,
        "stator::format": run_format,
        "stator::join": run_join,
        "stator::text_length": len,
        "stator::list_make": run_list_make,
        "stator::list_length": len,
        "stator::list_get": run_list_get,
        "stator::list_slice": run_list_slice,
        "stator::list_append": run_list_append,
        "stator::list_insert": run_list_insert,
        "stator::list_set": run_list_set,
        "stator::list_delete": run_list_delete,
        "stator::list_extend": run_list_extend,
        "stator::list_repeat": run_list_repeat,
        "stator::list_reverse": run_list_reverse,
        "stator::list_pop": run_list_pop,
        "stator::list_take": run_list_take,
        "stator::list_order": run_list_order,
        "stator::list_tensor": run_list_tensor,
        "stator::tensor_list": torch.Tensor.tolist,
    }
)
