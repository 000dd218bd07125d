"""Processes that save or load one model, for `test_processes`: `python -m tests.export.saver …`."""

import sys

import torch

from stator.export.saved_model import read_model, write_model
from tests.program.zoo import linear

SIZE = 20_000


def save_once(path, number):
    """A model all of whose parts say `number`."""
    weights = {
        "fc.weight": torch.full((4, 3), float(number)),
        "fc.bias": torch.full((4,), float(number)),
        "more": torch.full((SIZE,), float(number)),
    }
    write_model(path, {"forward": linear()}, weights, properties={"number": number})


def number_of(path):
    """The number that a whole model says; AssertionError if it is a mix."""
    saved = read_model(path)
    number = saved.properties["number"]
    for tensor in saved.tensors.values():
        assert (tensor == number).all(), (number, tensor)
    return number


def save(path, start):
    number = int(start)
    while True:
        number += 1
        save_once(path, number)


def load(path, times):
    seen = {number_of(path) for _ in range(int(times))}
    print(len(seen))


if __name__ == "__main__":
    {"save": save, "load": load}[sys.argv[1]](*sys.argv[2:])
