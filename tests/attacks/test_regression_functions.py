"""Densities, kernel machines and released functions on hostile rows."""

import warnings

import numpy as np
import pytest

import uptack as ut
from tests.attacks.hostile import NOT_NUMBERS, TABLES, VALUES
from uptack.densities.kernel_density import Bins
from uptack.kernels import GaussianKernel, kernel_machine, release_function
from uptack.kernels.machine_minimisers import features, spectrum
from uptack.noise import SeededEntropy

FINITE = tuple(VALUES)


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("n", [0, 1, 2, 40])
@pytest.mark.parametrize("missing", ["drop", "low", 0])
def test_densities_neither_warn_nor_fail(columns, n, missing):
    x = np.resize(np.array([*VALUES, *NOT_NUMBERS, 1.0, 2.0]), (n, columns))
    x = x[:, 0] if columns == 1 else x
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for bandwidth in (None, 0.5):
            asked = {"bandwidth": bandwidth, "missing": missing, "points": np.zeros((2, columns))}
            made = ut.kde(x, epsilon=50, delta=0.01, **asked, entropy=SeededEntropy(1))
            assert not made or np.isfinite(made.value.answers).all()
        for box in ({}, {"low": -1, "high": 1}):
            made = ut.fourier_density(x, epsilon=50, missing=missing, **box, entropy=SeededEntropy(1))
            assert not made or np.isfinite(made.value.coefficients).all()


@pytest.mark.parametrize("name", TABLES)
def test_what_a_row_adds_to_a_density_or_machine_is_its_own(name):
    x, _ = TABLES[name](50)
    steps, omega = np.array([0.1, 0.3]), spectrum(GaussianKernel(1.0) * GaussianKernel(1.0), 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bins, phi = Bins.of(x, steps), features(x, omega)
        assert np.abs((phi**2).sum(axis=1) - 1).max() < 1e-12
        for value in FINITE:
            other = x.copy()
            other[5] = value
            moved = {tuple(m): c for m, c in zip(*_parts(Bins.of(other, steps)), strict=True)}
            for m, c in zip(*_parts(bins), strict=True):
                moved[tuple(m)] = moved.get(tuple(m), 0) - c
            assert sum(map(abs, moved.values())) <= 2
            kept = np.arange(50) != 5
            assert (features(other, omega)[kept] == phi[kept]).all()


def _parts(bins):
    return bins.middles.tolist(), bins.counts.tolist()


@pytest.mark.parametrize("loss", ["huber", "insensitive", "hinge", "logistic"])
@pytest.mark.parametrize("name", TABLES)
def test_kernel_machines_neither_warn_nor_fail(loss, name):
    x, y = TABLES[name](40)
    y = np.where(y > 0, 1.0, -1.0) if loss in ("hinge", "logistic") else y
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for bandwidth in (None, 1.0):
            asked = {"loss": loss, "bandwidth": bandwidth, "frequencies": 16, "entropy": SeededEntropy(1)}
            made = kernel_machine(x, y, epsilon=100, delta=0.1, **asked)
            assert not made or np.isfinite(made.value.coefficients).all()


def _released(f):
    asked = {"kernel": GaussianKernel(1.0), "sensitivity": 1, "norm": 3, "epsilon": 1, "delta": 0.01}
    return release_function(f, **asked, entropy=SeededEntropy(1)).value


@pytest.mark.parametrize("value", [*VALUES, *NOT_NUMBERS])
def test_a_function_that_overflows_is_cut_without_a_warning(value):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(_released(lambda x: x[:, 0] * np.array([value]) * 1e10).at([0.0, 1.0])).all()
        assert np.isfinite(_released(lambda x: _warned(x)).at([0.0, 1.0])).all()


def _warned(x):
    warnings.warn("a row of 17 is odd", stacklevel=1)
    return x[:, 0]


def _raised(x):
    raise RuntimeError("a row of 17 is odd")


@pytest.mark.parametrize("f", [_raised, lambda x: ["a"] * len(x), lambda x: [None, {}], lambda x: [[1], [1, 2]]])
def test_an_error_of_a_function_tells_nothing_of_its_data(f):
    with pytest.raises(ut.InvalidArgument, match="f must be a function") as caught:
        _released(f).at([0.0, 1.0])
    assert caught.value.__context__ is None
    assert "17" not in str(caught.value)


def test_errors_about_points_have_no_context():
    for points in (["a"], [[0.0, 1.0], [2.0]], [10**400], [np.nan]):
        with pytest.raises(ut.InvalidArgument, match="points") as caught:
            _released(lambda x: x[:, 0]).at(points)
        assert caught.value.__context__ is None
