"""The methods of a saved model: which program each runs in each mode.

A method that could not be captured in one mode is kept with the reason, which a call in that mode
raises.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stator.export.checking import Damage, checked, one_of
from stator.export.checking import field as part
from stator.export.encoding import Json
from stator.export.signatures import decode_signature, encode_signature
from stator.program.program import Program

MODES = ("train", "eval")


@dataclass(frozen=True)
class Method:
    """A method: its programs by mode, why a mode has none, and its signature in Python if known."""

    programs: Mapping[str, str]
    refused: Mapping[str, str] = field(default_factory=dict)
    signature: inspect.Signature | None = None


def mode_name(training: bool) -> str:
    """`train` or `eval`."""
    return "train" if training else "eval"


def methods_of(programs: Mapping[str, Program]) -> dict[str, Method]:
    """Every program as a method that is the same in both modes."""
    return {name: Method(dict.fromkeys(MODES, name)) for name in sorted(programs)}


def encode_methods(methods: Mapping[str, Method]) -> Json:
    """The table of methods."""
    return {name: _encode_method(methods[name]) for name in sorted(methods)}


def _encode_method(method: Method) -> Json:
    data: Json = {"programs": dict(method.programs), "refused": dict(method.refused)}
    if method.signature is not None:
        data["signature"] = encode_signature(method.signature)
    return data


def decode_methods(
    data: Json,
    programs: Mapping[str, Program],
    *,
    version: int,
    training: bool,
    metadata: Mapping[str, Any],
) -> dict[str, Method]:
    """The methods that a file names; those of version 1 follow from the names of its programs."""
    if version == 1:
        return _first_version(programs, training, bool(metadata.get("modes", True)))
    table = part(data, "methods", dict, "the model")
    return {name: _method(item, programs, f"methods.{name}") for name, item in table.items()}


def _method(data: Json, programs: Mapping[str, Program], at: str) -> Method:
    chosen, refused = part(data, "programs", dict, at), part(data, "refused", dict, at)
    for mode, text in (*chosen.items(), *refused.items()):
        one_of(mode, MODES, at)
        checked(text, str, f"{at}.{mode}")
    for mode, name in chosen.items():
        if name not in programs:
            raise Damage(f"{at}.{mode}", f"names the program {name!r}, which is not there")
    if "signature" not in data:
        return Method(chosen, refused)
    return Method(chosen, refused, decode_signature(data["signature"], f"{at}.signature"))


def _first_version(
    programs: Mapping[str, Program], training: bool, has_modes: bool
) -> dict[str, Method]:
    if "forward" not in programs:
        return {}
    if not has_modes:
        return {"forward": Method(dict.fromkeys(MODES, "forward"))}
    other = mode_name(not training)
    chosen = {mode_name(training): "forward"}
    return {"forward": Method(chosen | ({other: other} if other in programs else {}))}
