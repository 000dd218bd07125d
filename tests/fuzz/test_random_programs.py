"""Random programs do at every stage what they do in eager PyTorch, or are refused by line.

`python -m tests.fuzz --seconds 600` runs as many as there is time for.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as some

from tests.fuzz.__main__ import shown
from tests.fuzz.judge import draw_case, draw_stateful_case, judge
from tests.fuzz.known import KNOWN
from tests.fuzz.reduce import reduced

# `reduced` makes a failing program small; a smaller seed would only be another program
ONLY_DRAWN = (Phase.explicit, Phase.generate)
pytestmark = [
    pytest.mark.slow,
    # torch says so once for each process, in eager and static runs alike
    pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad"),
]


def failure_of(seed, draw=draw_case):
    """What is to be said of the program that `seed` represents, or None."""
    case = draw(random.Random(seed))
    for verdict in judge(case):
        if verdict.failed:
            return case, verdict
    return None


@settings(max_examples=60, phases=ONLY_DRAWN)
@given(some.integers(0, 10**9))
def test_a_random_program_does_what_eager_does_or_is_refused(seed):
    assume(seed not in KNOWN)
    found = failure_of(seed)
    if found is not None:
        pytest.fail(shown(*reduced(*found), seed), pytrace=False)


@settings(max_examples=30, phases=ONLY_DRAWN)
@given(some.integers(0, 10**9))
def test_a_random_program_with_state_does_what_eager_does_or_is_refused(seed):
    found = failure_of(seed, draw_stateful_case)
    if found is not None:
        pytest.fail(shown(*reduced(*found), seed), pytrace=False)


@pytest.mark.parametrize("seed", KNOWN)
def test_a_known_failure_still_fails(seed):
    assert failure_of(seed) is not None, "mended: take it off the list in tests/fuzz/known.py"
