"""report_of(): what is known of a function's captures, put together by source line."""

from __future__ import annotations

import collections
import linecache
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stator.capture.inputs import Argument
from stator.debug.report_contents import CaptureReport, Fact, Line
from stator.english import with_article
from stator.execute.backend import RegionState
from stator.execute.selection import Selection
from stator.location import Location
from stator.optimize.graph_rules import GraphRules
from stator.optimize.region_rules import CompiledRules
from stator.optimize.regions import RulesOf, outline
from stator.program.ir import Op, ops_in
from stator.program.opset.stator_ops import STATOR_ROWS
from stator.program.program import Program
from stator.program.structure import Mapping
from stator.program.types import TensorType
from stator.staging.trace import CaptureResult
from stator.state.decisions import Decision
from stator.state.effects import Effect
from stator.state.guards import NUMBERS
from stator.state.live_trees import HeldContainer
from stator.state.reads import Read

# the backends that run regions in their own way: their rules, and what becomes of a region
REGIONS: dict[str, tuple[RulesOf, str]] = {
    "inductor": (CompiledRules, "compiled as one"),
    "cudagraph": (GraphRules, "recorded as a CUDA graph"),
}
WORDS = {
    ("if", "recorded"): "a branch of the program: {}",
    ("while", "recorded"): "a loop of the program: {}",
    ("for", "recorded"): "a loop of the program: {}",
    ("try", "recorded"): "a try of the program: {}",
    ("call", "recorded"): "a function of the program: {}",
    ("if", "python"): "ran as Python: {}",
    ("while", "python"): "ran as Python: {}",
    ("for", "python"): "ran as Python: {}",
    ("for", "converted"): "ran as Python: {}",
    ("call", "library"): "calls {}, library code: not converted",
    ("call", "left alone"): "calls {}, not converted: `not_to_static`",
    ("call", "converted"): "calls {}, converted",
    ("call", "host call"): "calls {} in Python, in every run",
}


def capture_report(
    captured: CaptureResult,
    program: Program,
    because: str,
    selection: Selection | None = None,
    states: Sequence[RegionState] = (),
) -> CaptureReport:
    """What one capture did, what its program is made of, and what runs it.

    `states` says how far each region is, if there are any.
    """
    ops = [*program.ops()]
    calls = [one for one in captured.decisions if one.what == "call"]
    live = {slot.in_words() for slot in captured.live}
    reads = [read for read in captured.guards.reads if read.what not in live]
    return CaptureReport(
        because,
        tuple(f"{value.name}: {value.type}" for value in program.inputs),
        len(ops),
        _lines(captured.decisions[1:], ops),  # the first is the call of the function itself
        _named(calls, "converted"),
        (*_named(calls, "left alone"), *_named(calls, "library")),
        _counted(
            Fact(f"{r.what} is {r.expected!r}", _short(r.place)) for r in reads if _is_value(r)
        ),
        tuple(Fact(read.what, _short(read.place)) for read in reads if not _is_value(read)),
        tuple(map(Fact, sorted(live))),
        tuple(_open_sizes(program)),
        tuple(Fact(str(op.args[1]), _short(op.place)) for op in ops if op.name == "stator::demand"),
        _counted((*map(_effect, captured.effects), *_visible_effects(ops))),
        str(selection) if selection is not None else "",
        () if selection is None else _regions(program, selection.backend.name, states),
    )


def _regions(program: Program, backend: str, states: Sequence[RegionState]) -> tuple[Fact, ...]:
    """The regions of a program, and for how many ops each reason holds that they are in none."""
    if backend not in REGIONS:
        return ()
    rules, words = REGIONS[backend]
    outlined = outline(program, rules)
    is_same = [place for place, _ in states] == [op.place for op in outlined.regions]
    known = [state for _, state in states] if is_same else [""] * len(outlined.regions)
    regions = [
        Fact(f"a region of {_count(op)} ops, {words}{state and f' ({state})'}", _short(op.place))
        for op, state in zip(outlined.regions, known, strict=True)
    ]
    left_out = [
        Fact(f"{count} {'op is' if count == 1 else 'ops are'} in none: each {reason}")
        for reason, count in outlined.left_out.items()
    ]
    return (*regions, *left_out)


def _count(region: Op) -> int:
    """How many ops a region has, those of branches and loops included."""
    return sum(1 for _ in ops_in(region.blocks[0]))


def _lines(decisions: Iterable[Decision], ops: Sequence[Op]) -> tuple[Line, ...]:
    """Every line that something became of, in the order of the files' first mention."""
    found: dict[tuple[str, int], _LineFindings] = {}
    for decision in decisions:
        if decision.place is not None:
            _at(found, decision.place).notes[_in_words(decision)] += 1
    for op in ops:
        if op.place is not None:
            _at(found, op.place).ops += 1
    order = list(dict.fromkeys((one.place.file, one.place.function) for one in found.values()))
    lines = sorted(
        found.values(),
        key=lambda one: (order.index((one.place.file, one.place.function)), one.place.line),
    )
    return tuple(one.line() for one in lines)


@dataclass
class _LineFindings:
    place: Location
    notes: collections.Counter[str]
    ops: int = 0

    def line(self) -> Line:
        place = self.place
        source = linecache.getline(place.file, place.line).rstrip()
        notes = (text if n == 1 else f"{text} ({n} times)" for text, n in self.notes.items())
        return Line(place.file, place.line, place.function, source, tuple(notes), self.ops)


def _at(found: dict[tuple[str, int], _LineFindings], place: Location) -> _LineFindings:
    return found.setdefault((place.file, place.line), _LineFindings(place, collections.Counter()))


def _in_words(decision: Decision) -> str:
    return WORDS[decision.what, decision.choice].format(decision.why)


def _named(calls: Iterable[Decision], choice: str) -> tuple[Fact, ...]:
    first = {
        one.why: one.defined or one.place
        for one in reversed([c for c in calls if c.choice == choice])
    }
    return tuple(Fact(name, _short(place)) for name, place in reversed(first.items()))


def _counted(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Each fact once, with the number of times where there are several."""
    counts = collections.Counter(facts)
    return tuple(
        fact if count == 1 else Fact(f"{fact.what} ({count} times)", fact.place)
        for fact, count in counts.items()
    )


def _is_value(read: Read) -> bool:
    return isinstance(read.expected, (*NUMBERS, str, bytes)) and not read.names


def _open_sizes(program: Program) -> Iterator[Fact]:
    for value in program.inputs:
        if isinstance(value.type, TensorType):
            for dimension, size in enumerate(value.type.shape):
                if not isinstance(size, int):
                    yield Fact(f"{value.name}.shape[{dimension}], called {size} in the program")


def _effect(effect: Effect) -> Fact:
    keys = effect.state.keys if isinstance(effect.state, Mapping) else ()
    names = ", ".join(f"`{key}`" for key in (*keys, *effect.deleted))
    if isinstance(effect.target, Argument):
        what = "changes an argument" + (f": {names}" if names else "")
    elif isinstance(effect.target, HeldContainer):
        what = f"changes what {effect.target.slot.in_words()} holds" + (
            f": {names}" if names else ""
        )
    elif isinstance(effect.target, types.CellType):
        what = "sets a variable of an enclosing function"
    else:
        what = f"sets {names or 'the items'} of {with_article(type(effect.target).__name__)}"
    return Fact(what, _short(effect.place))


def _visible_effects(ops: Iterable[Op]) -> Iterator[Fact]:
    for op in ops:
        row = STATOR_ROWS.get(op.name)
        if row is not None and row.verb:
            yield Fact(row.verb, _short(op.place))


def _short(place: Location | None) -> str:
    return place.short if place is not None else ""


def fact_at(what: str, place: Location | None) -> Fact:
    """A fact, with the line that it comes from."""
    return Fact(what, _short(place))
