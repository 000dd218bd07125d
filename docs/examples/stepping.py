"""The example of "Step by step" in docs/debugging.md."""

import torch

import stator


def smooth(x: torch.Tensor, limit: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Average neighbours until the largest is small; count the rounds."""
    rounds = 0
    while x.max() > limit:
        mean = (x[1:] + x[:-1]) / 2
        if mean.sum() > limit:
            mean = mean * 0.5
        x = torch.cat([mean, mean[-1:]])
        rounds += 1
    return x, rounds


def watched(x: torch.Tensor, limit: torch.Tensor) -> tuple[list[str], list[str]]:
    """What a callback sees at one line, and what `x` has held at another."""
    seen = []

    def on_stop(frame: stator.debug.Frame) -> None:
        seen.append(f"{frame.place.short} {frame.iterations}: mean = {frame.variables['mean']}")
        frame.resume()

    with stator.debug.step(smooth, on_stop) as stepper:
        stepper.break_at(14, when="rounds < 2")
        stepper(x, limit)
    return seen, [str(one) for one in stepper.values("x", line=12)]
