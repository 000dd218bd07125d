"""Every op that a saved model may call, on arguments that no one gives: does one leave its memory?

    python -m tests.export.op_fuzz --tries 60 --seed 0       a run; prints the calls that failed
    python -m tests.export.op_fuzz --only aten::ctc_loss.IntList --seed 0 --number 17    one of them

Tensors lie against a page without access, before or after them, so that reading or writing outside
of them ends the process at once. Ops are called as the interpreter does, in child processes; a
child that dies names its call. A call may raise what it likes; one that takes longer than SECONDS
is counted, and is no failure.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import mmap
import os
import random
import resource
import signal
import struct
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import torch

from stator.execute.conditions import with_conditions
from stator.program.opset.in_files import may_be_in_file
from stator.program.registry import Schema, SchemaArgument, resolve, schema_of

SECONDS = 4
ADDRESS_SPACE = 8 * 2**30
CALLS = 4000  # of one child: it never gives its pages back
DONE, AGAIN = 78, 77  # exit codes of a child
PAGE = mmap.PAGESIZE
READ_WRITE, PRIVATE, NO_ACCESS = 3, 0x22, 0

INTS = (
    -(2**63), -(2**31), -1000, -2, -1, 0, 0, 1, 1, 2, 2, 3, 4, 5, 8, 100, 10**6, 2**31, 2**40,
    2**62, 2**63 - 1,
)  # fmt: skip
SMALL = (0, 1, 1, 2, 2, 3, 4, 8)
FLOATS = (0.0, 0.5, 1.0, 2.0, -1.0, 1e-30, 1e30, float("inf"), float("-inf"), float("nan"))
SHAPES = (
    (), (0,), (1,), (3,), (4,), (8,), (2, 3), (3, 3), (4, 4), (2, 0), (2, 3, 4), (4, 4, 4),
    (1, 2, 4, 4), (2, 4, 3, 3), (1, 2, 2, 3, 4), (1, 1, 3, 3, 3),
)  # fmt: skip
DTYPES = (
    *[torch.float32] * 8, *[torch.int64] * 6, torch.float64, torch.int32, torch.bool, torch.uint8,
    torch.complex64, torch.bfloat16, torch.int8, torch.int16,
)  # fmt: skip
TEXTS = (
    "mean", "sum", "max", "min", "prod", "reflect", "constant", "replicate", "circular", "L", "R",
    "reduced", "complete", "none", "tanh", "trunc", "floor", "left", "right", "linear", "lower",
    "zeros", "border", "ij", "fro", "nuc", "gelsd", "auto", "same", "valid", "amax", "amin", "",
)  # fmt: skip
FORMATS = (torch.contiguous_format, torch.channels_last, torch.preserve_format)
MOST = MappingProxyType(
    {torch.uint8: 255, torch.int8: 127, torch.int16: 2**15 - 1, torch.int32: 2**31 - 1}
)


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return libc


LIBC = _libc()


def guarded(shape: Sequence[int], dtype: torch.dtype, rng: random.Random) -> torch.Tensor:
    """A tensor whose bytes end, or begin, at a page without access."""
    empty = torch.empty(shape, dtype=dtype)
    size = empty.numel() * empty.element_size()
    if not size:
        return empty
    pages = -(-size // PAGE)
    address = LIBC.mmap(None, (pages + 2) * PAGE, READ_WRITE, PRIVATE, -1, 0)
    LIBC.mprotect(address, PAGE, NO_ACCESS)
    LIBC.mprotect(address + (pages + 1) * PAGE, PAGE, NO_ACCESS)
    first = address + PAGE
    start = first if rng.random() < 0.3 else first + pages * PAGE - size
    buffer = (ctypes.c_char * size).from_address(start)
    made = torch.frombuffer(buffer, dtype=torch.uint8).view(dtype).view(shape)
    _fill(made, rng)
    return made


def _fill(made: torch.Tensor, rng: random.Random) -> None:
    if made.dtype == torch.bool:
        made.copy_(torch.rand(made.shape) > 0.5)
    elif made.is_floating_point() or made.is_complex():
        scale, shift = rng.choice(((1, 0), (1, 0), (8, 4), (1e6, 0)))
        made.copy_(torch.rand(made.shape) * scale - shift)
        if rng.random() < 0.1:
            made.fill_(rng.choice((float("nan"), float("inf"), -1.0)))
    else:
        most = MOST.get(made.dtype, 2**62)
        bound = min(rng.choice((2, 3, 5, 100, 10**6, most)), most)
        low = -bound if rng.random() < 0.3 and made.dtype != torch.uint8 else 0
        made.copy_(torch.randint(low, bound + (bound < 2**62), made.shape))
        if made.dtype == torch.int64 and rng.random() < 0.1:
            made.fill_(-(2**63))


@dataclass
class Drawing:
    """Draws the arguments of one call; most tensors have the same sizes and dtype."""

    rng: random.Random
    shape: tuple[int, ...] = ()
    dtype: torch.dtype = torch.float32
    made: list[torch.Tensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shape, self.dtype = self.rng.choice(SHAPES), self.rng.choice(DTYPES)

    def tensor(self) -> torch.Tensor:
        """Any tensor, maybe one that was drawn before."""
        rng = self.rng
        shape = self.shape if rng.random() < 0.6 else rng.choice(SHAPES)
        made = guarded(shape, self.dtype if rng.random() < 0.6 else rng.choice(DTYPES), rng)
        return made.transpose(0, 1) if made.dim() >= 2 and rng.random() < 0.15 else made

    def value(self, kind: str) -> Any:
        """A value for an argument of that type of a schema."""
        if kind.startswith("Optional["):
            return None if self.rng.random() < 0.4 else self.value(kind[9:-1])
        if kind.startswith("List["):
            return self.items(kind[5:-1])
        draw = DRAWN.get(kind)
        return None if draw is None else draw(self)

    def items(self, kind: str) -> list[Any]:
        """A list of at most 5."""
        count = self.rng.choice((0, 1, 1, 2, 2, 3, 4, 5))
        if kind == "int" and self.rng.random() < 0.7:
            return [self.rng.choice(SMALL) for _ in range(count)]
        return [self.value(kind) for _ in range(count)]


DRAWN: Mapping[str, Callable[[Drawing], Any]] = MappingProxyType(
    {
        "Tensor": Drawing.tensor,
        "int": lambda draw: draw.rng.choice(INTS if draw.rng.random() < 0.5 else SMALL),
        "bool": lambda draw: draw.rng.random() < 0.5,
        "float": lambda draw: draw.rng.choice(FLOATS),
        "number": lambda draw: draw.rng.choice(FLOATS if draw.rng.random() < 0.5 else INTS),
        "str": lambda draw: draw.rng.choice(TEXTS),
        "ScalarType": lambda draw: draw.rng.choice(DTYPES),
        "Layout": lambda _: torch.strided,
        "MemoryFormat": lambda draw: draw.rng.choice(FORMATS),
        "Device": lambda _: torch.device("cpu"),
    }
)


def names() -> list[str]:
    """All overloads that a file may call, except those that take what no program holds."""
    every = sorted(torch._C._dispatch_get_all_op_names())
    return [name for name in every if may_be_in_file(name) and _is_callable(schema_of(name))]


def _is_callable(schema: Schema) -> bool:
    return all(_is_held(one) for one in schema.arguments)


def _is_held(argument: SchemaArgument) -> bool:
    inner = argument.type
    for wrapper in ("Optional[", "List["):
        inner = inner.replace(wrapper, "")
    return inner.rstrip("]") in DRAWN or argument.type.startswith("Optional[")


def call_of(name: str, seed: int, number: int) -> Callable[[], object]:
    """One call of an op; the same for the same numbers."""
    rng = random.Random(f"{name} {seed} {number}")
    torch.manual_seed(rng.randrange(2**31))
    drawing, args, attributes = Drawing(rng), [], {}
    by_position = True
    for one in schema_of(name).arguments:
        if one.has_default and rng.random() < 0.3:
            by_position = False
            continue
        value = drawing.value(one.type)
        if one.kwarg_only or not by_position:
            attributes[one.name] = value
        else:
            args.append(value)
    call = with_conditions(name, resolve(name))
    return lambda: call(*args, **attributes)


def touch(result: object) -> None:
    """Read all of what came out, as a caller would."""
    for item in result if isinstance(result, list | tuple) else (result,):
        if isinstance(item, torch.Tensor) and item.device.type == "cpu" and item.numel() < 10**6:
            item.clone().sum()


def try_call(name: str, seed: int, number: int) -> None:
    """Make one call; what it raises is its own affair."""
    with contextlib.suppress(Exception):  # any error is right; a signal is not
        touch(call_of(name, seed, number)())


@dataclass(frozen=True)
class Position:
    """How far the calls are: shared with the child that makes them."""

    shared: mmap.mmap

    def put(self, index: int, number: int) -> None:
        """The next call."""
        self.shared[:16] = struct.pack("qq", index, number)

    def get(self) -> tuple[int, int]:
        """The last call."""
        index, number = struct.unpack("qq", self.shared[:16])
        return index, number


def _child(todo: Sequence[str], start: tuple[int, int], tries: int, seed: int, at: Position) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    for count, (index, number) in enumerate(_calls(len(todo), start, tries)):
        at.put(index, number)
        if count == CALLS:
            return AGAIN
        signal.alarm(SECONDS)
        try_call(todo[index], seed, number)
    return DONE


def _calls(count: int, start: tuple[int, int], tries: int) -> Iterator[tuple[int, int]]:
    first, at = start
    yield from ((first, number) for number in range(at, tries) if first < count)
    yield from ((index, number) for index in range(first + 1, count) for number in range(tries))


@dataclass
class Report:
    """What a run found."""

    overloads: int = 0
    died: dict[str, str] = field(default_factory=dict)  # by name: the call, and how it ended
    slow: list[str] = field(default_factory=list)


def fuzz(todo: Sequence[str], tries: int, seed: int, seconds: float = float("inf")) -> Report:
    """Make `tries` calls of each op; an op that ends its process is not called again."""
    report, start, at = Report(), (0, 0), Position(mmap.mmap(-1, PAGE))
    end = time.monotonic() + seconds
    while start[0] < len(todo) and time.monotonic() < end:
        child = os.fork()
        if not child:
            code = 1
            try:
                code = _child(todo, start, tries, seed, at)
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        index, number = at.get()
        start = (len(todo), 0) if code == DONE else (index, number)
        if code == -signal.SIGALRM:
            report.slow.append(todo[index])
            start = (index, number + 1)
        elif code not in (DONE, AGAIN):
            report.died[todo[index]] = f"--number {number}: {_ending(code)}"
            start = (index + 1, 0)
    report.overloads = min(start[0], len(todo))
    return report


def _ending(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit {code}"


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--only")
    parser.add_argument("--number", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if options.number is not None:
        touch(call_of(options.only, options.seed, options.number)())
        return 0
    todo = [name for name in names() if options.only in (None, name, name.partition(".")[0])]
    report = fuzz(todo, options.tries, options.seed, options.seconds)
    for name, ending in report.died.items():
        print(f"--only {name} --seed {options.seed} {ending}")
    print(
        f"{report.overloads} of {len(todo)} overloads, {options.tries} calls of each: "
        f"{len(report.died)} end the process, {len(report.slow)} calls are slow"
    )
    return 1 if report.died else 0


if __name__ == "__main__":
    sys.exit(main())
