"""SteppedPrograms: the programs of one function while someone steps through them."""

from __future__ import annotations

from stator.api.concrete import ConcreteProgram, observed_program
from stator.api.source_function import SourceFunction
from stator.debug.stepping.targets import Watcher
from stator.debug.stepping.variables import VariableListener
from stator.staging.trace import trace


class SteppedPrograms:
    """The programs of one function while someone steps through them."""

    def __init__(self, source: SourceFunction, watcher: Watcher) -> None:
        self._source, self._watcher = source, watcher
        self._programs: dict[int, ConcreteProgram] = {}

    def program(self, concrete: ConcreteProgram) -> ConcreteProgram:
        """`concrete`, captured again with what the user's names hold, and watched."""
        if id(concrete) not in self._programs:
            args, kwargs = concrete.specs
            source = self._source
            watch = VariableListener()
            captured = trace(
                source.current(), args, kwargs, name=source.name, owner=source.owner,
                live=concrete.captured.live, listening=watch.listening,
            )  # fmt: skip
            self._programs[id(concrete)] = observed_program(
                concrete, captured, watch.scenes, self._watcher
            )
        return self._programs[id(concrete)]
