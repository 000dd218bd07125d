"""Checks the programs themselves: each runs eagerly and takes the paths that it claims.

python conformance/verify_eager.py
"""

from __future__ import annotations

import collections
import contextlib
import io
import sys

import torch
from corpuslib import Case, clone_inputs, load_cases, path_of, run_eager


def problems_of(case: Case) -> list[str]:
    """What is wrong with a program; nothing, if it is usable."""
    problems = []
    if case.dynamic is not None and len(case.dynamic) != len(case.inputs[0]):
        problems.append("`dynamic` has not one entry for each input")
    with contextlib.redirect_stdout(io.StringIO()):
        calls = run_eager(case)
        target = case.make()
        paths = {path_of(target, clone_inputs(arguments)) for arguments in case.inputs}
    errors = [call.error for call in calls if call.error is not None]
    if calls[0].error is not None or (errors and not case.may_raise):
        problems.append(f"eager raises {errors[0]!r:.150}")
    if case.may_raise and not errors:
        problems.append("eager never raises")
    if len(paths) < case.paths:
        problems.append(f"{len(paths)} paths, at least {case.paths} were claimed")
    return problems


def main() -> int:
    """Check every program, and print how many each group has."""
    torch.set_num_threads(1)
    cases = load_cases()
    found = [f"{case.group}/{case.name}: {what}" for case in cases for what in problems_of(case)]
    for group, number in collections.Counter(case.group for case in cases).items():
        print(f"{group:<32}{number:>4}")
    print(f"{len(cases)} programs, {sum(len(case.inputs) for case in cases)} inputs")
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
