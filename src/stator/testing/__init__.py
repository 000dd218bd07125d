"""For tests: compares static functions with eager code.

def test_decode():
    assert_static_equal(decode, (torch.zeros(2, 3),))

With pytest, `@pytest.mark.stator` on a test, or `pytest --stator-verify`, checks every call of a
static function that the tests make; the plugin is `stator_pytest`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stator.api.example import Example
from stator.api.verification import Verification
from stator.api.verifying import BUDGET, verify
from stator.errors import VerificationFailed
from stator.frames import user_facing

__all__ = ["Example", "assert_static_equal"]


@user_facing
def assert_static_equal(
    function: Any,
    inputs: Any,
    *,
    all_paths: bool = False,
    backends: Sequence[str] = ("program", "saved"),
    gradients: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
    budget: int = BUDGET,
    extremes: bool = True,
) -> Verification:
    """Verify as `stator.verify` does; raise an AssertionError (ST500) if anything differs.

    The arguments are those of `verify`. With `all_paths` it is also an error if a branch has not
    taken both sides, or a loop has not run 0, 1 and many iterations.
    """
    report = verify(
        function, inputs, backends=backends, gradients=gradients, rtol=rtol, atol=atol, seed=seed,
        budget=budget, extremes=extremes,
    )  # fmt: skip
    report.raise_for_difference()
    covered, paths = report.paths
    if all_paths and covered < paths:
        raise VerificationFailed(
            f"{paths - covered} of {paths} paths of branches and loops were not covered\n{report}",
            fix="give examples that take them, or a larger budget",
        )
    return report
