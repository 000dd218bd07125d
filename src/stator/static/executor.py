"""Executor and CompiledProgram: programs run by the names of what goes in and what comes out."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from stator.english import with_article
from stator.errors import InputError
from stator.execute.arguments import check_type
from stator.execute.backend import values_of
from stator.execute.selection import check_backend
from stator.frames import user_facing
from stator.locks import ForkSafeLock
from stator.optimize.dataflow import needed_for
from stator.optimize.pipeline import optimize
from stator.optimize.restrict import restrict, used_inputs
from stator.program.ir import Value
from stator.program.types import TensorType
from stator.static.feeds import as_array, feed_values
from stator.static.plan import Plan
from stator.static.program import StaticProgram, current_program
from stator.static.strategy import BuildStrategy, ExecutionStrategy

Plans = dict[tuple[object, ...], Plan]


class CompiledProgram:
    """A program with the strategies to prepare it and to run it."""

    def __init__(
        self,
        program: StaticProgram,
        build_strategy: BuildStrategy | None = None,
        exec_strategy: ExecutionStrategy | None = None,
    ) -> None:
        if not isinstance(program, StaticProgram):
            raise InputError(f"{with_article(type(program).__name__)} cannot be compiled",
                             fix="give a `stator.static.Program`")  # fmt: skip
        check_strategy("build_strategy", build_strategy, BuildStrategy)
        check_strategy("exec_strategy", exec_strategy, ExecutionStrategy)
        self.program = program
        self.build_strategy = build_strategy or BuildStrategy()
        self.exec_strategy = exec_strategy or ExecutionStrategy()
        self._plans: Plans = {}

    def __str__(self) -> str:
        return str(self.program)


def check_strategy(name: str, given: Any, kind: type) -> None:
    """InputError unless `given` is None or a strategy of this kind."""
    if given is not None and not isinstance(given, kind):
        raise InputError(
            f"{name} is {with_article(type(given).__name__)}",
            fix=f"give a `stator.static.{kind.__name__}`",
        )


class Executor:
    """Runs programs on one device, with one backend.

    `backend` defaults as for `to_static`.

    >>> import numpy
    >>> from stator import static
    >>> program = static.Program()
    >>> with static.program_guard(program):
    ...     x = static.data("x", [None])
    ...     doubled = x * 2
    >>> [result] = Executor("cpu").run(program, {"x": numpy.ones(2, "float32")}, [doubled])
    >>> result.tolist()
    [2.0, 2.0]
    """

    def __init__(self, device: str | torch.device = "cpu", backend: str | None = None) -> None:
        check_backend(backend)
        self.backend = backend
        try:
            self.device = torch.device(device)
        except (RuntimeError, TypeError):
            raise InputError(f"{device!r} is not a device",
                             fix='give one such as "cpu" or "cuda:0"') from None  # fmt: skip
        self._plans: weakref.WeakKeyDictionary[StaticProgram, Plans] = weakref.WeakKeyDictionary()
        self._lock = ForkSafeLock()

    @user_facing
    def run(
        self,
        program: StaticProgram | CompiledProgram,
        feed: Mapping[Any, Any] | None = None,
        fetch_list: Sequence[Any] | None = None,
        return_numpy: bool = True,
        use_prune: bool = False,
    ) -> list[Any]:
        """Run `program` on the inputs in `feed`; returns the values of `fetch_list`.

        The keys of `feed` and the items of `fetch_list` are names, Values, or the tensors that the
        code of the program used for them. Results are numpy arrays; with `return_numpy=False`,
        tensors. The whole program runs, including its side effects; with `use_prune=True`, only
        what the fetches need. Without a `fetch_list`, a loaded program returns the outputs that it
        was saved with.
        """
        if current_program() is not None:
            raise InputError("a program is run inside `program_guard`",
                             fix="run it after the `with`")  # fmt: skip
        compiled = program if isinstance(program, CompiledProgram) else None
        whole = compiled.program if compiled else program
        if not isinstance(whole, StaticProgram):
            raise InputError(f"{with_article(type(program).__name__)} cannot be run",
                             fix="pass a Program or a CompiledProgram")  # fmt: skip
        fetches = self._fetches(whole, fetch_list)
        plan = self._plan(whole, compiled, fetches, use_prune)
        execution = compiled.exec_strategy if compiled else ExecutionStrategy()
        given = {_name(whole, key): value for key, value in _items(feed)}
        inputs = feed_values(plan.program.inputs, used_inputs(plan.program), given, self.device)
        outputs = values_of(plan.run(inputs, self._stored(whole, plan), execution))
        if not return_numpy:
            return list(outputs)
        return [as_array(v.name, out) for v, out in zip(fetches, outputs, strict=True)]

    def _fetches(self, program: StaticProgram, fetch_list: Sequence[Any] | None) -> list[Value]:
        if fetch_list is None:
            return program.fetches
        if isinstance(fetch_list, str | Value | torch.Tensor):
            fetch_list = [fetch_list]
        return [program.value_of(wanted, "fetch") for wanted in fetch_list]

    def _plan(
        self,
        program: StaticProgram,
        compiled: CompiledProgram | None,
        fetches: list[Value],
        pruned: bool,
    ) -> Plan:
        """The plan for these fetches, made once for each state of the program."""
        strategy = compiled.build_strategy if compiled else None
        key = (program.version, pruned, repr(strategy), self.backend, *map(id, fetches))
        with self._lock:
            plans = compiled._plans if compiled else self._plans.setdefault(program, {})
            if key not in plans:
                plans[key] = self._made(program, strategy, fetches, pruned)
            return plans[key]

    def _made(
        self,
        program: StaticProgram,
        strategy: BuildStrategy | None,
        fetches: list[Value],
        pruned: bool,
    ) -> Plan:
        recorded = program.recorded
        if pruned:
            chosen = needed_for(recorded, fetches, must_stay=program.is_path_check)
        else:
            chosen = restrict(recorded, fetches)
        return Plan(
            optimize(chosen), program.tensors, strategy, private=program.private,
            modes=program.modes, backend=self.backend,
        )  # fmt: skip

    def _stored(self, program: StaticProgram, plan: Plan) -> dict[str, torch.Tensor]:
        stored = {item.name: program.tensors[item.name] for item in plan.program.stored}
        for item in plan.program.stored:
            check_type(item.value.type, stored[item.name], f"the {item.kind} `{item.name}`", {})
            self._check_device(item.name, item.value)
        for value in plan.program.inputs:
            self._check_device(value.name, value)
        return stored

    def _check_device(self, name: str, value: Value) -> None:
        kind = value.type
        if isinstance(kind, TensorType) and torch.device(kind.device) != self.device:
            raise InputError(
                f"`{name}` of the program is on {kind.device}, and the executor on {self.device}",
                fix=f"use Executor({kind.device!r}), or write the program for {self.device}",
            )


def _name(program: StaticProgram, key: Any) -> str:
    return key if isinstance(key, str) else program.value_of(key, "feed").name


def _items(feed: Mapping[Any, Any] | None) -> list[tuple[Any, Any]]:
    if feed is None:
        return []
    if not isinstance(feed, Mapping):
        raise InputError(f"feed is {with_article(type(feed).__name__)}",
                         fix="give a dict: {name: array or tensor}")  # fmt: skip
    return list(feed.items())
