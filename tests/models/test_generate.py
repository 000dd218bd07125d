"""Greedy generation as a user writes it: a plain loop over the model and its cache, one program.

The loop stops when every row has said its end token, which only the data tells.
"""

import pytest
import torch
import transformers
from torch import nn

import stator
from stator import InputSpec

pytestmark = pytest.mark.slow

VOCABULARY, END, MOST = 9, 2, 12


class Generator(nn.Module):
    """Greedy decoding with the model's own cache."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        out = self.model(input_ids=tokens, use_cache=True)
        cache = out.past_key_values
        done = torch.zeros(tokens.shape[0], dtype=torch.bool)
        steps = 0
        while steps < MOST:
            following = out.logits[:, -1].argmax(-1)
            following = torch.where(done, torch.full_like(following, END), following)
            tokens = torch.cat([tokens, following[:, None]], dim=1)
            done = done | (following == END)
            steps += 1
            if done.all():
                break
            out = self.model(input_ids=following[:, None], past_key_values=cache, use_cache=True)
            cache = out.past_key_values
        return tokens, steps


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=64, n_embd=16, n_layer=2, n_head=2, bos_token_id=1,
        eos_token_id=END,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


def llama():
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, bos_token_id=1, eos_token_id=END,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def lively(model):
    """Random weights, large enough that different prompts go different ways."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.7)
    return model.eval()


@pytest.mark.feature("models", "greedy `generate` as a plain loop with a KV cache: GPT-2, Llama")
@pytest.mark.parametrize("make", [gpt2, llama])
def test_greedy_generation_is_one_program(make):
    model = Generator(lively(make()))
    static = stator.to_static(
        Generator(model.model), input_spec=[InputSpec([None, None], "int64", "tokens")]
    )
    lengths = set()
    with torch.no_grad():
        for size in ((1, 3), (1, 1), (2, 4), (1, 6), (1, 2), (3, 5), (1, 4)):
            prompt = torch.randint(3, VOCABULARY, size)
            eager, out = model(prompt), static(prompt)
            assert torch.equal(eager[0], out[0]), size
            assert eager[1] == out[1]
            lengths.add(eager[1])
    assert len(static.forward.concrete_programs) == 1
    assert len(lengths) > 1, "every prompt took as many steps: nothing is shown"
