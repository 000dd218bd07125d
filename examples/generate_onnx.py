"""GPT-2 with its decoding loop in one ONNX file: greedy search, sampling from a seed, beam search.

    python examples/generate_onnx.py FOLDER

Each search is a plain Python loop around the model and its cache, which stops as soon as every row
has said its end token. `FOLDER/greedy.onnx`, `FOLDER/sampled.onnx` and `FOLDER/beams.onnx` need
nothing but ONNX Runtime. The weights here are random and the model small; for the real one, use
`transformers.GPT2LMHeadModel.from_pretrained("gpt2")`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import transformers
from torch import nn

import stator
from stator import InputSpec

WORD = 2**32
PROMPT = InputSpec([None, None], "int64", "tokens")


def mixed(numbers: torch.Tensor) -> torch.Tensor:
    """Integers below 2**32, each thoroughly changed: neighbours have nothing in common."""
    for factor in (0x45D9F3B, 0x119DE1F3):
        numbers = (numbers ^ (numbers // 65536)) * factor % WORD
    return numbers ^ (numbers // 65536)


def noise(seed: torch.Tensor, step: int, rows: int, columns: int) -> torch.Tensor:
    """Random numbers between 0 and 1, as [rows, columns], from integer arithmetic on the seed.

    The generators of torch, ONNX Runtime and a browser differ; whole numbers are the same in all.
    """
    start = mixed(mixed(seed % WORD) + step)
    counter = torch.arange(rows * columns).reshape(rows, columns)
    return (mixed(mixed(counter) ^ start).double() + 0.5) / WORD


class Greedy(nn.Module):
    """The most likely token at each step."""

    def __init__(self, model: nn.Module, end: int, most: int = 20) -> None:
        super().__init__()
        self.model, self.end, self.most = model, end, most

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The prompt and what follows it, as [rows, tokens]."""
        out = self.model(input_ids=tokens, use_cache=True)
        done = torch.zeros(tokens.shape[0], dtype=torch.bool)
        steps = 0
        while steps < self.most and not done.all():
            token = out.logits[:, -1].argmax(-1)
            token = torch.where(done, self.end, token)
            tokens = torch.cat([tokens, token[:, None]], dim=1)
            done = done | (token == self.end)
            steps += 1
            out = self.model(
                input_ids=token[:, None], past_key_values=out.past_key_values, use_cache=True
            )
        return tokens


class Sampled(nn.Module):
    """A token by chance at each step; the same ones for the same seed, in every runtime."""

    def __init__(self, model: nn.Module, end: int, most: int = 20) -> None:
        super().__init__()
        self.model, self.end, self.most = model, end, most

    def forward(
        self, tokens: torch.Tensor, seed: torch.Tensor, temperature: torch.Tensor
    ) -> torch.Tensor:
        """The prompt and what follows it, as [rows, tokens]."""
        out = self.model(input_ids=tokens, use_cache=True)
        done = torch.zeros(tokens.shape[0], dtype=torch.bool)
        steps = 0
        while steps < self.most and not done.all():
            scores = out.logits[:, -1] / temperature
            chance = noise(seed, steps, scores.shape[0], scores.shape[1])
            gumbel = -torch.log(-torch.log(chance))  # its argmax draws by the softmax of the scores
            token = (scores.double() + gumbel).argmax(-1)
            token = torch.where(done, self.end, token)
            tokens = torch.cat([tokens, token[:, None]], dim=1)
            done = done | (token == self.end)
            steps += 1
            out = self.model(
                input_ids=token[:, None], past_key_values=out.past_key_values, use_cache=True
            )
        return tokens


class Beams(nn.Module):
    """The `width` most likely continuations, side by side; the best by its mean score wins."""

    def __init__(self, model: nn.Module, end: int, most: int = 20, width: int = 3) -> None:
        super().__init__()
        self.model, self.end, self.most, self.width = model, end, most, width

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The best continuation of each prompt, as [rows, tokens], and its score."""
        rows = tokens.shape[0]
        tokens = tokens.repeat_interleave(self.width, dim=0)
        out = self.model(input_ids=tokens, use_cache=True)
        scores = torch.full((rows, self.width), float("-inf"))
        scores[:, 0] = 0.0  # at first all beams are the same: count one
        lengths = torch.zeros(rows, self.width)
        done = torch.zeros(rows, self.width, dtype=torch.bool)
        steps = 0
        while steps < self.most and not done.all():
            likely = out.logits[:, -1].log_softmax(-1).reshape(rows, self.width, -1)
            count = likely.shape[2]
            only_end = torch.full((count,), float("-inf"))
            only_end[self.end] = 0.0
            likely = torch.where(done[:, :, None], only_end, likely)
            scores, best = (scores[:, :, None] + likely).flatten(1).topk(self.width)
            beam, token = best // count, best % count
            lengths = lengths.gather(1, beam) + (~done.gather(1, beam)).float()
            done = done.gather(1, beam) | (token == self.end)
            source = (beam + torch.arange(rows)[:, None] * self.width).flatten()
            tokens = torch.cat([tokens[source], token.reshape(-1, 1)], dim=1)
            steps += 1
            out.past_key_values.reorder_cache(source)
            out = self.model(
                input_ids=token.reshape(-1, 1), past_key_values=out.past_key_values, use_cache=True
            )
        mean = scores / lengths
        winner = mean.argmax(1) + torch.arange(rows) * self.width
        return tokens[winner], mean.amax(1)


def small_model(seed: int = 0) -> nn.Module:
    """A GPT-2 with random weights, large enough that prompts go different ways."""
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=17, n_positions=64, n_embd=16, n_layer=2, n_head=2, bos_token_id=1,
        eos_token_id=2,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn_like(parameter))
    return model


def specs_of(search: nn.Module) -> list[InputSpec]:
    """The inputs of a search."""
    if isinstance(search, Sampled):
        return [PROMPT, InputSpec([], "int64", "seed"), InputSpec([], "float32", "temperature")]
    return [PROMPT]


def searches(end: int = 2, most: int = 20) -> dict[str, nn.Module]:
    """The three of them, over one model."""
    model = small_model()
    return {
        "greedy": Greedy(model, end, most),
        "sampled": Sampled(model, end, most),
        "beams": Beams(model, end, most),
    }


def main() -> None:
    """Write the three files, and run each on a prompt."""
    folder = Path(sys.argv[1])
    prompt = torch.tensor([[5, 3, 8], [4, 4, 9]])
    more = {"sampled": (torch.tensor(7), torch.tensor(1.0))}
    for name, search in searches().items():
        with torch.no_grad():
            reports = stator.save(
                search.eval(), folder / name, input_spec=specs_of(search), onnx=True
            )
        sys.stdout.write("\n".join(map(str, reports)) + "\n")
        run = stator.load(folder / name, backend="onnxruntime")
        sys.stdout.write(f"{run(prompt, *more.get(name, ()))}\n")


if __name__ == "__main__":
    main()
