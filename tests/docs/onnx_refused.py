"""The table of docs/onnx.md of what ONNX cannot hold: each row is a function that is refused."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

import stator
from stator import InputSpec
from stator.errors import ExportError


@dataclass(frozen=True)
class Refusal:
    """What is refused, why that is so in ONNX, and a function that shows it."""

    what: str
    why: str
    function: Callable[..., Any]
    spec: tuple[Any, ...] = (InputSpec([3]),)


def catches(x):
    try:
        return x[int(x.sum())]
    except IndexError:
        return x[0]


def nests_lists(x):
    rows = []
    for value in x:
        rows.append([x[x > one] for one in x if one > value])
    return rows


def draws(x):
    return x + torch.rand(3)


def drops(x):
    return nn.functional.dropout(x, 0.5, training=True)


def says(x):
    return "positive" if x.sum() > 0 else f"{x.sum().item()}"


def multiplies(x):
    return x * 1j


def rounds(x):
    return round(x.sum().item(), 2)


def takes_log(x):
    return math.log2(abs(x.sum().item()) + 1)


def adds_bfloat16(x):
    return x.bfloat16().sum()


def averages(x):
    return torch.zeros(3).scatter_reduce(0, torch.tensor([0, 0, 1]), x, reduce="mean")


REFUSED = (
    Refusal("`try` / `except` that must catch at run time", "ONNX has no exceptions", catches),
    Refusal(
        "lists of lists whose items have several shapes, and lists inside of these",
        "ONNX has sequences of tensors only: an inner list must be one tensor", nests_lists,
        (InputSpec([None]),),
    ),
    Refusal(
        "random numbers", "the generators of ONNX Runtime are not torch's: pass the numbers in, or "
        "compute them from a seed", draws,
    ),
    Refusal("dropout in training mode", "it draws random numbers", drops),
    Refusal("strings that are made at run time, except in messages", "ONNX has no such operations",
            says),
    Refusal("complex numbers", "ONNX Runtime computes none", multiplies),
    Refusal("`round(x, n)` on Python numbers", "ONNX has no function that is exact, and a rounded "
            "result can take another branch", rounds),
    Refusal("`math.log2` and the like on Python numbers", "as above", takes_log),
    Refusal('`scatter_reduce(reduce="mean")`', "ONNX scatters sums, products and extremes only",
            averages),
    Refusal("projections of `nn.LSTM`", "the node LSTM has none", nn.LSTM(3, 4, proj_size=2),
            (InputSpec([None, None, 3]),)),
    Refusal("`nn.LSTM`, `nn.GRU` and `nn.RNN` of doubles", "ONNX Runtime computes them for float32 "
            "only", nn.GRU(3, 4).double(), (InputSpec([None, None, 3], "float64"),)),
    Refusal("`erf`, `gelu` and `atan` of doubles", "ONNX Runtime has no kernels for them",
            torch.erf, (InputSpec([3], "float64"),)),
    Refusal("sums of bfloat16, also by autocast", "ONNX Runtime has no kernels for them on "
            "processors", adds_bfloat16),
)  # fmt: skip


def refused(row: Refusal) -> ExportError | None:
    """The error that the export of a row ends with."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            stator.save(row.function, Path(folder) / "m", input_spec=list(row.spec), onnx=True)
        except ExportError as error:
            return error
    return None


def table() -> str:
    """A line for each row."""
    lines = ["| what | why |", "|---|---|"]
    lines += [f"| {row.what} | {row.why} |" for row in REFUSED]
    return "\n".join(lines)
