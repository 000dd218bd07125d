"""What every test can count on: a fixed seed, no network, and texts kept for the two hash seeds."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when a test imports transformers

# Examples drawn the same way each time, and no deadline: a first capture imports half of torch.
settings.register_profile("stator", deadline=None, derandomize=True)
settings.load_profile("stator")


SLOW = (
    "tests/features/", "tests/fuzz/", "tests/static/", "tests/docs/", "tests/export/",
    "tests/rewrite/test_convert.py", "tests/api/test_capture_again.py",
    "tests/optimize/test_for_test.py", "tests/debug/test_verify_faults.py", "tests/testing/",
    "tests/debug/verification/",
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--keep-texts FOLDER`."""
    parser.addoption(
        "--keep-texts", type=Path, help="write the texts given to `keep_text` into this folder"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test that keeps a text: it runs under a second hash seed as well.

    Those of `SLOW` are quick one by one, and many: `make check` leaves them out.
    """
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
        if "keep_text" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.seeds)


@pytest.fixture(autouse=True)
def fixed_seed() -> None:
    """Random weights and inputs are the same in every run and in every order of tests."""
    torch.manual_seed(0)


@pytest.fixture
def keep_text(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """A function to give printed programs to: `scripts/check` compares them between hash seeds.

    def test_a_loop_prints_the_same_under_any_seed(keep_text):
        keep_text(str(stator.to_static(count).program))
    """
    folder = request.config.getoption("--keep-texts")

    def keep(text: str) -> None:
        assert text.strip(), "an empty text proves nothing"
        if folder is not None:
            file = folder / request.node.nodeid.replace("/", ".").replace("::", ".")
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a") as out:
                out.write(text + "\n")

    return keep
