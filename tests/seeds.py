"""seed(): what `torch.manual_seed` does, where no device but the CPU draws numbers: much faster.

For each kind of device that was not used yet, torch notes the seed together with the whole stack.
"""

import torch


def seed(number: int) -> None:
    """Seed the generators of the CPU and, if CUDA is in use, of its devices."""
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(number)
    torch.default_generator.manual_seed(number)
