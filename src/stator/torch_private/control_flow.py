"""The control-flow functions of torch that take functions: `cond`, `while_loop`, `map`, `scan`."""

from __future__ import annotations

import importlib

import torch

__all__ = ["COMPILING", "cond", "map_rows", "scan", "while_loop"]

_PACKAGE = "torch._higher_order_ops"

cond = torch.cond
while_loop = importlib.import_module(f"{_PACKAGE}.while_loop").while_loop
map_rows = importlib.import_module(f"{_PACKAGE}.map").map
_scans = tuple(
    importlib.import_module(f"{_PACKAGE}.{name}") for name in ("scan", "associative_scan")
)
scan = _scans[0].scan
_utils = importlib.import_module(f"{_PACKAGE}.utils")
COMPILING = tuple(  # what compiles the functions that these are given; its name changes with torch
    (module, name)
    for module in (_utils, *_scans)
    for name in ("_hop_compile_and_call", "_maybe_compile_and_run_fn")
    if hasattr(module, name)
)
