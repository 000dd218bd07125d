"""Every op of torch's sample database (OpInfo) as a static function, next to eager.

    python -m tests.library.opinfo                   prints what is not right, and a summary
    python -m tests.library.opinfo --only nn.functional.pad --samples 20

Values, and gradients where the op has them, are compared to the bit, or closely where torch itself
sums in another order. The verdict of an op is the worst of its samples:

    right    every sample is as in eager code
    wrong    a value, a gradient or an error differs, and nothing is said
    refused  Stator refuses a sample
    crash    any other error where eager code has none
"""

from __future__ import annotations

import argparse
import collections
import itertools
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._pytree import tree_leaves, tree_map_only

import stator
from stator.errors import StatorError

SAMPLES = 3
DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64, torch.bfloat16, torch.float16)
LEAVES = (
    "all",
    "first",
    "none",
)  # the arguments that require gradients: the first that eager takes
ORDER = ("wrong", "crash", "refused", "right", "none")  # the worst first
# ops whose result is memory that nothing has written
UNDEFINED = frozenset(
    {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
)


@dataclass(frozen=True)
class Verdict:
    """What became of one op, or of one sample of it."""

    word: str
    detail: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a call gave: its result and gradients, or an error."""

    result: Any = None
    gradients: Any = None
    error: Exception | None = None


def verdict_of(op: OpInfo, samples: int = SAMPLES) -> Verdict:
    """The worst verdict of the first samples of `op`."""
    dtype = next((d for d in DTYPES if d in op.dtypes), None)
    if dtype is None:
        return Verdict("none", "no dtype that is tried")
    has_gradient = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    try:
        given = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), samples))
    except Exception as error:  # noqa: BLE001  # torch's own samples: some need what is not built
        return Verdict("none", f"no samples: {error}")
    found = [_judged(op, sample, has_gradient) for sample in given]
    return min(found, key=lambda one: ORDER.index(one.word), default=Verdict("none", "no samples"))


def _judged(op: OpInfo, sample: SampleInput, has_gradient: bool) -> Verdict:
    def call(first: Any, args: Any, kwargs: Any) -> Any:
        return op.op(first, *args, **kwargs)

    for leaves in LEAVES if has_gradient else ("none",):
        eager = _outcome(call, sample, leaves)
        if eager.error is None:
            break
    else:
        return Verdict("none", f"eager raises {eager.error!r:.200}")
    here = _outcome(stator.to_static(call), sample, leaves)
    if isinstance(here.error, StatorError) and here.error.code != "ST900":
        return Verdict("refused", str(here.error).splitlines()[0])
    if here.error is not None:
        return Verdict("crash", f"{here.error!r:.200}")
    values = (eager.result, eager.gradients), (here.result, here.gradients)
    problem = None if op.name in UNDEFINED else _difference(*values)
    return Verdict("right") if problem is None else Verdict("wrong", problem)


def _outcome(call: Callable[..., Any], sample: SampleInput, leaves: str) -> Outcome:
    wanted: list[torch.Tensor] = []

    def copied(tensor: torch.Tensor) -> torch.Tensor:
        made = tensor.detach().clone()
        if leaves == "none" or not (made.is_floating_point() or made.is_complex()):
            return made
        if leaves == "all" or not wanted:
            wanted.append(made.requires_grad_())
        return made

    given = (sample.input, sample.args, sample.kwargs)
    first, args, kwargs = tree_map_only(torch.Tensor, copied, given)
    torch.manual_seed(0)
    try:
        result = call(first, args, kwargs)
        return Outcome(result, _gradients(result, wanted))
    except Exception as error:  # noqa: BLE001  # the verdict is about it
        return Outcome(error=error)


def _gradients(result: Any, leaves: Sequence[torch.Tensor]) -> Any:
    parts = [
        (torch.view_as_real(one.resolve_conj()) if one.is_complex() else one).to_dense()
        for one in tree_leaves(result)
        if isinstance(one, torch.Tensor) and one.requires_grad
    ]
    if not parts or not leaves:
        return None
    total = sum((torch.nan_to_num(part) * _weights(part)).sum() for part in parts)
    return torch.autograd.grad(total, leaves, allow_unused=True)


def _weights(part: torch.Tensor) -> torch.Tensor:
    """Different for every element, so that gradients in another order are seen."""
    return torch.cos(torch.arange(part.numel())).to(part.dtype).reshape(part.shape)


def _difference(eager: Any, here: Any) -> str | None:
    """What differs, if anything."""
    ours, theirs = tree_leaves(here), tree_leaves(eager)
    if len(ours) != len(theirs):
        return f"{len(theirs)} values in eager code, {len(ours)} here"
    for one, two in zip(theirs, ours, strict=True):
        if type(one) is not type(two):
            return f"{type(one).__name__} in eager code, {type(two).__name__} here"
        if isinstance(one, torch.Tensor):
            try:
                torch.testing.assert_close(two, one, rtol=1e-5, atol=1e-6, equal_nan=True)
            except AssertionError as error:
                return str(error).replace("\n", " ")[:200]
            if one.requires_grad is not two.requires_grad:
                return f"requires_grad is {one.requires_grad} in eager code"
        elif one != two and not (one != one and two != two):
            return f"{one!r:.60} in eager code, {two!r:.60} here"
    return None


def survey(ops: Iterable[OpInfo], samples: int = SAMPLES) -> dict[str, Verdict]:
    """The verdict of each op, by its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {op.formatted_name: verdict_of(op, samples) for op in ops}


def main(given: Sequence[str]) -> int:
    """Print the ops that are not right; is any wrong, or a crash?"""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--samples", type=int, default=SAMPLES)
    options = parser.parse_args(given)
    ops = [op for op in op_db if not options.only or op.name in options.only]
    counts: collections.Counter[str] = collections.Counter()
    for op in ops:
        for name, verdict in survey([op], options.samples).items():
            counts[verdict.word] += 1
            if verdict.word != "right":
                print(f"{name:45} {verdict.word:8} {verdict.detail}", flush=True)
    print(", ".join(f"{counts[word]} {word}" for word in ORDER), f"of {len(ops)} ops")
    return 1 if counts["wrong"] or counts["crash"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
