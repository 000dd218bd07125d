"""Torch's functional control flow as plain Python: `torch.cond`, `while_loop`, `map`, `scan`.

Torch compiles what these functions are given. Here they are converted like user code, so their
branches and loops become those of the program.
"""

from __future__ import annotations

import torch

from stator.values.annotations import Staged


def cond(predicate: Staged, true_fn: Staged, false_fn: Staged, operands: Staged = ()) -> Staged:
    """`torch.cond`."""
    if predicate:
        return true_fn(*operands)
    return false_fn(*operands)


def while_loop(cond_fn: Staged, body_fn: Staged, carried_inputs: Staged) -> Staged:
    """`torch.while_loop`; without an iteration the results are copies."""
    values = tuple(copied(value) for value in carried_inputs)
    while cond_fn(*values):
        values = tuple(body_fn(*values))
    return values


def copied(value: Staged) -> Staged:
    """`value`, its tensors copied."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    if isinstance(value, tuple):
        return tuple([copied(item) for item in value])
    return value


def map_rows(function: Staged, rows: Staged, *args: Staged) -> Staged:
    """`map` of torch's control flow: `function` of each row, stacked."""
    count = length_of(rows)
    if count == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    results = []
    for k in range(count):
        results.append(function(row_of(rows, k), *args))
    return stacked(results)


def scan(
    combine_fn: Staged, init: Staged, xs: Staged, *, dim: Staged = 0, reverse: Staged = False
) -> Staged:
    """`scan` of torch's control flow: a carry, and one output for each row, stacked."""
    rows = rows_first(xs, dim)
    count = length_of(rows)
    carry, results = init, []
    for k in range(count):
        carry, out = combine_fn(carry, row_of(rows, count - 1 - k if reverse else k))
        results.append(out)
    return carry, rows_back(stacked(results), dim, reverse)


def length_of(rows: Staged) -> Staged:
    """How many rows the tensors of a nested container have."""
    if isinstance(rows, torch.Tensor):
        return rows.shape[0]
    if isinstance(rows, dict):
        return length_of(next(iter(rows.values())))
    return length_of(rows[0])


def row_of(rows: Staged, k: Staged) -> Staged:
    """Row `k` of each tensor of a nested container."""
    if isinstance(rows, torch.Tensor):
        return rows[k]
    if isinstance(rows, dict):
        return {key: row_of(item, k) for key, item in rows.items()}
    if isinstance(rows, list):
        return [row_of(item, k) for item in rows]
    return tuple([row_of(item, k) for item in rows])


def rows_first(rows: Staged, dim: Staged) -> Staged:
    """The tensors of a nested container with dimension `dim` first."""
    if isinstance(rows, torch.Tensor):
        return rows.movedim(dim, 0)
    if isinstance(rows, dict):
        return {key: rows_first(item, dim) for key, item in rows.items()}
    if isinstance(rows, list):
        return [rows_first(item, dim) for item in rows]
    return tuple([rows_first(item, dim) for item in rows])


def rows_back(rows: Staged, dim: Staged, reverse: Staged) -> Staged:
    """The inverse of `rows_first`, for results."""
    if isinstance(rows, torch.Tensor):
        turned = rows.flip(0) if reverse else rows
        return turned.movedim(0, dim) if dim < turned.dim() else turned
    if isinstance(rows, dict):
        return {key: rows_back(item, dim, reverse) for key, item in rows.items()}
    if isinstance(rows, list):
        return [rows_back(item, dim, reverse) for item in rows]
    return tuple([rows_back(item, dim, reverse) for item in rows])


def stacked(results: Staged) -> Staged:
    """The results of all iterations, stacked tensor by tensor."""
    first = results[0]
    if isinstance(first, torch.Tensor):
        return torch.stack(list(results))
    if isinstance(first, dict):
        return {key: stacked([result[key] for result in results]) for key in first}
    if isinstance(first, list):
        return [stacked([result[k] for result in results]) for k in range(len(first))]
    return tuple([stacked([result[k] for result in results]) for k in range(len(first))])
