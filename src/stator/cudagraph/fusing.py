"""GraphFusion: the compiled code for runs of ops inside a graph.

    recording -> a run of ops that is to be compiled (`stator::region`)
                 code for the layout of its tensors is there    call it
                 none is there                                  run the ops, and note it

What is missing is compiled in the background, run once on random tensors, and held against the ops.
Then the region is recorded again. Everything is fixed in a recording, so a layout has no dynamic
sizes, and results may be written straight to the memory of a loop.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from stator.english import in_one_line
from stator.inductor.checking import agree, same_strides, share_memory
from stator.inductor.compiling import Boxed, compile_fixed, run_ops
from stator.inductor.layouts import RegionLayout, TensorLayout
from stator.program.ir import Op
from stator.program.program import Program
from stator.program.regions import tensors_first

Compile = Callable[..., Boxed]


class Unfused(Exception):  # why, in the words of a failure
    """Compiled code is not to be used."""


@dataclass(frozen=True)
class FusedLayout:
    """A run of ops, the layout of what it takes, and the inputs that its results are written to."""

    op: Op
    inputs: RegionLayout
    places: tuple[int | None, ...]


@dataclass(frozen=True)
class FusedCode:
    """Compiled code; it takes tensors, then the places that are no inputs."""

    run: Boxed
    places: tuple[int | None, ...]


@dataclass(eq=False)
class GraphFusion:
    """The compiled code of one region, for all its recordings."""

    program: Program  # the region, outlined
    compile: Compile = compile_fixed
    failure: str = ""
    is_told: bool = False  # whether the user knows of it
    missing: list[FusedLayout] = field(default_factory=list)  # of the recording that is being made
    _codes: dict[tuple[Op, RegionLayout], FusedCode] = field(default_factory=dict)

    @property
    def layouts(self) -> int:
        """How many runs of ops there is code for."""
        return len(self._codes)

    def code_for(
        self, op: Op, tensors: Sequence[torch.Tensor], numbers: Sequence[int]
    ) -> FusedCode | None:
        """The code for a run of ops, if it is there."""
        return self._codes.get((op, fixed_layout(tensors, numbers)))

    def note(
        self,
        op: Op,
        tensors: Sequence[torch.Tensor],
        numbers: Sequence[int],
        results: Sequence[torch.Tensor],
        wanted: Sequence[torch.Tensor | None],
    ) -> None:
        """Code is missing: for these inputs, with results in the places where they are wanted."""
        places: list[int | None] = []
        added = len(tensors)
        for result, place in zip(results, wanted, strict=True):
            if place is None or not _is_alike(result, place):
                places.append(None)
                continue
            known = next((n for n, one in enumerate(tensors) if one is place), None)
            places.append(added if known is None else known)
            added += known is None
        self.missing.append(FusedLayout(op, fixed_layout(tensors, numbers), tuple(places)))

    def compile_all(self, layouts: Sequence[FusedLayout]) -> None:
        """Compile what a recording was missing; what goes wrong is a failure."""
        with self.attempt():
            for layout in layouts:
                key = (layout.op, layout.inputs)
                if key not in self._codes and not self.failure:
                    self._codes[key] = self._compiled(layout)

    @contextlib.contextmanager
    def attempt(self) -> Iterator[None]:
        """What goes wrong inside is a failure, and no error."""
        try:
            yield
        except Unfused as error:
            self.failure = str(error)
        except Exception as error:  # noqa: BLE001  # torch's compiler may raise anything
            self.failure = in_one_line(error)

    def _compiled(self, layout: FusedLayout) -> FusedCode:
        """Code that has run once, with the results of the ops."""
        block, inputs = layout.op.blocks[0], tensors_first(layout.op)
        run = self.compile(block, inputs, layout.inputs, layout.places)
        tensors = [_some(tensor) for tensor in layout.inputs.tensors]
        with torch.no_grad():
            expected = run_ops(
                block, dict(zip(inputs, [*tensors, *layout.inputs.numbers], strict=True))
            )
            code = FusedCode(run, layout.places)
            added = [
                torch.empty_like(one)
                for one, place in zip(expected, layout.places, strict=True)
                if place is not None and place >= len(tensors)
            ]
            found = results_of(code, tensors, added, list(run([*tensors, *added])))
        if not agree(found, expected):
            raise Unfused("its results differ from those of the ops")
        fresh = [one for one, place in zip(found, layout.places, strict=True) if place is None]
        if not same_strides(found, expected) or share_memory(fresh, tensors):
            raise Unfused("its results have another memory layout than those of the ops")
        return code


def results_of(
    code: FusedCode,
    tensors: Sequence[torch.Tensor],
    added: Sequence[torch.Tensor],
    given: Sequence[torch.Tensor],
) -> list[torch.Tensor]:
    """All results of code that was run: those that it gave, and those that it wrote."""
    places, rest = [*tensors, *added], iter(given)
    return [next(rest) if place is None else places[place] for place in code.places]


def fixed_layout(tensors: Sequence[torch.Tensor], numbers: Sequence[int]) -> RegionLayout:
    """A layout in which every size is what it is."""
    layouts = (
        TensorLayout(one.dtype, one.device, False, tuple(one.shape), one.stride())
        for one in tensors
    )
    return RegionLayout(tuple(layouts), tuple(numbers), ())


def _is_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    return (one.shape, one.stride(), one.dtype) == (other.shape, other.stride(), other.dtype)


def _some(layout: TensorLayout) -> Any:
    """Random values in this layout."""
    sizes, strides = layout.sizes, layout.strides
    pairs = [(int(n), int(s)) for n, s in zip(sizes, strides, strict=True)]  # type: ignore[arg-type]
    extent = 1 + sum((n - 1) * s for n, s in pairs)
    own = torch.Generator(layout.device).manual_seed(0)  # the caller's goes on as if nothing was
    if layout.dtype.is_floating_point:
        memory = torch.randn(extent, device=layout.device, generator=own).to(layout.dtype)
    else:
        memory = torch.randint(0, 2, (extent,), device=layout.device, generator=own)
        memory = memory.to(layout.dtype)
    return memory.as_strided([n for n, _ in pairs], [s for _, s in pairs])
