"""Whisper, CLIP and a Mamba-like scan: each forward equal to eager at several sizes."""

import copy

import pytest
import torch
import transformers
from torch import nn
from torch.nn import functional

import stator
from stator import InputSpec

pytestmark = pytest.mark.slow

VOCABULARY = 99


class Whisper(nn.Module):
    def __init__(self):
        super().__init__()
        config = transformers.WhisperConfig(
            vocab_size=VOCABULARY, d_model=16, encoder_layers=1, decoder_layers=2,
            encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32,
            decoder_ffn_dim=32, num_mel_bins=8, max_source_positions=10, max_target_positions=20,
            pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
            use_cache=False,
        )  # fmt: skip
        self.model = transformers.WhisperForConditionalGeneration(config)

    def forward(self, sound, tokens):
        return self.model(input_features=sound, decoder_input_ids=tokens).logits


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1,
                 "num_attention_heads": 2}  # fmt: skip
        text = {**shape, "vocab_size": VOCABULARY, "max_position_embeddings": 20, "bos_token_id": 1,
                "eos_token_id": 2, "pad_token_id": 0}  # fmt: skip
        vision = {**shape, "image_size": 8, "patch_size": 4}
        self.model = transformers.CLIPModel(
            transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=8)
        )

    def forward(self, tokens, pictures):
        out = self.model(input_ids=tokens, pixel_values=pictures)
        return out.logits_per_image, out.text_embeds


class Scan(nn.Module):
    """A selective state-space layer, its recurrence written as a loop over time."""

    def __init__(self, width=6, state=4):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.mix = nn.Conv1d(width, width, 3, groups=width, padding=2)
        self.step, self.write, self.read = (nn.Linear(width, n) for n in (width, state, state))
        self.decay = nn.Parameter(-torch.rand(width, state))
        self.skip, self.out = nn.Parameter(torch.ones(width)), nn.Linear(width, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens)
        x = functional.silu(self.mix(x.mT)[..., : x.shape[1]].mT)
        step = functional.softplus(self.step(x))
        decay = torch.exp(step[..., None] * self.decay)
        write = step[..., None] * self.write(x)[:, :, None] * x[..., None]
        state, outputs = torch.zeros_like(write[:, 0]), []
        for time in range(x.shape[1]):
            state = decay[:, time] * state + write[:, time]
            outputs.append((state * self.read(x)[:, time, None]).sum(-1))
        return self.out(torch.stack(outputs, 1) + self.skip * x)


def tokens(batch, length):
    ids = torch.randint(3, VOCABULARY, (batch, length))
    ids[:, -1] = 2  # CLIP looks for the end
    return ids


SIZES = ((2, 5), (3, 7), (1, 2), (4, 1))
ANY = InputSpec([None, None], "int64")
SUBJECTS = {
    "Whisper": (
        Whisper,
        lambda batch, length: (torch.randn(batch, 8, 20), tokens(batch, length)),
        [InputSpec([None, 8, 20], "float32"), ANY],
    ),
    "CLIP": (
        Clip,
        lambda batch, length: (tokens(batch, length), torch.randn(batch, 3, 8, 8)),
        [ANY, InputSpec([None, 3, 8, 8], "float32")],
    ),
    "a Mamba-like loop": (Scan, lambda batch, length: (tokens(batch, length),), [ANY]),
}


@pytest.mark.feature("models", "Whisper", "CLIP", "a Mamba-like loop")
@pytest.mark.parametrize("name", SUBJECTS)
def test_one_capture_equals_eager_at_every_size(name):
    make, arguments_of, spec = SUBJECTS[name]
    model = make().eval()
    static = stator.to_static(copy.deepcopy(model), input_spec=spec)
    for size in SIZES:
        arguments = arguments_of(*size)
        eager, out = model(*arguments), static(*arguments)
        torch.testing.assert_close(out, eager, rtol=0, atol=0)
        for one, result in ((model, eager), (static, out)):
            one.zero_grad()
            (result if isinstance(result, torch.Tensor) else result[0]).square().sum().backward()
        for (key, a), (_, b) in zip(
            model.named_parameters(), static.named_parameters(), strict=True
        ):
            assert (a.grad is None) == (b.grad is None), key
            if a.grad is not None:
                torch.testing.assert_close(b.grad, a.grad, rtol=1e-5, atol=1e-6, msg=key)
    assert len(static.forward.concrete_programs) == 1
