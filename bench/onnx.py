"""ONNX files that Stator writes next to those of `torch.onnx.export(dynamo=True)`, in ONNX Runtime.

Straight-line models, one thread, one process. The two files alternate, round by round; a figure is
the median over the rounds of torch's time in that round over Stator's, so what disturbs the machine
disturbs both. The time is that of the processor.

    python -m bench.onnx [--rows TEXT] [--rounds N]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnxruntime
import torch
import transformers
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

import stator
from stator import InputSpec

ROUNDS = 21
SECONDS = 0.03  # of each file, in each round
VOCABULARY = 1000


@dataclass(frozen=True)
class StraightModel:
    """A model without control flow, its inputs, and which of their sizes are dynamic."""

    name: str
    make: Callable[[], nn.Module]
    inputs: Callable[[], tuple[Tensor, ...]]
    dynamic: tuple[int, ...] = (0,)


class LastHidden(nn.Module):
    """The last hidden state of a model of `transformers`."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor) -> Tensor:
        """The hidden state of each token."""
        found: Tensor = self.model(input_ids=input_ids, use_cache=False).last_hidden_state
        return found


class Block(nn.Module):
    """Two convolutions and a shortcut, as in ResNet."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.norms = nn.ModuleList([nn.BatchNorm2d(width) for _ in range(2)])

    def forward(self, x: Tensor) -> Tensor:
        """The sum of both ways."""
        inner = self.norms[0](self.first(x)).relu()
        return (self.norms[1](self.second(inner)) + x).relu()


class Gated(nn.Module):
    """A gate, a projection and norms: what many small models are made of."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(128, 256), nn.Linear(128, 256)
        self.down, self.norm = nn.Linear(256, 128), nn.LayerNorm(128)

    def forward(self, x: Tensor) -> Tensor:
        """A tensor of the same shape."""
        gated = nn.functional.silu(self.gate(x)) * torch.tanh(self.up(x))
        return self.norm(x + self.down(gated)).softmax(-1)


def mlp() -> nn.Module:
    """Three layers."""
    return nn.Sequential(
        nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 10)
    )


def cnn() -> nn.Module:
    """A small ResNet."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), Block(16), Block(16),
        nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip


def bert() -> nn.Module:
    """A small BERT."""
    shape = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2}
    config = transformers.BertConfig(vocab_size=VOCABULARY, num_attention_heads=4, **shape)
    return LastHidden(transformers.BertModel(config))


def gpt2() -> nn.Module:
    """A small GPT-2."""
    config = transformers.GPT2Config(vocab_size=VOCABULARY, n_embd=128, n_layer=2, n_head=4)
    return LastHidden(transformers.GPT2Model(config))


def llama() -> nn.Module:
    """A small Llama."""
    shape = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    return LastHidden(
        transformers.LlamaModel(transformers.LlamaConfig(vocab_size=VOCABULARY, **shape, **heads))
    )


def encoder() -> nn.Module:
    """The encoder of a transformer, of torch."""
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def tokens() -> tuple[Tensor, ...]:
    """Four rows of words."""
    return (torch.randint(3, VOCABULARY, (4, 24)),)


MODELS = (
    StraightModel("MLP", mlp, lambda: (torch.randn(16, 128),)),
    StraightModel("MLP, one row", mlp, lambda: (torch.randn(1, 128),)),
    StraightModel("gated layer", Gated, lambda: (torch.randn(4, 16, 128),), (0, 1)),
    StraightModel("CNN", cnn, lambda: (torch.randn(2, 3, 32, 32),)),
    StraightModel("transformer encoder", encoder, lambda: (torch.randn(4, 16, 64),), (0, 1)),
    StraightModel("LSTM", lambda: nn.LSTM(32, 64, 2), lambda: (torch.randn(20, 4, 32),), (1,)),
    StraightModel("BERT", bert, tokens, (0, 1)),
    StraightModel("GPT-2", gpt2, tokens, (0, 1)),
    StraightModel("Llama", llama, tokens, (0, 1)),
)


def trained(model: nn.Module) -> nn.Module:
    """`model` with weights as training leaves them: exporters drop new biases, which are zeros."""
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight), alpha=0.01)
    return model.eval()


def write_files(subject: StraightModel, folder: Path) -> tuple[Path, Path]:
    """The model as a file of Stator and as one of torch."""
    torch.manual_seed(0)
    model, inputs = trained(subject.make()), subject.inputs()
    spec = [
        InputSpec([None if d in subject.dynamic else n for d, n in enumerate(x.shape)],
                  str(x.dtype).removeprefix("torch."), f"x{k}")
        for k, x in enumerate(inputs)
    ]  # fmt: skip
    shapes = tuple(dict.fromkeys(subject.dynamic, torch.export.Dim.DYNAMIC) for _ in inputs)
    ours, theirs = folder / "stator.onnx", folder / "torch.onnx"
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
        warnings.simplefilter("ignore")
        stator.save(model, folder / "stator", input_spec=spec, onnx=True)
        torch.onnx.export(model, inputs, theirs, dynamo=True, dynamic_shapes=shapes, verbose=False)
    logging.disable(logging.NOTSET)
    return ours, theirs


def runner(file: Path, inputs: Sequence[Tensor]) -> Callable[[], list[Any]]:
    """One run of a file."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    feeds = {name: x.numpy() for name, x in zip(names, inputs, strict=True)}
    outputs = [one.name for one in session.get_outputs()]
    return lambda: session.run(outputs, feeds)


def seconds(run: Callable[[], object], count: int) -> float:
    """Of one run."""
    began = time.process_time()
    for _ in range(count):
        run()
    return (time.process_time() - began) / count


def in_turn(
    one: Callable[[], object], other: Callable[[], object], count: int
) -> tuple[float, float]:
    """Of one run of each; each is first as often as the other."""
    first, second, third, fourth = (seconds(run, count) for run in (one, other, other, one))
    return (first + fourth) / 2, (second + third) / 2


def compared(subject: StraightModel, rounds: int) -> tuple[float, float]:
    """Torch's time for one run, and how many times faster the file of Stator is."""
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(subject, Path(folder))
        torch.manual_seed(1)
        inputs = subject.inputs()
        ours, theirs = (runner(file, inputs) for file in files)
    for one, other in zip(ours(), theirs(), strict=False):
        torch.testing.assert_close(*map(torch.from_numpy, (one, other)), rtol=1e-3, atol=1e-4)
    count = max(1, int(SECONDS / seconds(theirs, 3)))
    times = [in_turn(ours, theirs, count) for _ in range(rounds)]
    return (
        statistics.median(other for _, other in times),
        statistics.median(other / one for one, other in times),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How fast the ONNX files are.")
    parser.add_argument("--rows", default="", help="only the rows whose names contain this")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    table = Table("model", title="ONNX Runtime, one thread: times as fast as torch.onnx's file")
    for name in ("torch.onnx", "Stator"):
        table.add_column(name, justify="right")
    for subject in MODELS:
        if given.rows in subject.name:
            taken, faster = compared(subject, given.rounds)
            table.add_row(subject.name, f"{1e6 * taken:.0f} µs", f"{faster:.2f}")
    Console(width=90).print(table)


if __name__ == "__main__":
    main()
