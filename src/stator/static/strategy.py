"""BuildStrategy and ExecutionStrategy: how a program is made ready, and how it is run."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

from stator.errors import UnknownOption, nearest

T = TypeVar("T")


@dataclass_transform(kw_only_default=True)
def _strategy(cls: type[T]) -> type[T]:
    """A dataclass of options that refuses any other, by name."""
    made: Any = dataclass(cls)
    known = {field.name: field for field in dataclasses.fields(made)}
    plain = made.__init__

    def initialize(self: Any, **options: Any) -> None:
        for name in options:
            _check_known(cls.__name__, name, known)
        plain(self, **options)

    def set_option(self: Any, name: str, value: Any) -> None:
        _check_known(cls.__name__, name, known)
        self.check(name, value)
        object.__setattr__(self, name, value)

    made.__init__, made.__setattr__ = initialize, set_option
    return cls


def _check_known(strategy: str, name: str, known: Any) -> None:
    if name not in known:
        raise UnknownOption(
            f"{strategy} has no option `{name}`", fix=f"use one of {', '.join(known)}",
            edit=nearest(name, known),
        )  # fmt: skip


@_strategy
class BuildStrategy:
    """How a program is prepared before it runs. Results stay equal to the bit.

    The exception is `fuse_ops`: fused kernels round differently.

    >>> BuildStrategy(enable_inplace=True).memory_reuse
    True
    """

    constant_folding: bool = True  # ops on known tensors are done once, when the program is built
    merge_equal_ops: bool = True  # of equal ops, one is done
    enable_inplace: bool = False  # without gradients, results overwrite what is needed no more
    memory_reuse: bool = True  # a tensor is freed after its last use, not at the end of the run
    fuse_ops: bool = True  # backends that compile may compile several ops as one, up to rounding

    def check(self, name: str, value: Any) -> None:
        """UnknownOption unless `value` is one that the option can have."""
        if type(value) is not bool:
            raise UnknownOption(f"`{name}` cannot be {value!r}", fix="give True or False")


@_strategy
class ExecutionStrategy:
    """How a program runs.

    >>> ExecutionStrategy(num_threads=1)
    ExecutionStrategy(num_threads=1, inference_mode=False)
    """

    num_threads: int | None = None  # of torch, during the run; None leaves them as they are
    inference_mode: bool = False  # nothing of the run is recorded for gradients

    def check(self, name: str, value: Any) -> None:
        """UnknownOption unless `value` is one that the option can have."""
        if name == "inference_mode" and type(value) is not bool:
            raise UnknownOption(f"`{name}` cannot be {value!r}", fix="give True or False")
        if name == "num_threads" and value is not None and (type(value) is not int or value < 1):
            raise UnknownOption(
                f"`{name}` cannot be {value!r}", fix="give a number from 1 on, or None"
            )
