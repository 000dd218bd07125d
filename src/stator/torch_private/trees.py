"""Tensors in nested containers, and tables keyed by tensor."""

from __future__ import annotations

from torch.utils import _pytree as pytree
from torch.utils.weak import WeakTensorKeyDictionary

__all__ = ["MODULE_NAME", "WeakTensorKeyDictionary", "pytree", "tree_leaves", "tree_map_only"]

MODULE_NAME = pytree.__name__  # its functions look at exact classes
tree_leaves = pytree.tree_leaves
tree_map_only = pytree.tree_map_only
