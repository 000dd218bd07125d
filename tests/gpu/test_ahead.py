"""Libraries compiled ahead of time for a GPU, beside a saved model."""

import shutil

import pytest
import torch

import stator
from stator import InputSpec
from stator.cudagraph.cuda import why_not_here
from stator.extension import extension

pytestmark = [
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
    pytest.mark.skipif(extension() is None, reason="the native runtime is not built"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler"),
]


class Refine(torch.nn.Module):
    """A loop that data ends, with a region in its body."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(64, 64)

    def forward(self, x):
        steps, state = 0, torch.zeros_like(x)
        while steps < 5 and state.abs().mean() < 0.9:
            state = torch.tanh(self.inner(x) + state) * torch.sigmoid(state - x) + state.exp() * 0.1
            steps += 1
        return state, steps


def test_a_model_runs_the_libraries_that_were_compiled_for_the_gpu(tmp_path):
    torch.manual_seed(0)
    model = Refine().eval().cuda()
    spec = [InputSpec([None, 64])]
    stator.save(model, tmp_path / "refine", spec, compiled="cuda")
    loaded = stator.load(tmp_path / "refine", trust_compiled=True).cuda()
    with torch.no_grad():
        for rows in (256, 7, 1):
            x = torch.randn(rows, 64, device="cuda")
            before = extension().counts()["compiled"]
            found, expected = loaded(x), model(x)
            torch.testing.assert_close(found[0], expected[0], rtol=1e-3, atol=1e-4)
            assert found[1] == expected[1]
            assert extension().counts()["compiled"] > before
