"""Random numbers of Python's `random`: each run draws them, as eager code does.

    random.uniform(0, 1)    ->    host::call(0, 1) number=0, a float
    random.choice(rows)     ->    rows[random.randrange(len(rows))]

The functions that draw from a sequence are written out, with the same numbers in the same order.
"""

from __future__ import annotations

import bisect
import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stator.capture.recorder import Recorder
from stator.state.host_calls import record_host_call
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged
from stator.values.sites import GENERATORS, Shared
from stator.values.symbolic import CannotLeave, HostObject, needs_a_value

HOST_NAME = "random.Random"

RESULTS: dict[str, type | None] = {
    **dict.fromkeys((
        "random", "uniform", "triangular", "betavariate", "expovariate", "gammavariate", "gauss",
        "lognormvariate", "normalvariate", "vonmisesvariate", "paretovariate", "weibullvariate",
    ), float),
    **dict.fromkeys(("randint", "randrange", "getrandbits"), int),
    "seed": None,
}  # fmt: skip


def is_draw(session: Session, function: Any) -> bool:
    """Is it a method of a `random.Random`, as `random.random` is one of the module's own?"""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    return type(owner) is random.Random and name in RESULTS and not session.is_local(owner)


def written_out(function: Any) -> Any:
    """The definition of a method that draws from a sequence; None for any other function."""
    owner = getattr(function, "__self__", None)
    if type(owner) not in (random.Random, SeededRandom):
        return None
    return DRAWING.get(getattr(function, "__name__", ""))


class SeededRandom(CannotLeave, random.Random):
    """A `random.Random` with a known seed that converted code makes: its numbers are known.

    Inside a branch or a loop only a run knows how many were drawn. Then the capture starts again,
    and each run makes one of its own.
    """

    what = "random.Random"

    def __init__(self, recorder: Recorder, *seed: Any) -> None:
        self._recorder = recorder
        super().__init__(*seed)

    def __new__(cls, _recorder: Recorder, *seed: Any) -> SeededRandom:  # noqa: D102
        return super().__new__(cls, *seed)

    def random(self) -> float:
        """A number from 0 to 1."""
        self._check()
        return super().random()

    def getrandbits(self, k: int, /) -> int:
        """A number of `k` bits."""
        self._check()
        return super().getrandbits(k)

    def seed(self, *args: Any, **kwargs: Any) -> None:
        """Restart the generator from another seed."""
        self._check()
        super().seed(*args, **kwargs)

    def _check(self) -> None:
        if self._recorder.depth:
            raise Shared(frozenset({GENERATORS}), needs_a_value("how many numbers were drawn"))


def new_random(session: Session, *seed: Staged) -> Staged:
    """`random.Random(*seed)`."""
    is_known = all(type(one) in (int, float, str, bytes) for one in seed)
    if seed and is_known and session.pooled.group_of(GENERATORS) is None:
        made = SeededRandom(session.recorder, *seed)
        session.provenance.add_created(made)
        return made
    return record_host_call(session, random.Random, seed, {}, name=HOST_NAME, result=object)


def draw_of_run(
    session: Session, owner: HostObject, name: str, args: Args, kwargs: Keywords
) -> Any:
    """`owner.name(...)` of a `random.Random` that each run makes."""
    if name in DRAWING:
        return session.interpreter.run(DRAWING[name], owner, *args, **kwargs)
    if name not in RESULTS:
        raise owner.refused()
    return record_host_call(
        session, _Draw(name), (owner, *args), kwargs,
        name=f"{HOST_NAME}.{name}", result=RESULTS[name],
    )  # fmt: skip


@dataclass(frozen=True)
class _Draw:
    """Calls a method of what it is given."""

    name: str

    def __call__(self, owner: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(owner, self.name)(*args, **kwargs)


def choice(generator: Staged, seq: Staged) -> Staged:
    """`random.choice`; converted like user code, as all below."""
    if len(seq) == 0:
        raise IndexError("Cannot choose from an empty sequence")
    return seq[generator.randrange(len(seq))]


def shuffle(generator: Staged, x: Staged) -> None:
    """`random.shuffle`."""
    for i in reversed(range(1, len(x))):
        j = generator.randrange(i + 1)
        x[i], x[j] = x[j], x[i]


def choices(
    generator: Staged, population: Staged, weights: Staged = None, *, cum_weights: Staged = None,
    k: Staged = 1,
) -> Staged:  # fmt: skip
    """`random.choices`."""
    count = len(population)
    if cum_weights is None:
        if weights is None:
            return [population[math.floor(generator.random() * count)] for _ in range(k)]
        cum_weights = list(itertools.accumulate(weights))
    elif weights is not None:
        raise TypeError("Cannot specify both weights and cumulative weights")
    if len(cum_weights) != count:
        raise ValueError("The number of weights does not match the population")
    total = cum_weights[-1] + 0.0
    if total <= 0.0:
        raise ValueError("Total of weights must be greater than zero")
    return [
        population[bisect.bisect_right(cum_weights, generator.random() * total, 0, count - 1)]
        for _ in range(k)
    ]


def sample(generator: Staged, population: Staged, k: Staged) -> Staged:
    """`random.sample`, of a sequence."""
    count = len(population)
    if not 0 <= k <= count:
        raise ValueError("Sample larger than population or is negative")
    few = 21 if k <= 5 else 21 + 4 ** math.ceil(math.log(k * 3, 4))
    result = []
    if count <= few:
        pool = list(population)
        for i in range(k):
            j = generator.randrange(count - i)
            result.append(pool[j])
            pool[j] = pool[count - i - 1]
        return result
    taken = []
    for _ in range(k):
        j = generator.randrange(count)
        while j in taken:
            j = generator.randrange(count)
        taken.append(j)
        result.append(population[j])
    return result


DRAWING: dict[str, Callable[..., Staged]] = {
    "choice": choice,
    "shuffle": shuffle,
    "choices": choices,
    "sample": sample,
}
