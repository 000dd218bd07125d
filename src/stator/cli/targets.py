"""What a command works on, where that is a saved model. No torch."""

from __future__ import annotations

from stator.cli.failures import CommandFailure
from stator.export.contents import ModelContents
from stator.export.files import Paths
from stator.program.program import Program


def is_object(target: str) -> bool:
    """Does `target` name an object, rather than a saved model?"""
    return ":" in target and not Paths.of(target).text.exists()


def saved_program(model: ModelContents, method: str, mode: str | None) -> Program:
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
