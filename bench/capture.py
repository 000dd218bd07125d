"""Capture time next to torch.export; `bench.calls` has the cost of a call.

The models are small configurations of `transformers` with random weights. Every contender gets a
fresh copy and the same inputs, with any batch and any length; contenders alternate; medians of 3.
Stator's time includes the first run of what it captured.
"""

from __future__ import annotations

import copy
import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import transformers
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.export import Dim

import stator
from bench.calls import call_table, guard_table
from stator import InputSpec

ROUNDS = 3
BATCH, LENGTH, IMAGE = 3, 11, 32


class LastHidden(nn.Module):
    """A model called with positional tensors, giving its last hidden state alone."""

    def __init__(self, model: nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *tensors: Tensor) -> Tensor:
        """The last hidden state."""
        out = self.model(**dict(zip(self.names, tensors, strict=True)))
        return out.last_hidden_state


@dataclass(frozen=True)
class Subject:
    """A model, example inputs, and the dimensions of each that may vary."""

    name: str
    model: nn.Module
    inputs: tuple[Tensor, ...]
    varying: tuple[tuple[int, ...], ...]


def capture_with_stator(subject: Subject) -> None:
    """Convert a fresh copy and call it once, which captures."""
    spec = [
        InputSpec(
            [None if d in varying else size for d, size in enumerate(tensor.shape)],
            str(tensor.dtype).removeprefix("torch."),
        )
        for tensor, varying in zip(subject.inputs, subject.varying, strict=True)
    ]
    stator.to_static(copy.deepcopy(subject.model), input_spec=spec)(*subject.inputs)


def capture_with_export(subject: Subject) -> None:
    """Export a fresh copy, the same dimensions varying."""
    shapes = tuple(dict.fromkeys(varying, Dim.AUTO) for varying in subject.varying)
    model = copy.deepcopy(subject.model)
    # `LastHidden.forward` takes *tensors, which torch.export sees as one tuple
    torch.export.export(model, subject.inputs, dynamic_shapes=(shapes,))


CAPTURES: dict[str, Callable[[Subject], None]] = {
    "stator": capture_with_stator,
    "torch.export": capture_with_export,
}


def text_subject(name: str, model: nn.Module, *names: str) -> Subject:
    """A model of token ids, and of an attention mask for each."""
    inputs = tuple(
        torch.ones(BATCH, LENGTH, dtype=torch.int64)
        if argument.endswith("mask")
        else torch.randint(3, 90, (BATCH, LENGTH))
        for argument in names
    )
    return Subject(name, LastHidden(model, names).eval(), inputs, ((0, 1),) * len(inputs))


def subjects() -> list[Subject]:
    """BERT, GPT-2, Llama, T5 and ViT, a few layers each."""
    torch.manual_seed(0)
    size = {"vocab_size": 99, "hidden_size": 32, "intermediate_size": 64}
    depth = {"num_hidden_layers": 2, "num_attention_heads": 4}
    bert = transformers.BertModel(transformers.BertConfig(**size, **depth))
    marks = {"bos_token_id": 1, "eos_token_id": 2, "use_cache": False}
    gpt2 = transformers.GPT2Model(
        transformers.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, **marks)
    )
    llama = transformers.LlamaModel(
        transformers.LlamaConfig(**size, **depth, num_key_value_heads=2, **marks)
    )
    t5 = transformers.T5Model(
        transformers.T5Config(
            vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, use_cache=False
        )
    )
    vit = transformers.ViTModel(
        transformers.ViTConfig(
            hidden_size=32, intermediate_size=64, **depth, image_size=IMAGE, patch_size=8
        )
    )
    picture = torch.randn(BATCH, 3, IMAGE, IMAGE)
    return [
        text_subject("BERT", bert, "input_ids", "attention_mask"),
        text_subject("GPT-2", gpt2, "input_ids", "attention_mask"),
        text_subject("Llama", llama, "input_ids", "attention_mask"),
        text_subject("T5", t5, "input_ids", "attention_mask", "decoder_input_ids"),
        Subject("ViT", LastHidden(vit, ("pixel_values",)).eval(), (picture,), ((0,),)),
    ]


def seconds_to_capture(subject: Subject) -> dict[str, float]:
    """The median for each contender, after one round that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in CAPTURES}
    for counted in (False, *(True,) * ROUNDS):
        for name, capture in CAPTURES.items():
            gc.collect()
            started = time.perf_counter()
            capture(subject)
            if counted:
                times[name].append(time.perf_counter() - started)
    return {name: statistics.median(taken) for name, taken in times.items()}


def capture_table() -> Table:
    """Capture time by model; a ratio under 1 means that Stator is faster."""
    table = Table("model", title="capture, any batch and length")
    for title in (*CAPTURES, "ratio"):
        table.add_column(title, justify="right")
    for subject in subjects():
        taken = seconds_to_capture(subject)
        ratio = taken["stator"] / taken["torch.export"]
        cells = [f"{seconds:.2f} s" for seconds in taken.values()]
        table.add_row(subject.name, *cells, f"{ratio:.2f}")
    return table


def main() -> None:
    """Print all tables."""
    console = Console()
    console.print(call_table())
    console.print(guard_table())
    console.print(capture_table())


if __name__ == "__main__":
    main()
