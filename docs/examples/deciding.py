"""The example of docs/view.md: a model that decides, in a loop, by what it has computed."""

import torch


class Deciding(torch.nn.Module):
    """Draws tokens until one ends the text, surer or less sure of each."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(32, 16)
        self.cell = torch.nn.GRUCell(16, 16)
        self.out = torch.nn.Linear(16, 32)

    def forward(self, token: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """The tokens, beginning with `token`."""
        steps = torch.zeros((), dtype=torch.int64)
        seen = torch.zeros(token.shape[0], 12, dtype=torch.int64)
        while steps < 12 and (token != 0).any():
            state = self.cell(self.embed(token), state)
            logits = self.out(state)
            if logits.max() > 4:
                token = logits.argmax(-1)
            else:
                cooler = logits / 2
                if steps > 3:
                    cooler = cooler.clamp(max=3)
                token = (cooler + torch.randn_like(cooler)).argmax(-1)
            seen[:, steps] = token
            steps = steps + 1
        return seen
