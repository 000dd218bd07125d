"""program: the text of a program. Of a saved model it is read without torch."""

from __future__ import annotations

import importlib

from stator.cli.failures import CommandFailure
from stator.cli.origin import Origin
from stator.cli.screen import CommandOutcome, show_program
from stator.cli.targets import is_object, saved_program
from stator.export.contents import read_contents
from stator.program.printer import print_program
from stator.program.program import Program


def program(
    target: str,
    origin: Origin,
    method: str,
    raw: bool,
    places: bool,
) -> CommandOutcome:
    """The text of a program: captured, or that of a saved model."""
    if is_object(target):
        looking = importlib.import_module("stator.cli.looking")
        found: Program = looking.object_program(target, origin, raw=raw)
    else:
        if origin.inputs or origin.init or raw:
            raise CommandFailure(
                "a saved model has its program: it takes no --input, --init or --raw",
                fix="name an object as file.py:Name, or leave them out",
            )
        found = saved_program(read_contents(target), method, origin.mode)
    text = print_program(found, places=places)
    data = {
        "target": target,
        "name": found.name,
        "inputs": [{"name": value.name, "type": str(value.type)} for value in found.inputs],
        "ops": sum(1 for _ in found.ops()),
        "text": text,
    }
    return CommandOutcome(data, lambda screen: show_program(screen, text))
