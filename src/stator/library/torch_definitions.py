"""Python code of torch, written out so that it can be converted: hooks, checkpoints, distributions.

Each function does what torch's own does, in Python that a capture can follow.
"""

from __future__ import annotations

import torch

from stator.torch_private.ops import pad_packed
from stator.values.annotations import Args, Keywords, Staged


def result_after_hook(hook: Staged, module: Staged, *given: Staged) -> Staged:
    """The result of `module`, the last of `given`, as a forward hook leaves it."""
    result = given[-1]
    changed = hook(module, *given)
    if changed is not None:
        result = changed
    return result


def positional_after_hook(hook: Staged, module: Staged, args: Args) -> Staged:
    """The arguments of `module` as a forward pre-hook leaves them."""
    changed = hook(module, args)
    if changed is not None:
        args = changed if isinstance(changed, tuple) else (changed,)
    return args


def arguments_after_hook(hook: Staged, module: Staged, args: Args, kwargs: Keywords) -> Staged:
    """The same, keyword arguments included."""
    changed = hook(module, args, kwargs)
    if changed is not None:
        args, kwargs = changed
    return args, kwargs


CHECKPOINT_OPTIONS = (
    "context_fn", "determinism_check", "debug", "early_stop", "preserve_rng_state",
)  # fmt: skip


def checkpoint(
    function: Staged, *args: Staged, use_reentrant: object = None, **kwargs: object
) -> Staged:
    """`torch.utils.checkpoint.checkpoint`: the same values and gradients; nothing is freed early.

    The reentrant form gives no gradient at all where no argument requires one.
    """
    given = {name: value for name, value in kwargs.items() if name not in CHECKPOINT_OPTIONS}
    leaves = [arg for arg in args if isinstance(arg, torch.Tensor) and arg.requires_grad]
    if use_reentrant in (None, True) and not leaves:
        with torch.no_grad():
            return function(*args, **given)
    return function(*args, **given)


def requires_grad_of_module(self: Staged, requires_grad: Staged = True) -> Staged:
    """`Module.requires_grad_`: whatever sets it, a run does so at its place."""
    for parameter in self.parameters():
        parameter.requires_grad_(requires_grad)
    return self


def apply_to_module(self: Staged, fn: Staged, recurse: Staged = True) -> Staged:
    """`Module._apply`, for `to`, `float`, `cpu`: parameters that it would replace are refused."""
    if recurse:
        for module in self.children():
            module._apply(fn)
    for parameter in self._parameters.values():
        if parameter is not None:
            parameter.data = fn(parameter.data)
    for key, buffer in self._buffers.items():
        if buffer is not None:
            self._buffers[key] = fn(buffer)
    return self


def pad_packed_sequence(
    sequence: Staged,
    batch_first: Staged = False,
    padding_value: Staged = 0.0,
    total_length: Staged = None,
) -> Staged:
    """`torch.nn.utils.rnn.pad_packed_sequence`: the op finds the length by itself."""
    longest = sequence.batch_sizes.size(0)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input"
        )
    length = -1 if total_length is None else total_length
    padded, lengths = pad_packed(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, length
    )
    unsorted = sequence.unsorted_indices
    if unsorted is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, unsorted), lengths[unsorted.cpu()]


def distribution_init(
    self: Staged, batch_shape: Staged = (), event_shape: Staged = (), validate_args: Staged = None
) -> None:
    """`Distribution.__init__`: the error for a wrong parameter does not print the parameter."""
    self._batch_shape, self._event_shape = torch.Size(batch_shape), torch.Size(event_shape)
    if validate_args is not None:
        self._validate_args = validate_args
    if self._validate_args:
        for name, constraint in self.arg_constraints.items():
            is_lazy = name not in self.__dict__ and isinstance(
                getattr(type(self), name), torch.distributions.utils.lazy_property
            )
            if is_lazy or torch.distributions.constraints.is_dependent(constraint):
                continue
            if not constraint.check(getattr(self, name)).all():
                raise ValueError(
                    f"Expected parameter {name} of distribution {type(self).__name__} "
                    f"to satisfy the constraint {constraint!r}"
                )


def validate_sample(self: Staged, value: Staged) -> None:
    """`Distribution._validate_sample`: its error does not print the value."""
    if not isinstance(value, torch.Tensor):
        raise ValueError("The value argument to log_prob must be a Tensor")
    expected = (*self._batch_shape, *self._event_shape)
    for size, wanted in zip(reversed(value.shape), reversed(expected), strict=False):
        if size != 1 and wanted != 1 and size != wanted:
            raise ValueError("Value is not broadcastable with batch_shape+event_shape")
    if not self.support.check(value).all():
        raise ValueError(
            f"Expected value argument to be within the support ({self.support!r}) "
            f"of the distribution {type(self).__name__}"
        )
