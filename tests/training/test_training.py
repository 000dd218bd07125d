"""Training to the end: static models learn as eager ones do, step by step, to the last bit."""

import copy
from functools import partial

import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional
from torch.optim import SGD, Adam, AdamW, lr_scheduler

import stator
from tests.training.runs import assert_trains_alike

pytestmark = pytest.mark.slow


def digits():
    """Six epochs over a part of scikit-learn's digits, shuffled; the last batch is smaller."""
    images, labels = load_digits(return_X_y=True)
    x = torch.tensor(images / 16, dtype=torch.float32)[:500]
    y = torch.tensor(labels, dtype=torch.int64)[:500]
    for _ in range(6):
        for rows in torch.randperm(len(x)).split(64):
            yield x[rows], y[rows]


def classify(model, batch):
    x, y = batch
    return functional.cross_entropy(model(x), y)


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2),
        )  # fmt: skip
        self.read = nn.Linear(64, 10)

    def forward(self, x):
        return self.read(self.layers(x.view(-1, 1, 8, 8)))


OPTIMIZERS = {
    "SGD with momentum": {
        "optimizer_of": partial(SGD, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4),
        "scheduler_of": partial(lr_scheduler.StepLR, step_size=10, gamma=0.5),
    },
    "Adam": {
        "optimizer_of": partial(Adam, lr=3e-3, amsgrad=True),
        "scheduler_of": partial(lr_scheduler.CosineAnnealingLR, T_max=48),
    },
    "AdamW": {
        "optimizer_of": partial(AdamW, lr=3e-3),
        "scheduler_of": partial(lr_scheduler.OneCycleLR, max_lr=0.01, total_steps=60),
        "clip": 1.0,
    },
}


@pytest.mark.feature("training", "digits, an MLP: SGD, Adam, AdamW, schedulers, clipping")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_perceptron_learns_digits(name):
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 10))
    losses = assert_trains_alike(model, classify, digits, **OPTIMIZERS[name])
    assert min(losses) < losses[0] / 2


@pytest.mark.feature("training", "digits, a CNN with batch norm")
def test_a_convolutional_network_learns_digits():
    losses = assert_trains_alike(
        Convolutional(), classify, digits, optimizer_of=partial(Adam, lr=3e-3)
    )
    assert losses[-1] < losses[0] / 2


class Speaker(nn.Module):
    """An LSTM language model that reads until the data says stop."""

    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.read = nn.Embedding(12, 16), nn.LSTMCell(16, 24), None
        self.read = nn.Linear(24, 12)

    def forward(self, tokens):
        """The mean loss of the tokens before the end token (0) of the longest row, and a count."""
        batch = tokens.shape[0]
        hidden, cell = torch.zeros(batch, 24), torch.zeros(batch, 24)
        total, steps = torch.zeros(()), 0
        alive = torch.ones(batch, dtype=torch.bool)
        while steps + 1 < tokens.shape[1]:
            hidden, cell = self.cell(self.embed(tokens[:, steps]), (hidden, cell))
            each = functional.cross_entropy(
                self.read(hidden), tokens[:, steps + 1], reduction="none"
            )
            total = total + (each * alive).sum()
            alive = alive & (tokens[:, steps + 1] != 0)
            steps += 1
            if not alive.any():
                break
        return total / batch, steps


def sentences():
    """Counting sentences of different lengths, ended by 0."""
    for _ in range(16):
        batch = torch.zeros(8, 14, dtype=torch.int64)
        for row in range(8):
            length = int(torch.randint(3, 9, ()))
            start = int(torch.randint(11, ()))
            batch[row, :length] = (torch.arange(length) + start) % 11 + 1
        yield batch


@pytest.mark.feature("training", "an LSTM language model with a data-dependent stop")
def test_a_language_model_stops_when_the_data_says():
    counts = []

    def step(model, batch):
        loss, steps = model(batch)
        counts.append(steps)
        return loss

    losses = assert_trains_alike(
        Speaker(), step, sentences, optimizer_of=partial(Adam, lr=0.02), clip=1.0
    )
    assert losses[-1] < losses[1]
    assert counts[:16] == counts[16:]
    assert len(set(counts)) > 1


class Exits(nn.Module):
    """Leaves after the first block that is sure enough."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 32)
        self.blocks = nn.ModuleList([nn.Linear(32, 32) for _ in range(3)])
        self.heads = nn.ModuleList([nn.Linear(32, 10) for _ in range(3)])

    def forward(self, x):
        x, used = torch.relu(self.first(x)), 0
        logits = torch.zeros(x.shape[0], 10)
        for block, head in zip(self.blocks, self.heads, strict=True):
            x = x + torch.relu(block(x))
            logits = logits + head(x)
            used += 1
            if logits.softmax(-1).amax(-1).mean() > 0.3:
                break
        return logits, used


@pytest.mark.feature("training", "a model with early exits")
def test_a_model_leaves_early():
    used = []

    def step(model, batch):
        logits, count = model(batch[0])
        used.append(count)
        return functional.cross_entropy(logits, batch[1])

    assert_trains_alike(Exits(), step, digits, optimizer_of=partial(SGD, lr=0.2))
    half = len(used) // 2
    assert used[:half] == used[half:]
    assert len(set(used)) > 1


class Walker(nn.Module):
    """A policy on a line: walk to either end; the episode is one call and ends when it ends."""

    def __init__(self):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, start):
        place, steps = start, 0
        chances, reward = torch.zeros(()), 0.0
        while place.abs() < 4 and steps < 30:
            odds = self.policy(place.reshape(1) / 4).log_softmax(-1)
            action = torch.multinomial(odds.exp(), 1)[0]
            chances = chances + odds[action]
            place = place + (1.0 if action == 1 else -1.0)
            reward -= 0.1
            steps += 1
        if place >= 4:
            reward += 4.0
        return chances, reward, steps


@pytest.mark.feature("training", "REINFORCE on a small environment, an episode as one program")
def test_a_policy_learns_by_reinforcement():
    rewards, lengths = [], []

    def step(model, start):
        chances, reward, steps = model(start)
        rewards.append(reward)
        lengths.append(steps)
        return -chances * (reward + 1)

    def starts():
        for _ in range(60):
            yield torch.randint(-2, 3, ()).float()

    assert_trains_alike(Walker(), step, starts, optimizer_of=partial(Adam, lr=0.02))
    half = len(rewards) // 2
    assert rewards[:half] == rewards[half:]
    assert lengths[:half] == lengths[half:]
    assert len(set(lengths)) > 3


class Tree(nn.Module):
    """A tree-LSTM that recurses over a tree given as tensors: children, or -1 at a leaf."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 8)
        self.gates, self.read = nn.Linear(16, 40), nn.Linear(8, 2)

    def node(self, index, left, right, words):
        if left[index] < 0:
            hidden = torch.tanh(self.embed(words[index]))
            return hidden, hidden
        hidden_left, cell_left = self.node(left[index], left, right, words)
        hidden_right, cell_right = self.node(right[index], left, right, words)
        i, f, g, o, u = self.gates(torch.cat([hidden_left, hidden_right])).chunk(5)
        cell = i.sigmoid() * u.tanh() + f.sigmoid() * cell_left + g.sigmoid() * cell_right
        return o.sigmoid() * cell.tanh(), cell

    def forward(self, left, right, words):
        hidden, _ = self.node(torch.tensor(0), left, right, words)
        return self.read(hidden)


def tree(leaves):
    """A random binary tree with that many leaves; node 0 is its root."""
    left, right, words = [], [], []

    def grow(count):
        here = len(left)
        left.append(-1)
        right.append(-1)
        words.append(int(torch.randint(5, ())))
        if count > 1:
            cut = int(torch.randint(1, count, ()))
            left[here], right[here] = grow(cut), grow(count - cut)
        return here

    grow(leaves)
    return tuple(map(torch.tensor, (left, right, words)))


@pytest.mark.feature("training", "a tree-LSTM with recursion over trees of any shape")
def test_a_tree_lstm_learns():
    def trees():
        for _ in range(24):
            arrays = tree(int(torch.randint(1, 7, ())))
            yield arrays, (arrays[2].sum() % 2).reshape(1)

    def step(model, batch):
        return functional.cross_entropy(model(*batch[0])[None], batch[1])

    assert_trains_alike(Tree(), step, trees, optimizer_of=partial(Adam, lr=0.02))


@pytest.mark.feature("training", "`GradScaler` with autocast, including skipped steps")
def test_scaled_gradients_train_as_in_eager():
    def train(model):
        torch.manual_seed(5)
        optimizer = SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40, growth_interval=4)
        history = []
        for x, y in digits():
            with torch.autocast("cpu", dtype=torch.float16):
                loss = functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            history.append((loss.item(), str(norm.item()), scaler.get_scale()))
        return history

    model = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))
    eager = train(copy.deepcopy(model))
    assert eager == train(stator.to_static(model))
    assert len({scale for _, _, scale in eager}) > 3, "the scale never moved"


@pytest.mark.feature("training", "a whole step as one program: the loss inside, LBFGS closures")
def test_a_closure_is_called_again_and_again():
    def loss_of(model, x, y):
        out = model(x)
        return functional.mse_loss(out, y) + (out.abs().max() if out.sum() > 0 else 0.0)

    def train(model, function):
        torch.manual_seed(5)
        x, y = torch.randn(16, 4), torch.randn(16, 2)
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=5)
        losses = []

        def closure():
            optimizer.zero_grad()
            loss = function(model, x, y)
            loss.backward()
            losses.append(loss.item())
            return loss

        for _ in range(3):
            optimizer.step(closure)
        return losses

    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    eager = train(copy.deepcopy(model), loss_of)
    assert eager == train(copy.deepcopy(model), stator.to_static(loss_of))
