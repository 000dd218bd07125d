"""The command `stator`, also as `python -m stator`."""

from __future__ import annotations

import sys

try:
    from stator.cli.commands import main as command
except ModuleNotFoundError as error:  # an extra that is not installed
    if error.name not in ("click", "rich"):
        raise
    command = None  # type: ignore[assignment]

MISSING = "the command `stator` needs click and rich: pip install 'stator[cli]'"


def main() -> None:
    """Run the command with the arguments of this process."""
    if command is None:
        sys.exit(MISSING)
    command(prog_name="stator")


if __name__ == "__main__":
    main()
