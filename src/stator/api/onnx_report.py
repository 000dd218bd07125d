"""OnnxReport: what was checked of an ONNX model that was written, and how it prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MOST_LISTED = 5  # paths that no input takes


@dataclass(frozen=True)
class OnnxPaths:
    """The paths of a program's branches and loops: those that the compared runs take."""

    taken: int
    missing: tuple[str, ...] = ()  # that no input takes, in words
    searched: int = 0  # runs on inputs that were searched for
    unstable: int = 0  # such inputs that were left out: a rounding changes what the program gives
    problem: str = ""  # why none were searched for


@dataclass(frozen=True)
class OnnxReport:
    """A model that was written: what was checked, and what a reader of it should know."""

    file: Path
    opset: int
    runs: int  # on example, drawn and searched inputs, each equal to the program
    raised: int  # of those, runs that report an error where the program raises
    endless: int  # drawn inputs that were left out: the program took too long
    undefined: int  # others: torch's result means nothing, and the model reports an error
    differences: Mapping[int, float] = field(default_factory=dict)  # greatest, by output
    messages: tuple[str, ...] = ()  # errors that the model can report
    states: tuple[str, ...] = ()  # buffers and inputs whose next contents are outputs
    dropped: tuple[str, ...] = ()  # what the model leaves out
    recursion: int = 0  # calls inside each other, beyond which the model reports an error
    gaps: tuple[str, ...] = ()  # sizes 0 that the program takes and ONNX Runtime does not
    examples: int = 0  # of the runs, those on the user's example inputs
    paths: OnnxPaths | None = None  # None for a program that never chooses, or without a search

    def __str__(self) -> str:
        return "\n".join([f"{self.file.name}  (opset {self.opset})", *self.findings()])

    def findings(self) -> list[str]:
        """A line for each check, each output, and each thing that a reader should know."""
        return [*self._run_lines(), *self._path_lines(), *self._notes()]

    def _run_lines(self) -> Iterator[str]:
        yield "  ✓ onnx.checker"
        if self.runs:
            examples = f"{self.examples} on example inputs, " if self.examples else ""
            yield (f"  ✓ ONNX Runtime equals the program in {self.runs} runs, {examples}"
                   f"{self.raised} of them with an error")  # fmt: skip
        else:
            yield "  ✗ ONNX Runtime was not compared with the program: no run ended"
        if self.endless:
            yield f"  - {self.endless} drawn inputs left out: the program took too long"
        if self.undefined:
            yield f"  - {self.undefined} drawn inputs left out: what torch gives is undefined"

    def _path_lines(self) -> Iterator[str]:
        if self.paths is None:
            return
        if self.paths.problem:
            yield f"  - no inputs were searched for other paths: {self.paths.problem}"
            return
        every = self.paths.taken + len(self.paths.missing)
        yield (f"  ✓ paths of branches and loops: {self.paths.taken} of {every} compared, "
               f"with {self.paths.searched} inputs searched for them")  # fmt: skip
        if self.paths.unstable:
            yield (f"  - {self.paths.unstable} inputs left out: a rounding changes what the "
                   "program gives")  # fmt: skip
        for text in self.paths.missing[:MOST_LISTED]:
            yield f"  - no input found for {text}"
        if len(self.paths.missing) > MOST_LISTED:
            yield f"  - and for {len(self.paths.missing) - MOST_LISTED} more"

    def _notes(self) -> Iterator[str]:
        yield from (f"  output {k}: greatest difference {d:.2g}"
                    for k, d in self.differences.items())  # fmt: skip
        yield from (f"  status {n}: {text}" for n, text in enumerate(self.messages, 1))
        yield from (f"  state: {name} -> {name}.next" for name in self.states)
        yield from (f"  left out: {text}" for text in self.dropped)
        if self.recursion:
            yield f"  recursion: up to {self.recursion} calls inside each other"
        yield from (f"  - a tensor without elements: {text}" for text in self.gaps)
