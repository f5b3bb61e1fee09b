"""Carathéodory noise against its law, and audits: the printed mechanism is caught, the repaired one is not."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from scipy import stats

from tests.helpers import FALSE_ALARM, assert_fits_cdf
from tests.unit.test_fourier import levinson
from uptack.audit import epsilon_lower_bound
from uptack.densities.caratheodory import UNIT, BallNoise, CaratheodoryNoise, LaplaceNoise, MomentBody
from uptack.densities.fourier import fourier_density
from uptack.noise import SeededEntropy
from uptack.privacy import ADD_REMOVE, SUBSTITUTE

SURE = 1 - Fraction(str(FALSE_ALARM))


def toeplitz(z):
    """T(z) for each row of complex moments."""
    runs, m = z.shape
    out = np.zeros((runs, m + 1, m + 1), complex)
    for k in range(1, m + 1):
        i = np.arange(m + 1 - k)
        out[:, i, i + k], out[:, i + k, i] = z[:, [k - 1]], z[:, [k - 1]].conj()
    return out


def gauge(z):
    """g(z) = -λ_min(T(z))."""
    return -np.linalg.eigvalsh(toeplitz(z))[:, 0]


def drawn(m, runs, seed=3):
    """Points of the body by the library's own sampler, from 53-bit uniform reals."""
    body, rng = MomentBody(m), np.random.default_rng(seed)
    with ctx.workprec(96):
        points = [[float(v) for v in body.point([arb(u) for u in rng.random(2 * m)])] for _ in range(runs)]
    parts = np.array(points)
    return parts[:, ::2] + 1j * parts[:, 1::2]


def verblunsky(m, runs, rng, extra=0):
    """The same in floats, with a Beta parameter that may be off."""
    b = 2 * (m - 1 - np.arange(m)) + 1 + extra
    size = np.sqrt(1 - rng.random((runs, m)) ** (1 / b))
    return levinson(size * np.exp(2j * np.pi * rng.random((runs, m))))


def by_rejection(m, runs, rng):
    """Uniform points of the polydisc that lie in the body, and how many of them do."""
    size = np.sqrt(rng.random((runs, m)))
    z = size * np.exp(2j * np.pi * rng.random((runs, m)))
    return z[gauge(z) <= 1]


def features(z):
    """Numbers that tell laws on the body apart: sizes, a part, a product of neighbours, and the gauge."""
    product = z[:, 0] * z[:, -1].conj() if z.shape[1] > 1 else z[:, 0]
    return [*np.abs(z).T, z[:, -1].real, (z[:, 0] * product).real, gauge(z)]


def apart(a, b):
    """The least p-value of all features."""
    return min(stats.ks_2samp(u, v).pvalue for u, v in zip(features(a), features(b), strict=True))


# --------------------------------------------------------------------------------------------------------- the sampler


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_sampler_against_rejection(m):
    rng = np.random.default_rng(m)
    truth = by_rejection(m, {1: 20_000, 2: 40_000, 3: 120_000}[m], rng)
    assert apart(drawn(m, 1500), truth) > FALSE_ALARM
    assert apart(verblunsky(m, 20_000, rng), truth) > FALSE_ALARM
    assert apart(verblunsky(m, 20_000, rng, extra=1), truth) < FALSE_ALARM
    assert apart(verblunsky(m, 20_000, rng, extra=-0.5), truth) < FALSE_ALARM


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_volume(m):
    """(2π)^m·m!/(2m)!, as a share of the polydisc."""
    runs, rng = 100_000, np.random.default_rng(m)
    share = (2 * math.pi) ** m * math.factorial(m) / math.factorial(2 * m) / math.pi**m
    hits = len(by_rejection(m, runs, rng))
    assert stats.binomtest(hits, runs, min(share, 1.0)).pvalue > FALSE_ALARM
    if m > 1:
        assert stats.binomtest(hits, runs, share * 1.1).pvalue < FALSE_ALARM


@pytest.mark.parametrize("m", [2, 5, 12])
def test_the_gauge_and_the_first_moment_have_known_laws(m):
    """g(u)^(2m) is uniform on (0, 1), as vol(tK) = t^(2m)·vol(K), and |c_1|² has the law Beta(1, 2m - 1)."""
    u = drawn(m, 2000)
    assert stats.kstest(gauge(u) ** (2 * m), stats.uniform.cdf).pvalue > FALSE_ALARM
    assert stats.kstest(gauge(u) ** (2.5 * m), stats.uniform.cdf).pvalue < FALSE_ALARM
    assert stats.kstest(np.abs(u[:, 0]) ** 2, stats.beta(1, 2 * m - 1).cdf).pvalue > FALSE_ALARM


def hit_and_run(m, chains, steps, rng):
    """The thesis' sampler (section 4.4.4), many short chains at once: uniform only in the limit, so for tests alone."""
    z = np.zeros((chains, m), complex)
    for _ in range(steps):
        direction = rng.normal(size=(chains, m)) + 1j * rng.normal(size=(chains, m))
        root = np.linalg.cholesky(np.eye(m + 1) + toeplitz(z))
        half = np.linalg.solve(root, toeplitz(direction))
        turned = np.linalg.solve(root, np.conj(np.swapaxes(half, 1, 2)))
        ends = np.linalg.eigvalsh(turned)  # I + η·turned ⪰ 0
        low, high = -1 / ends[:, -1], -1 / ends[:, 0]
        z = z + (low + (high - low) * rng.random(chains))[:, None] * direction * (1 - 1e-12)
    return z


def test_the_sampler_against_hit_and_run():
    """At m = 4, where rejection keeps one point in a hundred."""
    rng = np.random.default_rng(7)
    walked = hit_and_run(4, 1500, 50, rng)
    assert apart(drawn(4, 1500), walked) > FALSE_ALARM
    assert apart(verblunsky(4, 20_000, rng, extra=2), walked) < FALSE_ALARM


# ---------------------------------------------------------------------------------------------------------- the noise


def noise_draws(law, m, adjacency, runs, epsilon=Fraction(1, 2)):
    entropy, noise = SeededEntropy(11), law(m, epsilon, adjacency)
    return np.array([noise.draw(2 * noise.count, entropy).reshape(-1, 2) for _ in range(runs)]) / UNIT, noise


def test_caratheodory_noise_is_the_difference_of_two_stretched_points():
    m, scale, rng = 3, 4.0, np.random.default_rng(4)
    draws, noise = noise_draws(CaratheodoryNoise, m, SUBSTITUTE, 2000)
    ours = draws[..., 0] + 1j * draws[..., 1]
    assert float(noise.scale) == pytest.approx(scale * UNIT, rel=1e-6)

    def theirs(stretch):
        points = by_rejection(m, 40_000, rng)
        half = len(points) // 2
        radius = rng.gamma(2 * m + 1, stretch, len(points))[:, None]
        return (radius * points)[:half] - (radius * points)[half : 2 * half]

    assert apart(ours, theirs(scale)) > FALSE_ALARM
    assert apart(ours, theirs(1.2 * scale)) < FALSE_ALARM


def test_the_gauge_of_one_stretched_point_is_gamma():
    """With r ~ Gamma(2m + 1, s) the density is e^(-g/s), and g has the law Gamma(2m, s)."""
    rng, m = np.random.default_rng(5), 4
    z = verblunsky(m, 20_000, rng) * rng.gamma(2 * m + 1, 2.0, (20_000, 1))
    assert_fits_cdf(gauge(z), stats.gamma(2 * m, scale=2), stats.gamma(2 * m + 1, scale=2))


@pytest.mark.parametrize(
    ("law", "m", "adjacency"),
    [
        (CaratheodoryNoise, 1, SUBSTITUTE),
        (CaratheodoryNoise, 6, ADD_REMOVE.per_person(3)),
        (BallNoise, 1, ADD_REMOVE.per_person(3)),
        (BallNoise, 2, SUBSTITUTE),
        (LaplaceNoise, 5, SUBSTITUTE),
        (LaplaceNoise, 5, ADD_REMOVE.per_person(3)),
    ],
)
def test_the_expected_square(law, m, adjacency):
    """3m(5m + 3)/2 and so on, in units of scale²: within six standard errors, which a quarter more is not."""
    draws, noise = noise_draws(law, m, adjacency, 3000 if m < 5 else 1200)
    squares = (draws**2).sum(axis=(1, 2))
    error = squares.std() / math.sqrt(len(squares))
    assert abs(squares.mean() - noise.square) < 6 * error
    assert error < 0.04 * noise.square


def test_every_moment_of_the_noise_has_its_known_size():
    """The printed inertia is another one for m ≥ 3."""
    for m in (3, 8):
        u = verblunsky(m, 200_000, np.random.default_rng(8))
        found = 2 * (2 * m + 1) * (2 * m + 2) * np.mean(np.abs(u) ** 2, axis=0)
        assert found == pytest.approx(CaratheodoryNoise(m, Fraction(1), ADD_REMOVE).squares, rel=0.02)
    u = verblunsky(3, 200_000, np.random.default_rng(8))
    assert np.mean(u[:, 1].real ** 2) == pytest.approx(19 / 168, rel=0.01)  # printed: 1/9


@pytest.mark.parametrize("options", [{"degree": 3}, {"degree": 2}, {"degree": 2, "noise": "laplace"}], ids=str)
def test_the_standard_error_of_the_series(options):
    """The same at every point, for the noise has no preferred place."""
    entropy, x = SeededEntropy(5), np.full(200, 0.5)
    made = [fourier_density(x, 2, low=0, high=4, entropy=entropy, **options).value for _ in range(400)]
    values = np.array([v.series([0.0, 1.0, 2.7]) for v in made])
    assert values.std(axis=0) == pytest.approx(made[0].standard_error, rel=0.25)


# ------------------------------------------------------------------------------------------------------------- audits


def moments_of(x, m):
    return np.exp(2j * np.pi * x * np.arange(1, m + 1))


def test_the_printed_mechanism_is_caught_at_degree_2():
    """r·u with r ~ Gamma(2m + 1, 2/ε), said to be ε-private when a row is replaced; the truth is (m + 1)ε/2."""
    m, epsilon, runs, rng = 2, 2.0, 60_000, np.random.default_rng(9)
    near, far = moments_of(0.0, m), moments_of(1 / (m + 1), m)

    def evidence(row):
        z = row + verblunsky(m, runs, rng) * rng.gamma(2 * m + 1, 2 / epsilon, (runs, 1))
        return gauge(z - far) - gauge(z - near)

    found = epsilon_lower_bound(evidence(near), evidence(far), 0, SURE)
    assert epsilon < found <= (m + 1) * epsilon / 2


def test_the_repaired_mechanism_is_not_caught():
    m, epsilon, runs, rng = 2, 2.0, 20_000, np.random.default_rng(10)
    near, far = moments_of(0.0, m), moments_of(1 / (m + 1), m)

    def draws(row):
        first, second = (verblunsky(m, runs, rng) * rng.gamma(2 * m + 1, 2 / epsilon, (runs, 1)) for _ in range(2))
        return row + first - second

    a, b = draws(near), draws(far)
    for evidence in (lambda z: gauge(z - far) - gauge(z - near), lambda z: gauge(near - z) - gauge(far - z),
                     lambda z: (z @ (near - far).conj()).real):  # fmt: skip
        assert 0 < epsilon_lower_bound(evidence(a), evidence(b), 0, SURE) <= epsilon


@pytest.mark.parametrize("options", [{"degree": 3}, {"degree": 1}, {"degree": 2, "noise": "laplace"}], ids=str)
def test_the_release_keeps_its_promise(options):
    """One row at 0 replaced by one as far away as can be, among 40 at 1/2; the evidence is on the line between them."""
    m, runs, epsilon = options["degree"], 400, 4
    entropy = SeededEntropy(6)
    tables = [np.r_[np.full(40, 0.5), x] for x in (0.0, 1 / (m + 1))]
    direction = moments_of(0.0, m) - moments_of(1 / (m + 1), m)

    def answers(x):
        made = (fourier_density(x, epsilon, low=0, high=1, entropy=entropy, **options) for _ in range(runs))
        return [float((r.value.coefficients @ direction.conj()).real) for r in made]

    found = epsilon_lower_bound(answers(tables[0]), answers(tables[1]), 0, SURE)
    assert 0.1 < found <= epsilon


def test_the_release_keeps_its_promise_when_a_row_is_added():
    """40 rows at 1/2, or one more at 1/4, which alone has imaginary parts; the number of rows has noise of its own."""
    entropy, runs = SeededEntropy(6), 400
    options = {"low": 0, "high": 1, "degree": 3, "adjacency": ADD_REMOVE, "entropy": entropy}
    tables = (np.full(40, 0.5), np.r_[np.full(40, 0.5), 0.25])
    replies = [[fourier_density(x, 4, **options) for _ in range(runs)] for x in tables]
    answers = [[float(r.value.coefficients.imag @ [1, 0, -1]) if r else None for r in made] for made in replies]
    assert 0 < epsilon_lower_bound(*answers, 0, SURE) <= 4


def test_half_the_noise_is_caught():
    """The same audit has the power to see a scale for added rows used for replaced ones."""
    m, runs, epsilon = 1, 4000, Fraction(4)
    entropy, noise = SeededEntropy(6), BallNoise(m, epsilon, ADD_REMOVE)
    draws = [[float(noise.draw(2 * m, entropy)[0]) / UNIT + x for _ in range(runs)] for x in (1, -1)]
    assert epsilon_lower_bound(*draws, 0, SURE) > epsilon
