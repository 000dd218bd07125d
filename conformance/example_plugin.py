"""A plugin that captures nothing, as a pattern for others.

python conformance/run_peers.py --plugin conformance/example_plugin.py --out identity.json
"""

from typing import Any

import torch


def identity(_case: Any, target: Any) -> tuple[Any, Any]:
    """What to call, and the module whose parameters have the gradients (None for a function)."""
    return target, (target if isinstance(target, torch.nn.Module) else None)


PEERS = {"identity": identity}
