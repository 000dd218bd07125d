"""view, where it needs torch: of an object, which is captured first."""

from __future__ import annotations

from stator.api.static_function import StaticFunction
from stator.cli.failures import REFUSED, CommandFailure, user_code
from stator.cli.inputs import load_call
from stator.cli.origin import Origin
from stator.cli.screen import working
from stator.debug.view.subject import subject_of
from stator.page.subject import PageSubject


def captured_subject(target: str, origin: Origin) -> PageSubject:
    """What there is to show of the object that `target` names, captured for these inputs."""
    subject, given = load_call(target, origin)
    static = StaticFunction(subject.function, [one.spec for one in given.positional])
    with working(f"capturing {subject.name}"), user_code(f"{subject.name} could not be captured"):
        report = static.explain(*given.args, **given.kwargs)
    if report.refused:
        raise CommandFailure(f"{subject.name} is refused: there is no program to view", REFUSED,
                      details=report.refused)  # fmt: skip
    return subject_of(static)
