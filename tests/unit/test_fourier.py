"""Density curves, Fourier densities, and the exact facts that their privacy rests on."""

import json
import math
import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import acb, arb, ctx, fmpq, fmpq_mat
from scipy import integrate, stats

import uptack as ut
from tests.helpers import CountingEntropy
from uptack.densities.caratheodory import (
    CELLS,
    UNIT,
    BallNoise,
    CaratheodoryNoise,
    LaplaceNoise,
    cosines,
    half_lattice,
    moment_sums,
    moments,
)
from uptack.densities.fourier import _best_degree, _FourierPlan, _informative, fourier_density
from uptack.exact import working
from uptack.kernels.curves import DensityCurve, FourierDensity
from uptack.noise import SeededEntropy
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, loss
from uptack.table.memory.table import as_column

RNG = np.random.default_rng(5)
NORMAL = RNG.normal(10, 2, 20_000)


# --------------------------------------------------------------------------------------------- the body, exactly

Z4 = (0, 1, 2, 3)  # quarters of a turn, where moments are whole numbers
QUARTERS = [(1, 0), (0, 1), (-1, 0), (0, -1)]


def toeplitz(z, t):
    """tI + T(z) as a real symmetric matrix of twice the size, for z a list of (Re, Im) in rationals."""
    m = len(z)
    real = [[Fraction(t) if i == j else Fraction(z[abs(i - j) - 1][0]) for j in range(m + 1)] for i in range(m + 1)]
    imag = [
        [Fraction(0) if i == j else (1 if j > i else -1) * Fraction(z[abs(i - j) - 1][1]) for j in range(m + 1)]
        for i in range(m + 1)
    ]
    rows = [[*a, *(-x for x in b)] for a, b in zip(real, imag, strict=True)]
    rows += [[*b, *a] for a, b in zip(real, imag, strict=True)]
    return fmpq_mat([[fmpq(x.numerator, x.denominator) for x in row] for row in rows])


def inside(z, t):
    """Whether z is in tK, decided in rational arithmetic: the characteristic polynomial's signs must alternate."""
    coefficients = toeplitz(z, t).charpoly().coeffs()
    top = len(coefficients) - 1
    return all((-1) ** (top - i) * c >= 0 for i, c in enumerate(coefficients))


def circle_moments(m, p=Fraction(3, 5), q=Fraction(4, 5)):
    """(w, w², ..., w^m) for the rational point w = p + iq of the circle."""
    out, re, im = [], Fraction(1), Fraction(0)
    for _ in range(m):
        re, im = re * p - im * q, re * q + im * p
        out.append((re, im))
    return out


def negative(z):
    return [(-a, -b) for a, b in z]


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_the_gauge_of_moments_is_1_one_way_and_m_the_other(m):
    psi, little = circle_moments(m), Fraction(1, 10**6)
    assert inside(psi, 1)
    assert not inside(psi, 1 - little)
    assert inside(negative(psi), m)
    assert not inside(negative(psi), m - little)


def test_the_gauge_grows_by_at_most_1_when_a_point_of_the_body_is_added():
    """g(z) ≤ g(z - a) + 1, for every z of a small lattice and a among corners and mixtures of them."""
    corners = [[QUARTERS[k], QUARTERS[2 * k % 4]] for k in Z4]
    mixed = [[(Fraction(a + c, 2), Fraction(b + d, 2)) for (a, b), (c, d) in zip(u, v, strict=True)]
             for u in corners for v in corners]  # fmt: skip
    tested = 0
    for z in product((-1, 0, 1), repeat=4):
        point = [(z[0], z[1]), (z[2], z[3])]
        for a in mixed:
            rest = [(p - r, q - s) for (p, q), (r, s) in zip(point, a, strict=True)]
            for t in (Fraction(1, 2), 1, 2):
                if inside(rest, t):
                    assert inside(point, t + 1)
                    tested += 1
    assert tested > 100
    assert not all(inside([(Fraction(-a), Fraction(-b)) for a, b in c], 1) for c in corners)  # it has no centre at 0


@pytest.mark.parametrize("m", [1, 2, 3])
def test_rounded_moments_stay_within_the_sensitivities(m):
    """g(φ) ≤ unit + sqrt(2)·m, decided exactly; ℓ1 and ℓ2 norms of φ and of differences, in whole numbers."""
    cells = np.unique(np.r_[RNG.integers(0, CELLS, 60), CELLS // 3, CELLS // 8, 0, CELLS - 1])
    rounded = np.array([moment_sums(np.array([[c]]), np.array([1]), half_lattice(m, 1)) for c in cells])
    for z in rounded[:30].tolist():
        assert inside(z, CaratheodoryNoise(m, Fraction(1), ADD_REMOVE).scale)
    assert np.abs(rounded).sum(axis=(1, 2)).max() <= LaplaceNoise(m, Fraction(1), ADD_REMOVE).scale
    apart = (rounded[:, None] - rounded[None]).reshape(len(cells) ** 2, -1)
    assert np.abs(apart).sum(axis=1).max() <= LaplaceNoise(m, Fraction(1), SUBSTITUTE).scale
    if m <= 2:
        one, two = (BallNoise(m, Fraction(1), a).scale for a in (ADD_REMOVE, SUBSTITUTE))
        assert (rounded**2).sum(axis=(1, 2)).max() <= one**2
        assert (apart**2).sum(axis=1).max() <= two**2


def test_the_longest_difference_of_two_moments_is_almost_reached():
    """So the Gamma mechanism's 5/2 at m = 2 can't be lowered: at cos t = -1/4."""
    t = math.acos(-0.25)
    far = [2 - 2 * math.cos(k * t) for k in (1, 2)]
    assert math.sqrt(sum(far)) == pytest.approx(2.5)


def levinson(a):
    """Moments from Verblunsky coefficients, in floats: one row of a for each draw. An independent way."""
    a = np.atleast_2d(a)
    runs, m = a.shape
    predictor, out, left = np.zeros((runs, m + 1), complex), np.zeros((runs, m + 1), complex), np.ones(runs)
    predictor[:, 0] = out[:, 0] = 1
    for k in range(m):
        out[:, k + 1] = a[:, k] * left - (predictor[:, 1 : k + 1] * out[:, k:0:-1]).sum(axis=1)
        turned = predictor[:, k + 1 :: -1].conj() if k < m else predictor.conj()
        predictor[:, : k + 2] = predictor[:, : k + 2] - a[:, [k]] * turned
        left = left * (1 - np.abs(a[:, k]) ** 2)
    return out[:, 1:]


@pytest.mark.parametrize("m", [1, 2, 3, 7, 40])
def test_moments_by_product_trees_are_those_of_the_levinson_recursion(m):
    a = np.sqrt(RNG.uniform(0, 1, m)) * np.exp(2j * np.pi * RNG.uniform(0, 1, m)) * 0.9
    before = ctx.cap
    with ctx.workprec(200):
        found = [complex(c) for c in moments([acb(v.real, v.imag) for v in a])]
    assert np.allclose(found, levinson(a)[0], atol=1e-9)
    assert ctx.cap == before


# ------------------------------------------------------------------------------------------------ sums of moments


def test_cosines_are_the_nearest_integers():
    exact = UNIT * np.cos(2 * np.pi * np.arange(CELLS) / CELLS)
    assert cosines().shape == (CELLS,)
    assert np.abs(cosines() - exact).max() <= 0.5 + 1e-6
    assert cosines()[[0, CELLS // 4, CELLS // 2]].tolist() == [UNIT, 0, -UNIT]
    quarter = range(CELLS // 4 + 1)
    with working(96):
        shifted = [UNIT * arb(fmpq(2 * k, CELLS)).cos_pi() + arb(0.5) for k in quarter]
        found = [int(value.floor().unique_fmpz()) for value in shifted]
    assert cosines()[quarter].tolist() == found
    assert min(abs(float(value) - round(float(value))) for value in shifted) > 1e-6


@pytest.mark.parametrize(("degree", "dimension", "count"), [(1, 1, 1), (7, 1, 7), (1, 2, 4), (2, 2, 12), (1, 3, 13)])
def test_half_lattice(degree, dimension, count):
    found = {tuple(k) for k in half_lattice(degree, dimension).tolist()}
    assert len(found) == count == ((2 * degree + 1) ** dimension - 1) // 2
    assert not found & {tuple(-v for v in k) for k in found}


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_moment_sums(dimension):
    cells = RNG.integers(0, CELLS, (50, dimension))
    frequencies = half_lattice(2, dimension)
    sums = moment_sums(cells, np.ones(50, np.int64), frequencies)
    direct = np.exp(2j * np.pi * (cells @ frequencies.T) / CELLS).sum(axis=0)
    assert np.allclose((sums[:, 0] + 1j * sums[:, 1]) / UNIT, direct, atol=50 / UNIT)
    one_by_one = sum(moment_sums(c[None], np.array([1]), frequencies) for c in cells)
    assert (sums == one_by_one).all()  # whole numbers: no order of adding matters


# ------------------------------------------------------------------------------------------------------- the release


def close(value, law, tolerance):
    grid = np.linspace(value.low[0], value.high[0], 400)
    assert np.abs(value.at(grid) - law.pdf(grid)).max() < tolerance


@pytest.mark.parametrize("options", [{}, {"noise": "laplace"}, {"low": 0, "high": 20}, {"adjacency": ADD_REMOVE},
                                     {"rows_per_person": 3}, {"missing": "drop"}])  # fmt: skip
def test_a_normal_density(options):
    release = fourier_density(NORMAL, 2, entropy=SeededEntropy(1), **options)
    close(release.value, stats.norm(10, 2), 0.02)
    assert release.privacy.epsilon == 2
    assert release.privacy.delta == 0
    assert not release.private
    assert release.privacy.adjacency.rows_per_person == options.get("rows_per_person", 1)


def test_the_loss_tree_adds_up():
    release = fourier_density(NORMAL, 1, adjacency=ADD_REMOVE, entropy=SeededEntropy(1))
    count, box, series = (Fraction(p, 40) for p in (4, 9, 27))
    assert release.loss == loss.Composed((loss.Pure(count), loss.BoundedRange(box), loss.Pure(series)))
    release = fourier_density(NORMAL, 1, low=0, high=20, entropy=SeededEntropy(1))
    assert release.loss == loss.Pure(1)


def test_noise_by_degree():
    plan = _FourierPlan("caratheodory", 1, Fraction(1), SUBSTITUTE)
    assert [type(plan.noise(m)) for m in (1, 2, 3)] == [BallNoise, BallNoise, CaratheodoryNoise]
    for m in range(1, 20):  # and each is the better one where it is used
        ball, body = (law(m, Fraction(1), SUBSTITUTE) for law in (BallNoise, CaratheodoryNoise))
        longest = max(2 * m - 2 * sum(math.cos(k * t) for k in range(1, m + 1)) for t in np.linspace(0, math.pi, 500))
        gamma = 2 * m * (2 * m + 1) * longest
        assert (gamma < body.square) == (m <= 2)
        assert m > 2 or ball.square == pytest.approx(gamma, rel=1e-3)


def test_the_printed_scale_of_laplace_noise_is_turned_over():
    """2((2m+1)^d - 1)/(nε) for a basis that is sqrt(2) times as large."""
    for m, d in ((3, 1), (2, 2), (1, 3)):
        scale = _FourierPlan("laplace", d, Fraction(1, 2), SUBSTITUTE).noise(m).scale / UNIT
        assert math.sqrt(2) * scale == pytest.approx(2 * ((2 * m + 1) ** d - 1) / 0.5, rel=1e-6)


@pytest.mark.parametrize(("kind", "rate"), [("caratheodory", -4 / 3), ("laplace", -8 / 7)])
def test_the_default_degree(kind, rate):
    plan = _FourierPlan(kind, 1, Fraction(1), SUBSTITUTE)
    degrees = [_best_degree(plan, 10**k) for k in range(3, 8)]
    assert degrees == sorted(degrees)
    assert degrees[0] < degrees[-1] / 5
    for n, m in zip((10**k for k in range(3, 6)), degrees, strict=False):
        assert plan.error(m, n) == min(plan.error(j, n) for j in range(1, 130))
    fall = math.log10(plan.error(degrees[-1], 10**7) / plan.error(degrees[-2], 10**6))
    assert fall == pytest.approx(rate, abs=0.04)
    assert _best_degree(_FourierPlan(kind, 1, Fraction(1, 100), SUBSTITUTE), 10**4) < _best_degree(plan, 10**4)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_more_rows_never_hurt(dimension):
    plan = _FourierPlan("laplace", dimension, Fraction(1), SUBSTITUTE)
    assert sorted(fits := [plan.fits(n, None) for n in np.geomspace(1, 10**7, 40).astype(int)]) == fits
    assert not fits[0]
    assert fits[-1]


def test_an_error_that_is_bounded_bounds_the_error():
    """The bound of the default degree and the sampling error 2m/n, against what is measured on the reference."""
    law, n = stats.norm(0.5, 1 / 20), 3000
    grid = np.linspace(0, 1, 2001)
    plan = _FourierPlan("caratheodory", 1, Fraction(1), SUBSTITUTE)
    degree, errors = _best_degree(plan, n), []
    for seed in range(12):
        x = law.rvs(n, random_state=seed)
        value = fourier_density(x, 1, low=0, high=1, degree=degree, entropy=SeededEntropy(seed)).value
        errors.append(np.mean((value.series(grid) - law.pdf(grid)) ** 2))
    bound = plan.error(degree, n) + 2 * degree / n
    assert 0.2 * bound < np.mean(errors) < bound


def test_frequencies_that_look_like_noise_are_cut_off():
    """A cosine alone needs one frequency; the estimate of the error that chooses it is unbiased."""
    x = RNG.uniform(0, 1, 200_000)
    x = x[RNG.uniform(0, 1, x.size) < (1 + np.cos(2 * np.pi * x)) / 2]
    cut, whole = (fourier_density(x, 1, low=0, high=1, degree=m, entropy=SeededEntropy(1)).value for m in (None, 30))
    assert cut.degree < 10 < whole.degree
    grid = np.linspace(0, 1, 1000)
    error, larger = (np.mean((v.series(grid) - 1 - np.cos(2 * np.pi * grid)) ** 2) for v in (cut, whole))
    assert error < larger / 2


def test_what_is_kept():
    k = half_lattice(4, 1)
    assert _informative(k, np.array([0.5, 0.01, 0.3, 0.01]), np.full(4, 0.001)).tolist() == [True, True, True, False]
    assert _informative(k, np.zeros(4), np.full(4, 0.001)).tolist() == [True, False, False, False]
    assert _informative(half_lattice(2, 2), np.zeros(12), np.full(12, 0.001)).sum() == 4


@pytest.mark.parametrize("m", [1, 2, 3, 10, 50])
def test_the_sum_of_squares_of_caratheodory_noise(m):
    noise = CaratheodoryNoise(m, Fraction(1), ADD_REMOVE)
    assert noise.squares.sum() == pytest.approx(noise.square)
    assert noise.square == pytest.approx(2 * 3 * m * (5 * m + 3) / 4, rel=1e-5)
    assert noise.squares[0] == pytest.approx(2 * (2 * m + 1) * (m + 1) / m, rel=1e-5)


def test_too_few_rows():
    reply = fourier_density(NORMAL[:20], 0.1, low=0, high=20)
    assert isinstance(reply, ut.NoReply)
    assert reply.privacy.epsilon == 0
    assert fourier_density(np.resize(NORMAL, reply.advice.n), 0.1, low=0, high=20)
    for rows, epsilon in ((500, 1), (1, 1), (30, 0.1)):  # the quantiles refuse, or the noise does
        reply = fourier_density(NORMAL[:rows], epsilon)
        assert isinstance(reply, ut.NoReply)
        assert reply.advice.n > rows
        assert fourier_density(np.resize(NORMAL, reply.advice.n), epsilon)


@pytest.mark.parametrize("x", [np.full(5000, 3.0), np.r_[np.full(2500, -1e300), np.full(2500, 1e300)],
                               np.arange(5000), np.zeros(5000, bool), np.full(5000, 1e-300)])  # fmt: skip
def test_odd_data_give_a_density_all_the_same(x):
    value = fourier_density(x, 1, entropy=SeededEntropy(3)).value
    assert np.isfinite(value.coefficients).all()
    assert value.curve.cdf(value.high[0]) == pytest.approx(1)


@pytest.mark.parametrize("adjacency", [SUBSTITUTE, ADD_REMOVE])
def test_no_rows_at_all(adjacency):
    assert not fourier_density(np.empty(0), 1, low=0, high=1, adjacency=adjacency, entropy=SeededEntropy(3))


def test_rows_outside_are_wrapped_and_not_clamped():
    inside_box = np.full(4000, 0.25)
    wrapped, there = (
        fourier_density(x, 1, low=0, high=1, degree=6, entropy=SeededEntropy(1)).value.coefficients
        for x in (inside_box + 7, inside_box)
    )
    assert (wrapped == there).all()


def test_missing_rows():
    holes = np.r_[NORMAL, np.full(2000, np.nan)]
    with pytest.raises(ut.InvalidArgument, match="free of NaN"):
        fourier_density(holes, 1)
    close(fourier_density(holes, 2, missing="drop", entropy=SeededEntropy(1)).value, stats.norm(10, 2), 0.02)
    assert fourier_density(holes, 2, missing=10, entropy=SeededEntropy(1)).value.at(10) > 0.22  # a peak of them
    table = np.stack([holes, holes[::-1]], axis=1)
    dropped = fourier_density(table, 2, missing="drop", entropy=SeededEntropy(1))
    assert dropped.value.dimension == 2


def test_a_column_and_an_array_give_the_same():
    ours, theirs = (fourier_density(x, 1, entropy=SeededEntropy(8)).value for x in (as_column("x", NORMAL), NORMAL))
    assert (ours.coefficients == theirs.coefficients).all()
    assert ours.low == theirs.low


@pytest.mark.parametrize("box", [{}, {"low": -4, "high": 4}, {"low": [-4, -4], "high": [4, 4]}])
def test_two_columns(box):
    rows = RNG.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 30_000)
    release = fourier_density(rows, 4, entropy=SeededEntropy(1), **box)
    law = stats.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]])
    points = np.array([[0, 0], [1, 1], [1, -1], [0, 1.5], [-0.5, 0.5]])
    assert np.allclose(release.value.at(points), law.pdf(points), atol=0.03)
    assert np.isclose(
        release.value.at([0, 0]), release.value.at(points)[0], rtol=1e-12, atol=0
    )  # sums in another order
    assert release.value.at([[99, 0]]) == 0
    assert release.privacy.epsilon == 4
    assert release.mechanism == "Fourier density by Laplace noise"
    with pytest.raises(ut.InvalidArgument, match="dimension"):
        _ = release.value.curve


def test_three_columns():
    release = fourier_density(RNG.normal(0.5, 0.12, (40_000, 3)), 4, low=0, high=1, entropy=SeededEntropy(1))
    middle, corner = release.value.at([[0.5, 0.5, 0.5], [0.05, 0.05, 0.05]])
    assert middle > 8 > 2 > corner


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("epsilon", {"epsilon": 0}),
        ("epsilon", {"epsilon": "much"}),
        ("epsilon", {"epsilon": 1e-12}),
        ("degree", {"degree": 0}),
        ("degree", {"degree": 2.5}),
        ("degree", {"degree": 1001}),
        ("noise", {"noise": "gauss"}),
        ("noise", {"noise": "caratheodory", "x": np.zeros((10, 2))}),
        ("low", {"low": 1, "high": 0}),
        ("low", {"low": 1, "high": 1}),
        ("low", {"low": [0, 0], "high": [1, 1]}),
        ("low", {"low": [0, 0], "high": 1}),
        ("low", {"low": -1.7e308, "high": 1.7e308}),
        ("low", {"low": "a", "high": 1}),
        ("low", {"high": 1}),
        ("high", {"low": 0}),
        ("high", {"low": 0, "high": math.inf}),
        ("rows_per_person", {"rows_per_person": 0}),
        ("adjacency", {"adjacency": "substitute"}),
        ("missing", {"missing": "ignore"}),
        ("x", {"x": np.zeros((10, 4))}),
        ("x", {"x": np.zeros((10, 2, 2))}),
        ("x", {"x": ["a", "b"]}),
        ("x", {"x": [[1, 2], [3]]}),
        ("x", {"x": [0.0, math.nan]}),
    ],
)
def test_bad_arguments(argument, options):
    entropy = CountingEntropy()
    with pytest.raises(ut.InvalidArgument, match=" must be ") as caught:
        fourier_density(**{"x": NORMAL[:50], "epsilon": 1, "entropy": entropy, **options})
    assert caught.value.name == argument
    assert entropy.taken == 0


# --------------------------------------------------------------------------------------------------- Fourier densities


def test_eigenvalues_of_the_periodic_gaussian_kernel_by_quadrature():
    """λ_j = exp(-2π²j²σ²): the text has lost π²."""
    for sigma in (0.05, 0.11):
        for j in (1, 2, 5):
            wave, _ = integrate.quad(lambda t, j=j, s=sigma: stats.norm.pdf(t, 0, s) * np.cos(2 * np.pi * j * t), -2, 2)
            one = FourierDensity(np.array([[j]]), np.array([1 + 0j]), (0.0,), (1.0,)).smoothed(sigma)
            assert one.coefficients[0].real == pytest.approx(wave, abs=1e-9)
            assert abs(math.exp(-2 * j**2 * sigma**2) - wave) > 0.01


def test_smoothing_is_a_convolution():
    value = fourier_density(NORMAL, 4, entropy=SeededEntropy(1)).value
    close(value.smoothed(1.5), stats.norm(10, 2.5), 0.02)
    assert value.at(10) > value.smoothed(1.5).at(10) + 0.02


def test_a_fourier_density_is_a_density():
    value = fourier_density(NORMAL[:3000], 0.5, degree=9, entropy=SeededEntropy(2)).value
    grid = np.linspace(value.low[0], value.high[0], 20_001)
    assert value.at(grid).min() == 0 > value.series(grid).min()
    assert np.mean(value.at(grid)) * value.sides[0] == pytest.approx(1, abs=1e-2)
    assert np.mean(value.series(grid[:-1])) * value.sides[0] == pytest.approx(1)
    assert np.allclose(value.curve.at(grid), value.at(grid), atol=0.003)
    assert value.series(grid[7]) == pytest.approx(value.series(grid)[7])
    assert value.at([value.low[0] - 1, value.high[0] + 1]).tolist() == [0, 0]
    assert value.sample(5, SeededEntropy(1)).shape == (5,)
    with pytest.raises(ValueError, match="read-only"):
        value.coefficients[0] = 1


def test_fourier_densities_as_json():
    release = fourier_density(NORMAL, 1, degree=4, entropy=SeededEntropy(2))
    value = json.loads(release.to_json())["value"]
    assert value["frequencies"] == [[1], [2], [3], [4]]
    assert value["standard_error"] == release.value.standard_error > 0
    assert (pickle.loads(pickle.dumps(release.value)).coefficients == release.value.coefficients).all()


def test_points_of_the_wrong_shape():
    two = FourierDensity(np.array([[1, 0]]), np.array([0.1 + 0j]), (0.0, 0.0), (1.0, 1.0))
    for points in ([0.5], [[0.1, 0.2, 0.3]], "a"):
        for ask in (two.series, two.at):
            with pytest.raises(ut.InvalidArgument, match="points"):
                ask(points)


# ------------------------------------------------------------------------------------------------------- density curves

HAT = DensityCurve.on_grid([0, 1, 2], [0, 1, 0])


def test_curves_are_clipped_and_scaled():
    curve = DensityCurve.on_grid([0, 1, 3, 4], [-5, 2, 2, -1])
    assert curve.values.min() == 0
    assert integrate.quad(curve.at, 0, 4, points=[1, 3])[0] == pytest.approx(1)
    flat = DensityCurve.on_grid([0, 4], [-1, -2])
    assert flat.at([0, 2, 4]).tolist() == [0.25] * 3
    assert DensityCurve.on_grid([0, 1], [1e300, 1e300]).at(0.5) == 1


def test_cdf_and_quantile_are_inverse():
    x = np.linspace(0, 2, 101)
    assert np.allclose(HAT.cdf(x), np.where(x < 1, x**2 / 2, 1 - (2 - x) ** 2 / 2))
    assert np.allclose(HAT.quantile(HAT.cdf(x)), x, atol=1e-7)
    assert HAT.cdf(-3) == 0
    assert HAT.cdf(9) == 1
    assert HAT.quantile(0.5) == pytest.approx(1)
    gap = DensityCurve.on_grid([0, 1, 2, 3], [1, 0, 0, 1])
    assert gap.quantile([0, 0.5, 1]) == pytest.approx([0, 1, 3])


def test_samples_have_the_density():
    draws = HAT.sample(20_000, SeededEntropy(1))
    assert stats.kstest(draws, stats.triang(0.5, 0, 2).cdf).pvalue > 1e-7
    assert stats.kstest(draws, stats.triang(0.55, 0, 2).cdf).pvalue < 1e-7
    assert HAT.sample(0).size == 0
    assert HAT.sample(3).shape == (3,)


def test_curves_draw_themselves():
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = HAT.plot(truth=stats.norm(1, 0.5).pdf)
    assert len(ax.lines) == 2
    assert HAT.plot(ax) is ax
    assert fourier_density(NORMAL, 1, entropy=SeededEntropy(1)).value.plot() is not ax
    plt.close("all")


def test_curves_as_json_and_frozen():
    assert json.loads(json.dumps(HAT.to_dict())) == {"points": [0, 1, 2], "values": [0, 1, 0]}
    with pytest.raises(ValueError, match="read-only"):
        HAT.values[0] = 3


@pytest.mark.parametrize(
    ("argument", "make"),
    [
        ("points", lambda: DensityCurve.on_grid([1], [1])),
        ("points", lambda: DensityCurve.on_grid([1, 1], [1, 2])),
        ("points", lambda: DensityCurve.on_grid("ab", [1, 2])),
        ("values", lambda: DensityCurve.on_grid([1, 2], [1, 2, 3])),
        ("values", lambda: DensityCurve.on_grid([1, 2], None)),
        ("points", lambda: HAT.at("a")),
        ("p", lambda: HAT.quantile(1.5)),
        ("n", lambda: HAT.sample(-1)),
        ("entropy", lambda: HAT.sample(1, 7)),
        ("bandwidth", lambda: fourier_density(NORMAL, 1, degree=1).value.smoothed(0)),
    ],
)
def test_curves_refuse_bad_arguments(argument, make):
    with pytest.raises(ut.InvalidArgument) as caught:
        make()
    assert caught.value.name == argument
