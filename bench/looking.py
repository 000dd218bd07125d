"""`explain` and `view` of GPT-2 small: seconds, beside those that the capture takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from transformers import GPT2Config, GPT2LMHeadModel

import stator
from stator.debug.view import page

LIMIT = 5.0


def timed(code: Callable[[], Any]) -> float:
    """Seconds that `code` takes."""
    start = time.perf_counter()
    code()
    return time.perf_counter() - start


def main() -> None:
    """Print a table."""
    model = stator.to_static(GPT2LMHeadModel(GPT2Config()).eval())
    tokens = torch.zeros(1, 16, dtype=torch.int64)
    with torch.no_grad():
        capture = timed(lambda: model(tokens))
    rows = {
        "capture, and the first run": capture,
        "explain": timed(lambda: str(model.forward.explain())),
        "view": timed(lambda: page(model)),
    }
    table = Table("GPT-2 small, 12 layers", "seconds", f"of the {LIMIT:g} allowed")
    for name, seconds in rows.items():
        share = "" if name.startswith("capture") else f"{seconds / LIMIT:.2f}"
        table.add_row(name, f"{seconds:.2f}", share)
    Console().print(table)


if __name__ == "__main__":
    main()
