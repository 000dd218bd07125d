"""CallChecks: while it is active, calls of static functions are verified before they are made."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from stator.api.example import Example
from stator.api.signature import signature_of
from stator.api.static_function import StaticFunction
from stator.api.verification import Verification
from stator.api.verifying import verify
from stator.debug.eager import Switch
from stator_verify.examples import leaves_of
from stator_verify.verifying import VerifiedPrograms

BUDGET = 24  # inputs for each kind of call: a test makes many


@dataclass
class CallChecks:
    """Verifies the first call of each kind; `options` are those of `verify`."""

    options: dict[str, Any] = field(default_factory=dict)
    reports: list[Verification] = field(default_factory=list)
    left_out: int = 0  # calls whose arguments cannot be copied
    _known: dict[tuple[int, Any], StaticFunction] = field(default_factory=dict)
    _busy: threading.local = field(default_factory=threading.local)

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Inside, calls are verified.

        NOTE: the class's `__call__` is another one for that time, so that a call costs nothing
        more if this is not asked for.
        """
        before = StaticFunction.__call__

        def called(static: StaticFunction, /, *args: Any, **kwargs: Any) -> Any:
            self.check(static, Example(*args, **kwargs))
            return before(static, *args, **kwargs)

        StaticFunction.__call__ = called  # type: ignore[assignment,method-assign]
        try:
            yield
        finally:
            StaticFunction.__call__ = before  # type: ignore[method-assign]

    def check(self, static: StaticFunction, example: Example) -> None:
        """Verify a call, unless one like it was, or this is part of verifying."""
        if not Switch.on or getattr(self._busy, "now", False):
            return
        if torch.compiler.is_compiling() or isinstance(static.cache, VerifiedPrograms):
            return
        if not _can_be_copied(example):
            self.left_out += 1
            return
        key = (id(static), signature_of(example.args, example.kwargs).key)
        if key in self._known:
            return
        self._known[key] = static
        self._busy.now = True
        try:
            self.reports.append(verify(static, example, **{"budget": BUDGET, **self.options}))
        finally:
            self._busy.now = False

    def differing(self) -> list[Verification]:
        """The reports with a difference; a refusal is an error that the test sees itself."""
        return [
            report
            for report in self.reports
            if any(failure.kind != "refused" for failure in report.failures)
        ]

    def summary(self) -> dict[str, int]:
        """Numbers, to be added up."""
        paths = [report.paths for report in self.reports]
        return {
            "calls": len(self.reports),
            "runs": sum(report.runs for report in self.reports),
            "covered": sum(covered for covered, _ in paths),
            "paths": sum(every for _, every in paths),
            "differences": len(self.differing()),
            "left_out": self.left_out,
        }


def _can_be_copied(example: Example) -> bool:
    """Inside a transform of torch (`vmap`) tensors have no memory of their own."""
    tensors = [leaf.value for leaf in leaves_of(example) if isinstance(leaf.value, torch.Tensor)]
    try:
        for tensor in tensors:
            if tensor.layout == torch.strided:
                tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return False
    return True
