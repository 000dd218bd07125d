"""One process of a distributed training run, started by torchrun: eager, then static.

    torchrun --nproc-per-node 2 worker.py WAY FILE

Trains the same model twice from the same seed and writes both lists of losses, of all ranks, as
JSON. WAY says how the model is distributed, see `WAYS`.
"""

import gc
import json
import sys
from pathlib import Path

import torch
import torch.distributed
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

import stator

STEPS = 8


class Settling(nn.Module):
    """Steps until the state is calm; reads it with one of two heads, as the data says."""

    def __init__(self):
        super().__init__()
        self.step, self.norm = nn.Linear(6, 6), nn.LayerNorm(6)
        self.heads = nn.ModuleList([nn.Linear(6, 2) for _ in range(2)])

    def forward(self, x):
        iterations = 0
        while x.abs().mean() > 0.5 and iterations < 4:
            x = torch.tanh(self.step(self.norm(x)))
            iterations += 1
        if x.sum() > 0:
            return self.heads[0](x)
        return self.heads[1](x)


class Block(nn.Module):
    """Steps at least once: FSDP wants every rank to use every block, in eager code as well."""

    def __init__(self):
        super().__init__()
        self.step, self.norm = nn.Linear(6, 6), nn.LayerNorm(6)

    def forward(self, x):
        iterations = 0
        while iterations == 0 or (x.abs().mean() > 0.5 and iterations < 4):
            x = torch.tanh(self.step(self.norm(x)))
            iterations += 1
        return x


class Blocks(nn.Module):
    """Two blocks, each a unit of sharding of its own."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
        self.read = nn.Linear(6, 2)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.read(x)


def parallel(static):
    model = Settling()
    model = stator.to_static(model) if static else model
    return DistributedDataParallel(model, find_unused_parameters=True)


def sharded(static):
    model = Settling()
    model = stator.to_static(model) if static else model
    return fully_shard(model)


def sharded_blocks(static):
    """The blocks are converted and sharded one by one, the whole is sharded around them."""
    model = Blocks()
    for block in model.blocks:
        fully_shard(stator.to_static(block) if static else block)
    return fully_shard(model)


WAYS = {"ddp": parallel, "fsdp2": sharded, "fsdp2-blocks": sharded_blocks}


def losses_of(way, static):
    torch.manual_seed(0)
    model = WAYS[way](static)
    rank = torch.distributed.get_rank()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    generator = torch.Generator().manual_seed(rank)
    losses = []
    for step in range(STEPS):
        x = torch.randn(4 + step % 2, 6, generator=generator) * 2
        loss = functional.cross_entropy(model(x), (x.sum(1) > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main(way, file):
    torch.distributed.init_process_group("gloo")
    mine = {"eager": losses_of(way, static=False), "static": losses_of(way, static=True)}
    every = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(every, mine)
    if torch.distributed.get_rank() == 0:
        Path(file).write_text(json.dumps(every))
    gc.collect()  # the models let go of their groups before the groups end
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
