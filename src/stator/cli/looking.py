"""explain, code, program: what became of an object."""

from __future__ import annotations

import types
from collections.abc import Sequence
from pathlib import Path

from stator.api.static_function import StaticFunction
from stator.cli.failures import FOUND, OK, CommandFailure, user_code
from stator.cli.inputs import Arguments, arguments_for
from stator.cli.objects import CommandSubject, is_object, load_subject
from stator.cli.screen import CommandOutcome, show_code, show_plain, show_program, working
from stator.debug.explain import capture_report
from stator.debug.report import Report
from stator.errors import CaptureError, ConversionError
from stator.execute.selection import select
from stator.export.saved_model import SavedModel, read_model
from stator.optimize.pipeline import optimize
from stator.program.ir import ops_in
from stator.program.printer import print_program
from stator.program.program import Program


def explain(
    obj: str,
    inputs: Sequence[str],
    sizes: Sequence[str],
    seed: int,
    init: Sequence[str],
    mode: str | None,
    html: str | None,
) -> CommandOutcome:
    """The report on a capture for these inputs."""
    subject = load_subject(obj, init, mode)
    given = arguments_for(subject, inputs, seed, sizes)
    static = StaticFunction(subject.function, [one.spec for one in given.positional])
    with working(f"capturing {subject.name}"), user_code(f"{subject.name} could not be captured"):
        if given.args or given.kwargs:
            report = static.explain(*given.args, **given.kwargs)
        else:
            report = _without_arguments(static)
    if html is not None:
        Path(html).write_text(report.to_html(), encoding="utf-8")
    return CommandOutcome(
        report.to_dict() | {"ok": not report.refused, "page": html},
        lambda screen: show_plain(screen, str(report)),
        FOUND if report.refused else OK,
    )


def _without_arguments(static: StaticFunction) -> Report:
    """The report on a function that takes none: `explain()` alone is about earlier captures."""
    try:
        captured = static.capture([])
    except (ConversionError, CaptureError) as error:
        return Report(static.__qualname__, (), (), refused=str(error))
    program = optimize(captured.program)
    only = capture_report(captured, program, "it takes no arguments", select(None, program))
    return Report(static.__qualname__, (only,), ())


def code(obj: str, init: Sequence[str], mode: str | None) -> CommandOutcome:
    """The rewritten Python of an object."""
    subject = load_subject(obj, init, mode)
    if not isinstance(getattr(subject.function, "__func__", subject.function), types.FunctionType):
        raise CommandFailure(
            f"{obj} is no Python function: there is no code to show",
            fix="name a function, a method or an nn.Module",
        )
    text = "".join(subject.static.code)  # as it is: a `Code` would colour itself
    return CommandOutcome({"object": obj, "code": text}, lambda screen: show_code(screen, text))


def program(
    target: str,
    inputs: Sequence[str],
    sizes: Sequence[str],
    seed: int,
    init: Sequence[str],
    mode: str | None,
    method: str,
    raw: bool,
    places: bool,
) -> CommandOutcome:
    """The text of a program: captured, or that of a saved model."""
    if is_object(target):
        subject = load_subject(target, init, mode)
        found = capture(subject, arguments_for(subject, inputs, seed, sizes), raw=raw)
    else:
        if inputs or init or raw:
            raise CommandFailure(
                "a saved model has its program: it takes no --input, --init or --raw",
                fix="name an object as file.py:Name, or leave them out",
            )
        found = saved_program(read_model(target), method, mode)
    text = print_program(found, places=places)
    blocks = (found.body, *found.functions.values())
    data = {
        "target": target,
        "name": found.name,
        "inputs": [{"name": value.name, "type": str(value.type)} for value in found.inputs],
        "ops": sum(1 for block in blocks for _ in ops_in(block)),
        "text": text,
    }
    return CommandOutcome(data, lambda screen: show_program(screen, text))


def capture(subject: CommandSubject, given: Arguments, *, raw: bool = False) -> Program:
    """The program of `subject` for these arguments."""
    with working(f"capturing {subject.name}"), user_code(f"{subject.name} could not be captured"):
        captured = subject.static.capture(given.specs)
        return captured.program if raw else optimize(captured.program)


def saved_program(model: SavedModel, method: str, mode: str | None) -> Program:
    """The program that `method` runs in `mode`, or in the mode that the model was saved in."""
    training = model.training if mode is None else mode == "train"
    if method not in model.methods:
        raise CommandFailure(
            f"the model has no method `{method}`",
            fix=f"give --method one of {', '.join(model.methods)}",
        )
    found = model.program_of(method, training=training)
    if found is None:
        refused = model.methods[method].refused.get("train" if training else "eval", "")
        raise CommandFailure(
            f"`{method}` was not captured in this mode",
            details=refused,
            fix=f"give --mode {'eval' if training else 'train'}",
        )
    return found
