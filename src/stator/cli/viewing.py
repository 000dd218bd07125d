"""view: a page with a program's graph beside its source. Of a saved model it needs no torch."""

from __future__ import annotations

import importlib
import webbrowser

from stator.cli.failures import CommandFailure
from stator.cli.origin import Origin
from stator.cli.screen import CommandOutcome, show_plain, working
from stator.cli.targets import is_object
from stator.page.document import write_page
from stator.page.subject import EMPTY, PageSubject, saved_subject


def view(
    target: str | None,
    origin: Origin,
    output: str | None,
    opened: bool,
) -> CommandOutcome:
    """Write the page, print where it is, and show it if asked to."""
    subject = _subject(target, origin)
    with working("drawing"):
        page = write_page(subject, output)
    if opened and not webbrowser.open(page.resolve().as_uri()):
        raise CommandFailure(f"there is no browser to show {page} in", fix="open it by hand")
    return CommandOutcome(
        {"target": target, "page": str(page)}, lambda screen: show_plain(screen, str(page))
    )


def _subject(target: str | None, origin: Origin) -> PageSubject:
    if target is not None and is_object(target):
        objects = importlib.import_module("stator.cli.viewing_objects")
        captured: PageSubject = objects.captured_subject(target, origin)
        return captured
    if origin.inputs or origin.init:
        raise CommandFailure("a saved model has its program: it takes no --input or --init",
                      fix="name an object as file.py:Name, or leave them out")  # fmt: skip
    return EMPTY if target is None else saved_subject(target)
