"""The command `stator`, also as `python -m stator`."""

from __future__ import annotations

import sys

from stator.extras import install_command

try:
    import rich  # noqa: F401 (every command shows its results with it)

    from stator.cli.commands import main as command
except ModuleNotFoundError as error:  # an extra that is not installed
    if error.name not in ("click", "rich"):
        raise
    command = None  # type: ignore[assignment]

MISSING = f"the command `stator` needs click and rich: {install_command('cli')}"


def main() -> None:
    """Run the command with the arguments of this process."""
    if command is None:
        sys.stderr.write(f"{MISSING}\n")
        sys.exit(2)
    command(prog_name="stator")


if __name__ == "__main__":
    main()
