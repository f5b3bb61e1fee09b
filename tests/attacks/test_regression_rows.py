"""Robust regression on hostile rows: what a row counts for is its own affair, and the test moves as it is proved to."""

import warnings

import numpy as np
import pytest

import uptack as ut
from tests.attacks.hostile import NOT_NUMBERS, TABLES, VALUES
from uptack.noise import SeededEntropy
from uptack.papers.dwork_lei_estimates import R_H, R_S
from uptack.papers.hampel import bounding_box, cells
from uptack.papers.hampel_fit import minimiser, normalise
from uptack.reach.hampel_certificate import Hyperplanes


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_row_becomes_the_same_beside_any_others(name, order):
    x, y = TABLES[name](64)
    x = np.asarray(x, order=order)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        u, v = normalise(x, y)
        assert (np.sqrt((u**2).sum(axis=1)) <= 1 + 2.0**-50).all()
        for value in VALUES:
            other, response = x.copy(), y.copy()
            other[5], response[5] = value, value
            u_other, v_other = normalise(other, response)
            kept = np.arange(64) != 5
            assert (u_other[kept] == u[kept]).all()
            assert (v_other[kept] == v[kept]).all()
        for part in (slice(0, 1), slice(3, 10), slice(None, None, 3), slice(None, None, -1)):
            u_part, v_part = normalise(x[part], y[part])
            assert (u_part == u[part]).all()
            assert (v_part == v[part]).all()


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("name", ["plain", "exact", "mixed", "huge", "tiny"])
def test_one_row_moves_the_certificate_by_at_most_two_rows(p, name):
    x, y = TABLES[name](60)
    x = np.column_stack([np.ones(60), x])[:, :p]
    u, v = normalise(x, y)
    family = cells(minimiser(u, v), np.full(p, 0.7), 2)
    if not family:
        return
    box = bounding_box(family)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = [Hyperplanes(u, v, box).certificate(cell) for cell in family]
        for value in VALUES:
            other, response = x.copy(), y.copy()
            other[5, -1], response[5] = value, -value
            planes = Hyperplanes(*normalise(other, response), box)
            after = [planes.certificate(cell) for cell in family]
            assert np.abs(np.subtract(before, after)).max() <= 2 + 2.0**-11


def _anything(n):
    """Rows of every hostile kind at once."""
    x, y = TABLES["mixed"](n)
    for i, value in enumerate((*VALUES, *NOT_NUMBERS)):
        x[i % n, 0], y[(2 * i + 1) % n] = value, value
    return x, y


@pytest.mark.parametrize("n", [0, 1, 2, 3, 60])
@pytest.mark.parametrize("adjacency", [ut.SUBSTITUTE, ut.ADD_REMOVE])
def test_regressions_neither_warn_nor_fail(n, adjacency):
    x, y = _anything(n) if n else (np.zeros((0, 2)), np.zeros(0))
    asked = {"missing": "drop", "adjacency": adjacency, "entropy": SeededEntropy(1)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("huber", "lad", "hampel", "ols"):
            ut.shortcut_regression(x, y, epsilon=3000, block_fit=kind, coordinates="scatter", **asked)
            ut.shortcut_regression(x, y, epsilon=100, block_fit=kind, **asked)
            ut.shortcut_regression(x, y, epsilon=1000, block_fit=kind, standard_errors=True, **asked)
        for method in ("ptr", "dwork-lei"):
            ut.shortcut_regression(x, y, epsilon=100, delta=0.1, method=method, **asked)
        ut.hampel_regression(x, y, epsilon=100, delta=0.1, **asked)
        for paper in (R_S, R_H):
            paper(x, y, 100, delta=0.01, entropy=SeededEntropy(1))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.int8, np.int64, np.uint64, bool])
def test_every_type_of_numbers_is_read_without_a_warning(kind):
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(3000, 1)) * 3).astype(kind)
    y = x[:, 0].astype(np.float64) + rng.normal(size=3000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        r = ut.shortcut_regression(x, y, epsilon=5, entropy=SeededEntropy(1))
        holes = np.ma.array(x, mask=rng.random(x.shape) < 0.3)
        ut.shortcut_regression(holes, y, epsilon=5, missing="drop", entropy=SeededEntropy(1))
    assert kind in (np.uint64, bool) or r.value[1] == pytest.approx(1, abs=0.3)


def test_half_of_the_rows_missing_do_not_mislead_the_printed_algorithms():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(80_000, 2))
    y = x @ [5.0, -5.0] + 0.1 * rng.normal(size=80_000)
    y[::2] = np.nan
    for paper in (R_S, R_H):
        r = paper(x, y, 2, delta=1e-4, entropy=SeededEntropy(2))
        assert not r or np.abs(r.value).max() > 1e50 or np.abs(r.value - [5, -5]).max() < 1


def test_a_picture_needs_as_many_names_as_coefficients():
    pytest.importorskip("matplotlib").use("Agg")
    x, y = TABLES["plain"](3000)
    r = ut.shortcut_regression(x, y, epsilon=5, entropy=SeededEntropy(1))
    with pytest.raises(ut.InvalidArgument, match="names"):
        ut.plot_coefficients(r, ["a"])
    with pytest.raises(ut.NoReplyError):
        ut.plot_coefficients(ut.shortcut_regression(x[:9], y[:9], epsilon=1))
