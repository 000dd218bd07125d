"""What every test can count on: a fixed seed, no network, and texts kept for the two hash seeds."""

import gc
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import settings

from stator.errors import StatorError
from tests.seeds import seed

# Classes that trace, ours and torch's, and names that torch gives to sizes and numbers of a run.
INTERNAL = re.compile(
    r"\bSym(Int|Float|Bool)\b|FakeTensor|ScriptObject|\bProxy\b|\bz?u[fs]?\d+\b|\bStaged\w*|"
    r"\bCaptured[A-Z]\w*|\bVariant\b|\bRecorder\b|\bSession\b|\bRuntimeTable\b|\bsympy\b"
)

SLOW_FILE = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.slow\b", re.MULTILINE)

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

os.environ.pop("COLUMNS", None)  # test workers set it, and the command would wrap its lines
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when a test imports transformers

# Examples drawn the same way each time, and no deadline: a first capture imports half of torch.
settings.register_profile("stator", deadline=None, derandomize=True)
settings.load_profile("stator")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--keep-texts FOLDER`."""
    parser.addoption(
        "--keep-texts", type=Path, help="write the texts given to `keep_text` into this folder"
    )


def pytest_configure() -> None:
    """A worker of pytest-xdist, and any process that its tests start, uses one core."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ["OMP_NUM_THREADS"] = "1"
        torch.set_num_threads(1)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A quick run does not import the files that are slow as a whole, nor what only they import."""
    is_quick = config.getoption("markexpr") == "not slow" and collection_path.suffix == ".py"
    return (is_quick and SLOW_FILE.search(collection_path.read_text()) is not None) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test that keeps a text: it runs under a second hash seed as well."""
    for item in items:
        if "keep_text" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.seeds)


def pytest_collection_finish() -> None:
    """Leave what is imported by now out of garbage collections, which many tests ask for."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def messages_in_words_of_the_user() -> Iterator[None]:
    """No error that any test provokes names a class of ours, or one that torch traces with."""
    said: list[str] = []

    def new(cls: type[StatorError], *args: object, **parts: object) -> StatorError:
        said.extend(str(part) for part in (*args[:1], parts.get("fix", "")))
        made: StatorError = super(StatorError, cls).__new__(cls, *args)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StatorError, "__new__", new, raising=False)
        yield
    assert [text for text in said if INTERNAL.search(text)] == []


@pytest.fixture(scope="module")
def small_heap() -> None:
    """What tests of other modules have left is out of the collections that tests ask for."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def fixed_seed() -> None:
    """Random weights and inputs are the same in every run and in every order of tests."""
    seed(0)


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


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A browser without a window, driven by Playwright: one for each process, which takes no two.

    The tests that use it are skipped where there is none.
    """
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright, of the extra `test`")
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("needs Chromium: `scripts/browser` installs Debian's, where it may")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # root has no sandbox
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=arguments)
        yield started
        started.close()
