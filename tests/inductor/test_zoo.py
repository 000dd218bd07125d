"""Programs of the zoo with every region traced; `make compiled` compiles them, all of them."""

import pytest

from tests.inductor.zoo import RUN, difference, everything_compiled

EVERY = 60  # of the programs, one in so many


@pytest.mark.slow
@pytest.mark.parametrize("program", RUN[::EVERY], ids=[program.name for program in RUN[::EVERY]])
def test_a_program_does_what_eager_does(program):
    with everything_compiled(traced=True):
        assert difference(program) is None
