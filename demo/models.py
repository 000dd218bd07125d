"""Two digit classifiers, written as anyone would write them: nothing here knows of Stator."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Classifier(nn.Module):
    """A plain one: two layers with dropout between them."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(64, 96)
        self.dropout = nn.Dropout(0.2)
        self.answer = nn.Linear(96, 10)

    def forward(self, x: Tensor) -> Tensor:
        """The logits of each digit."""
        return self.answer(self.dropout(torch.relu(self.hidden(x))))


class PatientClassifier(nn.Module):
    """One that looks again while it is in doubt, and says how often it looked."""

    def __init__(self, most: int = 6) -> None:
        super().__init__()
        self.first_look = nn.Linear(64, 96)
        self.next_look = nn.Linear(96, 96)
        self.answer = nn.Linear(96, 10)
        self.most = most

    def doubt(self, state: Tensor) -> Tensor:
        """How far the answers are from certain, 0 to 1, on average over the batch."""
        return 1 - self.answer(state).softmax(-1).amax(-1).mean()

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        """The logits of each digit, and the number of looks."""
        state = torch.tanh(self.first_look(x))
        looks = 1
        while self.doubt(state) > 0.15 and looks < self.most:
            state = state + 0.5 * torch.tanh(self.next_look(state))
            looks += 1
        logits = self.answer(state)
        if logits.abs().max() > 10:
            logits = logits * (10 / logits.abs().max())
        return logits, looks
