"""Seeds and states of torch's random generator inside a program: each run sets and reads its own.

torch.manual_seed(3)               stator::seed(3)
with torch.random.fork_rng():      %1 = stator::random_state()
    y = torch.rand(2)              %2 = aten::rand([2])
                                   stator::set_random_state(%1)
"""

from __future__ import annotations

from typing import NoReturn

import torch

from stator.errors import UnsupportedCall
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.symbolic import Number
from stator.values.union import Union


def seed(session: Session, seed: Staged) -> torch.Generator:
    """`torch.manual_seed(seed)`."""
    number = seed if isinstance(seed, Number) else int(session.interpreter.call(int, seed))
    session.recorder.emit("stator::seed", (session.recorder.arg(number),))
    return torch.default_generator


def random_state(session: Session) -> torch.Tensor:
    """`torch.get_rng_state()`."""
    recorder = session.recorder
    with recorder.real():
        size = torch.default_generator.get_state().numel()
    state = recorder.new_tensor(torch.uint8, (size,), torch.device("cpu"), False)
    value = recorder.new_value(recorder.tensor_type(state))
    recorder.emit("stator::random_state", (), [value])
    recorder.bind(state, value)
    return state


def set_random_state(session: Session, new_state: Staged) -> None:
    """`torch.set_rng_state(new_state)`."""
    if isinstance(new_state, Union):
        session.recorder.apply(new_state, lambda one: set_random_state(session, one))
        return
    if not isinstance(new_state, torch.Tensor):
        torch.default_generator.set_state(new_state)  # which raises
    session.recorder.emit("stator::set_random_state", (session.recorder.tensor_arg(new_state),))


def refuse_cuda_state(*_args: object, **_kwargs: object) -> NoReturn:
    """The generators of CUDA devices: only a whole seed is an op."""
    raise UnsupportedCall(
        "the random state of a CUDA device is read or set inside a program",
        fix="seed all devices with `torch.manual_seed`; give `fork_rng` the argument `devices=[]`",
    )
