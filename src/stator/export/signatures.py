"""The signature of a saved method: the parameters of the user's function, with their defaults."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType

from stator.errors import FormatError
from stator.export.checking import Damage, checked, field, one_of
from stator.export.decoding import decode_constant
from stator.export.encoding import Json, encode_constant

KINDS: Mapping[str, inspect._ParameterKind] = MappingProxyType(
    {
        "positional": inspect.Parameter.POSITIONAL_ONLY,
        "any": inspect.Parameter.POSITIONAL_OR_KEYWORD,
        "args": inspect.Parameter.VAR_POSITIONAL,
        "keyword": inspect.Parameter.KEYWORD_ONLY,
        "kwargs": inspect.Parameter.VAR_KEYWORD,
    }
)
NAMES = {kind: name for name, kind in KINDS.items()}


class UnsavedDefault:
    """A default that a file cannot hold: the parameter can be left out, and cannot be given."""

    def __repr__(self) -> str:
        return "..."


UNSAVED_DEFAULT = UnsavedDefault()


def encode_signature(signature: inspect.Signature) -> Json:
    """The parameters in order; `default` is there if a file can hold it."""
    return [_encode_parameter(one) for one in signature.parameters.values()]


def _encode_parameter(parameter: inspect.Parameter) -> Json:
    data: dict[str, Json] = {"name": parameter.name, "kind": NAMES[parameter.kind]}
    if parameter.default is not inspect.Parameter.empty:
        data["optional"] = True
        if parameter.default is None or type(parameter.default) in (bool, int, float, complex, str):
            try:
                data["default"] = encode_constant(parameter.default)
            except FormatError:  # an integer of more than 64 bits
                return data
    return data


def decode_signature(data: Json, at: str) -> inspect.Signature:
    """The signature that a file describes."""
    parameters = [
        _decode_parameter(one, f"{at}[{index}]")
        for index, one in enumerate(checked(data, list, at))
    ]
    try:
        return inspect.Signature(parameters)
    except ValueError as error:  # a name twice, or an order that Python does not have
        raise Damage(at, f"is no signature: {error}") from None


def _decode_parameter(data: Json, at: str) -> inspect.Parameter:
    name, kind = field(data, "name", str, at), one_of(field(data, "kind", str, at), KINDS, at)
    if not name.isidentifier():  # of an empty one Python does not expect to be told
        raise Damage(at, f"is no parameter: {name!r} is not a valid parameter name")
    default: object = inspect.Parameter.empty
    if data.get("optional") is not None and field(data, "optional", bool, at):
        default = decode_constant(data["default"], at) if "default" in data else UNSAVED_DEFAULT
    try:
        return inspect.Parameter(name, KINDS[kind], default=default)
    except ValueError as error:  # a keyword of Python, or a default where none can be
        raise Damage(at, f"is no parameter: {error}") from None
