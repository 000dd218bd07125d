"""Layers of torch: recurrent ones, attention, transformers, convolutions, losses."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.features.oracle import compare_module

RECURRENT = {
    "LSTM": lambda: nn.LSTM(5, 4, num_layers=2, dropout=0.2, batch_first=True),
    "LSTM, bidirectional": lambda: nn.LSTM(5, 4, bidirectional=True, batch_first=True),
    "LSTM, projected": lambda: nn.LSTM(5, 4, proj_size=2, batch_first=True),
    "GRU": lambda: nn.GRU(5, 4, num_layers=2, dropout=0.2, batch_first=True),
    "RNN": lambda: nn.RNN(5, 4, batch_first=True),
}


@pytest.mark.feature("layers", "`nn.LSTM`, `nn.GRU`, `nn.RNN`: layers, dropout, two directions")
@pytest.mark.parametrize("name", RECURRENT)
@pytest.mark.filterwarnings("ignore:LSTM with projections is not:UserWarning")  # torch's own
def test_a_recurrent_layer_equals_eager(name):
    model = RECURRENT[name]()
    compare_module(model, *((torch.randn(b, n, 5),) for b, n in ((3, 7), (2, 4), (1, 1))))
    compare_module(model.eval(), (torch.randn(3, 7, 5),))


class Stateful(nn.Module):
    """The state of an LSTM handed on between calls by the caller."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 4, batch_first=True)

    def forward(self, x, state):
        out, state = self.lstm(x, state)
        return out, state


@pytest.mark.feature("layers", "the state of an LSTM as an argument")
def test_the_state_of_an_lstm_is_passed():
    state = (torch.randn(1, 3, 4), torch.randn(1, 3, 4))
    compare_module(Stateful(), (torch.randn(3, 7, 5), state), (torch.randn(3, 2, 5), None))


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 4, batch_first=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=False
        )
        out, (hidden, _) = self.lstm(packed)
        return nn.utils.rnn.pad_packed_sequence(out, batch_first=True), hidden


@pytest.mark.feature("layers", "packed sequences")
def test_a_packed_sequence_goes_through_an_lstm():
    x = torch.randn(3, 7, 5)
    compare_module(Packed(), (x, torch.tensor([3, 7, 2])), (x, torch.tensor([1, 1, 4])))


class Cells(nn.Module):
    """A cell in a loop that stops when the data says."""

    def __init__(self):
        super().__init__()
        self.lstm, self.gru = nn.LSTMCell(5, 4), nn.GRUCell(4, 4)

    def forward(self, x):
        hidden, cell = torch.zeros(x.shape[0], 4), torch.zeros(x.shape[0], 4)
        for step in x.unbind(1):
            hidden, cell = self.lstm(step, (hidden, cell))
            hidden = self.gru(hidden, cell)
            if hidden.abs().max() > 0.6:
                break
        return hidden, cell


@pytest.mark.feature("layers", "`LSTMCell` and `GRUCell` in a loop with a break")
def test_cells_in_a_loop_equal_eager():
    compare_module(Cells(), (torch.randn(3, 7, 5),), (torch.randn(3, 7, 5) * 4,))


class Attention(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True, **options)

    def forward(self, x, mask):
        return self.attention(x, x, x, key_padding_mask=mask)


@pytest.mark.feature("layers", "`nn.MultiheadAttention`: masks, weights, training and eval")
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("options", [{}, {"dropout": 0.2}, {"add_zero_attn": True}])
def test_attention_equals_eager(training, options):
    mask = torch.zeros(2, 5, dtype=torch.bool)
    mask[0, 3:] = True
    calls = ((torch.randn(2, 5, 8), mask), (torch.randn(2, 3, 8), mask[:, :3]))
    compare_module(Attention(**options).train(training), *calls)
    compare_module(Attention(**options).train(training), (calls[0][0], None))


TRANSFORMERS = {
    "encoder": lambda: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2
    ),
    "encoder, norm first": lambda: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True, activation="gelu"),
        2,
        enable_nested_tensor=False,
    ),
    "encoder layer": lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3),
}


@pytest.mark.feature(
    "layers", "`nn.TransformerEncoder`: both norms, train and eval, both grad modes"
)
@pytest.mark.parametrize("training", [pytest.param(True, marks=pytest.mark.slow), False])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_transformer_encoder_equals_eager(name, training):
    model = TRANSFORMERS[name]().train(training)
    calls = [(torch.randn(b, n, 8),) for b, n in ((2, 5), (3, 4), (1, 1))]
    compare_module(model, *calls)
    with torch.no_grad():
        compare_module(model, *calls)


@pytest.mark.feature("layers", "`nn.TransformerEncoder` with a padding mask")
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")  # torch's own
def test_a_padded_transformer_encoder_equals_eager(training):
    class Padded(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = TRANSFORMERS["encoder"]()

        def forward(self, x, mask):
            return self.encoder(x, src_key_padding_mask=mask)

    mask = torch.zeros(2, 5, dtype=torch.bool)
    mask[0, 3:] = True
    compare_module(Padded().train(training), (torch.randn(2, 5, 8), mask))


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.Transformer(
            8, 2, num_encoder_layers=1, num_decoder_layers=2, dim_feedforward=16, batch_first=True
        )

    def forward(self, source, target):
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.transformer(source, target, tgt_mask=causal, tgt_is_causal=True)


@pytest.mark.feature("layers", "`nn.Transformer` with a causal mask")
@pytest.mark.parametrize("training", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_transformer_equals_eager(training):
    calls = [(torch.randn(2, n, 8), torch.randn(2, m, 8)) for n, m in ((5, 4), (3, 6), (2, 2))]
    compare_module(Translator().train(training), *calls)


IMAGE = torch.randn(2, 3, 8, 8)
LAYERS = {
    "Conv2d": (nn.Conv2d(3, 4, 3, padding=1, stride=2), IMAGE),
    "ConvTranspose2d": (nn.ConvTranspose2d(3, 2, 3), IMAGE),
    "GroupNorm": (nn.GroupNorm(1, 3), IMAGE),
    "InstanceNorm2d": (nn.InstanceNorm2d(3, affine=True, track_running_stats=True), IMAGE),
    "LayerNorm": (nn.LayerNorm(8), IMAGE),
    "RMSNorm": (nn.RMSNorm(8), IMAGE),
    "MaxPool2d": (nn.MaxPool2d(2), IMAGE),
    "AdaptiveAvgPool2d": (nn.AdaptiveAvgPool2d(3), IMAGE),
    "Upsample": (nn.Upsample(scale_factor=2, mode="bilinear"), IMAGE),
    "PixelShuffle": (nn.Sequential(nn.Conv2d(3, 4, 1), nn.PixelShuffle(2)), IMAGE),
    "Embedding": (nn.Embedding(9, 4, padding_idx=0), torch.randint(9, (2, 5))),
    "EmbeddingBag": (nn.EmbeddingBag(9, 4), torch.randint(9, (2, 5))),
    "Bilinear": (nn.Sequential(nn.Flatten(), nn.Linear(192, 2), nn.PReLU(), nn.GELU()), IMAGE),
    "Fold": (nn.Sequential(nn.Unfold(3), nn.Fold((8, 8), 3)), IMAGE),
    "RReLU": (nn.RReLU(), IMAGE),
}


@pytest.mark.feature(
    "layers", "convolutions, norms, pooling, embeddings, activations of `torch.nn`"
)
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_equals_eager(name):
    layer, x = LAYERS[name]
    compare_module(layer, (x,), (x[:1],), (torch.cat([x, x]),))
    compare_module(layer.eval(), (x,))


class Losses(nn.Module):
    def __init__(self):
        super().__init__()
        self.smooth, self.ctc = nn.CrossEntropyLoss(label_smoothing=0.1), nn.CTCLoss()
        self.read = nn.Linear(4, 5)

    def forward(self, x, labels):
        logits = self.read(x)
        one = self.smooth(logits, labels)
        two = functional.nll_loss(functional.log_softmax(logits, -1), labels, ignore_index=1)
        three = functional.binary_cross_entropy_with_logits(logits, torch.ones_like(logits))
        four = functional.cosine_embedding_loss(x, x.roll(1, 0), labels.sign() * 2 - 1)
        five = functional.gumbel_softmax(logits, hard=True)
        return one, two, three, four, five


@pytest.mark.feature("layers", "losses of `torch.nn`, Gumbel softmax")
def test_losses_equal_eager():
    compare_module(Losses(), (torch.randn(6, 4), torch.randint(5, (6,))))


class Sampling(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Linear(4, 3)

    def forward(self, x):
        choice = torch.distributions.Categorical(logits=self.policy(x))
        action = choice.sample()
        noise = torch.distributions.Normal(0.0, 1.0).sample((2,))
        return action, choice.log_prob(action), choice.entropy(), noise


@pytest.mark.slow
@pytest.mark.feature("layers", "`torch.distributions`: `Categorical`, `Normal`")
def test_distributions_draw_the_numbers_of_eager():
    compare_module(Sampling(), (torch.randn(6, 4),), (torch.randn(2, 4),))
