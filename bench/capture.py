"""Capture and `save` next to torch.export; `bench.calls` has the cost of a call.

The models are small configurations of `transformers`, and one of `diffusers` where it is installed,
with random weights. Every contender gets a fresh copy and the same inputs, with any batch and any
length; contenders alternate; medians of 3, by processor time, after a round that is not counted.
Stator's first call includes the first run of what it captured; `save` captures both modes, the
training one too.
"""

from __future__ import annotations

import copy
import gc
import importlib
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    """A model called with positional tensors, giving one of its results alone."""

    def __init__(
        self, model: nn.Module, names: tuple[str, ...], result: str = "last_hidden_state"
    ) -> None:
        super().__init__()
        self.model, self.names, self.result = model, names, result

    def forward(self, *tensors: Tensor) -> Tensor:
        """The last hidden state, or what else `result` names."""
        out = self.model(**dict(zip(self.names, tensors, strict=True)))
        return getattr(out, self.result)


@dataclass(frozen=True)
class Subject:
    """A model, example inputs, and the dimensions of each that may vary."""

    name: str
    model: nn.Module
    inputs: tuple[Tensor, ...]
    varying: tuple[tuple[int, ...], ...]


def capture_with_stator(subject: Subject) -> None:
    """Convert a fresh copy and call it once, which captures."""
    stator.to_static(copy.deepcopy(subject.model), input_spec=_spec(subject))(*subject.inputs)


def save_with_stator(subject: Subject) -> None:
    """Save a fresh copy, in both modes."""
    with tempfile.TemporaryDirectory() as folder:
        stator.save(copy.deepcopy(subject.model), Path(folder) / "model", _spec(subject))


def _spec(subject: Subject) -> list[InputSpec]:
    return [
        InputSpec(
            [None if d in varying else size for d, size in enumerate(tensor.shape)],
            str(tensor.dtype).removeprefix("torch."),
        )
        for tensor, varying in zip(subject.inputs, subject.varying, strict=True)
    ]


def capture_with_export(subject: Subject) -> None:
    """Export a fresh copy, the same dimensions varying."""
    shapes = tuple(dict.fromkeys(varying, Dim.AUTO) for varying in subject.varying)
    model = copy.deepcopy(subject.model)
    # `LastHidden.forward` takes *tensors, which torch.export sees as one tuple
    torch.export.export(model, subject.inputs, dynamic_shapes=(shapes,))


CAPTURES: dict[str, Callable[[Subject], None]] = {
    "first call": capture_with_stator,
    "save": save_with_stator,
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


def unet() -> list[Subject]:
    """UNet2D, if `diffusers` is installed."""
    if importlib.util.find_spec("diffusers") is None:
        return []
    diffusers: Any = importlib.import_module("diffusers")
    model = diffusers.UNet2DModel(
        sample_size=16, block_out_channels=(16, 32), norm_num_groups=8, attention_head_dim=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    inputs = (torch.randn(BATCH, 3, 16, 16), torch.tensor([7] * BATCH))
    subject = LastHidden(model, ("sample", "timestep"), "sample").eval()
    return [Subject("UNet2D", subject, inputs, ((0,), (0,)))]


def more_subjects() -> list[Subject]:
    """Qwen3, BART and Swin, a few layers each."""
    size = {"vocab_size": 99, "hidden_size": 32, "intermediate_size": 64, "head_dim": 8}
    heads = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    marks = {"bos_token_id": 1, "eos_token_id": 2, "use_cache": False}
    qwen3 = transformers.Qwen3Model(transformers.Qwen3Config(**size, **heads, **marks))
    bart = transformers.BartModel(
        transformers.BartConfig(
            vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=64,
            decoder_ffn_dim=64, encoder_attention_heads=4, decoder_attention_heads=4, **marks,
        )
    )  # fmt: skip
    swin = transformers.SwinModel(
        transformers.SwinConfig(
            image_size=IMAGE, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4],
            window_size=4,
        )
    )  # fmt: skip
    picture = torch.randn(BATCH, 3, IMAGE, IMAGE)
    return [
        text_subject("Qwen3", qwen3, "input_ids", "attention_mask"),
        text_subject("BART", bart, "input_ids", "attention_mask", "decoder_input_ids"),
        Subject("Swin", LastHidden(swin, ("pixel_values",)).eval(), (picture,), ((0,),)),
        *unet(),
    ]


def subjects() -> list[Subject]:
    """BERT, GPT-2, Llama, T5 and ViT, a few layers each; then `more_subjects`."""
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
        *more_subjects(),
    ]


def seconds_to_capture(subject: Subject) -> dict[str, float]:
    """The median for each contender, after one round that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in CAPTURES}
    for counted in (False, *(True,) * ROUNDS):
        for name, capture in CAPTURES.items():
            gc.collect()
            started = time.process_time()
            capture(subject)
            if counted:
                times[name].append(time.process_time() - started)
    return {name: statistics.median(taken) for name, taken in times.items()}


def capture_table() -> Table:
    """Capture time by model; a ratio under 1 means that Stator is faster."""
    table = Table("model", title="capture, any batch and length")
    for title in (*CAPTURES, "first call: ratio", "save: ratio"):
        table.add_column(title, justify="right")
    for subject in subjects():
        taken = seconds_to_capture(subject)
        ratios = [taken[name] / taken["torch.export"] for name in ("first call", "save")]
        cells = [f"{seconds:.2f} s" for seconds in taken.values()]
        table.add_row(subject.name, *cells, *(f"{ratio:.2f}" for ratio in ratios))
    return table


def main() -> None:
    """Print all tables."""
    console = Console()
    console.print(call_table())
    console.print(guard_table())
    console.print(capture_table())


if __name__ == "__main__":
    main()
