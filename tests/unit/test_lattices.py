from fractions import Fraction

import numpy as np
import pytest

from uptack.errors import InvalidArgument
from uptack.noise import Grid, MachineNumbers


@pytest.mark.parametrize("lattice", [MachineNumbers(3, 2), MachineNumbers(5, 4)], ids=str)
def test_a_small_format_is_in_order_and_round_trips(lattice):
    ordinals = np.arange(-lattice.top, lattice.top + 1)
    values = lattice.values(ordinals)
    assert (np.diff(values) > 0).all()
    assert (lattice.floors(values) == ordinals).all()
    assert (lattice.ceils(values) == ordinals).all()
    assert values[lattice.top] == 0
    assert len(values) == lattice.size


def test_the_default_is_a_part_of_float64():
    lattice = MachineNumbers()
    x = np.array([0.0, 1.0, -1.5, np.pi, -np.pi, 1e-80, 1e60, -1e60, 2.0**-254])
    assert (lattice.values(lattice.floors(x)) <= x).all()
    assert (lattice.values(lattice.ceils(x)) >= x).all()
    assert (lattice.ceils(x) - lattice.floors(x) <= 1).all()
    assert lattice.floor(np.inf) == lattice.top == -lattice.ceil(-np.inf)
    with pytest.raises(InvalidArgument, match="NaN"):
        lattice.floor(np.nan)


def test_a_lattice_is_dense_near_one_and_thin_far_away():
    lattice = MachineNumbers(9, 44)

    def count(low, high):
        return lattice.floor(high) - lattice.ceil(low)

    assert count(1, 2) == 2**44
    assert count(2.0**20, 2.0**21) == 2**41
    assert count(-(2.0**-8), 2.0**-8) < lattice.size / 4


@pytest.mark.parametrize("bits", [{"exponent_bits": 11}, {"mantissa_bits": 53}, {"mantissa_bits": 1}])
def test_formats_that_are_no_part_of_float64_are_refused(bits):
    with pytest.raises(InvalidArgument, match="bits must be"):
        MachineNumbers(**bits)


def test_moving_is_exact_for_any_size():
    grid = Grid(Fraction(1, 2**20))
    x = np.array([0.1, -3.0, 2.0**60, -(2.0**900)])
    z = np.array([5, -5, 2**20, 7])
    exact = [float((round(Fraction(v) * 2**20) + int(k)) * Fraction(1, 2**20)) for v, k in zip(x, z, strict=True)]
    assert grid.move(x, z).tolist() == exact
    finest = Grid(Fraction(1, 2**1040))  # where even 1000 is too many steps for a float
    assert finest.move(np.array([1000.0, -1e300]), np.array([3, 3])).tolist() == [1000.0, -1e300]


def test_a_grid_step_is_a_power_of_two():
    assert Grid(0.25).exponent == -2
    with pytest.raises(InvalidArgument, match="power of two"):
        Grid(0.01)
    for size in (Fraction(1, 3), Fraction(7), Fraction(1, 10**30)):
        assert 2**16 <= size / Grid.finer_than(size).step < 2**18
