"""Matrix Laplace noise against its density, and its lemma by quadrature on 2×2 matrices."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from tests.helpers import FALSE_ALARM, assert_fits_cdf
from uptack.mechanisms import matrix_laplace
from uptack.mechanisms.additive_noise import MatrixLaplace, MatrixLaplaceLaw, deviation, edge
from uptack.noise import Grid, SeededEntropy
from uptack.privacy.loss import Pure

RUNS = 8_000
NODES, WEIGHTS = np.polynomial.legendre.leggauss(80)
HALF, EACH = (NODES + 1) / 2, WEIGHTS / 2
FEW, FEW_EACH = (np.polynomial.legendre.leggauss(14)[0] + 1) / 2, np.polynomial.legendre.leggauss(14)[1] / 2


def tail_integral(high, low):
    """I(M)/I(0) for M = diag(high, -low), both above 0, θ = 1: ∫ 2·sqrt(min(ab, (a - high)(b + low)))·e^(-2(a + b)).

    The kink, where (a - high)·low = high·b, is a ray in (s, b) for s = a - high: so integrate over angles on both sides
    of it, and over the distance from 0.
    """
    kink = np.arctan2(low, high)  # b/s = low/high
    total = 0.0
    for start, end in ((0.0, kink), (kink, np.pi / 2)):
        # a power at the end where the integrand is like a root
        angle = start + (end - start) * HALF**2 if start == 0 else end - (end - start) * HALF[::-1] ** 2
        measure = (end - start) * 2 * HALF * EACH if start == 0 else ((end - start) * 2 * HALF * EACH)[::-1]
        c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
        rate = 2 * (c + s)
        far = 30 / rate
        r = far * HALF[None, :] ** 2
        inner = np.minimum((high + r * c) * r * s, r * c * (r * s + low))
        value = 2 * np.sqrt(inner) * np.exp(-r * rate - 2 * high) * r * far * 2 * HALF[None, :] * EACH[None, :]
        total += float((value.sum(axis=1) * measure).sum())
    return total / (2 * (np.sqrt(np.pi) / 2 * 0.5**1.5) ** 2)


def density(m):
    """f(M)/f(0) for θ = 1."""
    low, high = np.linalg.eigvalsh(m)
    if low >= 0 or high <= 0:
        return float(np.exp(-abs(low) - abs(high)))
    return float(np.exp(high + low)) * tail_integral(high, -low)


def test_the_density_is_continuous_and_adds_up_to_one():
    assert tail_integral(1e-9, 1.0) == pytest.approx(1, rel=1e-3)
    assert density(np.diag([1.0, -1e-9])) == pytest.approx(np.exp(-1), rel=1e-3)
    assert density(np.diag([0.7, -0.3])) == pytest.approx(density(np.diag([0.3, -0.7])), rel=1e-6)  # f(M) = f(-M)


def test_the_lemma_holds_on_2x2_matrices_and_is_sharp():
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(400):
        m, p = (rng.normal(size=(2, 2, 2)) * rng.uniform(0.1, 2, (2, 1, 1))).transpose(0, 2, 1)
        m, p = m + m.T, p + p.T
        norm = np.abs(np.linalg.eigvalsh(p)).sum()
        worst = max(worst, abs(np.log(density(m + p) / density(m))) / norm)
    assert worst <= 1 + 1e-5
    assert worst > 0.999
    two = np.diag([1.0, -1.0])  # a replaced row, uuᵀ - vvᵀ
    assert abs(np.log(density(two + np.diag([0.0, 1.0])) / density(np.diag([0.0, 1.0])))) < 2


def draws(d, theta, runs=RUNS):
    entropy = SeededEntropy(5)
    grid = Grid.finer_than(Fraction(theta))
    return np.array([MatrixLaplace(Pure(1), Fraction(theta), grid).draw([[0] * d] * d, entropy) for _ in range(runs)])


CUTS = (0.0, 0.5, 1.1, 2.0, np.inf)


def cells(theta):
    """The chance of each sign pattern of eigenvalues, with their sizes in classes, by quadrature: θ·(θ = 1)."""
    cuts = np.array(CUTS) / theta
    cuts[-1] = 14.0

    def mass(a, b, c, d, f):
        x, y = a + (b - a) * HALF, c + (d - c) * HALF
        return (b - a) * (d - c) * float(EACH @ f(x[:, None], y[None, :]) @ EACH)

    same, mixed = {}, {}
    near = np.vectorize(lambda h, g: (h + g) * np.exp(h - g) * tail_integral(h, g))
    for i in range(4):
        for j in range(4):
            a, b, c, d = cuts[i], cuts[i + 1], cuts[j], cuts[j + 1]
            if j < i:
                same[i, j] = mass(a, b, c, d, lambda x, y: (x - y) * np.exp(-x - y))
            elif j == i:  # y = x·t
                x = a + (b - a) * HALF
                part = [integrate.quad(lambda y, v=v: (v - y) * np.exp(-v - y), a, v)[0] for v in x]
                same[i, i] = (b - a) * float(EACH @ part)
            x, y = a + (b - a) * FEW, c + (d - c) * FEW
            mixed[i, j] = (b - a) * (d - c) * float(FEW_EACH @ near(x[:, None], y[None, :]) @ FEW_EACH)
    total = 2 * sum(same.values()) + sum(mixed.values())
    return {k: v / total for k, v in same.items()}, {k: v / total for k, v in mixed.items()}


def test_2x2_draws_have_the_density():
    low, high = np.linalg.eigvalsh(draws(2, 1)).T
    counts = {}
    for least, h in zip(low, high, strict=True):
        a, b = sorted((abs(least), abs(h)), reverse=True) if least * h > 0 else (h, -least)
        kind = "mixed" if least * h <= 0 else "up" if least > 0 else "down"
        place = tuple(int(np.searchsorted(CUTS, v, "right")) - 1 for v in (a, b))
        counts[kind, place] = counts.get((kind, place), 0) + 1

    def p_value(theta):
        same, mixed = cells(theta)
        expected = {("mixed", k): v for k, v in mixed.items()}
        expected |= {(kind, k): v for kind in ("up", "down") for k, v in same.items()}
        observed = np.array([counts.get(k, 0) for k in expected])
        chances = np.array(list(expected.values()))
        assert observed.sum() == RUNS
        enough = np.append(RUNS * chances >= 10, True)
        observed, chances = (np.append(v, v[~enough[:-1]].sum())[enough] for v in (observed, chances))
        return stats.chisquare(observed[chances > 0], RUNS * chances[chances > 0] / chances.sum()).pvalue

    assert p_value(1.0) > FALSE_ALARM
    assert p_value(1.1) < FALSE_ALARM
    assert p_value(0.9) < FALSE_ALARM


class GammaDifference(stats.rv_continuous):
    """s·(X - Y) for two Gamma variables of one shape."""

    def __init__(self, shape, scale):
        super().__init__()
        law, x = stats.gamma(shape), np.linspace(0, 60 + 6 * shape, 6001)
        t = np.linspace(0, 20 + 4 * shape, 300)
        mass = np.diff(law.cdf(x))
        middle = (x[1:] + x[:-1]) / 2
        self._t, self._tail = t * scale, np.array([mass @ law.sf(middle + v) for v in t])

    def cdf(self, x):
        x = np.asarray(x, float)
        tail = np.interp(np.abs(x), self._t, self._tail)
        return np.where(x > 0, 1 - tail, tail)


def test_entries_traces_and_forms_have_their_laws():
    d, theta = 3, 2
    drawn = draws(d, theta, 5000)
    wrong = 1.25
    whole = GammaDifference(d * (d + 1) / 2, theta)
    assert_fits_cdf(np.trace(drawn, axis1=1, axis2=2), whole, GammaDifference(d * (d + 1) / 2, theta * wrong))
    v = np.array([2, -1, 2]) / 3
    diagonal = GammaDifference((d + 1) / 2, theta), GammaDifference((d + 1) / 2, theta * wrong)
    assert_fits_cdf(drawn[:, 1, 1], *diagonal)
    assert_fits_cdf(np.einsum("nij,i,j->n", drawn, v, v), *diagonal)  # a rotation changes nothing
    beside = GammaDifference(d + 1, theta / 2), GammaDifference(d + 1, theta / 2 * wrong)
    assert_fits_cdf(drawn[:, 2, 0], *beside)


def test_intervals_hold_as_often_as_they_say():
    drawn = draws(3, 1, 3000)
    low, high = MatrixLaplaceLaw(3, 1.0, 0.0).around(drawn, 0.9)
    held = ((low <= 0) & (high >= 0)).mean(axis=0)
    assert np.abs(held - 0.9).max() < 5.5 * np.sqrt(0.09 / 3000)


def test_moves_of_the_value_move_the_answer():
    """The sum is exact: the same randomness on a matrix that is a multiple of the step away gives the same, moved."""
    grid, move = Grid("1/65536"), [[2**60, 3], [3, -(2**80)]]
    noise = MatrixLaplace(Pure(1), Fraction(1), grid)
    one, other = (noise.draw(value, SeededEntropy(1)) for value in ([[0, 0], [0, 0]], move))
    assert other[0, 1] == one[0, 1] + 3
    assert other[1, 1] == float(Fraction(one[1, 1]) - 2**80)


def test_whatever_the_matrix_the_answer_is_finite_and_symmetric():
    for value in ([[np.nan, 1], [2, np.inf]], [[1e308, -1e308], [1e308, 1e308]], np.zeros((1, 1))):
        found = matrix_laplace(np.array(value), sensitivity=1, epsilon=1).value
        assert np.isfinite(found).all()
        assert (found == found.T).all()
    half = matrix_laplace(np.array([[0.0, 2.0], [0.0, 0.0]]), sensitivity=1, epsilon=1e6).value
    assert half[0, 1] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("d", [2, 5, 21])
def test_how_far_eigenvalues_of_noise_reach(d):
    """What plans take for granted: the mean of the largest, and the deviation."""
    rng, runs = np.random.default_rng(d), 4000
    one, other = (rng.normal(size=(runs, d, d + 1)) for _ in range(2))
    values = np.linalg.eigvalsh(one @ one.transpose(0, 2, 1) - other @ other.transpose(0, 2, 1)) / 2
    assert values[:, -1].mean() == pytest.approx(edge(d), rel=0.05)
    assert np.sqrt(values.var(axis=1).mean()) == pytest.approx(deviation(d), rel=0.05)
