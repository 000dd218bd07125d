"""The versions of the documentation site, each in a folder of its own.

    python scripts/versions.py current       the MAJOR.MINOR of pyproject.toml
    python scripts/versions.py list FOLDER   write what the selector of versions reads

The theme's selector reads `versions.json` beside the folders; `index.html` leads to the newest.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
REDIRECT = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={0}/">\n'
)


def current() -> str:
    """The version of this checkout, without the part that changes with a fix."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return ".".join(project["version"].split(".")[:2])


def write_list(folder: Path) -> None:
    """Write `versions.json` and `index.html` for the versions that are in `folder`."""
    found = [one.name for one in folder.iterdir() if re.fullmatch(r"\d+\.\d+", one.name)]
    newest_first = sorted(found, key=lambda name: [int(part) for part in name.split(".")])[::-1]
    entries = [
        {"version": name, "title": name, "aliases": ["latest"] if name == newest_first[0] else []}
        for name in newest_first
    ]
    (folder / "versions.json").write_text(json.dumps(entries, indent=1) + "\n")
    (folder / "index.html").write_text(REDIRECT.format(newest_first[0]))


def main(arguments: list[str]) -> None:
    """Do what the first of `arguments` says."""
    if arguments == ["current"]:
        print(current())
    elif len(arguments) == 2 and arguments[0] == "list":
        write_list(Path(arguments[1]))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
