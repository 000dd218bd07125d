"""explain, code, and the program of an object: what became of it."""

from __future__ import annotations

import types
from pathlib import Path

from stator.api.static_function import StaticFunction
from stator.cli.failures import FOUND, OK, CommandFailure, user_code
from stator.cli.inputs import load_call
from stator.cli.objects import load_subject
from stator.cli.origin import Origin
from stator.cli.screen import CommandOutcome, show_code, show_plain, working
from stator.debug.explain import capture_report
from stator.debug.report import Report
from stator.errors import CaptureError, ConversionError
from stator.execute.selection import select
from stator.optimize.pipeline import optimize
from stator.program.program import Program


def explain(
    obj: str,
    origin: Origin,
    html: str | None,
) -> CommandOutcome:
    """The report on a capture for these inputs."""
    subject, given = load_call(obj, origin)
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


def code(obj: str, origin: Origin) -> CommandOutcome:
    """The rewritten Python of an object."""
    subject = load_subject(obj, origin.init, origin.mode)
    if not isinstance(getattr(subject.function, "__func__", subject.function), types.FunctionType):
        raise CommandFailure(
            f"{obj} is not a Python function: there is no code to show",
            fix="name a function, a method or an nn.Module",
        )
    text = "".join(subject.static.code)  # as it is: a `Code` would colour itself
    return CommandOutcome({"object": obj, "code": text}, lambda screen: show_code(screen, text))


def object_program(target: str, origin: Origin, *, raw: bool) -> Program:
    """The program of the object that `target` names."""
    subject, given = load_call(target, origin)
    with working(f"capturing {subject.name}"), user_code(f"{subject.name} could not be captured"):
        captured = subject.static.capture(given.specs)
        return captured.program if raw else optimize(captured.program)
