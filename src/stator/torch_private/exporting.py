"""torch.export without assumptions about sizes, and the control flow of its graphs."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from typing import Any

import torch
from torch.fx.experimental import _config as shape_config

__all__ = ["assert_tensor", "check_sizes", "cond", "exported", "while_loop"]

cond = torch.ops.higher_order.cond
while_loop = torch.ops.higher_order.while_loop
assert_tensor = torch.ops.aten._assert_async.msg
check_sizes = torch._check  # a condition on sizes, which torch.export relies on from there on


def exported(
    module: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    dynamic_shapes: Any,
) -> torch.export.ExportedProgram:
    """What torch.export makes of a module; a dynamic size is not taken to differ from 0 and 1.

    There are no gradients. Where a module turned them off in a part of it, torch would look for the
    branches and loops of that part in the wrong place. The graph that torch prints when it fails is
    left out.
    """
    oblivious = shape_config.patch(backed_size_oblivious=True)  # type: ignore[attr-defined]
    with oblivious, torch.no_grad(), contextlib.redirect_stderr(io.StringIO()):
        return torch.export.export(
            module, args, dict(kwargs), dynamic_shapes=dynamic_shapes, strict=False
        )
