"""Calls that are given a `torch.Generator`, and those that create or seed one."""

from __future__ import annotations

import torch

from stator.errors import UnsupportedCall
from stator.library.generator_definitions import FIRST_SEED, CapturedGenerator, draw, draw_outside
from stator.library.markers import mark_host_call
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged


def new_generator(session: Session, device: object = "cpu") -> Staged:
    """`torch.Generator(device)`."""
    _refuse_device(torch.device(device))  # type: ignore[call-overload]  # the caller's argument
    new = CapturedGenerator.__new__(CapturedGenerator)
    session.provenance.add_created(new)
    return session.interpreter.run(CapturedGenerator.manual_seed, new, FIRST_SEED)


def takes_generator(function: object, kwargs: Keywords) -> bool:
    """Does a call of torch's draw from a generator that is not the default one?"""
    given = kwargs.get("generator")
    return (
        isinstance(given, torch.Generator)
        and given is not torch.default_generator
        and not isinstance(function, type)
    )


def call_with_generator(session: Session, function: object, args: Args, kwargs: Keywords) -> Staged:
    """`function(*args, generator=..., **kwargs)`."""
    generator = kwargs["generator"]
    rest = {name: value for name, value in kwargs.items() if name != "generator"}
    run = session.interpreter.run
    if isinstance(generator, CapturedGenerator):
        return run(draw, function, generator, args, rest)
    _refuse_device(generator.device)
    return run(draw_outside, function, *_host_calls(generator), args, rest)


def _host_calls(generator: torch.Generator) -> Staged:
    """Functions that read the seed and the state of `generator`, and write its state."""

    def load() -> None:
        torch.set_rng_state(generator.get_state())

    def store() -> None:
        generator.set_state(torch.get_rng_state())

    def seed() -> int:
        return generator.initial_seed()

    seed.__qualname__ = "torch.Generator.initial_seed"
    results = ((seed, int), (load, None), (store, None))
    return tuple(mark_host_call(function, result) for function, result in results)


def _refuse_device(device: torch.device) -> None:
    if device.type != "cpu":
        raise UnsupportedCall(f"a `torch.Generator` of the device {device}",
                              fix="use one of the device cpu")  # fmt: skip
