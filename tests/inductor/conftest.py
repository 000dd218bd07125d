"""Most tests compile nothing: see `traced`."""

import pytest

from stator.inductor.queue import QUEUE
from tests.inductor.traced import run_traced


@pytest.fixture
def traced(monkeypatch):
    """Graphs are traced, and not compiled; the queue is empty at the end."""
    monkeypatch.setattr("stator.torch_private.inductor.compile_graph", run_traced)
    yield
    QUEUE.wait()
