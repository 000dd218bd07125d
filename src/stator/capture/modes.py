"""Modes: grad mode and autocast, which change what an op means."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from stator.program.ir import Arg, Literal


@dataclass(frozen=True)
class Modes:
    """The modes in force at one moment."""

    grad: bool
    autocast: tuple[str, str] | None  # (device, dtype)

    @classmethod
    def current(cls) -> Modes:
        """The modes in force now."""
        return cls(torch.is_grad_enabled(), _autocast("cpu") or _autocast("cuda"))

    def changes_from(self, before: Modes) -> list[tuple[str, tuple[Arg, ...]]]:
        """The ops that turn `before` into this."""
        changes: list[tuple[str, tuple[Arg, ...]]] = []
        if self.grad != before.grad:
            changes.append(("stator::set_grad", (self.grad,)))
        if self.autocast != before.autocast:
            device, dtype = self.autocast or before.autocast or ("cpu", "bfloat16")
            enabled = self.autocast is not None
            changes.append(("stator::set_autocast", (device, enabled, Literal("dtype", dtype))))
        return changes


def _autocast(device: str) -> tuple[str, str] | None:
    if not torch.is_autocast_enabled(device):
        return None
    return device, str(torch.get_autocast_dtype(device)).removeprefix("torch.")
