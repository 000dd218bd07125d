"""The rows of `bench.gpu` as JAX programs, written with its own loops and branches.

JAX cannot run the functions as they are: a loop that ends by a value is a `while_loop` there, a
branch a `cond`, a list that grows an array of full size. `CONTENDERS` has what could be written.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

MOST_ITEMS = 128


def library() -> Any | None:
    """JAX, if it is there and sees a GPU."""
    try:
        jax: Any = importlib.import_module("jax")
    except ImportError:
        return None
    return jax if jax.default_backend() == "gpu" else None


def scalar_loop(jax: Any) -> Callable[..., Any]:
    """A thousand iterations that an array ends."""

    def function(x: Any, limit: Any) -> Any:
        def body(carried: Any) -> Any:
            x, total = carried
            return x * 0.999 + 0.001 - 0.0001, total + 1.0

        return jax.lax.while_loop(lambda carried: carried[1] < limit, body, (x, x * 0))

    return function


def twenty_ifs(jax: Any) -> Callable[..., Any]:
    """Twenty decisions, each on the values of an array."""

    def function(x: Any) -> Any:
        for i in range(20):
            x = jax.lax.cond(
                x.sum() > 0.5 * i, lambda x: x * 1.1 - 0.05, lambda x: x + 0.2, x
            )  # fmt: skip
        return x

    return function


def append_and_stack(jax: Any) -> Callable[..., Any]:
    """Rows of an array of full size; how many there are is for the caller to see."""

    def function(x: Any, count: Any) -> Any:
        kept = jax.numpy.zeros((MOST_ITEMS, *x.shape)).at[0].set(x)

        def body(i: Any, carried: Any) -> Any:
            x, kept = carried
            x = x * 0.5 + 1.0
            return x, kept.at[i + 1].set(x)

        return jax.lax.fori_loop(0, count, body, (x, kept))[1]

    return function


def tiny_ops(jax: Any) -> Callable[..., Any]:
    """Sixty pointwise ops."""

    def function(x: Any, y: Any) -> Any:
        for _ in range(12):
            x = jax.numpy.tanh(x * 0.9 + y) - y * 0.1
        return x

    return function


def gru_until(jax: Any, module: nn.Module) -> Callable[..., Any]:
    """A GRU cell, stepped until a score is reached."""
    np = jax.numpy
    weights = {name: np.asarray(value.cpu().numpy()) for name, value in module.named_parameters()}

    def function(x: Any) -> Any:
        taken = x @ weights["cell.weight_ih"].T + weights["cell.bias_ih"]

        def is_going_on(carried: Any) -> Any:
            h, steps = carried
            score = jax.nn.sigmoid(h @ weights["score.weight"].T + weights["score.bias"])
            return (steps < 100) & (score.mean() < 0.9)

        def body(carried: Any) -> Any:
            h, steps = carried
            from_x = np.split(taken, 3, -1)
            from_h = np.split(h @ weights["cell.weight_hh"].T + weights["cell.bias_hh"], 3, -1)
            reset = jax.nn.sigmoid(from_x[0] + from_h[0])
            update = jax.nn.sigmoid(from_x[1] + from_h[1])
            new = np.tanh(from_x[2] + reset * from_h[2])
            return (h - new) * update + new, steps + 1

        return jax.lax.while_loop(is_going_on, body, (x * 0, 0))

    return function


def contender(name: str, made: Any) -> Callable[..., Any] | None:
    """The row of this name for torch's tensors; `made` is the function or module of torch."""
    jax = library()
    if jax is None:
        return None
    functions: dict[str, Callable[[], Callable[..., Any]]] = {
        "while, 1000 x 5 scalar ops": lambda: scalar_loop(jax),
        "GRU until a score": lambda: gru_until(jax, made),
        "20 ifs": lambda: twenty_ifs(jax),
        "append and stack, 100": lambda: append_and_stack(jax),
        "60 pointwise ops": lambda: tiny_ops(jax),
    }
    if name not in functions:
        return None
    function, known = jax.jit(functions[name]()), dict[int, Any]()

    def call(*tensors: Tensor) -> Any:
        for one in tensors:
            if id(one) not in known:
                known[id(one)] = jax.numpy.asarray(one.cpu().numpy())
        return jax.block_until_ready(function(*(known[id(one)] for one in tensors)))

    return call
