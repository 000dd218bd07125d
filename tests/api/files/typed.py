"""Code as users write it; each comment is what a type checker says of its line."""

from typing import reveal_type

import torch
from torch import nn

import stator
from stator import InputSpec


@stator.to_static
def scaled(x: torch.Tensor, times: int = 2) -> torch.Tensor:
    return x * times


@stator.to_static(input_spec=[InputSpec([None])])
def half(x: torch.Tensor) -> torch.Tensor:
    return x / 2


class Net(nn.Module):
    @stator.to_static
    def encode(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        return x, 1


@stator.to_static
class Other(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def uses() -> None:
    reveal_type(scaled(torch.ones(1)))  # Tensor
    reveal_type(scaled.program)  # Program
    reveal_type(half(torch.ones(1)))  # Tensor
    reveal_type(Net().encode(torch.ones(1)))  # tuple[Tensor, int]
    reveal_type(Other())  # Other
    reveal_type(stator.to_static(Net()))  # Net
    reveal_type(stator.to_static(Net().encode)(x=torch.ones(1))[1])  # int
    scaled("a")  # arg-type
    scaled(torch.ones(1), tims=3)  # call-arg
    Net().encode()  # call-arg
