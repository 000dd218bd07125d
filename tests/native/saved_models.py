"""Saved models for trials of the runtime: the programs of the zoo that can be saved.

python -m tests.native.saved_models FOLDER
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import stator
from stator import StatorError
from tests.zoo.harness import groups, spec_of
from tests.zoo.programs import Program
from tests.zoo.whole import PROGRAMS


def savable() -> Iterator[Program]:
    """The programs of the zoo that are meant to be saved."""
    for program in PROGRAMS:
        refused = program.refused or program.refused_saved
        pending = program.pending and "saved" in program.pending_stages
        if "saved" in program.stages and not (refused or pending):
            yield program


def save_all(
    folder: Path, every: int = 1
) -> Iterator[tuple[Program, Path, list[tuple[object, ...]]]]:
    """Each program that could be saved, the path of its model, and the calls that fit it.

    Of the programs, one in `every`.
    """
    for program in itertools.islice(savable(), 0, None, every):
        for index, calls in enumerate(groups(program.calls, "saved")):
            path = folder / f"{program.name}-{index}"
            try:
                stator.save(program.make(), path, input_spec=spec_of(program, calls[0]))
            except StatorError:
                continue  # the zoo's own tests say whether it may
            yield program, path, calls


def main() -> None:
    """Save them."""
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    print(sum(1 for _ in save_all(folder)), "models")


if __name__ == "__main__":
    main()
