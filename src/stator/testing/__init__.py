"""For tests: is a static function what the eager one is?

def test_decode():
    assert_static_equal(decode, (torch.zeros(2, 3),))

With pytest, `@pytest.mark.stator` on a test, or `pytest --stator-verify`, checks every call of a
static function that the tests make; the plugin is `stator_pytest`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stator.api.verifying import BUDGET, verify
from stator.debug.verification.examples import Example
from stator.debug.verification.report import Verification
from stator.errors import VerificationFailed
from stator.frames import user_facing

__all__ = ["Example", "assert_static_equal"]


@user_facing
def assert_static_equal(
    function: Any,
    inputs: Any,
    *,
    all_ways: bool = False,
    backends: Sequence[str] = ("program", "saved"),
    gradients: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
    budget: int = BUDGET,
    extremes: bool = True,
) -> Verification:
    """The report of `stator.verify`; an AssertionError with its text where anything differs.

    The arguments are those of `verify`. With `all_ways` it is an error, too, if a branch has not
    gone both ways, or a loop has not made 0, 1 and many trips.
    """
    report = verify(
        function, inputs, backends=backends, gradients=gradients, rtol=rtol, atol=atol, seed=seed,
        budget=budget, extremes=extremes,
    )  # fmt: skip
    report.raise_for_difference()
    gone, ways = report.ways
    if all_ways and gone < ways:
        raise VerificationFailed(
            f"{ways - gone} of {ways} ways of branches and loops were not gone\n{report}",
            fix="give examples that go there, or a larger budget",
        )
    return report
