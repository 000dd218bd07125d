"""set_verbosity, set_code_level: what Stator shows of its work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from stator import logs
from stator.errors import UnknownOption, nearest
from stator.frames import user_facing
from stator.rewrite.convert import PASSES

NAMES = tuple(step.name for step in PASSES)
ALSO = {"loops": "control", "branches": "control"}  # what one pass does together


@user_facing
def set_verbosity(level: int = 0, also_to_stdout: bool = False) -> None:
    """Set how much is logged to the logger `stator`.

    `level` 0: nothing. 1: each capture and its reason. 2: also how each construct and call was
    converted. 3: also the frames of Stator and torch in tracebacks. `also_to_stdout=True` prints
    the log, too. The environment variable `STATOR_VERBOSITY` sets the level.
    """
    if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= logs.HIGHEST:
        raise UnknownOption(f"{level!r} is not a verbosity level", fix=f"give 0 to {logs.HIGHEST}")
    logs.set_level(level)
    logs.to_stdout(also_to_stdout)


@user_facing
def set_code_level(level: str | Iterable[str] | None = "all", also_to_stdout: bool = False) -> None:
    """Log the code of each converted function after the given passes of the rewrite.

    `level` is the name of a pass (`"calls"`, `"loops"`), several names, `"all"`, or None for no
    output. The code goes to the logger `stator`; `also_to_stdout=True` prints it, too. The
    environment variable `STATOR_CODE_LEVEL` sets the level, with commas between the names.
    """
    logs.set_code(_passes(level))
    logs.to_stdout(also_to_stdout)


def _passes(level: str | Iterable[str] | None) -> frozenset[str]:
    if level is None:
        return frozenset()
    wanted = [level] if isinstance(level, str) else level
    if not isinstance(wanted, Iterable):
        raise _unknown(level)
    found: set[str] = set()
    for name in wanted:
        if name == "all":
            found.update(NAMES)
        elif ALSO.get(name, name) in NAMES:
            found.add(ALSO.get(name, name))
        else:
            raise _unknown(name)
    return frozenset(found)


def _unknown(name: object) -> UnknownOption:
    known = ("all", *NAMES, *ALSO)
    return UnknownOption(
        f"there is no rewrite pass {name!r} to show", fix=f"give one of {', '.join(known)}",
        edit=nearest(name, known),
    )  # fmt: skip


def set_from(environment: Mapping[str, str] = os.environ) -> None:
    """Take the settings that `environment` has."""
    verbosity, code = environment.get("STATOR_VERBOSITY"), environment.get("STATOR_CODE_LEVEL")
    if verbosity:
        set_verbosity(int(verbosity) if verbosity.isdecimal() else verbosity)  # type: ignore[arg-type] # refused
    if code:
        set_code_level([name.strip() for name in code.split(",")])
