"""The definitions of functions on numbers are those of Python."""

import math

import pytest

from stator.library import number_definitions as definitions


@pytest.mark.parametrize("n", [-6, -1, 0, 1, 2, 7, 1023, 1024])
def test_definitions_of_integers_agree_with_python(n):
    assert definitions.gcd(n, 4) == math.gcd(n, 4)
    assert definitions.lcm(n, 4, 6) == math.lcm(n, 4, 6)
    assert definitions.bit_length(n) == n.bit_length()
    assert definitions.bit_count(n) == n.bit_count()


@pytest.mark.parametrize(("n", "k"), [(0, 0), (5, 0), (5, 2), (5, 5), (3, 4)])
def test_definitions_of_counting_agree_with_python(n, k):
    assert definitions.factorial(n) == math.factorial(n)
    assert definitions.perm(n, k) == math.perm(n, k)
    assert definitions.perm(n) == math.perm(n)
    assert definitions.comb(n, k) == math.comb(n, k)


@pytest.mark.parametrize("x", [-2.5, -0.0, 0.0, 1.0, 3.0, 1e300, math.inf])
def test_definitions_of_floats_agree_with_python(x):
    assert definitions.fabs(x) == math.fabs(x)
    assert definitions.degrees(x) == math.degrees(x)
    assert definitions.radians(x) == math.radians(x)
    assert definitions.is_integer(x) is x.is_integer()
    assert definitions.isclose(x, x + 1e-12) is math.isclose(x, x + 1e-12)
    assert definitions.prod([x, 2, 3]) == math.prod([x, 2, 3])


@pytest.mark.parametrize(("x", "y"), [(-1.0, 0.5), (0.0, -1.0)])
def test_a_power_outside_the_domain_raises_as_python_does(x, y):
    for power in (math.pow, definitions.power):
        with pytest.raises(ValueError, match="math domain error"):
            power(x, y)
