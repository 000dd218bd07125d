"""Modes that see every op, the Python dispatcher, and transforms around a call."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch._dispatch.python import enable_python_dispatcher, no_python_dispatcher
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import (
    ProxyTorchDispatchMode,
    PythonKeyTracer,
    disable_proxy_modes_tracing,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._python_dispatch import _disable_current_modes as disable_current_modes

__all__ = [
    "ProxyTorchDispatchMode",
    "PythonKeyTracer",
    "TorchDispatchMode",
    "disable_current_modes",
    "disable_proxy_modes_tracing",
    "enable_python_dispatcher",
    "forward_ad_level",
    "has_autocast",
    "has_saved_tensor_hooks",
    "is_plain_call",
    "leave_pre_dispatch",
    "no_python_dispatcher",
    "set_grad_mode",
    "temporarily_clear_interpreter_stack",
]

PLAIN_TENSORS = (torch.Tensor, torch.nn.Parameter)


def set_grad_mode(enabled: bool) -> None:
    """Grad mode, set where no mode sees it: `torch.set_grad_enabled` can be recorded."""
    torch._C._set_grad_enabled(enabled)


def has_saved_tensor_hooks() -> bool:
    """Are there hooks on saved tensors around here, by `saved_tensors_hooks`?"""
    return torch._C._autograd._top_saved_tensors_default_hooks(True) is not None


def forward_ad_level() -> int:
    """How many levels of forward-mode differentiation are open, less one."""
    return forward_ad._current_level


def leave_pre_dispatch() -> None:
    """Take the mode out of torch's pre-dispatch slot, which all threads share."""
    key = torch._C._TorchDispatchModeKey.PROXY
    if torch._ops._get_dispatch_mode_pre_dispatch(key) is not None:
        torch._ops.unset_mode_pre_dispatch(key)


def has_autocast() -> bool:
    """Is autocast enabled here, for any type of device?"""
    return torch._C._is_any_autocast_enabled()


def is_plain_call(tensors: Sequence[torch.Tensor], *, may_cast: bool = False) -> bool:
    """Whether a call on `tensors` is one of torch's kernels: no mode, transform or cast is around.

    None of the tensors is of a subclass, a conjugate or negative view, or from inference mode
    where gradients are recorded. With `may_cast`, autocast may be around.
    """
    if torch._C._len_torch_dispatch_stack() or (has_autocast() and not may_cast):
        return False
    if torch._C._functorch.peek_interpreter_stack() is not None or forward_ad_level() >= 0:
        return False
    records = torch.is_grad_enabled()
    return all(
        type(tensor) in PLAIN_TENSORS
        and not (tensor.is_neg() or tensor.is_conj() or (records and tensor.is_inference()))
        for tensor in tensors
    )
