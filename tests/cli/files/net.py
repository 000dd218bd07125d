"""What a user might name on the command line."""

import torch

import stator
from stator import InputSpec

print("net.py is imported")  # goes to stderr: stdout is the command's


class Net(torch.nn.Module):
    """Steps until it is calm."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.step = torch.nn.Linear(width, width)
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x, limit: float = 0.5, *, scale=None):
        count = 0
        while x.abs().max() > limit and count < 4:
            x = self.drop(torch.tanh(self.step(x))) / 2
            count += 1
        if scale is not None:
            x = x * scale
        return x, count

    def double(self, x):
        return self.step(x) * 2


def make():
    return Net(3)


model = Net(2)
layers = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Linear(4, 6))


@stator.to_static(input_spec=[InputSpec([None, 2], name="anything")])
def sign(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


def pair(first, second):
    print("the sum is", first.sum())
    return {"sum": first + second, "none": None, "word": "text"}


def embed(ids, weight):
    return torch.nn.functional.embedding(ids, weight)


def crash(x):
    return x[7]


def refused(x):
    return eval("x")


NUMBER = 3
