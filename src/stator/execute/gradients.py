"""Gradients that users wrote: a block of the program runs when autograd asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils.hooks import BackwardHook

from stator.execute.backend import HostCallbacks
from stator.torch_private.modules import new_backward_hook

Backward = Callable[[Sequence[Any], Sequence[Any]], list[Any]]  # kept values, gradients


class CustomGradient(torch.autograd.Function):
    """Gives `results` a gradient of their own, with respect to `inputs`."""

    @staticmethod
    def forward(
        ctx: Any, backward: Backward, kept: Sequence[Any], results: Sequence[Any], *_inputs: Any
    ) -> Any:
        """The results, as they are."""
        ctx.backward_block = backward
        tensors = [value for value in kept if isinstance(value, torch.Tensor)]
        ctx.others = [None if isinstance(value, torch.Tensor) else (value,) for value in kept]
        ctx.save_for_backward(*tensors)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """What the block makes of the gradients."""
        tensors = iter(ctx.saved_tensors)
        kept = [next(tensors) if other is None else other[0] for other in ctx.others]
        with torch.set_grad_enabled(torch.is_grad_enabled()):
            answers = ctx.backward_block(kept, gradients)
        return (None, None, None, *answers)


def add_hook(tensor: torch.Tensor, backward: Backward, kept: Sequence[Any]) -> None:
    """The gradient of `tensor` becomes what the block makes of it."""

    def hook(gradient: torch.Tensor) -> Any:
        with torch.set_grad_enabled(torch.is_grad_enabled()):
            return backward(kept, [gradient])[0]

    tensor.register_hook(hook)


class ModuleHooks:
    """Backward hooks of modules, which are in the middle of a program: torch's own machinery.

    Between what goes into a module and what comes out of it, hooks of other modules may begin and
    end; one that an exception has left open is given up.
    """

    def __init__(self, modules: Mapping[str, torch.nn.Module]) -> None:
        self.modules = modules
        self._open: list[tuple[str, BackwardHook]] = []

    def callbacks(self) -> HostCallbacks:
        """What the ops of the program call."""
        return {"host::hook_inputs": self._go_in, "host::hook_outputs": self._come_out}

    def _go_in(self, tensors: Sequence[Any], attributes: Mapping[str, Any]) -> Sequence[Any]:
        """What the module is given."""
        name = attributes["module"]
        module = self.modules[name]
        hook = new_backward_hook(module)
        self._open.append((name, hook))
        return _picked(hook.setup_input_hook, tensors, attributes["places"], attributes["count"])

    def _come_out(self, tensors: Sequence[Any], attributes: Mapping[str, Any]) -> Sequence[Any]:
        """What it gives."""
        while True:
            known, hook = self._open.pop()
            if known == attributes["module"]:
                return _picked(
                    hook.setup_output_hook, tensors, attributes["places"], attributes["count"]
                )


def module_hooks(modules: Mapping[str, torch.nn.Module]) -> Callable[[], HostCallbacks] | None:
    """Makes the callbacks of one run for the hooks of `modules`; None if there are none."""
    return (lambda: ModuleHooks(modules).callbacks()) if modules else None


def _picked(
    hook: Callable[[tuple[Any, ...]], Any],
    tensors: Sequence[Any],
    places: Sequence[int],
    count: int,
) -> list[Any]:
    """What `hook` makes of `tensors`, which are at `places` among `count` values."""
    given = dict(zip(places, tensors, strict=True))
    answer = hook(tuple(given.get(place) for place in range(count)))
    return [answer[place] for place in places]


def run_gradients(
    outputs: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor],
    given: Sequence[torch.Tensor] | None,
    *,
    retain: bool,
    create: bool,
    materialize: bool,
) -> Sequence[torch.Tensor]:
    """`torch.autograd.grad` of values of the program."""
    return torch.autograd.grad(
        outputs, inputs, given, retain_graph=retain, create_graph=create,
        materialize_grads=materialize,
    )  # fmt: skip
