"""Programs for the passes: captured from functions, and run beside what a pass made of them."""

from collections.abc import Callable
from typing import Any

import torch

import stator
from stator.execute.interpreter import run
from stator.program.ir import ops_in
from stator.program.program import Program
from stator.program.verifier import verify


def capture(function: Callable[..., Any], *tensors: torch.Tensor) -> Any:
    """The capture of `function` for these tensors: `.program` and `.tensors`."""
    return stator.to_static(function).capture(list(tensors))


def names(program: Program) -> list[str]:
    """The ops of `program`, those in blocks included."""
    return [op.name for op in ops_in(program.body)]


def count(program: Program, name: str) -> int:
    """How often an op stands in `program`."""
    return names(program).count(name)


def outputs(program: Program, tensors: Any, *inputs: torch.Tensor) -> tuple[Any, ...]:
    """What `program`, which must be sound, gives for copies of these inputs."""
    return run(verify(program), [one.clone() for one in inputs], tensors)


def same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Are two results equal to the bit?"""
    return len(one) == len(other) and all(
        torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b
        for a, b in zip(one, other, strict=True)
    )
