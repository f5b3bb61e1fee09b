"""Regressions on tables that are made to mislead them: missing rows, columns that tell nothing, options they lack."""

import warnings

import numpy as np
import pytest

import uptack as ut
from tests.attacks.hostile import TABLES, VALUES
from uptack.blocks.partition import equal_blocks
from uptack.noise import SeededEntropy
from uptack.papers.block_fits import BEYOND, fit_blocks
from uptack.papers.hampel_fit import minimiser
from uptack.privacy import Privacy

BETA = np.array([1.0, 2.0, -3.0])


def lines(n, seed=0, columns=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, columns))
    return x, 1 + x[:, :2] @ BETA[1:] + rng.normal(size=n)


# --------------------------------------------------------------------------------------------------------- missing rows


@pytest.mark.parametrize("adjacency", [ut.SUBSTITUTE, ut.ADD_REMOVE])
@pytest.mark.parametrize("kind", ["huber", "lad", "ols"])
def test_missing_rows_take_part_in_nothing(adjacency, kind):
    x, y = lines(30_000)
    y[np.random.default_rng(1).random(y.size) < 0.5] = np.nan
    asked = {"epsilon": 2, "missing": "drop", "adjacency": adjacency, "block_fit": kind}
    r = ut.shortcut_regression(x, y, **asked, standard_errors=True, entropy=SeededEntropy(1))
    low, high = (np.array(end) for end in r.interval(0.99))
    assert np.abs(r.value - BETA).max() < 0.1
    assert (np.abs(r.value - BETA) < 3 * (high - low)).all()
    assert (high - low > 0.01).all()
    assert r.privacy == Privacy(2, 0, adjacency)


@pytest.mark.parametrize("share", [0.9, 0.99, 1.0])
def test_few_complete_rows_get_a_right_answer_or_none(share):
    x, y = lines(40_000)
    x[np.random.default_rng(2).random(len(x)) < share, 0] = np.nan
    for seed in range(5):
        r = ut.shortcut_regression(x, y, epsilon=2, missing="drop", entropy=SeededEntropy(seed))
        assert bool(r) == (share == 0.9)
        assert not r or np.abs(r.value - BETA).max() < 0.3


def test_given_blocks_that_missing_rows_leave_empty_are_refused():
    x, y = lines(8_000)
    y[80:] = np.nan
    for seed in range(20):
        asked = {"epsilon": 10, "missing": "drop", "blocks": 400, "entropy": SeededEntropy(seed)}
        assert not ut.shortcut_regression(x, y, **asked)


def test_what_all_rows_cannot_do_is_refused_for_nothing():
    x, y = lines(100)
    refused = ut.shortcut_regression(x, y, epsilon=1, missing="drop")
    assert not refused
    assert refused.privacy == Privacy(0)
    enough = lines(refused.advice.n)
    enough[1][:10] = np.nan
    assert ut.shortcut_regression(*enough, epsilon=1, missing="drop", entropy=SeededEntropy(3))


def test_robust_regression_with_half_of_its_rows_missing():
    x, y = lines(40_000)
    y[::2] = np.nan
    r = ut.hampel_regression(x, y, epsilon=4, delta=1e-5, missing="drop", entropy=SeededEntropy(1))
    assert np.abs(r.value - BETA).max() < 0.5
    assert r.privacy == Privacy(4, 1e-5)


# ------------------------------------------------------------------------------------------- columns that tell nothing


def test_a_rare_column_gets_its_coefficient_or_no_reply():
    """In four blocks of five it is constant: the shortest solution would be 0, with an interval of no width."""
    x, y = lines(60_000)
    rare = np.random.default_rng(4).random(y.size) < 0.007
    r = ut.shortcut_regression(np.column_stack([x, rare]), y + 5 * rare, epsilon=4, entropy=SeededEntropy(1))
    assert np.abs(r.value - [*BETA, 5]).max() < 0.6


@pytest.mark.parametrize("column", [np.zeros, np.ones, lambda n: lines(n)[0][:, 0], lambda n: np.arange(n) == 0])
def test_columns_that_tell_nothing_get_no_reply(column):
    x, y = lines(20_000)
    for seed in range(10):
        r = ut.shortcut_regression(np.column_stack([x, column(20_000)]), y, epsilon=2, entropy=SeededEntropy(seed))
        assert not r
        assert r.privacy == Privacy(2)
        assert "collinear" in r.advice.other


# ------------------------------------------------------------------------------------------------------------ the fits


def test_absolute_deviations_are_least_on_exact_data_and_others():
    rng = np.random.default_rng(0)
    n, truth = 4000, np.array([1.0, 2.0, -3.0, 0.5])
    for binary in (True, False):
        x = rng.integers(0, 2, size=(n, 4)).astype(float) if binary else rng.normal(size=(n, 4))
        x[:, 0] = 1
        for wrong in (0.0, 0.15, 1.0):
            y = x @ truth + (rng.random(n) < wrong) * rng.normal(size=n) * 9
            members = equal_blocks(n, 100, SeededEntropy(1))
            found = fit_blocks(x, y, members, "lad")
            told = (np.abs(found) < BEYOND).all(axis=1)
            assert told.mean() > 0.9
            if wrong < 0.2:
                assert np.abs(found[told] - truth).max() < 1e-9
            for rows, beta in zip(members[told][:5], found[told][:5], strict=True):
                best = np.array([float(b) for b in minimiser(x[rows], y[rows])])
                sums = [np.abs(y[rows] - x[rows] @ b).sum() for b in (beta, best)]
                assert sums[0] <= sums[1] * (1 + 1e-9) + 1e-9


def test_huber_fits_exact_data_exactly():
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(4000), rng.integers(0, 2, size=(4000, 2))])
    found = fit_blocks(x, x @ BETA, equal_blocks(4000, 200, SeededEntropy(1)), "huber")
    told = np.abs(found) < BEYOND
    assert np.abs(np.where(told, found - BETA, 0)).max() < 1e-6


@pytest.mark.parametrize("kind", ["huber", "lad", "ols"])
@pytest.mark.parametrize("name", TABLES)
def test_one_row_changes_one_block_and_nothing_warns(kind, name):
    n, blocks = 96, 7
    x, y = TABLES[name](n)
    members = equal_blocks(n, blocks, SeededEntropy(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = fit_blocks(x, y, members, kind)
        assert np.isfinite(before).all()
        for value in VALUES:
            for column in range(x.shape[1] + 1):
                other_x, other_y = x.copy(), y.copy()
                (other_y if column == x.shape[1] else other_x[:, column])[5] = value
                after = fit_blocks(other_x, other_y, members, kind)
                assert np.isfinite(after).all()
                moved = (before != after).any(axis=1)
                assert set(np.flatnonzero(moved)) <= set(np.flatnonzero((members == 5).any(axis=1)))


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e80])
def test_units_do_not_matter(factor):
    x, y = lines(20_000)
    members = equal_blocks(20_000, 400, SeededEntropy(1))
    for kind in ("huber", "lad", "ols"):
        plain, scaled = fit_blocks(x, y, members, kind), fit_blocks(x, y * factor, members, kind)
        assert np.allclose(np.median(scaled, axis=0) / factor, np.median(plain, axis=0), rtol=1e-6)


@pytest.mark.parametrize("factor", [1e160, 1e300])
def test_coefficients_beyond_all_candidates_get_no_reply(factor):
    x, y = lines(20_000)
    assert not ut.shortcut_regression(x, y * factor, epsilon=1, entropy=SeededEntropy(1))
    assert not ut.shortcut_regression(x / factor, y, epsilon=1, entropy=SeededEntropy(1))


# -------------------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize("option", [{"granularity": 1}, {"groups": [1, 2]}])
def test_options_that_a_regression_has_not_are_named(option):
    with pytest.raises(ut.InvalidArgument) as caught:
        ut.shortcut_regression(*lines(2000), epsilon=1, **option)
    assert caught.value.name == next(iter(option))


def test_unknown_options_are_named():
    with pytest.raises(ut.InvalidArgument, match="unknown option 'block'"):
        ut.shortcut_regression(*lines(2000), epsilon=1, block=7)
    for other in (ut.hampel_regression, ut.kernels.kernel_machine):
        with pytest.raises(TypeError, match="by"):
            other(*lines(2000), epsilon=1, delta=1e-6, by=np.zeros(2000))
    with pytest.raises(TypeError, match="granularity"):
        ut.kde(lines(2000)[1], epsilon=1, delta=1e-6, granularity=1)
    with pytest.raises(ut.InvalidArgument, match="method"):
        ut.shortcut_regression(*lines(2000), epsilon=1, delta=1e-6, method="ptr", standard_errors=True)
