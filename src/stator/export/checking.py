"""Validate untrusted JSON; errors name the path of what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from stator.export.encoding import MAX_NESTING, Json

T = TypeVar("T")


class Damage(Exception):
    """What is wrong, and where in the data: `programs.forward.body.ops[3]`."""

    def __init__(self, at: str, problem: str) -> None:
        super().__init__(f"{at} {problem}")


NAMES: Mapping[type, str] = MappingProxyType(
    {
        dict: "an object", list: "a list", str: "a string", int: "an integer",
        bool: "true or false", float: "a fraction", type(None): "null",
    }
)  # fmt: skip


def checked(data: Json, kind: type[T], at: str) -> T:
    """`data`, which must be a `kind`; `true` is no integer."""
    if type(data) is not kind:
        raise Damage(at, f"must be {NAMES[kind]}, not {NAMES[type(data)]}")
    return data


def field(data: Json, key: str, kind: type[T], at: str) -> T:
    """`data[key]`, which must be there and be a `kind`."""
    if type(data) is dict and type(found := data.get(key)) is kind:
        return found  # the name of the place, which is rarely needed, takes longer than this
    if key not in checked(data, dict, at):
        raise Damage(at, f"has no {key!r}")
    return checked(data[key], kind, f"{at}.{key}")


def optional(data: Json, key: str, kind: type[T], at: str) -> T:
    """`data[key]`, or an empty `kind` where it is left out."""
    return field(data, key, kind, at) if key in checked(data, dict, at) else kind()


def one_of(text: str, allowed: Iterable[str], at: str) -> str:
    """`text`, which must be one of `allowed`."""
    if text not in (allowed := tuple(allowed)):
        raise Damage(at, f"must be one of {', '.join(allowed)}, not {text!r}")
    return text


def one_key(data: Json, at: str) -> tuple[str, Json]:
    """The key and the part of an object that must have just one."""
    if len(checked(data, dict, at)) != 1:
        raise Damage(at, "must be an object with one key")
    key, part = next(iter(data.items()))
    return key, part


def texts(items: list[Json], at: str) -> tuple[str, ...]:
    """The items, which must be strings."""
    return tuple(checked(item, str, f"{at}[{index}]") for index, item in enumerate(items))


def check_depth(depth: int, at: str) -> None:
    """Damage beyond the depth that the format allows."""
    if depth > MAX_NESTING:
        raise Damage(at, f"is nested more than {MAX_NESTING} deep")
