"""Means, sums and variances of hard columns: no reply that is not reliable, no error that a row decides."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import uptack as ut
from uptack import ADD_REMOVE, SUBSTITUTE, SeededEntropy
from uptack.release import NoReply
from uptack.statistics.column_options import read_question
from uptack.statistics.means import fourth_powers
from uptack.statistics.moments import FramePlan, draw_frame, tail_index, tails_of
from uptack.table.memory.table import as_column

FAR_APART = [0.0, -0.0, 1.0, 5e-324, 1e-160, 1e-200, 1e154, 1e200, -1e308, 1.7e308, 2.0**53, np.pi, 1e-3, 3.3]


def missed(column, truth, ask=ut.mean, **told):
    """How many of 50 intervals miss what is true of the population; ⊥ misses nothing."""
    found = [ask(column(), **{"epsilon": 1} | told, entropy=SeededEntropy(seed)) for seed in range(50)]
    ends = [one.interval(0.95) for one in found if not isinstance(one, NoReply)]
    return sum(not low <= truth <= high for low, high in ends)


@pytest.mark.parametrize("adjacency", [SUBSTITUTE, ADD_REMOVE], ids=str)
@pytest.mark.parametrize("name", ["variance", "std"])
def test_fourth_powers_beyond_all_floats_are_no_error(name, adjacency):
    """h⁴ of a frame is no float from 1e77 on: an error there told of the rows."""
    x = np.random.default_rng(0).normal(size=4000) * 3e76
    found = getattr(ut, name)(x, epsilon=1, adjacency=adjacency, entropy=SeededEntropy(0))
    low, high = found.interval(0.95)
    assert low < (3e76 if name == "std" else 9e152) < high
    assert found.value == pytest.approx(x.std() if name == "std" else x.var(), rel=0.3)


def test_no_frame_is_a_single_value():
    """The check lets one in 70 frames through that hold nothing but zeros, with an interval of no width at all."""
    law, plan, entropy = np.zeros(3000), FramePlan.of(3000, Fraction(1)), SeededEntropy(0)
    tails = tails_of(as_column("x", law), 3000, plan)
    for _ in range(20):
        parts = read_question("mean", 1, {"entropy": entropy}).split(plan.anchor, plan.sides, plan.check, plan.sums)
        assert draw_frame(tails, 3000, plan, 5, *parts[:2]) is None


@pytest.mark.parametrize("index", [1.2, 1.5, 2.0])
def test_a_narrow_frame_makes_no_tail_light(index):
    """Sides that were drawn too near leave many rows outside. What the check sees of them is the tail's own index."""
    plan = FramePlan.of(10_000, Fraction(1))
    for far in (4.0, 8.0, 16.0):
        outside = plan.left_out * far**-index
        assert tail_index(plan, far, 1.0, 0.0, outside) == pytest.approx(index)
        assert tail_index(plan, far, 1.0, 33.0, outside) <= index + 1e-9


def test_an_end_inside_the_anchor_tells_nothing_of_the_tail():
    """With 420 rows ends are often drawn within the anchor. Tails looked as light as can be: 22% missed, lognormal."""
    few, many = FramePlan.of(420, Fraction(1)), FramePlan.of(100_000, Fraction(1))
    assert tail_index(few, 0.5, 1.0, 40.0, 30.0) < 1.5
    assert tail_index(many, 1.0, 1.0, 30.0, 0.0) > 5
    rng = np.random.default_rng(3)
    assert missed(lambda: rng.lognormal(0, 1, 450), np.exp(0.5)) <= 4


def test_heavy_tails_get_no_confident_wrong_interval():
    """Pareto rows of index 1.2, with a mean of 6. One in five intervals missed it before the check's count was used."""
    rng = np.random.default_rng(3)
    assert missed(lambda: rng.random(3000) ** (-1 / 1.2), 6) <= 5


@pytest.mark.parametrize(
    ("ask", "truth"), [(ut.mean, 0.0), (partial(ut.proportion, above=0), 0.5)], ids=["mean", "proportion"]
)
def test_copies_of_rows_are_no_new_rows(ask, truth):
    """Five copies of each row, and rows_per_person says so: a third of the intervals missed, as if rows were people."""
    rng = np.random.default_rng(3)
    assert missed(lambda: np.repeat(rng.normal(size=1200), 5), truth, ask, epsilon=20, rows_per_person=5) <= 5


def test_variances_of_copies_are_less_sure():
    x = np.repeat(np.random.default_rng(3).normal(size=1200), 5)
    one, five = (ut.variance(x, epsilon=4 * g, rows_per_person=g, entropy=SeededEntropy(1)) for g in (1, 5))
    assert np.ptp(five.interval(0.95)) > 1.5 * np.ptp(one.interval(0.95))


def test_the_note_says_how_many_gross_errors_are_not_seen():
    x = np.random.default_rng(0).normal(size=3000)
    (note,) = ut.mean(x, epsilon=1, entropy=SeededEntropy(0)).notes
    assert "Up to about 68 gross errors could go unnoticed" in note


def test_fourth_powers_are_the_same_in_any_batches():
    x = np.append(FAR_APART, np.random.default_rng(0).normal(size=1000))
    whole = fourth_powers(x, -3.0, 5.0, 0.3, 5.0)[0]
    for size in (1, 3, 8, 64):
        parts = [fourth_powers(x[i : i + size], -3.0, 5.0, 0.3, 5.0)[0] for i in range(0, x.size, size)]
        assert sum(parts) == whole
