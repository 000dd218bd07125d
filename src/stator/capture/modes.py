"""Modes: grad mode, inference mode and autocast, which change what an op means."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch

from stator.program.ir import Arg, Literal

DEVICES = ("cpu", "cuda")
Change = tuple[str, tuple[Arg, ...], dict[str, Arg]]


@dataclass(frozen=True)
class Cast:
    """Autocast for one kind of device."""

    device: str
    enabled: bool
    dtype: str


@dataclass(frozen=True)
class Modes:
    """The modes in force at one moment.

    `nesting` counts the autocast contexts around: torch keeps the weights it has cast until the
    outermost ends, so a weight that is used twice is cast once, and its gradient summed before.
    `inherited` is whether gradients are on because the caller has them on, as those of a capture
    for a file are, and not because the program turns them on.
    """

    grad: bool
    inherited: bool
    inference: bool
    casts: tuple[Cast, ...]
    cache: bool
    nesting: int

    @staticmethod
    def current(*, turns_on: bool = False) -> Modes:
        """The modes in force now; does the program itself turn gradients on?"""
        grad = torch.is_grad_enabled()
        return _modes(
            grad, grad and not turns_on, torch.is_inference_mode_enabled(),
            tuple(map(torch.is_autocast_enabled, DEVICES)),
            tuple(map(torch.get_autocast_dtype, DEVICES)),
            torch.is_autocast_cache_enabled(), _nesting(),
        )  # fmt: skip

    @property
    def autocast(self) -> tuple[str, str] | None:
        """The device and the dtype that autocast is on for; None where it is off."""
        return next(((one.device, one.dtype) for one in self.casts if one.enabled), None)

    def changes_from(self, before: Modes) -> list[Change]:
        """The ops that turn `before` into this."""
        changes: list[Change] = []
        if self.inference != before.inference:  # it sets grad mode, too
            changes.append(("stator::set_inference", (self.inference,), {}))
        gradients = (self.grad, self.inherited)
        if gradients != (before.grad, before.inherited) or self.inference != before.inference:
            inherited: dict[str, Arg] = {"inherited": True} if self.inherited else {}
            changes.append(("stator::set_grad", (self.grad,), inherited))
        changed = [new for new, old in zip(self.casts, before.casts, strict=True) if new != old]
        deeper, rest = self.nesting - before.nesting, (self.cache,)
        if not changed and (deeper or self.cache != before.cache):
            changed = [self.casts[0]]
        for cast in changed:
            dtype = Literal("dtype", cast.dtype)
            args = (cast.device, cast.enabled, dtype, *rest, deeper)
            changes.append(("stator::set_autocast", args, {}))
            deeper = 0
        return changes


@functools.lru_cache(maxsize=64)  # it is asked before each op; few modes are ever in force
def _modes(
    grad: bool,
    inherited: bool,
    inference: bool,
    enabled: tuple[bool, ...],
    dtypes: tuple[torch.dtype, ...],
    cache: bool,
    nesting: int,
) -> Modes:
    names = [str(dtype).removeprefix("torch.") for dtype in dtypes]
    casts = tuple(map(Cast, DEVICES, enabled, names))
    return Modes(grad, inherited, inference, casts, cache, nesting)


def _nesting() -> int:
    """How many autocast contexts are open."""
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()
