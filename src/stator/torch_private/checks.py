"""How many modes of the user's see what is called."""

from __future__ import annotations

import torch

__all__ = ["count_function_modes"]

# how many modes there are that see calls of torch functions, a default device being one
count_function_modes = torch._C._len_torch_function_stack
