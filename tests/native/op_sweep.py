"""Every op that torch has samples of, captured, run by both backends and compared to the bit.

    python -m tests.native.op_sweep [--dtypes float32 int64] [--ops NAME...] [--every N]

Each op is tried in a child process, so that a crash is one finding. The report says for each dtype
how many ops were run, which the capture refused and which differed; the exit status is 1 if any
differed or crashed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

import stator
from stator import StatorError
from stator.execute.interpreter import INTERPRETER
from stator.native.backend import native
from tests.native.by_file import same

DTYPES = ("float32", "float64", "int64", "bool", "bfloat16", "complex64")
SAMPLES = 3  # of each op and dtype
SECONDS = 120  # of the processor, for one op
SEED = 3
UNSET = ("empty", "empty_like", "new_empty", "new_empty_strided", "empty_permuted", "empty_strided")
Verdict = tuple[str, str]  # what became of it, and the details


@dataclass(frozen=True)
class SampleCall:
    """An op on one sample: the tensors are what changes, the rest is part of the function."""

    op: Callable[..., Any]
    leaves: list[Any]
    spec: pytree.TreeSpec

    def tensors(self) -> list[torch.Tensor]:
        """Fresh copies of the tensors that the op is given."""
        return [leaf.detach().clone() for leaf in self.leaves if isinstance(leaf, torch.Tensor)]

    def function(self) -> Callable[..., Any]:
        """The op as a function of its tensors."""
        op, leaves, spec = self.op, self.leaves, self.spec

        def call(*tensors: torch.Tensor) -> Any:
            given = iter(tensors)
            filled = [next(given) if isinstance(one, torch.Tensor) else one for one in leaves]
            args, kwargs = pytree.tree_unflatten(filled, spec)
            return op(*args, **kwargs)

        return call


def samples(info: Any, dtype: torch.dtype) -> Iterator[SampleCall]:
    """The first few samples of an op."""
    for index, sample in enumerate(info.sample_inputs("cpu", dtype, requires_grad=False)):
        if index == SAMPLES:
            return
        leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
        yield SampleCall(info.op, leaves, spec)


def verdict(call: SampleCall) -> Verdict:
    """What becomes of one sample."""
    static = stator.to_static(call.function(), backend="interpreter")
    torch.manual_seed(SEED)
    try:
        static(*call.tensors())
    except StatorError as error:
        return "refused", error.code
    except Exception as error:  # noqa: BLE001  # an op may not take its own sample in a program
        return "raises", type(error).__name__
    concrete = static.concrete_programs[0]
    backend = native()
    assert backend is not None
    if reason := backend.refusal(concrete.program):
        return "interpreted", reason
    answers = []
    for one in (INTERPRETER, backend):
        torch.manual_seed(SEED)
        run = one.prepare(concrete.program).bind(concrete.captured.tensors)
        answers.append(run(call.tensors()))
    want, got = answers
    if not isinstance(want, tuple) or not isinstance(got, tuple):
        alike = type(want) is type(got) and str(want) == str(got)
        return ("equal", "") if alike else ("differs", f"{got}, not {want}")
    return ("equal", "") if same(want, got) else ("differs", f"{got!r}, not {want!r}"[:300])


def verdicts(info: Any, dtype: torch.dtype) -> Verdict:
    """The worst that becomes of the samples of an op."""
    if info.name in UNSET:
        return "unset", ""  # it gives memory as it was
    found = [verdict(call) for call in samples(info, dtype)]
    for kind in ("differs", "equal", "interpreted", "raises", "refused"):
        for one in found:
            if one[0] == kind:
                return one
    return "no samples", ""


def in_child(work: Callable[[], Verdict]) -> Verdict:
    """What `work` gives, computed in a child process that may die."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        status = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            os.write(writing, json.dumps(work()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        answer = file.read()
    _, status = os.waitpid(child, 0)
    if status != 0 or not answer:
        return "crashes", f"status {status}"
    kind, details = json.loads(answer)
    return kind, details


def sweep(infos: Iterable[Any], dtypes: Sequence[str]) -> Iterator[tuple[str, str, Verdict]]:
    """(op, dtype, verdict) for every op that knows the dtype."""
    for info in infos:
        name = f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name
        for dtype_name in dtypes:
            dtype = getattr(torch, dtype_name)
            if dtype in info.supported_dtypes("cpu"):
                yield name, dtype_name, in_child(lambda i=info, d=dtype: verdicts(i, d))


def report(found: Iterable[tuple[str, str, Verdict]]) -> tuple[str, bool]:
    """The report, and whether all is well."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    listed: dict[str, list[str]] = defaultdict(list)
    for name, dtype, (kind, details) in found:
        counts[dtype][kind] += 1
        listed[kind].append(f"{name} {dtype}: {details}")
    lines = [
        f"{dtype}: {sum(kinds.values())} ops: "
        + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        for dtype, kinds in counts.items()
    ]
    for kind in ("refused", "raises", "interpreted", "crashes", "differs"):
        lines += [f"{kind}: {entry}" for entry in listed[kind]]
    return "\n".join(lines), not (listed["crashes"] or listed["differs"])


def main() -> int:
    """Sweep, and print the report."""
    parser = argparse.ArgumentParser(description="Every op of torch in both backends.")
    parser.add_argument("--dtypes", nargs="+", default=list(DTYPES))
    parser.add_argument("--ops", nargs="+", help="only these")
    parser.add_argument("--every", type=int, default=1, help="only every Nth op")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    infos = [info for info in op_db if not given.ops or info.name in given.ops]
    text, is_well = report(sweep(infos[:: given.every], given.dtypes))
    print(text)
    return int(not is_well)


if __name__ == "__main__":
    sys.exit(main())
