"""Functions with Gaussian-process noise: kernels, the factor and its rounding, releases, files, density estimates."""

import contextlib
import copy
import itertools
import json
import math
import os
import pickle
import subprocess
import sys
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from flint import arb, ctx

import uptack as ut
from uptack.densities import kde
from uptack.densities.kernel_density import ERROR, Bins, Density
from uptack.errors import InvalidArgument, UptackError
from uptack.kernels import (
    Expansion,
    ExponentialKernel,
    FourierBasis,
    FunctionRelease,
    GaussianKernel,
    KernelSum,
    Matern32,
    Matern52,
    SpectralRelease,
    release_function,
    release_spectral,
    sobolev_norm,
)
from uptack.kernels.function_release import CovarianceFactor, plan
from uptack.kernels.kernel import kernel_of
from uptack.noise import IntegerGaussian, SeededEntropy
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, gaussian_delta
from uptack.table.memory.table import as_column

LEAVES = [GaussianKernel, ExponentialKernel, Matern32, Matern52]
HUGE = 10**9  # an ε at which the noise is next to nothing


def wave(x):
    return np.sin(3 * x[:, 0])


def made(f=wave, kernel=None, *, seed=1, **options):
    options = {"sensitivity": 0.01, "norm": 3, "epsilon": 1, "delta": 1e-6} | options
    return release_function(f, kernel=kernel or GaussianKernel(0.2), entropy=SeededEntropy(seed), **options)


def exact_kernel(kernel, x, y):
    """The kernel of two points of floats, in as many digits as mpmath is set to."""
    differences = [mp.mpf(float(a)) - mp.mpf(float(b)) for a, b in zip(x, y, strict=True)]
    length = mp.mpf(kernel.length)
    distance = mp.sqrt(sum(d**2 for d in differences)) / length
    if isinstance(kernel, GaussianKernel):
        return mp.exp(-(distance**2) / 2)
    if isinstance(kernel, ExponentialKernel):
        return mp.exp(-sum(abs(d) for d in differences) / length)
    t = distance * mp.sqrt(3 if isinstance(kernel, Matern32) else 5)
    return (1 + t + (t**2 / 3 if isinstance(kernel, Matern52) else 0)) * mp.exp(-t)


# -------------------------------------------------------------------------------------------------------------- kernels


@pytest.mark.parametrize("leaf", LEAVES)
def test_kernels_are_right_to_the_rounding_they_state(leaf):
    rng = np.random.default_rng(0)
    for dimension in (1, 3):
        kernel = leaf(0.3, dimension)
        x = rng.normal(size=(12, dimension)) * 10.0 ** rng.integers(-9, 3, size=(12, 1))
        x = np.vstack([x, x + 1e-9, 1e300 * np.ones((1, dimension))])
        found = kernel(x, x)
        with mp.workdps(60):
            exact = np.array([[exact_kernel(kernel, a, b) for b in x] for a in x])
            worst = max(abs(mp.mpf(float(found[i, j])) - exact[i, j]) for i in range(len(x)) for j in range(len(x)))
        assert worst <= float(kernel.rounding)
        assert (np.diag(found) == 1).all()


def test_kernels_are_scikit_learns():
    peers = pytest.importorskip("sklearn.gaussian_process.kernels")
    x, y = np.random.default_rng(1).normal(size=(2, 7, 2))
    assert np.allclose(GaussianKernel(0.7, 2)(x, y), peers.RBF(0.7)(x, y))
    assert np.allclose(Matern32(0.7, 2)(x, y), peers.Matern(0.7, nu=1.5)(x, y))
    assert np.allclose(Matern52(0.7, 2)(x, y), peers.Matern(0.7, nu=2.5)(x, y))
    assert np.allclose(ExponentialKernel(0.7)(x[:, :1], y[:, :1]), peers.Matern(0.7, nu=0.5)(x[:, :1], y[:, :1]))


def test_kernels_combine():
    x, y = np.random.default_rng(2).normal(size=(2, 5, 2))
    a, b = GaussianKernel(0.5), ExponentialKernel(2.0)
    assert np.allclose((a * b)(x, y), a(x[:, 0], y[:, 0]) * b(x[:, 1], y[:, 1]))
    assert np.allclose((a + b)(x[:, 0], y[:, 0]), a(x[:, 0], y[:, 0]) + b(x[:, 0], y[:, 0]))
    assert np.allclose((2.5 * a)(x[:, 0], y[:, 0]), 2.5 * a(x[:, 0], y[:, 0]))
    assert np.allclose((a**2)(x, y), GaussianKernel(0.5, 2)(x, y))
    assert np.allclose((b**2)(x, y), ExponentialKernel(2.0, 2)(x, y))
    whole = 2.0 * (a * b) + Matern32(1.0, 2) * 0.5
    assert (whole.dimension, whole.largest) == (2, Fraction(5, 2))
    assert kernel_of(json.loads(json.dumps(whole.to_dict()))) == whole
    assert Fraction(0) < whole.rounding < Fraction(1, 1 << 45)
    assert np.linalg.eigvalsh(whole(x, x)).min() > 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: GaussianKernel(0),
        lambda: GaussianKernel(-1.0),
        lambda: ExponentialKernel(float("nan")),
        lambda: GaussianKernel(1.0, 0),
        lambda: -1 * GaussianKernel(1.0),
        lambda: GaussianKernel(1.0) + GaussianKernel(1.0, 2),
        lambda: GaussianKernel(1.0) ** 0,
        lambda: GaussianKernel(1.0)([[0.0, 1.0]], [0.0]),
        lambda: GaussianKernel(1.0)([float("inf")], [0.0]),
        lambda: GaussianKernel(1.0)(["a"], [0.0]),
        lambda: Expansion(GaussianKernel(1.0), [0.0, 1.0], [1.0]),
        lambda: Expansion(GaussianKernel(1.0), [0.0], [1.0]) - Expansion(GaussianKernel(2.0), [0.0], [1.0]),
        lambda: sobolev_norm(GaussianKernel(1.0), [0.0, 1.0], [(0, 1)]),
        lambda: sobolev_norm(ExponentialKernel(1.0), [[0.0, 1.0]], [(0, 1)]),
        lambda: sobolev_norm(ExponentialKernel(1.0), [0.0, 1.0], [(1, 0)]),
    ],
)
def test_bad_kernels_and_norms(call):
    with pytest.raises(InvalidArgument):
        call()


# ---------------------------------------------------------------------------------------------------------------- norms


def test_the_sobolev_norm_is_that_of_the_exponential_kernel():
    rng = np.random.default_rng(3)
    for length, low, high in ((0.5, 0.0, 1.0), (0.2, -1.0, 2.0)):
        f = Expansion(ExponentialKernel(length), rng.uniform(low, high, 4), rng.normal(size=4))
        x = np.linspace(low, high, 4001)
        assert sobolev_norm(ExponentialKernel(length), f(x), [(low, high)]) == pytest.approx(f.norm, rel=2e-3)


def test_the_sobolev_norm_has_mixed_partial_derivatives():
    """In two dimensions: without them the norm of a bump would come out far too small."""
    kernel, side = ExponentialKernel(0.5, 2), np.linspace(0, 1, 401)
    f = Expansion(kernel, [[0.3, 0.6], [0.8, 0.2]], [1.0, -0.7])
    mesh = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1)
    values = f(mesh.reshape(-1, 2)).reshape(401, 401)
    assert sobolev_norm(kernel, values, [(0, 1), (0, 1)]) == pytest.approx(f.norm, rel=5e-3)
    step = side[1]
    slopes = [np.gradient(values, step, axis=axis) for axis in (0, 1)]
    without = (sum((s**2).sum() for s in slopes) / 4 + (values**2).sum()) * step**2
    assert math.sqrt(without) < 0.9 * f.norm


@pytest.mark.parametrize(("adjacency", "times"), [(SUBSTITUTE, math.sqrt(2)), (ADD_REMOVE, 1)])
def test_kernel_sums_move_as_far_as_they_say_and_no_further(adjacency, times):
    kernel, rng, most = Matern52(0.5), np.random.default_rng(4), 0.0
    for g in (1, 3):
        bound = KernelSum(kernel, Fraction(1, 10)).sensitivity(adjacency.per_person(g))
        assert float(bound) == pytest.approx(times * g / 10, rel=1e-12)
        for spread in (0.0, 0.3, 3.0):
            there, instead = rng.normal(size=(2, g, 1)) * spread + [[[0.0]], [[20.0 * (spread == 0)]]]
            new = Expansion(kernel, there, np.full(g, 0.1))
            moved = new - Expansion(kernel, instead, np.full(g, 0.1)) if adjacency == SUBSTITUTE else new
            most = max(most, moved.norm / float(bound))
    assert 0.999 < most <= 1 + 1e-12


# ------------------------------------------------------------------------------------------------ the factor, in floats


def awkward_points(rng, size=24):
    """Some spread out, some nearly equal, some equal."""
    x = rng.uniform(0, 2, size=(size, 1))
    x[size // 3 : size // 2] = x[0] + 1e-13 * rng.integers(0, 5, size=(size // 2 - size // 3, 1))
    return x


@pytest.mark.parametrize("leaf", LEAVES)
def test_the_factor_covers_the_kernel_as_lemma_1_says(leaf):
    """L·Lᵀ - K - (τ/2)κI is positive definite, in 80 digits."""
    kernel, x = leaf(0.5), awkward_points(np.random.default_rng(5))
    tau, _ = plan(kernel, len(x), Fraction(1), Fraction(10), Fraction(0))
    factor = CovarianceFactor(kernel, tau)
    for part in (x[:1], x[1:9], x[9:]):
        factor.extend(part)
    with mp.workdps(80):
        rows = mp.matrix(factor.rows().tolist())
        exact = mp.matrix([[exact_kernel(kernel, a, b) for b in x] for a in x])
        mp.cholesky(rows * rows.T - exact - mp.eye(len(x)) * (mp.mpf(tau) / 2))
        with pytest.raises(ValueError, match="not positive"):  # the test can fail
            mp.cholesky(rows * rows.T - exact - mp.eye(len(x)) * (2 * mp.mpf(tau)))
    assert np.linalg.norm(factor.rows()) ** 2 <= 2 * len(x)


def test_the_widened_sensitivity_covers_the_floats():
    """Hostile neighbours: a large function at awkward points, of which one row of many changes."""
    kernel, rng, n = GaussianKernel(0.3), np.random.default_rng(6), 5000
    bumps = KernelSum(kernel, Fraction(1, n))
    norm, worst = bumps.norm(n), 0.0
    for trial in range(12):
        x, rows = awkward_points(rng), rng.normal(size=(n, 1)) * (0.02 if trial % 2 else 1.0)
        jitter, widened = plan(kernel, len(x), bumps.sensitivity(SUBSTITUTE), norm, Fraction(1, 1 << 46))
        factor = CovarianceFactor(kernel, jitter)
        factor.extend(x)
        moved = rows.copy()
        moved[0] = x[3] + (0 if trial % 3 else 50)
        computed, exact = [], []
        for data in (rows, moved):
            values = kernel(x, data).sum(axis=1) / n
            w = np.empty(0)
            for value in values.tolist():
                w = np.append(w, factor.coordinate(w, value))
            computed.append(w)
            with mp.workdps(50):
                exact.append(mp.lu_solve(mp.matrix(factor.rows().tolist()), mp.matrix(values.tolist())))
        with mp.workdps(50):
            error = max(float(mp.norm(mp.matrix(w.tolist()) - e)) for w, e in zip(computed, exact, strict=True))
        distance = float(np.linalg.norm(computed[0] - computed[1]))
        assert distance <= float(widened)
        room = float(widened - bumps.sensitivity(SUBSTITUTE))
        assert 2 * error <= room
        worst = max(worst, distance / float(bumps.sensitivity(SUBSTITUTE)))
    assert worst > 0.3


def test_mahalanobis_sensitivity_is_at_most_that_in_the_space():
    rng = np.random.default_rng(7)
    for leaf in LEAVES:
        kernel, ratios = leaf(0.4, 2), []
        for _ in range(20):
            f = Expansion(kernel, rng.normal(size=(6, 2)), rng.normal(size=6))
            g = Expansion(kernel, rng.normal(size=(6, 2)), rng.normal(size=6))
            factor = CovarianceFactor(kernel, 1e-9)
            factor.extend(np.vstack([rng.normal(size=(40, 2)), f.centres, g.centres]))
            w = np.linalg.solve(factor.rows(), (f - g)(factor.points))
            ratios.append(np.linalg.norm(w) / (f - g).norm)
        assert 0.999 < max(ratios) <= 1 + 1e-6  # points at all centres: the projection is the function itself


def test_batch_and_online_have_one_factor():
    x = np.random.default_rng(8).uniform(0, 3, size=(600, 2))
    kernel = Matern32(0.5, 2)
    batch, online, pieces = (CovarianceFactor(kernel, 1e-8) for _ in range(3))
    batch.extend(x)
    for row in x:
        online.extend(row[None])
    for part in np.split(x, [1, 200, 201, 500]):
        pieces.extend(part)
    wanted = kernel(x, x) + 1e-8 * np.eye(600)
    for factor in (batch, online, pieces):
        assert np.abs(factor.rows() @ factor.rows().T - wanted).max() < 1e-12
        assert np.abs(factor.rows() - batch.rows()).max() < 1e-8


def test_plans_widen_by_little():
    for k in (10, 1000, 5000):
        for ratio in (1, 10**4, 10**6):
            jitter, widened = plan(GaussianKernel(1.0), k, Fraction(1), Fraction(ratio), ERROR)
            assert widened < Fraction(103, 100)
            assert jitter < 1e-3
    with pytest.raises(InvalidArgument, match="most_points"):
        plan(GaussianKernel(1.0), 5000, Fraction(1), Fraction(10) ** 14, ERROR)


# ------------------------------------------------------------------------------------------------------------- releases


def test_a_point_has_one_answer():
    value = made().value
    first = value.at([0.0, 1.0, 1.0, 0.5])
    assert first[1] == first[2]
    assert value.at([0.5, -0.0]).tolist() == [first[3], first[0]]
    assert value.at([2.0, 1.0])[1] == first[1]
    assert value.points[:, 0].tolist() == [0.0, 1.0, 0.5, 2.0]
    assert value.answers.tolist() == value.at(value.points).tolist()
    assert value.remaining == value.most_points - 4
    assert value.at(np.empty((0, 1))).size == 0
    assert np.abs(first - wave(np.array([[0.0], [1.0], [1.0], [0.5]]))).max() < 8 * value.scale


def test_close_points_have_close_answers():
    value = made(most_points=400).value
    x = 0.3 + 1e-12 * np.arange(400)
    answers = value.at(x)
    tau = value.to_dict()["jitter"]
    assert np.ptp(answers) < 8 * value.scale * math.sqrt(2 * tau) + 1e-9
    assert len(set(answers.tolist())) > 300


def test_the_same_noise_in_one_batch_or_one_by_one():
    x = np.random.default_rng(9).uniform(0, 2, 300)
    batch, online = made(seed=3).value, made(seed=3).value
    one_by_one = [online.at([p])[0] for p in x[:256]]  # noise is drawn ahead by the 256
    assert np.abs(batch.at(x[:256]) - one_by_one).max() < 1e-6 * batch.scale


def test_the_noise_is_enough_for_every_set_of_points():
    """The finite-dimensional inequality: whatever the points, the coordinates of neighbours are (ε, δ)-close."""
    kernel, rng, n = GaussianKernel(0.3), np.random.default_rng(10), 200
    bumps, closest = KernelSum(kernel, Fraction(1, n)), Fraction(1)
    for trial in range(10):
        rows, moved = (np.append(rng.normal(size=(n - 1)), end)[:, None] for end in (0.0, 30.0))
        x = np.vstack([rng.normal(size=(30, 1)), [[0.0], [30.0]]])
        pair = []
        for data in (rows, np.vstack([rows[:-1], moved[-1:]])):
            value = release_function(
                lambda p, d=data: kernel(p, d).sum(axis=1) / n,
                kernel=kernel,
                sensitivity=bumps.sensitivity(SUBSTITUTE),
                norm=1,
                epsilon=1,
                delta=1e-3,
                most_points=40,
            ).value
            for part in (x,) if trial % 2 else x[:, None]:
                value.at(part)
            pair.append(value)
        shift = Fraction(float(np.linalg.norm(pair[0]._secret - pair[1]._secret)))
        needed = gaussian_delta(Fraction(pair[0].scale) / shift, 1)
        assert needed <= Fraction(1, 1000)
        closest = min(closest, Fraction(1, 1000) - needed.bounds()[1])
    assert closest < Fraction(1, 2000)  # and not by far too much


def exact_delta(law, steps, epsilon):
    """The least δ between integer noise and the same moved by so many steps: the ratio grows, so half-lines decide."""
    steps = abs(steps)
    if steps == 0:
        return 0.0
    cut = math.ceil(Fraction(law.variance) * epsilon / steps + Fraction(steps, 2))
    with ctx.workprec(256):
        return float(law.exact_tail(cut - steps).expression() - arb(epsilon).exp() * law.exact_tail(cut).expression())


def test_one_answer_on_every_pair_of_tables():
    """All tables of up to two rows out of four values, and one row more: the exact law of the answer at 0."""
    kernel, values, delta = GaussianKernel(0.5), [0.0, 0.1, 0.6, 40.0], Fraction(1, 10**4)

    def release(rows):
        f = lambda x: sum((kernel(x, [[r]])[:, 0] for r in rows), np.zeros(len(x)))  # noqa: E731
        options = {"sensitivity": 1, "norm": 4, "epsilon": 1, "delta": delta, "adjacency": ADD_REMOVE}
        made = release_function(f, kernel=kernel, most_points=1, **options).value
        made.at([0.0])
        return made

    worst, narrow = 0.0, 0.0
    for size in range(3):
        for rows in itertools.combinations_with_replacement(values, size):
            one = release(rows)
            grid, law = one._noise.grid, one._noise.law
            for more in values:
                steps = int(grid.steps(release((*rows, more))._secret)[0] - grid.steps(one._secret)[0])
                worst = max(worst, exact_delta(law, steps, 1))
                narrow = max(narrow, exact_delta(IntegerGaussian(Fraction(law.variance) * Fraction(96, 100)), steps, 1))
    assert worst <= delta < narrow  # enough noise, and with two per cent less it would not be


def test_a_release_knows_its_noise():
    release = made()
    value = release.value
    assert release.privacy.epsilon == 1
    assert not release.private
    low, high = value.band([0.0, 1.0], 0.95)
    wide_low, wide_high = value.band([0.0, 1.0], 0.95, together=True)
    assert ((wide_low < low) & (low < high) & (high < wide_high)).all()
    assert (high - low)[0] == pytest.approx(2 * 1.95996 * value.scale, rel=1e-4)
    assert release.interval(0.95) == (low.tolist(), high.tolist())
    plain = json.loads(release.to_json())["value"]
    assert plain["answers"] == value.answers.tolist()
    assert plain["kernel"] == GaussianKernel(0.2).to_dict()
    assert "2 points asked" in repr(value)


def test_noise_hardly_depends_on_the_number_of_points():
    scales = [made(most_points=k).value.scale for k in (1, 100, 10_000)]
    assert max(scales) < 1.01 * min(scales)


def test_a_scaled_kernel_is_the_same_release():
    plain = made().value.scale
    scaled = made(kernel=4.0 * GaussianKernel(0.2), sensitivity=0.005, norm=1.5).value
    assert scaled.scale * 2 == pytest.approx(plain, rel=1e-6)


def test_predictions_follow_the_answers():
    value = made(epsilon=HUGE).value
    value.at(np.linspace(0, 2, 40))
    there = np.linspace(0.01, 1.99, 77)
    assert np.abs(value.predicted(there) - wave(there[:, None])).max() < 1e-3
    assert np.abs(value.predicted(value.points) - value.answers).max() < 1e-4
    assert made().value.predicted([1.0]).tolist() == [0.0]


def test_limits_are_clear_and_leave_the_release_whole():
    value = made(most_points=3).value
    kept = value.at([0.0, 1.0])
    with pytest.raises(UptackError, match="only 1 of 3 are left"):
        value.at([2.0, 3.0])
    assert value.at([0.0, 1.0]).tolist() == kept.tolist()
    value.at([2.0])
    assert value.remaining == 0
    assert value.curators_own([0.1])[0] == pytest.approx(math.sin(0.3))
    value.close()
    assert value.at([1.0])[0] == kept[1]
    with pytest.raises(UptackError, match="predicted"):
        value.at([5.0])
    with pytest.raises(UptackError, match="no data"):
        value.curators_own([0.1])


def test_an_interrupted_call_leaves_no_trace(monkeypatch):
    value = made(seed=5).value
    value.at([0.0])
    with monkeypatch.context() as patch:
        patch.setattr(FunctionRelease, "_draw_ahead", lambda self, size: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            value.at(np.linspace(1, 2, 300))
    assert value.points.tolist() == [[0.0]]
    assert value.predicted([0.0])[0] == pytest.approx(value.answers[0])
    found = value.at(np.linspace(1, 2, 20))
    assert value.points.shape == (21, 1)
    assert np.abs(found - wave(np.linspace(1, 2, 20)[:, None])).max() < 8 * value.scale


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_releases_are_not_copied(copied):
    with pytest.raises(TypeError, match="save"):
        copied(made().value)


def test_a_fork_does_not_answer(monkeypatch):
    value = made().value
    known = value.at([0.0])
    monkeypatch.setattr("uptack.kernels.function_release.os.getpid", lambda: -1)
    assert value.at([0.0]) == known
    with pytest.raises(UptackError, match="forked"):
        value.at([1.0])


def test_values_that_are_no_numbers_are_read_as_some():
    value = made(lambda x: np.where(x[:, 0] > 0, np.inf, np.nan)).value
    assert np.abs(value.at([-5.0, 5.0]) - [0, 3]).max() < 8 * value.scale
    with pytest.raises(InvalidArgument, match="k values"):
        made(lambda x: [1.0]).value.at([1.0, 2.0])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("f", {"f": 3}),
        ("kernel", {"kernel": "gaussian"}),
        ("delta", {"delta": 0}),
        ("epsilon", {"epsilon": 0}),
        ("epsilon", {"epsilon": 1e-30, "delta": 1e-30}),
        ("sensitivity", {"sensitivity": 0}),
        ("sensitivity", {"sensitivity": 1e200}),
        ("norm", {"norm": -1}),
        ("error", {"error": -1}),
        ("dimension", {"dimension": 2}),
        ("most_points", {"most_points": 0}),
        ("adjacency", {"adjacency": "substitute"}),
        ("entropy", {"entropy": 3}),
    ],
)
def test_bad_arguments(name, options):
    given = {"kernel": GaussianKernel(0.2), "sensitivity": 0.01, "norm": 3, "epsilon": 1, "delta": 1e-6} | options
    with pytest.raises(InvalidArgument, match=f"^{name} must"):
        release_function(given.pop("f", wave), **given)


@pytest.mark.parametrize("where", [[[0.0, 1.0]], [[[0.0]]], [float("nan")], ["a"]])
def test_bad_points(where):
    value = made().value
    for ask in (value.at, value.predicted, value.band, value.curve):
        with pytest.raises(InvalidArgument, match="points must be finite points"):
            ask(where)
    assert value.remaining == value.most_points


# ---------------------------------------------------------------------------------------------------------------- files


def test_a_file_for_readers(tmp_path):
    value, path = made().value, tmp_path / "f.npz"
    x = np.linspace(0, 2, 300)
    answers = value.at(x)
    value.save(path)
    read = FunctionRelease.load(path)
    assert np.abs(read.at(x) - answers).max() < 1e-9 * value.scale
    assert np.allclose(read.predicted([0.123]), value.predicted([0.123]), rtol=0, atol=1e-6 * value.scale)
    assert read.scale == value.scale
    with pytest.raises(UptackError, match="holds no data"):
        read.at([7.0])
    with pytest.raises(UptackError, match="can't be resumed"):
        FunctionRelease.load(path, wave)
    with pytest.raises(UptackError, match="answer new points"):
        read.save(tmp_path / "g.npz", resumable=True)
    assert value.at([7.0]).size == 1  # the curator's own goes on
    assert sorted(p.name for p in tmp_path.iterdir()) == ["f.npz"]


def test_the_right_to_answer_exists_once(tmp_path):
    value, path = made(seed=6).value, tmp_path / "f.npz"
    x = np.linspace(0, 2, 270)
    answers = value.at(x)
    rows = value._factor.rows()
    value.save(path, resumable=True)
    with pytest.raises(UptackError, match="holds no data"):
        value.at([7.0])
    taken = FunctionRelease.load(path, wave, entropy=SeededEntropy(7))
    with pytest.raises(UptackError, match="resumed already"):
        FunctionRelease.load(path, wave)
    assert taken.at(x).tolist() == answers.tolist()
    assert (taken._factor.rows() == rows).all()
    assert taken.lives == 2
    further = taken.at([0.5001, 3.0])
    assert np.abs(further - wave(np.array([[0.5001], [3.0]]))).max() < 8 * value.scale
    assert abs(further[0] - value.predicted([0.5001])[0]) < 0.1 * value.scale  # consistent with what was said before
    taken.save(path, resumable=True)
    again = FunctionRelease.load(path, wave)
    assert again.at([0.5001, 3.0]).tolist() == further.tolist()


def test_lives_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("uptack.kernels.function_release.LIVES", 2)
    path = tmp_path / "f.npz"
    made().value.save(path, resumable=True)
    FunctionRelease.load(path, wave).save(path, resumable=True)
    with pytest.raises(UptackError, match="resumed 1 times"):
        FunctionRelease.load(path, wave)
    FunctionRelease.load(path)


def test_files_across_processes(tmp_path):
    value, path = made(seed=8).value, tmp_path / "f.npz"
    x = [0.1, 0.2, 1.7]
    answers = value.at(x)
    value.save(path, resumable=True)
    script = f"""
import numpy as np
from uptack.kernels import FunctionRelease
f = FunctionRelease.load({str(path)!r}, lambda x: np.sin(3 * x[:, 0]))
print(*map(float.hex, f.at([0.1, 0.2, 1.7, 0.9])))
f.save({str(path)!r}, resumable=True)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=600)
    found = [float.fromhex(word) for word in done.stdout.split()]
    assert found[:3] == answers.tolist()
    assert FunctionRelease.load(path, wave).at([0.9]).tolist() == found[3:]


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "f.npz"
    path.write_text("hello")
    with pytest.raises(UptackError, match="not the file of"):
        FunctionRelease.load(path)
    with pytest.raises(UptackError, match="not the file of"):
        FunctionRelease.load(path, wave)
    assert path.read_text() == "hello"
    with pytest.raises(FileNotFoundError):
        FunctionRelease.load(tmp_path / "none")


# ---------------------------------------------------------------------------------------------------- density estimates


def direct(rows, bandwidths, where):
    """The estimate by its definition."""
    t = (where[:, None, :] - rows[None, :, :]) / bandwidths
    weight = len(rows) * np.prod(np.sqrt(2 * np.pi) * np.asarray(bandwidths))
    return np.exp(-(t**2).sum(axis=2) / 2).sum(axis=1) / weight


@pytest.mark.parametrize(("dimension", "close"), [(1, 2e-4), (2, 2e-3), (3, 1e-2)])
def test_kde_is_the_estimate(dimension, close):
    rng = np.random.default_rng(11)
    rows, where = rng.normal(size=(3000, dimension)), rng.normal(size=(40, dimension)) * 1.5
    sides = [0.4, 0.5, 0.6][:dimension]
    release = kde(rows, epsilon=HUGE, delta=1e-6, bandwidth=sides, points=where)
    found, wanted = release.value.answers, direct(rows, sides, where)
    assert np.abs(found - wanted).max() < close * wanted.max()
    assert np.abs(found - release.value.curators_own(where)).max() < 1e-6


def test_kde_values_are_as_exact_as_they_say():
    rng, h = np.random.default_rng(12), 0.37
    bins = Bins.of(np.append(rng.normal(size=400), [1e300, -1e300])[:, None], np.array([h / 64]))
    density = Density(bins, GaussianKernel(h), 1.0, 9.5 * h)
    where = np.array([[0.0], [0.01], [3.3], [12.0], [-1e300]])
    found = density(where)
    with mp.workdps(50):
        exact = [
            sum(int(c) * exact_kernel(GaussianKernel(h), x, b) for b, c in zip(bins.middles, bins.counts, strict=True))
            for x in where
        ]
        worst = max(abs(mp.mpf(float(a)) - b) for a, b in zip(found, exact, strict=True))
    assert worst <= 402 * float(ERROR)
    assert bins.counts.sum() == 402


def test_bins_keep_neighbours_neighbours():
    rng, steps = np.random.default_rng(13), np.array([0.1, 0.2])
    rows = rng.normal(size=(200, 2))
    moved = rows.copy()
    moved[17] = [1e308, -5.0]
    whole = [
        dict(zip(map(tuple, b.middles.tolist()), b.counts.tolist(), strict=True))
        for b in (Bins.of(rows, steps), Bins.of(moved, steps), Bins.of(rows[:90], steps) + Bins.of(rows[90:], steps))
    ]
    assert whole[0] == whole[2]
    assert (Bins.of(np.empty((0, 2)), steps) + Bins.of(rows, steps)).counts.sum() == 200
    cells = set(whole[0]) | set(whole[1])
    assert sum(abs(whole[0].get(c, 0) - whole[1].get(c, 0)) for c in cells) == 2


def test_kde_finds_its_bandwidth_and_window():
    rows = np.random.default_rng(14).normal(50, 10, size=20_000)
    release = kde(rows, epsilon=1, delta=1e-6, entropy=SeededEntropy(2))
    assert release.value.kernel.length == pytest.approx(0.9 * 10 * 20_000**-0.2, rel=0.05)
    assert release.privacy.epsilon == 1
    assert release.privacy.delta == 1e-6
    curve = release.value.on_grid()
    assert curve.points.min() < 20
    assert curve.points.max() > 80
    density = curve.density()
    assert density.cdf(50.0) == pytest.approx(0.5, abs=0.02)
    assert np.abs(curve.values - release.value.curators_own(curve.points)).max() < 8 * release.value.scale
    with pytest.raises(InvalidArgument, match="low must"):
        kde(rows, epsilon=1, delta=1e-6, bandwidth=1.0).value.on_grid()
    two = kde(np.column_stack([rows, rows]), epsilon=1, delta=1e-6, entropy=SeededEntropy(2))
    assert two.value.window.shape == (2, 2)
    assert two.value.on_grid(size=5).values.size == 25


def test_kde_refuses_where_quartiles_do():
    reply = kde(np.arange(50.0), epsilon=1, delta=1e-6)
    assert not reply
    assert reply.privacy.epsilon == 0
    rng = np.random.default_rng(15)
    assert kde(rng.normal(size=reply.advice.n), epsilon=1, delta=1e-6)
    assert kde(np.arange(50.0), epsilon=reply.advice.epsilon, delta=1e-6)
    tied = kde(np.ones(20_000), epsilon=1, delta=1e-6, entropy=SeededEntropy(1))
    assert not tied
    assert 0 < tied.privacy.epsilon < 1
    assert "bandwidth" in str(tied.advice)
    assert kde(np.ones(5), epsilon=1, delta=1e-6, bandwidth=1.0)


def test_kde_under_each_relation():
    rows = np.random.default_rng(16).normal(size=20_000)
    scale = {}
    for name, options in {
        "plain": {},
        "three rows": {"rows_per_person": 3},
        "secret n": {"adjacency": ADD_REMOVE},
        "dropped": {"missing": "drop"},
    }.items():
        release = kde(rows, epsilon=1, delta=1e-6, bandwidth=0.2, entropy=SeededEntropy(3), **options)
        assert release.privacy.epsilon == 1
        assert release.privacy.delta == 1e-6
        scale[name] = release.value.scale
        assert abs(release.value.at([0.0])[0] - 0.39) < 0.02
    assert scale["three rows"] == pytest.approx(3 * scale["plain"], rel=1e-3)
    assert scale["secret n"] == pytest.approx(scale["dropped"] / math.sqrt(2), rel=1e-2)


def test_kde_reads_what_columns_are():
    rows = np.random.default_rng(17).integers(0, 100, size=70_000)
    options = {"epsilon": HUGE, "delta": 1e-6, "bandwidth": 2.0}
    wanted = kde(rows, **options).value.at([30.0, 50.0])
    for same in (rows.astype(float), as_column("x", rows), rows[:, None], rows.tolist()):
        assert np.allclose(kde(same, **options).value.at([30.0, 50.0]), wanted, rtol=0, atol=1e-9)
    holes = rows.astype(float)
    holes[::2] = np.nan
    with pytest.raises(InvalidArgument, match="NaN"):
        kde(holes, **options)
    half = kde(holes, missing=1e6, **options).value.at([30.0, 50.0])
    assert np.allclose(half, wanted / 2, rtol=0.05)
    pairs = np.column_stack([holes, rows])
    whole = kde(pairs, missing="drop", **options).value.at([[30.0, 30.0]])
    kept = kde(pairs[1::2], **options).value.at([[30.0, 30.0]])
    assert np.allclose(whole, kept, rtol=1e-3)


@pytest.mark.parametrize(
    ("name", "x", "options"),
    [
        ("bandwidth", [1.0], {"bandwidth": 0}),
        ("bandwidth", [1.0], {"bandwidth": -1.0}),
        ("bandwidth", [1.0], {"bandwidth": [1.0, 2.0]}),
        ("delta", [1.0], {"delta": 0}),
        ("epsilon", [1.0], {"epsilon": -1}),
        ("points", [1.0], {"points": [[1.0, 2.0]]}),
        ("most_points", [1.0], {"most_points": 0}),
        ("missing", [1.0], {"missing": "never"}),
        ("x", np.zeros((5, 4)), {}),
        ("x", ["a", "b"], {}),
        ("x", np.zeros((2, 2, 2)), {}),
    ],
)
def test_bad_density_arguments(name, x, options):
    with pytest.raises(InvalidArgument, match=f"^{name} must"):
        kde(x, **({"epsilon": 1, "delta": 1e-6, "bandwidth": 1.0} | options))


# ---------------------------------------------------------------------------------------------------- spectral releases


def test_eigenvalues_by_quadrature():
    """∫ k(x, y)φ(y)dy = λφ(x), with π² in the exponent and not without it."""
    basis = FourierBasis(bandwidth=0.11, degree=4)
    y = np.arange(512) / 512
    shifts = np.arange(-6, 7)
    for x in (0.0, 0.137, 0.8):
        k = np.exp(-((x - y[:, None] + shifts) ** 2) / (2 * 0.11**2)).sum(axis=1) / (0.11 * math.sqrt(2 * math.pi))
        found = (k[:, None] * basis.functions(y)).mean(axis=0)
        assert np.abs(found - basis.eigenvalues * basis.functions([x])[0]).max() < 1e-12
    printed = np.exp(-2 * ((np.arange(9) + 1) // 2 * 0.11) ** 2)
    assert np.abs(found - printed * basis.functions([x])[0]).max() > 0.1
    gram = basis.functions(y).T @ basis.functions(y) / 512
    assert np.abs(gram - np.eye(9)).max() < 1e-12


def test_spectral_means_and_how_far_they_move():
    rng = np.random.default_rng(18)
    basis = FourierBasis(bandwidth=0.1, degree=6, box=((-1.0, 3.0), (0.0, 2.0)))
    rows = rng.uniform([-1, 0], [3, 2], size=(500, 2))
    exact = (basis.functions(rows) * np.sqrt(basis.eigenvalues)).mean(axis=0)
    assert np.abs(basis.mean(rows) - exact).max() < 2.0**-32
    assert (basis.mean(np.array([[np.nan, 0.5]])) == basis.mean(np.array([[-1.0, 0.5]]))).all()
    bound, worst = float(basis.sensitivity(500)), 0.0
    for _ in range(100):
        moved = rows.copy()
        moved[0] = rng.uniform([-1, 0], [3, 2])
        worst = max(worst, float(np.linalg.norm(basis.mean(moved) - basis.mean(rows))))
    assert 0.9 * bound < worst <= bound
    assert basis.sensitivity(500, SUBSTITUTE.per_person(3)) == 3 * basis.sensitivity(500)


def test_a_spectral_release_holds_no_data():
    rows = np.random.default_rng(19).beta(2, 4, size=5000)[:, None]
    basis = FourierBasis(bandwidth=0.08, degree=12)
    options = {"basis": basis, "sensitivity": basis.sensitivity(5000), "error": basis.rounding, "delta": 1e-6}
    release = release_spectral(basis.mean(rows), epsilon=1, entropy=SeededEntropy(1), **options)
    x = np.linspace(0.05, 0.95, 50)
    again = SpectralRelease.from_dict(json.loads(json.dumps(release.to_dict()))["value"])
    assert np.array_equal(again.at(x), release.value.at(x))
    assert pickle.loads(pickle.dumps(release.value)).at(x).tolist() == again.at(x).tolist()
    low, high = release.value.band(x, 0.999999)
    wanted = release_spectral(basis.mean(rows), epsilon=HUGE, **options).value.at(x)
    assert ((low < wanted) & (wanted < high)).all()
    assert (high - low).max() < 1
    images = np.vstack([rows + k for k in range(-2, 3)])
    assert np.abs(wanted - 5 * direct(images, [0.08], x[:, None])).max() < 1e-3


@pytest.mark.parametrize(
    "call",
    [
        lambda: FourierBasis(0, 3),
        lambda: FourierBasis(0.1, 0),
        lambda: FourierBasis(0.1, 20_000),
        lambda: FourierBasis(0.1, 100, ((0, 1),) * 3),
        lambda: FourierBasis(0.1, 3, ((1, 0),)),
        lambda: FourierBasis(0.1, 3, (0, 1)),
        lambda: FourierBasis(0.1, 3).sensitivity(10, ADD_REMOVE),
        lambda: FourierBasis(0.1, 3).mean(np.empty((0, 1))),
        lambda: release_spectral([1.0], basis=FourierBasis(0.1, 3), sensitivity=1, epsilon=1, delta=1e-6),
        lambda: release_spectral([1.0] * 7, basis=FourierBasis(0.1, 3), sensitivity=1, epsilon=1, delta=0),
        lambda: release_spectral([1.0] * 7, basis="fourier", sensitivity=1, epsilon=1, delta=1e-6),
    ],
)
def test_bad_spectral_arguments(call):
    with pytest.raises(InvalidArgument):
        call()


# ------------------------------------------------------------------------------------------------------------- pictures


def test_curves_and_pictures():
    pytest.importorskip("matplotlib").use("Agg")
    value = made().value
    curve = value.on_grid(0, 2, size=30)
    assert "30 points" in repr(curve)
    assert json.loads(json.dumps(curve.to_dict()))["values"] == curve.values.tolist()
    with pytest.raises(ValueError, match="read-only"):
        curve.values[0] = 1
    ax = curve.plot(own=value.curators_own)
    lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    assert lines["private"].tolist() == curve.values.tolist()
    assert np.allclose(lines["not private"], wave(curve.points))
    assert curve.plot() is not ax
    flat = made(lambda x: x[:, 0] * 0, GaussianKernel(1.0, 2)).value.on_grid([0, 0], [1, 1], size=3)
    for ask in (flat.plot, flat.density):
        with pytest.raises(InvalidArgument, match="one dimension"):
            ask()
    with pytest.raises(InvalidArgument, match="above low"):
        value.on_grid(1, 0)


@pytest.mark.parametrize(("box", "row"), [((0.0, 0.1), 1e308), ((0.0, 0.5), -1.7e308), ((1e307, 1.5e307), -1.7e308)])
def test_a_row_far_from_the_box_moves_the_mean_no_further_than_any_other(box, row):
    basis = FourierBasis(bandwidth=0.05, degree=3, box=(box,))
    rows = np.full((1000, 1), sum(box) / 2)
    moved = rows.copy()
    moved[0] = row
    assert np.linalg.norm(basis.mean(rows) - basis.mean(moved)) <= basis.sensitivity(1000)


def test_boxes_have_finite_sides():
    with pytest.raises(ut.InvalidArgument, match="box"):
        FourierBasis(bandwidth=0.05, degree=3, box=((-1.7e308, 1.7e308),))


def made_function(seed=None):
    entropy = None if seed is None else ut.SeededEntropy(seed)
    f = lambda x: np.zeros(len(x))  # noqa: E731
    asked = {
        "kernel": GaussianKernel(1.0),
        "sensitivity": 1,
        "norm": 1,
        "epsilon": 1,
        "delta": 1e-6,
        "entropy": entropy,
    }
    return f, release_function(f, **asked).value


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_the_right_to_answer_can_be_taken_through_one_name_only(tmp_path, link):
    f, release = made_function()
    path = tmp_path / "release.npz"
    release.save(path, resumable=True)
    link(path, tmp_path / "other.npz")
    taken = 0
    for name in ("other.npz", "release.npz", "other.npz"):
        with contextlib.suppress(UptackError, OSError):
            FunctionRelease.load(tmp_path / name, f)
            taken += 1
    assert taken <= 1


def test_a_fork_does_not_hand_the_right_over(monkeypatch, tmp_path):
    _, release = made_function()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(UptackError, match="forked"):
        release.save(tmp_path / "release.npz", resumable=True)


def test_an_interrupt_leaves_one_right_at_most(monkeypatch, tmp_path):
    _, release = made_function()

    def interrupted(old, new):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        release.save(tmp_path / "release.npz", resumable=True)
    with pytest.raises(UptackError, match="holds no data"):
        release.at([0.5])


def test_a_seed_is_remembered_in_the_file(tmp_path):
    f, release = made_function(seed=1)
    release.at([0.5])
    assert "NOT PRIVATE" in repr(release)
    release.save(tmp_path / "plain.npz")
    release.save(tmp_path / "resumable.npz", resumable=True)
    assert not FunctionRelease.load(tmp_path / "plain.npz").private
    assert not FunctionRelease.load(tmp_path / "resumable.npz", f).to_dict()["private"]
    _, honest = made_function()
    honest.save(tmp_path / "honest.npz", resumable=True)
    assert not FunctionRelease.load(tmp_path / "honest.npz", f, entropy=ut.SeededEntropy(2)).private


def test_a_density_is_not_taken_up_again(tmp_path):
    made = ut.kde(np.arange(100.0), epsilon=1, delta=1e-6, bandwidth=5.0)
    with pytest.raises(UptackError, match="density"):
        made.value.save(tmp_path / "density.npz", resumable=True)


@pytest.mark.parametrize("odd", [None, 10**30, 10**400])
def test_one_entry_of_a_table_of_objects_decides_nothing(odd):
    rows = np.array([[float(i), float(i % 7)] for i in range(200)], dtype=object)
    rows[3, 1] = odd
    asked = {"epsilon": 1, "missing": "low"}
    assert ut.kde(rows, delta=1e-6, bandwidth=1.0, **asked)
    ut.fourier_density(rows, low=[0, 0], high=[200, 7], **asked)
