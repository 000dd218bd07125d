"""Tensors in nested containers, and tables keyed by tensor.

NOTE: the arguments of ops are tensors, numbers, and lists and tuples of them. Torch's own functions
take any container, and take several times as long; they are called for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils.weak import WeakTensorKeyDictionary

__all__ = ["MODULE_NAME", "WeakTensorKeyDictionary", "pytree", "tree_leaves", "tree_map_only"]

MODULE_NAME = pytree.__name__  # its functions look at exact classes
_LEAVES = frozenset((int, float, bool, complex, str, type(None), torch.dtype, torch.device))


def tree_leaves(tree: Any) -> list[Any]:
    """What is in `tree`, containers opened."""
    cls = type(tree)
    if cls in _LEAVES or isinstance(tree, torch.Tensor):
        return [tree]
    if cls is tuple or cls is list:
        return [leaf for item in tree for leaf in tree_leaves(item)]
    return pytree.tree_leaves(tree)


def tree_map_only(wanted: type, function: Callable[[Any], Any], tree: Any) -> Any:
    """`tree` with what `function` gives for each leaf of the class `wanted`."""
    cls = type(tree)
    if cls in _LEAVES or isinstance(tree, torch.Tensor):
        return function(tree) if isinstance(tree, wanted) else tree
    if cls is tuple or cls is list:
        return cls(tree_map_only(wanted, function, item) for item in tree)
    if cls is dict:
        return {key: tree_map_only(wanted, function, item) for key, item in tree.items()}
    return pytree.tree_map_only(wanted, function, tree)
