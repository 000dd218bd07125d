"""bench: an object eagerly and as a program, on the same inputs."""

from __future__ import annotations

import copy
import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from rich.console import Console
from rich.text import Text

from stator.api.static_function import StaticFunction
from stator.api.translated import run_method
from stator.cli.failures import FOUND, OK, CommandFailure, user_code
from stator.cli.inputs import Arguments, load_call
from stator.cli.objects import CommandSubject
from stator.cli.origin import Origin
from stator.cli.running import named_parts, prepared_call
from stator.cli.screen import CommandOutcome, columns, show_table, time_text, working
from stator.cli.targets import is_object
from stator.english import counted
from stator.export.saved_model import read_model

Call = Callable[[], Any]


@dataclass(frozen=True)
class Contender:
    """One way to run the same thing."""

    name: str
    call: Call


@dataclass(frozen=True)
class Timing:
    """What was measured of one contender, in seconds for each call."""

    name: str
    first: float  # the first call: capture, compilation
    median: float
    spread: float  # of the middle half of the rounds
    calls: int  # in each round


def bench(
    target: str,
    origin: Origin,
    method: str,
    compiled: bool,
    backward: bool,
    rounds: int,
    seconds: float,
) -> CommandOutcome:
    """Medians over alternating rounds, after every contender was shown to give the same."""
    if is_object(target):
        contenders = _of_object(*load_call(target, origin), compiled, backward)
    elif compiled or origin.init:
        raise CommandFailure("a saved model is timed alone: it takes no --compile or --init",
                      fix="name an object as file.py:Name, or leave them out")  # fmt: skip
    else:
        contenders = _of_model(target, method, origin, backward)
    with torch.set_grad_enabled(backward):
        with working("first calls", len(contenders)) as step:
            first, results = _first_calls(contenders, origin.seed, step)
        differ = [
            name for name in results if not _is_close(results[name], results[_first(results)])
        ]
        with working("timing", rounds) as step:
            timings = _measured(contenders, first, rounds, seconds, step)
    return CommandOutcome(
        _data(target, timings, differ, rounds),
        lambda screen: _show(screen, timings, differ, rounds),
        FOUND if differ else OK,
    )


def _of_object(
    subject: CommandSubject, given: Arguments, compiled: bool, backward: bool
) -> list[Contender]:
    specs = [one.spec for one in given.positional]

    def contender(name: str, make: Callable[[Any], Any]) -> Contender:
        """Each has a copy of the module: a run may change its buffers."""
        function = make(copy.deepcopy(subject.function))
        args, kwargs = copy.deepcopy((given.args, given.kwargs))
        return Contender(name, _call(function, args, kwargs, backward))

    found = [
        contender("eager", lambda function: function),
        contender("program", lambda function: StaticFunction(function, specs)),
    ]
    return [*found, contender("torch.compile", torch.compile)] if compiled else found


def _of_model(target: str, method: str, origin: Origin, backward: bool) -> list[Contender]:
    layer, args, kwargs = prepared_call(read_model(target), method, origin, "cpu")
    return [Contender("saved", _call(run_method, (layer, method, *args), kwargs, backward))]


def _call(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], backward: bool) -> Call:
    def forward() -> Any:
        return function(*args, **kwargs)

    def both() -> Any:
        result = function(*args, **kwargs)
        parts = named_parts(result).values()
        total = sum(part.sum() for part in parts if _has_gradient(part))
        if isinstance(total, torch.Tensor):
            total.backward()
        return result

    return both if backward else forward


def _has_gradient(part: Any) -> bool:
    return isinstance(part, torch.Tensor) and part.requires_grad and not part.is_complex()


def _first_calls(
    contenders: Sequence[Contender], seed: int, step: Call
) -> tuple[dict[str, float], dict[str, Any]]:
    """How long the first call of each takes, and what it gives, from the same random state."""
    times, results = {}, {}
    for one in contenders:
        torch.manual_seed(seed)
        with user_code(f"{one.name} could not be run"):
            started = time.perf_counter()
            results[one.name] = one.call()
            times[one.name] = time.perf_counter() - started
        step()
    return times, results


def _first(results: Mapping[str, Any]) -> str:
    return next(iter(results))


def _is_close(result: Any, other: Any) -> bool:
    mine, others = named_parts(result), named_parts(other)
    if list(mine) != list(others):
        return False
    return all(_is_close_part(mine[name], others[name]) for name in mine)


def _is_close_part(mine: Any, other: Any) -> bool:
    if not (isinstance(mine, torch.Tensor) and isinstance(other, torch.Tensor)):
        return type(mine) is type(other) and (mine == other or mine != mine)
    try:
        torch.testing.assert_close(mine, other, equal_nan=True)
    except AssertionError:
        return False
    return True


def _measured(
    contenders: Sequence[Contender],
    first: Mapping[str, float],
    rounds: int,
    seconds: float,
    step: Call,
) -> list[Timing]:
    """Contenders alternate; each is called as often as fills the time of a round."""
    taken: dict[str, list[float]] = {one.name: [] for one in contenders}
    with user_code("it could not be timed"):
        counts = {one.name: _calls_in(one.call, seconds) for one in contenders}
        for _ in range(rounds):
            gc.collect()
            for one in contenders:
                taken[one.name].append(_seconds_for(one.call, counts[one.name]))
            step()
    return [
        Timing(
            one.name, first[one.name], statistics.median(taken[one.name]),
            _spread(taken[one.name]), counts[one.name],
        )
        for one in contenders
    ]  # fmt: skip


def _calls_in(call: Call, seconds: float) -> int:
    """How many calls take about `seconds`; the calls also warm it up."""
    once = min(_seconds_for(call, 1) for _ in range(3))
    return max(1, round(seconds / once)) if once > 0 else 1


def _seconds_for(call: Call, count: int) -> float:
    started = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - started) / count


def _spread(times: Sequence[float]) -> float:
    if len(times) < 2:
        return 0.0
    quarters = statistics.quantiles(times, n=4, method="inclusive")
    return quarters[2] - quarters[0]


def _data(
    target: str, timings: Sequence[Timing], differ: Sequence[str], rounds: int
) -> dict[str, Any]:
    base = timings[0].median
    contenders = [
        {
            "name": one.name, "first_call": one.first, "median": one.median, "spread": one.spread,
            "calls_in_a_round": one.calls, "ratio": one.median / base,
            "agrees": one.name not in differ,
        }
        for one in timings
    ]  # fmt: skip
    return {"target": target, "rounds": rounds, "threads": torch.get_num_threads(),
            "contenders": contenders}  # fmt: skip


def _show(screen: Console, timings: Sequence[Timing], differ: Sequence[str], rounds: int) -> None:
    headers = ("", "median", "spread", "first call", f"of {timings[0].name}'s")
    table = columns(*headers, right=headers[1:])
    for one in timings:
        ratio = f"{one.median / timings[0].median:.2f}"
        numbers = map(time_text, (one.median, one.spread, one.first))
        table.add_row(Text(one.name, style="bold"), *numbers, ratio)
    show_table(screen, table, indent=0)
    threads = counted(torch.get_num_threads(), "thread")
    screen.print(f"{counted(rounds, 'round')}, alternating; {threads}")
    for name in differ:
        screen.print(Text(f"{name} gives another result than {timings[0].name}", style="bold red"))
