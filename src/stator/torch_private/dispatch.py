"""Modes that see every op, the Python dispatcher, and transforms around a call."""

from __future__ import annotations

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
    "has_saved_tensor_hooks",
    "leave_pre_dispatch",
    "no_python_dispatcher",
    "set_grad_mode",
    "temporarily_clear_interpreter_stack",
]


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
