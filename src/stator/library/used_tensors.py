"""is_used_by(): is a gradient of these outputs with respect to a tensor None?

While code is captured, torch's own graph goes from the tensors that it makes to those it was given.
It ends at what a branch or a loop of the program gives: of which tensors that was made only a run
knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from stator.capture.recorder import Recorder
from stator.errors import UnsupportedCall
from stator.values.annotations import Staged


def is_used_by(recorder: Recorder, outputs: Sequence[torch.Tensor]) -> Callable[[Staged], bool]:
    """Does the graph of `outputs` reach a tensor? An error where only a run can tell."""
    given = _given_tensors(recorder)
    nodes, leaves = _reached(outputs, [one.grad_fn for one in given])
    is_whole = all(
        recorder.find(leaf) is not None or any(leaf is one for one in given) for leaf in leaves
    )

    def is_used(tensor: torch.Tensor) -> bool:
        fake = recorder.as_fake(tensor)
        if any(fake is leaf for leaf in (*leaves, *outputs)) or (
            fake.grad_fn is not None and any(fake.grad_fn is node for node in nodes)
        ):
            return True
        if not is_whole:
            raise UnsupportedCall(
                "whether `torch.autograd.grad` gives None for a tensor depends on the path taken",
                fix="leave out allow_unused, or add materialize_grads=True",
            )
        return False

    return is_used


def _given_tensors(recorder: Recorder) -> list[torch.Tensor]:
    """The inputs of the program and the tensors stored beside it."""
    inputs = [
        tensor
        for tensor, value in recorder.scope.program.tensors.items()
        if value in recorder.input_facts
    ]
    return [*inputs, *map(recorder.as_fake, recorder.stored_tensors.values())]


def _reached(
    outputs: Sequence[torch.Tensor], ends: Sequence[Staged]
) -> tuple[list[Staged], list[torch.Tensor]]:
    """The nodes of the graph of `outputs`, down to `ends`; and the tensors at which it ends."""
    waiting: list[Staged] = [one.grad_fn for one in outputs if one.grad_fn is not None]
    seen: list[Staged] = []
    known: set[int] = set()
    leaves = [one for one in outputs if one.grad_fn is None]
    while waiting:
        node = waiting.pop()
        if id(node) in known:
            continue
        known.add(id(node))
        seen.append(node)
        if hasattr(node, "variable"):
            leaves.append(node.variable)
        if any(node is one for one in ends):
            continue
        waiting += [following for following, _ in node.next_functions if following is not None]
    return seen, leaves
