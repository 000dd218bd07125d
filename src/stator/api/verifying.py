"""verify(): a function and its programs compared with eager code; `stator_verify` does it.

NOTE: why it is imported at the first call. Verification is a package of its own, with a dependency
of its own (hypothesis), which a program in production needs neither of.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from stator.api.verification import Verification
from stator.extras import install_command
from stator.frames import user_facing

BUDGET = 200


@user_facing
def verify(
    function: Any,
    inputs: Any,
    *,
    backends: Sequence[str] = ("program", "saved"),
    gradients: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
    budget: int = BUDGET,
    extremes: bool = True,
) -> Verification:
    """Compare each of `backends` with eager code, on `inputs` and on generated inputs.

    For example: `print(stator.verify(model, (torch.ones(3),)))`.

    `function` is a function, a method or a module, static or not; it is left unchanged. `inputs` is
    a tuple of arguments, a dict of named ones, an `Example`, or a list of these. `backends` names
    what to compare: "program", "saved" (the model after saving and loading), or both. More inputs
    are generated until every branch has taken both sides and every loop has run 0, 1 and many
    iterations, or until `budget` inputs have been run. Values must be equal to the bit, unless
    `rtol` and `atol` allow more. `gradients=False` does not compare gradients. `extremes=False`
    generates no infinities and NaNs. The same `seed` gives the same report.
    """
    try:
        verifying = importlib.import_module("stator_verify.verifying")
    except ModuleNotFoundError as error:
        raise ImportError(
            f"stator.verify needs {error.name}: {install_command('verify')}"
        ) from error
    report: Verification = verifying.verify(
        function, inputs, backends=backends, gradients=gradients, rtol=rtol, atol=atol, seed=seed,
        budget=budget, extremes=extremes,
    )  # fmt: skip
    return report
