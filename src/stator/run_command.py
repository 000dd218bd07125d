"""The command `stator-run` of an installed package: starts the native one, where it was built."""

from __future__ import annotations

import os
import sys

from stator.native_builds import COMMAND, find_built, torch_folder, torch_version

MISSING = "stator-run: the native runtime is not built for this torch: run `stator build-native`\n"


def main() -> None:
    """Become the native command; it finds the libraries of torch where this Python has them."""
    torch = torch_folder()
    path = find_built(COMMAND, torch_version(torch)) if torch is not None else None
    if torch is None or path is None:
        sys.stderr.write(MISSING)
        sys.exit(2)
    folders = [str(torch / "lib"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(folders)
    os.execv(path, [COMMAND, *sys.argv[1:]])
