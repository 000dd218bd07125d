"""verify: an object as a program, and saved, next to eager."""

from __future__ import annotations

from collections.abc import Sequence

from stator.cli.failures import FOUND, OK, user_code
from stator.cli.inputs import load_call
from stator.cli.origin import Origin
from stator.cli.screen import CommandOutcome, show_plain, working
from stator.public import Example
from stator.public import verify as verify_function

BACKENDS = ("program", "saved")


def verify(
    obj: str,
    origin: Origin,
    backends: Sequence[str],
    gradients: bool,
    rtol: float | None,
    atol: float | None,
    budget: int,
) -> CommandOutcome:
    """The report of `stator.verify`."""
    subject, given = load_call(obj, origin)
    with working(f"verifying {subject.name}"), user_code(f"{subject.name} could not be verified"):
        report = verify_function(
            subject.object,
            Example(*given.args, **given.kwargs),
            backends=tuple(backends) or BACKENDS,
            gradients=gradients,
            rtol=rtol,
            atol=atol,
            seed=origin.seed,
            budget=budget,
        )
    return CommandOutcome(
        {"object": obj, "ok": report.ok, "report": report.to_dict()},
        lambda screen: show_plain(screen, str(report)),
        OK if report.ok else FOUND,
    )
