from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from uptack.exact import read, round_up
from uptack.noise import Grid, MachineNumbers, SeededEntropy, UniformInteger

finite = st.floats(allow_nan=False, allow_infinity=False)
any_float = st.floats(allow_nan=False)
lattices = st.builds(MachineNumbers, st.integers(2, 10), st.integers(2, 52))


@given(finite)
def test_a_float_survives_reading_and_rounding(x):
    assert round_up(read(x)) == -round_up(-read(x)) == x


@given(st.fractions())
def test_rounding_brackets(q):
    assert read(-round_up(-q)) <= q <= read(round_up(q))


@given(lattices, any_float)
def test_lattice_rounding_is_outward_and_close(lattice, x):
    low, high = lattice.floor(x), lattice.ceil(x)
    assert -lattice.top <= low <= high <= min(low + 1, lattice.top)
    largest = lattice.value(lattice.top)
    inside = min(max(x, -largest), largest)
    assert lattice.value(low) <= inside <= lattice.value(high)


@given(lattices, any_float, any_float)
def test_lattice_rounding_keeps_order(lattice, x, y):
    x, y = min(x, y), max(x, y)
    assert lattice.floor(x) <= lattice.floor(y)
    assert lattice.ceil(x) <= lattice.ceil(y)


@given(lattices, st.data())
def test_lattice_points_round_to_themselves(lattice, data):
    ordinal = data.draw(st.integers(-lattice.top, lattice.top))
    assert lattice.floor(lattice.value(ordinal)) == ordinal == lattice.ceil(lattice.value(ordinal))


@given(finite, finite, st.integers(-40, 40))
def test_a_grid_widens_a_difference_by_at_most_one_step(a, b, exponent):
    grid = Grid(Fraction(2) ** exponent)
    k, j = (int(s) for s in grid.steps(np.array([a, b])))
    apart = abs(Fraction(a) - Fraction(b)) / grid.step
    assert abs(k - j) <= apart + 1


@given(st.integers(1, 2**63), st.integers(0, 100))
def test_uniform_integers_stay_inside(bound, seed):
    entropy = SeededEntropy(seed)
    assert all(0 <= entropy.below(bound) < bound for _ in range(5))
    drawn = entropy.integers(bound, 5)
    assert ((drawn >= 0) & (drawn <= bound - 1)).all()


@given(st.integers(-(2**62), 2**62 - 1), st.integers(0, 2**40))
def test_uniform_law_stays_inside(low, width):
    law = UniformInteger(low, low + width)
    drawn = law.sample(5, entropy=SeededEntropy(0))
    assert ((drawn >= low) & (drawn <= low + width)).all()
