"""CUDA graphs next to eager, `torch.compile`, `torch.jit.script` and JAX: one GPU, one run.

The functions are written as people write them. A figure is the median over the rounds of eager's
time over the contender's; contenders alternate, every call is waited for, and the calls before
which something is compiled or recorded are not part of it.

    python -m bench.gpu [--rows TEXT] [--rounds N] [--without-compile] [--json FILE]
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import Tensor, nn
from torch.nn import functional

import stator
from bench import gpu_jax
from bench.workloads import append_and_stack, cnn, tiny_ops, twenty_ifs

CONSOLE = Console(width=160, highlight=False)
ROUNDS = 7
DEVICE = "cuda"
EOS, VOCABULARY = 7, 50257


@dataclass(frozen=True)
class GpuWorkload:
    """A function or module, what it is called with, and what is asked of it next to eager."""

    name: str
    make: Callable[[], Callable[..., object]]
    inputs: Callable[[], tuple[Tensor, ...]]
    target: float
    scripts: bool = True


def scalar_loop(x: Tensor, limit: Tensor) -> tuple[Tensor, Tensor]:
    """A thousand iterations that a tensor ends, of five ops on one number each."""
    total = torch.zeros_like(x)
    while bool(total < limit):
        x = x * 0.999
        x = x + 0.001
        total = total + 1.0
        x = x - 0.0001
    return x, total


def long_ifs(x: Tensor, weight: Tensor) -> Tensor:
    """Twenty decisions between two ways of some length."""
    for i in range(20):
        if bool(x.sum() > 0.5 * i):
            x = torch.tanh(x @ weight) * 1.1 - 0.05
            x = x + torch.sigmoid(x @ weight)
        else:
            x = torch.sin(x @ weight) + 0.2
            x = x - torch.cos(x @ weight)
    return x


class GruUntil(nn.Module):
    """A GRU cell, stepped until a score is reached."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.score = nn.GRUCell(128, 128), nn.Linear(128, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        """The last state and the number of steps."""
        h = torch.zeros_like(x)
        steps = 0
        while steps < 100 and bool(self.score(h).sigmoid().mean() < 0.9):
            h = self.cell(x, h)
            steps += 1
        return h, steps


class Block(nn.Module):
    """One layer of a decoder with a cache of fixed size."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, h: Tensor, keys: Tensor, values: Tensor, n: int, seen: Tensor) -> Tensor:
        """The state after this layer, for the token at place `n`."""
        q, k, v = self.qkv(self.first(h)).view(1, 3, self.heads, -1).unbind(1)
        keys[:, :, n] = k
        values[:, :, n] = v
        found = functional.scaled_dot_product_attention(q[:, :, None], keys, values, seen)
        h = h + self.out(found.reshape(1, -1))
        return h + self.down(functional.gelu(self.up(self.second(h))))


class GrowingBlock(Block):
    """One layer of a decoder with a cache that grows."""

    def forward(self, h: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # type: ignore[override]
        """The state after this layer, and the cache with one more column."""
        q, k, v = self.qkv(self.first(h)).view(1, 3, self.heads, 1, -1).unbind(1)
        keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        found = functional.scaled_dot_product_attention(q, keys, values)
        h = h + self.out(found.reshape(1, -1))
        return h + self.down(functional.gelu(self.up(self.second(h)))), keys, values


class Decoder(nn.Module):
    """GPT-2 small, half precision, random weights: greedy search that ends at a token."""

    def __init__(
        self, layers: int = 12, width: int = 768, heads: int = 12, limit: int = 128
    ) -> None:
        super().__init__()
        self.limit, self.heads, self.width = limit, heads, width
        self.words, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(limit, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, token: Tensor) -> Tensor:
        """The tokens, up to the one that ends a text."""
        shape = (1, self.heads, self.limit, self.width // self.heads)
        like = self.words.weight
        keys = [like.new_zeros(shape) for _ in self.blocks]
        values = [like.new_zeros(shape) for _ in self.blocks]
        found = torch.zeros(self.limit, dtype=torch.long, device=token.device)
        n = 0
        while n < self.limit:
            h = self.words(token) + self.places.weight[n]
            seen = (torch.arange(self.limit, device=token.device) <= n).view(1, 1, 1, -1)
            for i, block in enumerate(self.blocks):
                h = block(h, keys[i], values[i], n, seen)
            token = (self.norm(h) @ like.T).argmax(-1)
            found[n] = token[0]
            n += 1
            if bool(token[0] == EOS):
                break
        return found[:n]


class GrowingDecoder(nn.Module):
    """GPT-2 small with a cache that grows by a column for each token, as people write it."""

    def __init__(
        self, layers: int = 12, width: int = 768, heads: int = 12, limit: int = 64
    ) -> None:
        super().__init__()
        self.limit, self.heads, self.width = limit, heads, width
        self.words, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(limit, width)
        self.blocks = nn.ModuleList(GrowingBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, token: Tensor) -> Tensor:
        """The tokens, up to the one that ends a text."""
        like = self.words.weight
        empty = like.new_zeros((1, self.heads, 0, self.width // self.heads))
        keys, values = [empty for _ in self.blocks], [empty for _ in self.blocks]
        found = token[:0]
        n = 0
        while n < self.limit:
            h = self.words(token) + self.places.weight[n]
            for i, block in enumerate(self.blocks):
                h, keys[i], values[i] = block(h, keys[i], values[i])
            token = (self.norm(h) @ like.T).argmax(-1)
            found = torch.cat([found, token])
            n += 1
            if bool(token[0] == EOS):
                break
        return found


def on_device(make: Callable[[], nn.Module], dtype: torch.dtype = torch.float32) -> Any:
    """A module for inference on the GPU."""
    return lambda: make().to(DEVICE, dtype).eval()


def some(*sizes: tuple[int, ...]) -> Callable[[], tuple[Tensor, ...]]:
    """Random tensors."""
    return lambda: tuple(torch.randn(size, device=DEVICE) * 0.3 for size in sizes)


WORKLOADS = (
    GpuWorkload("while, 1000 x 5 scalar ops", lambda: scalar_loop,
                lambda: (torch.tensor(0.5, device=DEVICE), torch.tensor(1000.0, device=DEVICE)), 8),
    GpuWorkload("GRU until a score", on_device(GruUntil), some((8, 128)), 6),
    GpuWorkload("20 ifs", lambda: twenty_ifs, some((4,)), 6),
    GpuWorkload("20 longer ifs", lambda: long_ifs, some((256, 256), (256, 256)), 2),
    GpuWorkload("GPT-2 small, greedy, 128 tokens", on_device(Decoder, torch.half),
                lambda: (torch.tensor([11], device=DEVICE),), 8, scripts=False),
    GpuWorkload("GPT-2 small, growing cache, 64 tokens", on_device(GrowingDecoder, torch.half),
                lambda: (torch.tensor([11], device=DEVICE),), 3, scripts=False),
    GpuWorkload("append and stack, 100", lambda: append_and_stack,
                lambda: (torch.randn(64, device=DEVICE), torch.tensor(100, device=DEVICE)), 6),
    GpuWorkload("60 pointwise ops", lambda: tiny_ops, some((4096,), (4096,)), 12),
    GpuWorkload("CNN, batch 4", on_device(cnn), some((4, 3, 32, 32)), 2.8),
)  # fmt: skip


def contenders(
    workload: GpuWorkload, *, compiles: bool
) -> dict[str, Callable[[], Callable[..., Any] | None]]:
    """What makes the workload in each way that runs it, each over a module of its own."""

    def fresh() -> Any:
        torch.manual_seed(0)
        return workload.make()

    exact = stator.static.BuildStrategy(fuse_ops=False)
    makers: dict[str, Callable[[], Callable[..., Any] | None]] = {"eager": fresh}
    if compiles:
        makers["compile"] = lambda: torch.compile(fresh())
        if workload.scripts:
            makers["script"] = lambda: torch.jit.script(fresh())
    makers["jax"] = lambda: gpu_jax.contender(workload.name, fresh())
    makers["default"] = lambda: stator.to_static(fresh())
    makers["exact"] = lambda: stator.to_static(fresh(), backend="cudagraph", build_strategy=exact)
    makers["cudagraph"] = lambda: stator.to_static(fresh(), backend="cudagraph")
    return makers


def mebibytes(function: Callable[..., Any], inputs: tuple[Tensor, ...], before: int) -> float:
    """The most memory that torch has in use during a call, beyond what it had `before`."""
    torch.cuda.reset_peak_memory_stats()
    function(*inputs)
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


def graph_mebibytes() -> float:
    """What the memory pools of all CUDA graphs hold, in use or kept for their next replay."""
    segments = torch.cuda.memory_snapshot()
    return sum(s["total_size"] for s in segments if tuple(s["segment_pool_id"]) != (0, 0)) / 2**20


def seconds(function: Callable[..., Any], inputs: tuple[Tensor, ...], count: int) -> float:
    """How long a call takes that is waited for."""
    begin = time.perf_counter()
    for _ in range(count):
        function(*inputs)
        torch.cuda.synchronize()
    return (time.perf_counter() - begin) / count


def same(one: Any, other: Any, tolerance: float = 0.0) -> bool:
    """Whether two results are equal, up to a tolerance."""
    if isinstance(one, Tensor):
        return one.shape == other.shape and torch.allclose(one, other, tolerance, tolerance)
    if isinstance(one, tuple):
        return all(same(a, b, tolerance) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def measured(workload: GpuWorkload, rounds: int, *, compiles: bool) -> dict[str, Any]:
    """Eager's time for one call in microseconds, and how many times faster each contender is."""
    torch.manual_seed(1)
    inputs = workload.inputs()
    made: dict[str, Callable[..., Any]] = {}
    expected: Any = None
    first, memory, graphs = {}, {}, {}
    for name, make in contenders(workload, compiles=compiles).items():
        gc.collect()
        before, graphs_before = torch.cuda.memory_allocated(), graph_mebibytes()
        function = make()
        if function is None:
            continue
        begin = time.perf_counter()
        try:
            for _ in range(4):
                found = function(*inputs)
            torch.cuda.synchronize()
            stator.compiled(wait=True)
            for _ in range(2):
                found = function(*inputs)
            torch.cuda.synchronize()
        except Exception as error:  # noqa: BLE001  # a contender that cannot is left out
            CONSOLE.print(f"  {name}: {type(error).__name__}: {str(error).splitlines()[0][:100]}")
            continue
        made[name] = function
        first[name] = time.perf_counter() - begin
        memory[name] = mebibytes(function, inputs, before)
        graphs[name] = graph_mebibytes() - graphs_before
        expected = found if name == "eager" else expected
        for region in stator.compiled():
            if region.state == "failed":
                CONSOLE.print(f"  {region}")
        tolerance = {"default": 0.0, "exact": 0.0, "cudagraph": 1e-3}.get(name)
        if tolerance is not None and not same(found, expected, tolerance):
            raise AssertionError(f"{workload.name}: {name} differs from eager")
    count = max(1, int(0.15 / seconds(made["eager"], inputs, 2)))
    taken: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(rounds):
        for name, function in made.items():
            taken[name].append(seconds(function, inputs, count))
    medians = {name: statistics.median(times) for name, times in taken.items()}
    return {
        "name": workload.name, "target": workload.target, "eager_us": medians["eager"] * 1e6,
        **{name: medians["eager"] / time for name, time in medians.items() if name != "eager"},
        "ready_s": {name: round(value, 2) for name, value in first.items()},
        "memory_mib": {name: round(value, 1) for name, value in memory.items() if name != "jax"},
        "graphs_mib": {name: round(value, 1) for name, value in graphs.items() if value},
    }  # fmt: skip


@torch.no_grad()
def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default="")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--without-compile", action="store_true")
    parser.add_argument("--json", default="")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    CONSOLE.print(torch.cuda.get_device_name(), torch.__version__)
    rows = []
    for workload in WORKLOADS:
        if given.rows not in workload.name:
            continue
        row = measured(workload, given.rounds, compiles=not given.without_compile)
        rows.append(row)
        figures = [f"{k}={v:.2f}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items()]
        CONSOLE.print(" ".join(figures))
    if given.json:
        Path(given.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
