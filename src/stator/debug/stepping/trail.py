"""Trail: where a run is: the ops that have begun, the iterations of loops, the functions' lines."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stator.debug.stepping.reading import read_variables
from stator.debug.stepping.variables import FunctionVariables, Scene, Scenes
from stator.execute.observing import Seen
from stator.location import Location, shown_file
from stator.program.ir import Block, Op
from stator.program.program import Program


@dataclass
class Level:
    """An op that has begun and not ended."""

    op: Op
    values: Seen
    block: int = -1  # which of its blocks runs
    iterations: int = 0  # how often one of them was entered

    @property
    def in_words(self) -> str:
        """`iteration 3 of the loop at line 9`."""
        at = f" at line {self.op.place.line}" if self.op.place is not None else ""
        if self.op.name == "stator::while":
            return f"iteration {self.iterations} of the loop{at}"
        names = BLOCKS.get(self.op.name, ("inside",))
        return f"{names[min(self.block, len(names) - 1)]}{at}"


BLOCKS = {
    "stator::if": ("the true side of the branch", "the false side of the branch"),
    "stator::region": ("a region",),
    "stator::try": ("the body of the try", "a handler of the try"),
}


@dataclass(frozen=True)
class TrailLine:
    """One function of the user's that runs, and the line where it is."""

    place: Location
    variables: Mapping[str, Any]
    blocks: tuple[str, ...]  # the loops and branches of the program it is in, in words
    iterations: tuple[int, ...]  # of the loops of the program around this line

    @property
    def source(self) -> str:
        """The text of the line."""
        return linecache.getline(self.place.file, self.place.line).strip()

    def __str__(self) -> str:
        inside = f" ({', '.join(self.blocks)})" if self.blocks else ""
        head = f"{shown_file(self.place.file)}:{self.place.line}, in {self.place.function}{inside}"
        return f"{head}\n    {self.source}" if self.source else head


@dataclass(frozen=True)
class Standing:
    """A function of the user's in the middle of a run."""

    activation: FunctionVariables
    values: Seen
    levels: tuple[Level, ...]  # of the loops and branches that it has entered

    @property
    def iterations(self) -> tuple[int, ...]:
        """The iterations of the loops among these; the first is 1."""
        return tuple(level.iterations for level in self.levels if level.op.name == "stator::while")


class Trail:
    """Follows one program; its `begin`, `enter`, `end` and `fail` are those of an observer."""

    def __init__(self, program: Program, scenes: Scenes | None) -> None:
        self.program = program
        self.scenes = scenes or Scenes()
        self.levels: list[Level] = []

    def begin(self, op: Op, values: Seen) -> None:
        """`op` is about to run."""
        self.levels.append(Level(op, values))

    def enter(self, block: Block) -> None:
        """A block of the op that began last is about to run."""
        if self.levels:
            level = self.levels[-1]
            found = [k for k, one in enumerate(level.op.blocks) if one is block]
            level.block, level.iterations = (found or [0])[0], level.iterations + 1

    def end(self) -> None:
        """The op that began last has ended, one way or another."""
        self.levels.pop()

    def scene(self, op: Op) -> Scene:
        """The functions that run at `op`, within its function of the program."""
        found = self.scenes.at.get(op)
        if found is not None:
            return found
        return (FunctionVariables(op.place, {}),) if op.place is not None else ()

    def standing(self, scene: Scene, values: Seen) -> list[Standing]:
        """All the user's functions that run now, the outermost first; the last ones are `scene`."""
        found: list[Standing] = []
        entered: list[Level] = []
        for level in self.levels:
            if level.block < 0:
                continue
            if level.op.name == "stator::call":
                found += self._stand(self.scene(level.op), level.values, entered)
                entered = []
            else:
                entered.append(level)
        return found + self._stand(scene, values, entered)

    def _stand(self, scene: Scene, values: Seen, entered: list[Level]) -> list[Standing]:
        """The functions of `scene`; a loop belongs to the function in which its line is."""
        depths = [(level, len(self.scene(level.op))) for level in entered]
        return [
            Standing(activation, values, tuple(level for level, d in depths if d <= depth))
            for depth, activation in enumerate(scene, 1)
        ]

    def line(self, standing: Standing) -> TrailLine:
        """Where a function is, and what its names hold."""
        held = self.read(standing.activation, standing.values)
        blocks = tuple(level.in_words for level in standing.levels)
        return TrailLine(standing.activation.place, held, blocks, standing.iterations)

    def read(self, activation: FunctionVariables, values: Seen) -> dict[str, Any]:
        """What the names of a function hold; of a program without names, its inputs."""
        if self.scenes.at:
            return read_variables(activation.variables, values, self.scenes.classes)
        return {value.name: values[value] for value in self.program.inputs if value in values}
