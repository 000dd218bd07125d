"""C++ checks of torch's own compiler: tensors, modes, versions of dicts.

NOTE: `torch._dynamo` is reached through `torch`, which loads it at its first use: that takes
seconds, which `import stator` need not spend. A capture loads it anyway.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._C._dynamo.guards import (
    GlobalStateGuard,
    GuardManager,
    RootGuardManager,
    TensorGuards,
    dict_version,
)

__all__ = [
    "GlobalStateGuard",
    "GuardManager",
    "RootGuardManager",
    "TensorGuards",
    "count_dispatch_modes",
    "count_function_modes",
    "dict_version",
    "dispatch_keys",
    "plain_guard_manager",
]

# how many modes there are that see calls of torch functions, a default device being one
count_function_modes = torch._C._len_torch_function_stack
# how many there are that see operators
count_dispatch_modes = torch._C._len_torch_dispatch_stack


def plain_guard_manager() -> Any:
    """The kind of guard manager that checks an item of a tuple."""
    return torch._dynamo.guards.GuardManagerType.GUARD_MANAGER


def dispatch_keys(tensor: torch.Tensor) -> int:
    """The dispatch keys of `tensor`, as the word that it keeps them in."""
    return torch._C._dispatch_keys(tensor).raw_repr()
