"""The story, told with equalities that are checked: any difference ends it with an error."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from rich.console import Console, Group
from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from safetensors.torch import load_file, save_file
from torch import nn

import stator
from demo import predict
from demo.models import Classifier, PatientClassifier
from demo.one_file import TOLERANCE, write_and_compare
from demo.training import SEED, Digits, Run, accuracy, train
from demo.without_python import TOOLS, call_times, run_by_command
from stator import InputSpec, StaticFunction

SPEC = [InputSpec([None, 64], "float32", "x")]
MOST_LINES = 48


@dataclass(frozen=True)
class Chapter:
    """One model: how its two trainings went."""

    name: str
    eager_model: nn.Module
    static_model: nn.Module
    eager: Run
    static: Run
    accuracy: float


@dataclass(frozen=True)
class Reloaded:
    """One saved model, used by a process that never saw its class."""

    losses: list[float]
    seconds: float
    size: int


@dataclass(frozen=True)
class Calls:
    """What a call for one digit takes with each tool, in microseconds."""

    times: dict[str, float]
    process: float | None  # seconds of a process of `stator-run`, if that is built


def require(equal: bool, claim: str, console: Console) -> None:
    """Print a claim that holds; end the demo at one that does not."""
    if not equal:
        console.print(f"[bold red]✗ not so: {claim}")
        sys.exit(1)
    console.print(f"[green]✓[/] {claim}")


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    """Whether two models hold the same parameters, to the last bit."""
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def train_both_ways(name: str, make: type[nn.Module], digits: Digits, console: Console) -> Chapter:
    """Train twice from the same start: as it is, and converted by `to_static`."""
    torch.manual_seed(SEED)
    eager_model = make()
    static_model = stator.to_static(copy.deepcopy(eager_model), input_spec=SPEC)
    columns = TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        runs = []
        for how, model in (("eager", eager_model), ("static", static_model)):
            task = progress.add_task(f"{name}, {how}", total=digits.steps)
            runs.append(train(model, digits, partial(progress.advance, task)))
    eager, static = runs
    require(eager.losses == static.losses, f"{len(eager.losses)} equal losses", console)
    require(eager.looks == static.looks, "the same number of looks at every step", console)
    require(same_weights(eager_model, static_model), "equal weights, to the last bit", console)
    return Chapter(name, eager_model, static_model, eager, static, accuracy(static_model, digits))


def show_inside(chapter: Chapter, console: Console) -> None:
    """Print the Python that the rewrite made and the program that was captured."""
    forward = chapter.static_model.forward
    assert isinstance(forward, StaticFunction)
    for title, text in (
        ("what the rewrite made of forward: the same Python, each choice now a call", forward.code),
        ("what was captured: one program, whatever the data", str(forward.program)),
    ):
        console.print(Panel(shortened(text), title=title, title_align="left", border_style="dim"))


def shortened(text: str) -> Group:
    """Highlighted text, its first lines if there are many."""
    lines = text.strip().splitlines()
    shown = Syntax("\n".join(lines[:MOST_LINES]), "python", background_color="default")
    rest = len(lines) - MOST_LINES
    return Group(shown, Text(f"… {rest} more lines", style="dim")) if rest > 0 else Group(shown)


def save_and_use_elsewhere(
    chapter: Chapter, digits: Digits, folder: Path, console: Console
) -> Reloaded:
    """Save; load, predict and fine-tune in a new process; compare with the eager model here."""
    chapter.static_model.eval()
    chapter.eager_model.eval()
    stator.save(chapter.static_model, folder / chapter.name, input_spec=SPEC)
    files = sorted(folder.glob(f"{chapter.name}.*"))
    console.print(f"saved: {', '.join(file.name for file in files)}")
    size = sum(file.stat().st_size for file in files)
    save_file({"x": digits.test_x, "y": digits.test_y}, folder / "digits.safetensors")

    started = time.perf_counter()
    losses = json.loads(run_elsewhere(folder, chapter.name))
    seconds = time.perf_counter() - started

    with torch.no_grad():
        here = predict.logits_of(chapter.eager_model(digits.test_x))
    there = load_file(folder / f"{chapter.name}.predicted.safetensors")["logits"]
    require(torch.equal(here, there), f"{len(here)} equal predictions in a new process", console)
    tuned = predict.fine_tune(copy.deepcopy(chapter.eager_model), digits.test_x, digits.test_y)
    require(losses == tuned, f"{len(tuned)} equal losses in fine-tuning it there", console)
    return Reloaded(losses, seconds, size)


def use_without_python(chapter: Chapter, digits: Digits, folder: Path, console: Console) -> Calls:
    """Run the saved model by `stator-run`, compare, and time a call with each tool."""
    models = {"eager": chapter.eager_model, "Stator": chapter.static_model}
    times = call_times(models, digits.test_x[:1])
    done = run_by_command(folder, chapter.name, digits.test_x)
    if done is None:
        console.print("[yellow]the native runtime is not built: `make native`")
        return Calls(times, None)
    with torch.no_grad():
        here = predict.logits_of(chapter.eager_model(digits.test_x))
    claim = f"{chapter.name}: {len(here)} equal predictions by stator-run, without Python"
    require(torch.equal(here, done.logits), claim, console)
    return Calls({**times, "stator-run": done.microseconds}, done.seconds)


def use_in_onnx_runtime(chapter: Chapter, digits: Digits, folder: Path, console: Console) -> None:
    """Write the model as one ONNX file, run it in ONNX Runtime, compare with the eager model."""
    path = folder / f"{chapter.name}_onnx"
    done = write_and_compare(chapter.eager_model, path, SPEC, digits.test_x)
    if isinstance(done, str):
        console.print(f"[yellow]{escape(done)}")
        return
    console.print(f"saved: {done.file.name}, one graph with a Loop and an If (opset {done.opset})")
    claim = f"{len(digits.test_x)} predictions within {TOLERANCE:g} ({done.difference:.1g} at most)"
    require(done.difference <= TOLERANCE, f"{claim} in ONNX Runtime", console)
    fewest, most = min(done.looks), max(done.looks)
    claim = f"the same number of looks in {len(done.looks)} calls, from {fewest} to {most}"
    require(done.equal_looks, claim, console)


def run_elsewhere(folder: Path, name: str) -> str:
    """What a new Python prints that is given the saved files and nothing else."""
    command = [sys.executable, str(Path(predict.__file__)), str(folder), name]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def closing_table(told: list[tuple[Chapter, Reloaded, Calls]]) -> Table:
    """Times, losses and equalities, a column for each model."""
    table = Table(title="eager PyTorch and its static program", title_style="bold")
    table.add_column()
    for chapter, _, _ in told:
        table.add_column(chapter.name, justify="right")
    columns = [closing_facts(*one) for one in told]
    for title in columns[0]:
        table.add_row(title, *(column[title] for column in columns))
    return table


def closing_facts(chapter: Chapter, reloaded: Reloaded, calls: Calls) -> dict[str, str]:
    """One column of the closing table; each `yes` was required on the way here."""
    eager, static, tuned = chapter.eager, chapter.static, reloaded.losses
    return {
        "training steps": f"{len(static.losses)}",
        "looks at a digit, first → last": f"{static.looks[0]} → {static.looks[-1]}",
        "loss, first → last": f"{static.losses[0]:.4f} → {static.losses[-1]:.4f}",
        "accuracy on unseen digits": f"{chapter.accuracy:.1%}",
        "losses equal to eager's, to the last bit": "[green]yes[/]",
        "a step, eager": f"{eager.milliseconds_a_step:.2f} ms",
        "a step, static": f"{static.milliseconds_a_step:.2f} ms",
        "the first static step, with capture": f"{1000 * static.seconds[0]:.0f} ms",
        "saved files": f"{reloaded.size / 1024:.0f} KiB",
        "predictions equal after reload": "[green]yes[/]",
        "loss in fine-tuning it there": f"{tuned[0]:.4f} → {tuned[-1]:.4f}",
        "the new process, import to exit": f"{reloaded.seconds:.1f} s",
        "the same by stator-run, start to exit": _seconds(calls.process),
        **{f"a call for one digit, {tool}": _speed(calls.times, tool) for tool in TOOLS},
    }


def _seconds(taken: float | None) -> str:
    return "not built" if taken is None else f"{taken:.1f} s"


def _speed(times: dict[str, float], tool: str) -> str:
    """`35 µs (2.1x)`, next to eager."""
    if tool not in times:
        return "cannot"
    ratio = f" ({times['eager'] / times[tool]:.1f}x)" if tool != "eager" else ""
    return f"{times[tool]:.0f} µs{ratio}"


def main() -> None:
    """Tell the story."""
    console = Console()
    started = time.perf_counter()
    digits = Digits.bundled()

    console.print(Rule("1. one training loop, eager and static"))
    plain = train_both_ways("classifier", Classifier, digits, console)

    console.print(Rule("2. a forward with a while and an if that depend on the data"))
    patient = train_both_ways("patient", PatientClassifier, digits, console)

    console.print(Rule("3. inside"))
    show_inside(patient, console)

    console.print(Rule("4. saved, and used in a new process"))
    chapters = (plain, patient)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reloaded = [save_and_use_elsewhere(one, digits, folder, console) for one in chapters]
        console.print(Rule("5. where Python ends"))
        calls = [use_without_python(one, digits, folder, console) for one in chapters]
        console.print(Rule("6. one ONNX file, with the loop inside"))
        use_in_onnx_runtime(patient, digits, folder, console)
    told = list(zip(chapters, reloaded, calls, strict=True))

    console.print(Rule())
    console.print(closing_table(told))
    console.print(f"finished in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
