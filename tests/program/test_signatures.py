"""structure_text: what programs take and give, for every kind of structure."""

import collections

import pytest
import torch

import stator
from stator import InputSpec

Pair = collections.namedtuple("Pair", "first second")


def parts(x, n):
    return [x + k for k in range(n)]


def pairs(x, n):
    return {k: (x, k) for k in range(n)}


def maybe(x, n):
    return x if n > 3 else None


def nested(x, n):
    return Pair(x, [n, {"shape": x.shape}]), (2,)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (parts, "[f32[k], ...]"),
        (pairs, "{int: (f32[k], int), ...}"),
        (maybe, "f32[k] | None"),
        (nested, "(Pair(first=f32[k], second=[int, {'shape': torch.Size([int])}]), (2,))"),
    ],
)
def test_a_result_is_shown_by_its_types(tmp_path, function, text):
    stator.save(function, tmp_path / "model", [InputSpec(["k"]), InputSpec.int()])
    loaded = stator.load(tmp_path / "model")
    assert repr(loaded) == f"TranslatedLayer(forward(x: f32[k], n: int) -> {text})"
    result, expected = loaded(torch.ones(2), 4), function(torch.ones(2), 4)
    torch.testing.assert_close(result, expected)
