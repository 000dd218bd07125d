"""compile_region(): a region as compiled code for one layout of its inputs.

The block of the region is run on tensors without data, and torch traces what it does: the forward
ops, or the forward and the backward ones. Inductor compiles the graphs. What it assumes of dynamic
sizes on the way is a check that each new combination of sizes is put to.
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from stator.inductor.definitions import DEFINITIONS
from stator.inductor.layouts import DynamicSize, RegionLayout, SizeRule, StrideAfter
from stator.program.ir import Arg, Block, Value
from stator.program.registry import constant_of, resolve

Boxed = Callable[[list[Any]], Sequence[Any]]  # takes a list of arguments, which it empties
INTEGERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "stator::add": operator.add,
        "stator::sub": operator.sub,
        "stator::mul": operator.mul,
        "stator::neg": operator.neg,
        "stator::min": lambda *items: _folded(torch.sym_min, items),
        "stator::max": lambda *items: _folded(torch.sym_max, items),
    }
)


@dataclass(frozen=True)
class CompiledBackward:
    """The backward pass of a region."""

    run: Boxed
    saved: tuple[int, ...]  # of its inputs: the output of the forward pass, -1 for gradients
    orders: tuple[tuple[int, ...], ...]  # of each gradient: its dimensions, innermost first


@dataclass(frozen=True)
class CompiledCode:
    """A region for one layout. It is called with the tensors, then the dynamic integers."""

    layout: RegionLayout
    forward: Boxed
    holds_for: Callable[[Sequence[int]], bool]  # dynamic sizes, in order
    differentiable: tuple[bool, ...]  # of each result: whether it may carry a gradient
    backward: CompiledBackward | None = None


def compile_region(block: Block, inputs: Sequence[Value], layout: RegionLayout) -> CompiledCode:
    """Compiled code for `block`, whose inputs are tensors, then integers."""
    torchs = _inductor()
    sizes = torchs.DynamicSizes()
    given = _without_data(layout, sizes)
    function = _function(block, inputs, layout)
    with sizes.mode, torch.set_grad_enabled(layout.requires_grad):
        differentiable = tuple(bool(result.requires_grad) for result in function(*given))
    if not any(differentiable):
        given = [v.detach() if isinstance(v, torch.Tensor) else v for v in given]
        forward = torchs.compile_graph(torchs.trace_forward(function, given), is_inference=True)
        return CompiledCode(layout, forward, sizes.check(), differentiable)
    graphs = torchs.trace_training(function, given, len(differentiable))
    if len(graphs.orders) != sum(differentiable):
        raise NotImplementedError("there are more gradients than results that carry one")
    forward = torchs.compile_graph(graphs.forward)
    backward = torchs.compile_graph(graphs.backward, is_backward=True)
    return CompiledCode(
        layout, forward, sizes.check(), differentiable,
        CompiledBackward(backward, graphs.saved, graphs.orders),
    )  # fmt: skip


def compile_fixed(
    block: Block, inputs: Sequence[Value], layout: RegionLayout, places: Sequence[int | None]
) -> Boxed:
    """Compiled code for `block` and a layout in which nothing is dynamic, without gradients.

    `places` has, for each result that is written to an input, the number of the input. Numbers from
    the count of tensors on are arguments that are added for it.
    """
    torchs = _inductor()
    sizes = torchs.DynamicSizes()
    graph = torchs.trace_forward(
        _function(block, inputs, layout), [v.detach() for v in _without_data(layout, sizes)]
    )
    torchs.write_results(graph, places)
    compiled: Boxed = torchs.compile_graph(graph, is_inference=True)
    return compiled


def is_portable() -> bool:
    """Whether libraries are for other processors than the one here."""
    return bool(_inductor().is_portable())


def write_library(
    block: Block, inputs: Sequence[Value], layout: RegionLayout, file: Path
) -> str | None:
    """Compiles `block` to a library that needs no Python, for runs without gradients.

    It takes tensors only: in the place of each dynamic integer one of that size, of dtype int8.
    What it has assumed of the dynamic sizes is returned, as an expression.
    """
    torchs = _inductor()
    sizes = torchs.DynamicSizes()
    given = _without_data(layout, sizes)
    tensors, numbers = given[: len(layout.tensors)], given[len(layout.tensors) :]
    device = layout.tensors[0].device
    carriers = [
        sizes.tensor([number], [0], torch.int8, device, requires_grad=False) for number in numbers
    ]
    function = _function(block, inputs, layout)

    def of_tensors(*values: torch.Tensor) -> list[Any]:
        return function(*values[: len(tensors)], *(one.shape[0] for one in values[len(tensors) :]))

    graph = torchs.trace_forward(of_tensors, [one.detach() for one in (*tensors, *carriers)])
    torchs.write_library(graph, sizes, str(file))
    found: str | None = sizes.assumptions()
    return found


def library_runner(
    file: Path, layout: RegionLayout
) -> Callable[[Sequence[torch.Tensor], Sequence[int]], list[torch.Tensor]]:
    """A library of `write_library` as a function of tensors and integers."""
    device = layout.tensors[0].device
    run = _inductor().library_runner(str(file), device.type)
    dynamic = [isinstance(rule, DynamicSize) for rule in layout.numbers]

    def call(tensors: Sequence[torch.Tensor], numbers: Sequence[int]) -> list[torch.Tensor]:
        one = torch.zeros(1, dtype=torch.int8, device=device)
        carriers = [one.expand(n) for n, is_given in zip(numbers, dynamic, strict=True) if is_given]
        found: list[torch.Tensor] = run([*tensors, *carriers])
        return found

    return call


def _function(
    block: Block, inputs: Sequence[Value], layout: RegionLayout
) -> Callable[..., list[Any]]:
    """`block` as a function of its tensors, then its dynamic integers."""
    numbers = dict(zip(inputs[len(layout.tensors) :], layout.numbers, strict=True))
    fixed = {value: rule for value, rule in numbers.items() if isinstance(rule, int)}
    taken = [value for value in inputs if value not in fixed]

    def function(*values: Any) -> list[Any]:
        given = {**fixed, **dict(zip(taken, values, strict=True))}
        return run_ops(block, given, {**INTEGERS, **DEFINITIONS})

    return function


def _inductor() -> Any:
    """Torch's compiler; it takes a second or two to import, which only compiling needs."""
    return importlib.import_module("stator.torch_private.inductor")


def run_ops(
    block: Block, values: dict[Value, Any], defined: Mapping[str, Callable[..., Any]] = INTEGERS
) -> list[Any]:
    """What the ops of a region's block give, called one by one."""
    for op in block.ops:
        function = defined.get(op.name) or resolve(op.name)
        args = [_read(arg, values) for arg in op.args]
        found = function(*args, **{name: _read(a, values) for name, a in op.attributes.items()})
        is_one = len(op.results) == 1 and not isinstance(found, list | tuple)
        values.update(zip(op.results, (found,) if is_one else found, strict=True))
    return [_read(arg, values) for arg in block.outputs]


def _read(arg: Arg, values: Mapping[Value, Any]) -> Any:
    if isinstance(arg, tuple):
        return [_read(item, values) for item in arg]
    return values[arg] if isinstance(arg, Value) else constant_of(arg)


def _without_data(layout: RegionLayout, sizes: Any) -> list[Any]:
    """The inputs of a region, with dynamic sizes and without data."""
    dynamic = [sizes.new(example) for example in layout.examples]

    def size(rule: SizeRule) -> Any:
        return dynamic[rule.number] if isinstance(rule, DynamicSize) else rule

    given: list[Any] = []
    for tensor in layout.tensors:
        shape = [size(rule) for rule in tensor.sizes]
        strides: dict[int, Any] = {}
        waiting = list(enumerate(tensor.strides))
        while waiting:
            place, rule = waiting.pop(0)
            if not isinstance(rule, StrideAfter):
                strides[place] = size(rule)
            elif rule.dimension in strides:
                strides[place] = strides[rule.dimension] * shape[rule.dimension]
            else:
                waiting.append((place, rule))
        given.append(
            sizes.tensor(
                shape, [strides[place] for place in range(len(shape))], tensor.dtype,
                tensor.device, requires_grad=tensor.requires_grad,
            )
        )  # fmt: skip
    return [*given, *(size(rule) for rule in layout.numbers if isinstance(rule, DynamicSize))]


def _folded(function: Callable[[Any, Any], Any], items: Sequence[Any]) -> Any:
    result = items[0]
    for item in items[1:]:
        result = function(result, item)
    return result
