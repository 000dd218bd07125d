"""verify: an object as a program, and saved, next to eager."""

from __future__ import annotations

from collections.abc import Sequence

from stator.cli.failures import FOUND, OK, user_code
from stator.cli.inputs import arguments_for
from stator.cli.objects import load_subject
from stator.cli.screen import CommandOutcome, show_plain, working
from stator.public import Example
from stator.public import verify as verify_function

BACKENDS = ("program", "saved")


def verify(
    obj: str,
    inputs: Sequence[str],
    sizes: Sequence[str],
    seed: int,
    init: Sequence[str],
    mode: str | None,
    backends: Sequence[str],
    gradients: bool,
    rtol: float | None,
    atol: float | None,
    budget: int,
) -> CommandOutcome:
    """The report of `stator.verify`."""
    subject = load_subject(obj, init, mode)
    given = arguments_for(subject, inputs, seed, sizes)
    with working(f"verifying {subject.name}"), user_code(f"{subject.name} could not be verified"):
        report = verify_function(
            subject.object,
            Example(*given.args, **given.kwargs),
            backends=tuple(backends) or BACKENDS,
            gradients=gradients,
            rtol=rtol,
            atol=atol,
            seed=seed,
            budget=budget,
        )
    return CommandOutcome(
        {"object": obj, "ok": report.ok, "report": report.to_dict()},
        lambda screen: show_plain(screen, str(report)),
        OK if report.ok else FOUND,
    )
