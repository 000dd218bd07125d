"""view: a page with a program's graph beside its source."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from pathlib import Path

from stator.api.static_function import StaticFunction
from stator.cli.failures import REFUSED, CommandFailure, user_code
from stator.cli.inputs import arguments_for
from stator.cli.objects import load_subject
from stator.cli.screen import CommandOutcome, show_plain, working
from stator.cli.targets import is_object
from stator.debug.view.subject import EmptyPage
from stator.export.saved_model import read_model
from stator.public import debug


def view(
    target: str | None,
    inputs: Sequence[str],
    sizes: Sequence[str],
    seed: int,
    init: Sequence[str],
    mode: str | None,
    output: str | None,
    opened: bool,
) -> CommandOutcome:
    """Write the page, print where it is, and show it if asked to."""
    if target is not None and is_object(target):
        source: StaticFunction | str | EmptyPage = _captured(
            target, inputs, sizes, seed, init, mode
        )
    elif inputs or init:
        raise CommandFailure("a saved model has its program: it takes no --input or --init",
                      fix="name an object as file.py:Name, or leave them out")  # fmt: skip
    elif target is None:
        source = EmptyPage()
    else:
        read_model(target)  # damage is reported before anything is written
        source = target
    with working("drawing"):
        page = str(debug.view(source, output))
    if opened and not webbrowser.open(Path(page).resolve().as_uri()):
        raise CommandFailure(f"there is no browser to show {page} in", fix="open it by hand")
    return CommandOutcome({"target": target, "page": page}, lambda screen: show_plain(screen, page))


def _captured(
    target: str,
    inputs: Sequence[str],
    sizes: Sequence[str],
    seed: int,
    init: Sequence[str],
    mode: str | None,
) -> StaticFunction:
    """A static function with one capture, for these inputs."""
    subject = load_subject(target, init, mode)
    given = arguments_for(subject, inputs, seed, sizes)
    static = StaticFunction(subject.function, [one.spec for one in given.positional])
    with working(f"capturing {subject.name}"), user_code(f"{subject.name} could not be captured"):
        report = static.explain(*given.args, **given.kwargs)
    if report.refused:
        raise CommandFailure(f"{subject.name} is refused: there is no program to view", REFUSED,
                      details=report.refused)  # fmt: skip
    return static
