"""Saved models for trials of the runtime: the programs of the zoo that can be saved.

python -m tests.native.saved_models FOLDER [--every N] [--corpus FOLDER]
"""

from __future__ import annotations

import argparse
import itertools
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


def write_corpus(models: Path, corpus: Path) -> int:
    """Each model as one input of `stator-explore`: its text, a zero byte, its weights."""
    corpus.mkdir(parents=True, exist_ok=True)
    texts = sorted(models.glob("*.stator"))
    for text in texts:
        weights = text.with_suffix(".safetensors")
        tail = b"\0" + weights.read_bytes() if weights.exists() else b""
        (corpus / text.stem).write_bytes(text.read_bytes() + tail)
    return len(texts)


def main() -> None:
    """Save them."""
    parser = argparse.ArgumentParser(prog="tests.native.saved_models")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1, help="only every Nth program")
    parser.add_argument("--corpus", type=Path, help="also write the inputs of stator-explore here")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    given.folder.mkdir(parents=True, exist_ok=True)
    print(sum(1 for _ in save_all(given.folder, given.every)), "models")
    if given.corpus is not None:
        write_corpus(given.folder, given.corpus)


if __name__ == "__main__":
    main()
