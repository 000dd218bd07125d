"""Model files that no honest writer makes: any ops on any arguments, with digests that fit.

craft(stem, [call("aten::add.Tensor", [value("x"), weight("w")], gives=["y"])], {"w": tensor})
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from stator.export.digests import Digests, digests_of, encode_digests
from stator.export.tensor_file import write_tensors
from stator.program.registry import schema_of

Json = Any  # sizes are written as version 2 of the format has them
VECTOR = {"tensor": {"dtype": "float32", "shape": ["n"], "device": "cpu"}}


@dataclass(frozen=True)
class Call:
    """One op of a crafted program."""

    name: str
    args: Sequence[Json] = ()
    attributes: Mapping[str, Json] = field(default_factory=dict)
    gives: Sequence[str] = ("y",)

    def encoded(self, types: Mapping[str, Json]) -> Json:
        """The op as a file has it; a result is a vector unless `types` says otherwise."""
        results = [{"name": name, "type": types.get(name, VECTOR)} for name in self.gives]
        return {
            "name": self.name,
            "args": list(self.args),
            "attributes": dict(self.attributes),
            "results": results,
        }


def value(name: str) -> Json:
    """An argument that is a value of the program."""
    return {"value": name}


def weight(name: str) -> Json:
    """An argument that is one of the tensors of the model."""
    return value(f"w_{name}")


def real(number: float) -> Json:
    """An argument that is a float."""
    return {"float": number if math.isfinite(number) else str(number)}


def craft(
    stem: Path,
    calls: Sequence[Call],
    tensors: Mapping[str, torch.Tensor],
    *,
    gives: str = "y",
    types: Mapping[str, Json] | None = None,
    functions: Mapping[str, Json] | None = None,
) -> None:
    """Write both files of a model that runs `calls` on a vector `x`, and gives one value."""
    weights = stem.with_suffix(".safetensors")
    write_tensors(weights, dict(tensors))
    digests = digests_of(weights)
    craft_text(stem, calls, tensors, digests, gives=gives, types=types, functions=functions)


def craft_text(
    stem: Path,
    calls: Sequence[Call],
    tensors: Mapping[str, torch.Tensor],
    digests: Digests,
    *,
    gives: str = "y",
    types: Mapping[str, Json] | None = None,
    functions: Mapping[str, Json] | None = None,
) -> None:
    """Write the text of such a model; its weights, which have these digests, are there."""
    program = {
        "name": "forward",
        "inputs": [{"name": "x", "type": VECTOR}],
        "stored": [_stored(name, tensor) for name, tensor in tensors.items()],
        "functions": dict(functions or {}),
        "body": {
            "inputs": [],
            "ops": [call.encoded(types or {}) for call in calls],
            "outputs": [value(gives)],
        },
        "input_structure": {
            "tuple": [{"tuple": [{"leaf": 0}]}, {"dict": {"keys": [], "items": []}}]
        },
        "output_structure": {"tuple": [{"leaf": 0}]},
        "files": ["model.py"],
    }
    names = {call.name for call in calls if not call.name.startswith("stator::")}
    text = {
        "weights": encode_digests(digests),
        "producer": {"stator": "0.1.0", "torch": "2.13.0"},
        "op_sets": {"aten": "2.13.0", "stator": 1},
        "ops": {name: schema_of(name).text for name in sorted(names)},
        "training": False,
        "properties": {"dict": {}},
        "metadata": {"dict": {}},
        "methods": {
            "forward": {"programs": {"train": "forward", "eval": "forward"}, "refused": {}}
        },
        "tensors": {name: _entry(name, tensor) for name, tensor in tensors.items()},
        "programs": {"forward": program},
    }
    stem.with_suffix(".stator").write_bytes(_sealed(text))


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _stored(name: str, tensor: torch.Tensor) -> Json:
    kind = {"dtype": _dtype(tensor), "shape": list(tensor.shape), "device": "cpu"}
    return {
        "value": {"name": f"w_{name}", "type": {"tensor": kind}},
        "name": name,
        "kind": "buffer",
    }


def _entry(name: str, tensor: torch.Tensor) -> Json:
    return {
        "key": name,
        "dtype": _dtype(tensor),
        "shape": list(tensor.shape),
        "kind": "buffer",
        "requires_grad": False,
        "persistent": True,
    }


def _sealed(text: Json) -> bytes:
    body = json.dumps(text, separators=(",", ":")).encode()[1:] + b"\n"
    digest = hashlib.sha256(body).hexdigest()
    return f'{{"format":"stator","version":2,"digest":"{digest}",'.encode() + body
