"""What `--input` may say, as data.

    [NAME:]DTYPE[SIZES][@LOW..HIGH][=VALUE]   a tensor    x:float32[None,784]  ids:int64[B,T]@0..99
    [NAME=]FILE                               read        x=x.npy  batch.npz  x.safetensors
    [NAME=]LITERAL                            a constant  n=3  flag=True  mode='fast'  k=[1,2]

A size is a number; `None`, `*` or `?`, which may be anything; or a name, which may be anything too
but is the same wherever it is. Nothing here needs torch.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from stator.cli.failures import CommandFailure
from stator.program.types import SHORT_DTYPES

LONG = {short: long for long, short in SHORT_DTYPES.items()}
DTYPES = (*SHORT_DTYPES, "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2")
OPEN = ("None", "*", "?", "-1")
READ = (".npy", ".npz", ".safetensors")
PICKLED = (".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt")
NAME = r"[A-Za-z_]\w*"
SPEC = re.compile(rf"\s*(?:(?P<name>{NAME})\s*:)?\s*(?P<dtype>{NAME})\s*(?P<open>\[)?")
NAMED = re.compile(rf"\s*(?P<name>{NAME})\s*=(?!=)\s*")
NUMBER = r"[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)"
RANGE = re.compile(rf"@(?P<low>{NUMBER})\.\.(?P<high>{NUMBER})")


@dataclass(frozen=True)
class TensorText:
    """A tensor: of given values, or drawn at random; an open size is None or a name."""

    name: str | None
    dtype: str
    sizes: tuple[int | str | None, ...]
    range: tuple[float, float] | None = None
    value: Any = None


@dataclass(frozen=True)
class FileText:
    """An array, or several with names of their own, in a file."""

    name: str | None
    path: str


@dataclass(frozen=True)
class ConstantText:
    """A Python value."""

    name: str | None
    value: Any


InputText = TensorText | FileText | ConstantText


def parse_input(text: str) -> InputText:
    """The meaning of one `--input`; a Failure points at what is wrong with it."""
    spec = SPEC.match(text)
    if spec is not None and (spec["open"] or spec["name"]):
        return _tensor(text, spec)
    named = NAMED.match(text)
    name, start = (named["name"], named.end()) if named else (None, 0)
    rest = text[start:].strip()
    suffix = rest[rest.rfind(".") :].lower() if "." in rest else ""
    if suffix in READ:
        return FileText(name, rest)
    if suffix in PICKLED:
        _wrong(text, start, f"a `{suffix}` file is a pickle, which can run code when it is read",
               "write the tensor with `numpy.save`, or with safetensors' `save_file`")  # fmt: skip
    return ConstantText(name, _literal(text, start))


def _tensor(text: str, spec: re.Match[str]) -> TensorText:
    dtype = LONG.get(spec["dtype"], spec["dtype"])
    if dtype not in DTYPES:
        _wrong(text, spec.start("dtype"), f"`{dtype}` is not a dtype",
               f"give one of {', '.join(DTYPES)}")  # fmt: skip
    if not spec["open"]:
        _wrong(text, spec.end(), "the sizes are missing", f"write {dtype}[] for a tensor without "
               f"dimensions, {dtype}[None,3] for one with two")  # fmt: skip
    end = text.find("]", spec.end())
    if end < 0:
        _wrong(text, len(text), "there is no `]` after the sizes", "close the sizes with `]`")
    sizes = tuple(_sizes(text, spec.end(), end))
    drawn = RANGE.match(text, end + 1)
    after = drawn.end() if drawn else end + 1
    limits = (float(drawn["low"]), float(drawn["high"])) if drawn else None
    if limits is not None and limits[0] > limits[1]:
        _wrong(text, end + 1, "the range ends before it begins", "write the smaller number first")
    rest = text[after:].strip()
    if rest and not rest.startswith("="):
        _wrong(text, after, f"`{rest}` cannot come after the sizes",
               "write @0..9 for a range, =[1,2] for values, or nothing")  # fmt: skip
    value = _literal(text, text.index("=", after) + 1) if rest else None
    return TensorText(spec["name"], dtype, sizes, limits, value)


def _sizes(text: str, start: int, end: int) -> list[int | str | None]:
    sizes: list[int | str | None] = []
    if not text[start:end].strip():
        return sizes
    for part in text[start:end].split(","):
        size = part.strip()
        at = start + len(part) - len(part.lstrip())
        if size in OPEN:
            sizes.append(None)
        elif size.isdecimal():
            sizes.append(int(size))
        elif size.isidentifier():
            sizes.append(size)
        else:
            _wrong(text, at, f"`{size}` is not a size" if size else "a size is missing",
                   "give a number >= 0, None for any size, or a name such as B")  # fmt: skip
        start += len(part) + 1
    return sizes


def _literal(text: str, start: int) -> Any:
    part = text[start:].strip()
    try:
        return ast.literal_eval(part)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        _wrong(text, start, f"`{part}` is not a value" if part else "there is no value",
               "give a Python literal (3, True, 'text', [1, 2]), a .npy, .npz or .safetensors "
               "file, or a tensor such as x:float32[None,784]")  # fmt: skip


def parse_size(text: str) -> tuple[str | None, int]:
    """`B=8` -> ("B", 8); `8` -> (None, 8)."""
    name, _, number = text.rpartition("=")
    if not number.strip().isdecimal() or (name and not name.strip().isidentifier()):
        _wrong(text, 0, "this is not a size", "write --size 8, or --size B=8 for the size named B",
               option="--size")  # fmt: skip
    return (name.strip() or None), int(number)


def parse_setting(text: str) -> tuple[str, Any]:
    """`width=64` -> ("width", 64): an argument for a class or a factory."""
    named = NAMED.match(text)
    if named is None:
        _wrong(text, 0, "this is not NAME=VALUE", "write --init width=64", option="--init")
    try:
        return named["name"], ast.literal_eval(text[named.end() :].strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        _wrong(text, named.end(), "the value is not a Python literal",
               "write 3, True, 'text' (with its quotes) or [1, 2]", option="--init")  # fmt: skip


def _wrong(text: str, column: int, problem: str, fix: str, option: str = "--input") -> NoReturn:
    caret = " " * column + "^"
    raise CommandFailure(f"{option}: {problem}", details=f"  {text}\n  {caret}", fix=fix)
