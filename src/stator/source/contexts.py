"""Which `with` statements may do more than torch's own: swallow an exception, or look at it."""

from __future__ import annotations

import ast


def is_staged_with(node: ast.With) -> bool:
    """Is a manager of `node` other than one that is called as `torch.…(…)`?"""
    return any(not _is_torchs(item.context_expr) for item in node.items)


def _is_torchs(context: ast.expr) -> bool:
    part = context.func if isinstance(context, ast.Call) else context
    dotted = isinstance(part, ast.Attribute)
    while isinstance(part, ast.Attribute):
        part = part.value
    return dotted and isinstance(part, ast.Name) and part.id == "torch"
