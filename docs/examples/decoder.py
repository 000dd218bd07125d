"""The example of the README: a decoder that stops when every row has produced the end token."""

import torch


class Decoder(torch.nn.Module):
    """Greedy decoding with a GRU cell, at most `longest` tokens."""

    def __init__(self, longest: int = 20) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(16, 32)
        self.cell = torch.nn.GRUCell(32, 32)
        self.out = torch.nn.Linear(32, 16)
        self.longest = longest

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        """The tokens of each row, as [rows, tokens]."""
        token = torch.zeros(state.shape[0], dtype=torch.int64)
        tokens = [token]
        while (token != 1).any() and len(tokens) < self.longest:
            state = self.cell(self.embed(token), state)
            token = self.out(state).argmax(-1)
            tokens.append(token)
        return torch.stack(tokens, dim=1)
