"""The conformance programs, saved by Python and run by `stator-run`, next to the interpreter.

    python -m tests.native.corpus FOLDER [GROUP...]

Prints what differs; the exit status is 1 if anything does.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import stator
from stator import InputSpec, StatorError
from tests.native.by_file import Batch


def _spec(value: Any, dynamic: Any) -> Any:
    if isinstance(value, torch.Tensor):
        shape = [None if d in (dynamic or ()) else size for d, size in enumerate(value.shape)]
        return InputSpec(shape, value.dtype)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_spec(item, dynamic) for item in value])
    if isinstance(value, list | tuple):
        return type(value)(_spec(item, dynamic) for item in value)
    if isinstance(value, dict):
        return {key: _spec(item, dynamic) for key, item in value.items()}
    return value


def saved_calls(cases: Sequence[Any], folder: Path) -> tuple[Batch, list[str]]:
    """The calls of the programs that can be saved, and the names of the others."""
    batch, refused = Batch(folder), []
    for case in cases:
        path = folder / case.name
        dynamic = case.dynamic or (None,) * len(case.inputs[0])
        spec = [_spec(value, dims) for value, dims in zip(case.inputs[0], dynamic, strict=True)]
        try:
            stator.save(case.make(), path, input_spec=spec)
        except StatorError:
            refused.append(case.name)
            continue
        batch.add(f"{case.group}/{case.name}", path, case.inputs)
    return batch, refused


def main() -> int:
    """Save, run, compare."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    sys.dont_write_bytecode = True  # the folder may be read-only, and is not ours
    sys.path.insert(0, sys.argv[1])
    cases = importlib.import_module("corpuslib").load_cases(sys.argv[2:] or None)
    with tempfile.TemporaryDirectory() as scratch:
        batch, refused = saved_calls(cases, Path(scratch))
        found = list(batch.differences())
    for difference in found:
        print(difference)
    print(f"{len(batch.jobs)} calls, {len(found)} differ, {len(refused)} of {len(cases)} not saved")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
