"""Which `with` statements are staged: not those of torch's managers, which look at no exception.

Those that turn gradients on are: a saved program turns them on also where its caller has not.
"""

from __future__ import annotations

import ast

TURNING_ON = ("enable_grad", "set_grad_enabled")


def is_staged_with(node: ast.With) -> bool:
    """Is a manager of `node` one of TURNING_ON, or not called as `torch.…(…)`?"""
    return any(not _is_torchs(item.context_expr) for item in node.items)


def _is_torchs(context: ast.expr) -> bool:
    part = context.func if isinstance(context, ast.Call) else context
    dotted = isinstance(part, ast.Attribute) and part.attr not in TURNING_ON
    while isinstance(part, ast.Attribute):
        part = part.value
    return dotted and isinstance(part, ast.Name) and part.id == "torch"
