"""Program: one entry of the zoo, and `program`, the decorator that enters a function or a module.

    @program((f(1.0, 2.0),), (f(-1.0),), dynamic=({0},), trains=True)
    def halved_when_positive(x):
        if x.sum() > 0:
            x = x / 2
        return x

Each positional argument is one call. The first call is what a capture sees; the others take
other paths, iteration counts and sizes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

ZOO: list[Program] = []


@dataclass(frozen=True)
class Program:
    """A function, a module class, or with `makes` a function that gives one of them."""

    target: Any
    calls: tuple[tuple[Any, ...], ...]
    dynamic: tuple[Any, ...] | None = None  # for each argument: None, or the dims that vary
    trains: bool = False  # gradients of inputs and parameters are compared as well
    may_raise: bool = False  # eager raises on some call: so must every stage
    same_message: bool = True  # the raised text is the user's own, and must be the same
    makes: bool = False  # `target()` gives the program
    watch: Callable[[], Any] | None = None  # Python state outside that a call may change
    reset: Callable[[], Any] | None = None  # puts that state back
    refused: str | None = None  # the code of the error that a capture must end with
    refused_saved: str | None = None  # the same, where only saving is refused
    stages: tuple[str, ...] = ("rewritten", "captured", "unoptimised", "saved")
    pending: str | None = None  # why it fails today
    pending_stages: tuple[str, ...] = ("captured", "unoptimised", "saved")

    @property
    def kind(self) -> str:
        """The file that it is in."""
        return self.target.__module__.rpartition(".")[2]

    @property
    def name(self) -> str:
        """`kind.name`, for test ids."""
        return f"{self.kind}.{self.target.__name__}"

    @property
    def lines(self) -> range:
        """The lines of its file that are its own."""
        text, first = inspect.getsourcelines(self.target)
        return range(first, first + len(text))

    def make(self) -> Any:
        """A fresh callable."""
        torch.manual_seed(0)
        is_class = isinstance(self.target, type)
        return self.target() if self.makes or is_class else self.target


def program(*calls: tuple[Any, ...], **fields: Any) -> Callable[[Any], Any]:
    """Enter what is decorated in the zoo."""

    def enter(target: Any) -> Any:
        ZOO.append(Program(target, calls, **fields))
        return target

    return enter


# ---- inputs


def f(*values: Any, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A float tensor of these numbers, or of one nested list."""
    return torch.tensor(values[0] if len(values) == 1 else values, dtype=dtype)


def i(*values: Any) -> torch.Tensor:
    """An int64 tensor of these numbers, or of one nested list."""
    return torch.tensor(values[0] if len(values) == 1 else values, dtype=torch.int64)


def b(*values: Any) -> torch.Tensor:
    """A bool tensor."""
    return torch.tensor(values[0] if len(values) == 1 else values, dtype=torch.bool)


def r(*shape: int, seed: int = 0, shift: float = 0.0) -> torch.Tensor:
    """Normal numbers around `shift`."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator) + shift
