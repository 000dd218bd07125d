"""What Python code of torch calls while it runs in a capture, though it is not converted.

An `autograd.Function` that it applies keeps its gradient, seeds that it sets become ops, code that
would compile a function (`torch.cond`) is converted instead, and where sizes are open `einsum`
takes its operands in order: the search for a cheaper order needs the sizes.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterator
from typing import Any, NoReturn

import torch
from torch.backends import opt_einsum

from stator.errors import DataDependent
from stator.library.gradients import apply_function
from stator.library.random_state import random_state, refuse_cuda_state, seed, set_random_state
from stator.state.replaced import replaced
from stator.state.session import Session
from stator.torch_private import control_flow

CUDA_STATE = (
    "get_rng_state", "get_rng_state_all", "set_rng_state", "set_rng_state_all", "manual_seed",
    "manual_seed_all", "seed", "seed_all",
)  # fmt: skip
APPLY = vars(torch.autograd.Function)["apply"].__func__  # as it is before a capture replaces it


@contextlib.contextmanager
def calls_inside_torch(session: Session) -> Iterator[None]:
    """Inside, the capture sees these calls of torch's own Python."""

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if session.recorder.dispatching is not None:  # the gradient of an op that is recorded whole
            return APPLY(cls, *args, **kwargs)
        return apply_function(session, cls.apply, args, kwargs)

    with contextlib.ExitStack() as stack:
        stack.enter_context(replaced(torch.autograd.Function, "apply", apply))
        for owner, name in control_flow.COMPILING:
            stack.enter_context(replaced(owner, name, _refuse_to_compile))
        for owner in (torch, torch.random):
            for name, handler in (
                ("manual_seed", seed),
                ("get_rng_state", random_state),
                ("set_rng_state", set_random_state),
            ):
                call = _given(session, handler)
                stack.enter_context(replaced(owner, name, call))
        if torch.cuda.is_initialized():
            for owner, name in itertools.product((torch.cuda, torch.cuda.random), CUDA_STATE):
                stack.enter_context(replaced(owner, name, refuse_cuda_state))
        package = opt_einsum.get_opt_einsum()
        if package is not None:
            find = functools.partial(_path, package.contract_path)
            stack.enter_context(replaced(package, "contract_path", find))
        yield


def _path(find: Any, equation: Any, *operands: Any, **options: Any) -> Any:
    """`opt_einsum.contract_path`; where sizes are open, one operand after the other."""
    sizes = (size for one in operands for size in getattr(one, "shape", ()))
    if not any(isinstance(size, torch.SymInt) for size in sizes):
        return find(equation, *operands, **options)
    return [(0, 1), *((0, last) for last in range(len(operands) - 2, 0, -1))], None


def _given(session: Session, handler: Any) -> Any:
    return lambda *args, **kwargs: handler(session, *args, **kwargs)


def _refuse_to_compile(*_args: Any, **_kwargs: Any) -> NoReturn:
    raise DataDependent("torch compiles a function inside a program",
                        fix="write plain `if` and `while`")  # fmt: skip
