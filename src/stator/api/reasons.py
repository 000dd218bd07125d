"""Why a function is captured again, in words that name what has changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from stator.api.concrete import ConcreteProgram
from stator.api.signature import ARGUMENTS, MODES, TENSOR_FACTS, Identity, Signature, may_vary

FIRST = "it was called for the first time"


def reason_for(signature: Signature, latest: ConcreteProgram | None, names: Sequence[str]) -> str:
    """What of this call differs from those that the latest program of another kind holds for."""
    if latest is None:
        return FIRST
    (args, kwargs, modes), (old_args, old_kwargs, old_modes) = signature.key, latest.key
    if modes != old_modes:
        pairs = zip(MODES, modes, old_modes, strict=True)
        return next(_is_not(name, new, old) for name, new, old in pairs if new != old)
    if args != old_args:
        return _arguments(args, old_args, names)
    return _keywords(dict(kwargs[1:]), dict(old_kwargs[1:]))


def sizes_reason(
    signature: Signature,
    latest: ConcreteProgram,
    call: tuple[tuple[Any, ...], dict[str, Any]],
    names: Sequence[str],
) -> str:
    """Which size, number or string of `call` differs from the latest program's."""
    given = zip(leaf_names(*call, names), signature.leaves, strict=True)
    for (name, leaf), new, old in zip(given, signature.sizes, latest.sizes, strict=True):
        for dimension, (size, before) in enumerate(zip(new, old, strict=True)):
            if before in (size, None):
                continue
            if isinstance(leaf, torch.Tensor):
                return f"{name}.shape[{dimension}] is {size}, not {before}"
            return f"{name} is {leaf!r}, not {repr(before) if isinstance(leaf, str) else before}"
    return "sizes have changed"


def leaf_names(args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str]) -> list[str]:
    """What the user calls the leaves of a call: `x`, `pair[0]`, `options['lr']`."""
    named = [(names[k] if k < len(names) else f"argument {k}", one) for k, one in enumerate(args)]
    return [
        name + "".join(f"[{key!r}]" for key in path)
        for name, value in (*named, *kwargs.items())
        for path, leaf in ARGUMENTS.paths(value)
        if isinstance(leaf, torch.Tensor) or may_vary(leaf)
    ]


def _arguments(new: Any, old: Any, names: Sequence[str]) -> str:
    if len(new) != len(old):
        given = f"{len(new) - 1} positional argument{'' if len(new) == 2 else 's'}"
        return f"it was called with {given}, not {len(old) - 1}"
    for place, (one, other) in enumerate(zip(new[1:], old[1:], strict=True)):
        if one != other:
            name = names[place] if place < len(names) else f"argument {place}"
            return _difference(one, other, name)
    return "it was called with arguments of a new type"


def _keywords(new: dict[str, Any], old: dict[str, Any]) -> str:
    if list(new) != list(old):
        return f"it was called with {_listed(new)}, not {_listed(old)}"
    return next(_difference(new[name], old[name], name) for name in new if new[name] != old[name])


def _listed(names: dict[str, Any]) -> str:
    return f"the keywords {', '.join(names)}" if names else "no keywords"


def _difference(new: Any, old: Any, path: str) -> str:
    """Two keys of one argument, compared part by part."""
    if new[0] == old[0] == "tensor":
        pairs = zip(TENSOR_FACTS, new[1:], old[1:], strict=True)
        return next(_is_not(f"the {name} of {path}", a, b) for name, a, b in pairs if a != b)
    if new[0] is not old[0]:
        return f"{path} is {_with_article(new)}, not {_with_article(old)}"
    if new[0] in (tuple, list) and len(new) == len(old):
        items = enumerate(zip(new[1:], old[1:], strict=True))
        return next(_difference(a, b, f"{path}[{k}]") for k, (a, b) in items if a != b)
    if new[0] is dict and [key for key, _ in new[1:]] == [key for key, _ in old[1:]]:
        named = zip(new[1:], old[1:], strict=True)
        return next(_difference(a, b, f"{path}[{key!r}]") for (key, a), (_, b) in named if a != b)
    if len(new) == len(old) == 2 and not isinstance(new[1], Identity | tuple | frozenset):
        return f"{path} is {_value(new)}, not {_value(old)}"
    return f"{path} is another {_kind(new)}"


def _kind(key: Any) -> str:
    return key[0] if isinstance(key[0], str) else key[0].__name__


def _with_article(key: Any) -> str:
    kind = _kind(key)
    return "None" if kind == "NoneType" else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _value(key: Any) -> str:
    """Floats are in a key by their text."""
    return key[1] if issubclass(key[0], float | complex) else repr(key[1])


def _is_not(name: str, new: Any, old: Any) -> str:
    return f"{name} is {_word(new)}, not {_word(old)}"


def _word(value: Any) -> str:
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, str):
        return repr(value)
    return str(value).removeprefix("torch.")
