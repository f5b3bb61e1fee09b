"""Regressions at (ε, δ): Gaussian noise on sums, steps that compose as ρ-zCDP, and what they may spend."""

from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from tests.helpers import sampled
from uptack.account import Account, AssumptionFailed
from uptack.multivariate.private_sums import LENGTH, Allowance, GaussianSums, bounded, shares_of
from uptack.multivariate.row_sums import Squares, Vectors
from uptack.noise import SeededEntropy
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, concentrated_epsilon, concentrated_rho, cost, loss, zcdp
from uptack.regression.linear import HuberLoss, LeastSquaresLoss
from uptack.regression.logistic import LogisticLoss
from uptack.regression.poisson import PoissonLoss
from uptack.regression.quantile import CheckLoss
from uptack.regression.solver import SUMS, FitBudget

LOSSES = (LeastSquaresLoss(), HuberLoss(), CheckLoss(0.3), LogisticLoss(), PoissonLoss())
DELTA = Fraction(1, 10**6)


def table(n, p, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    return x, 1 + x @ (np.arange(p) / p) + rng.normal(size=n)


def test_parts_of_one_delta_are_converted_together():
    parts = (loss.Zcdp(0.01, DELTA), loss.Pure(1), loss.Zcdp(0.02, DELTA), loss.Zcdp(0.01, 1e-9))
    found = cost(loss.Composed(parts))
    whole = concentrated_epsilon(Fraction(1, 100) + Fraction(1, 50), DELTA) + concentrated_epsilon(0.01, 1e-9) + 1
    assert found.exact_epsilon == whole
    assert found.exact_delta == DELTA + Fraction(1, 10**9)
    assert found.exact_epsilon < sum(cost(part).exact_epsilon for part in parts)
    assert zcdp(loss.Composed(parts)).rho == Fraction(4, 100) + Fraction(1, 2)


@pytest.mark.parametrize("kind", LOSSES, ids=lambda kind: type(kind).__name__)
def test_the_parts_of_a_budget_add_up(kind):
    account = Account.open("parts", 1, DELTA, entropy=SeededEntropy(1))
    budget = FitBudget.of(kind, 40, account)
    assert budget.rho > 0
    assert sum(budget.shares.values()) == 1
    draws = [step for step in budget.shares if step not in SUMS]
    spent = sum(budget.sum(step).rho for step in budget.shares if step in SUMS)
    for step in draws:
        times = 2 if kind.curved and step in ("spread", "near") else 1
        spent += times * zcdp(loss.BoundedRange(budget.draw(step).epsilon)).rho
    assert spent == concentrated_rho(1, DELTA)


@pytest.mark.parametrize(("options", "epsilon"), [({}, 1), ({"adjacency": ADD_REMOVE}, 2), ({"missing": "drop"}, 2)])
def test_a_wide_fit_spends_both_and_no_more(options, epsilon):
    x, y = table(30_000, 15)
    found = ut.linear_regression(x, y, epsilon=epsilon, delta=DELTA, entropy=SeededEntropy(1), **options)
    assert found.privacy.exact_delta == DELTA
    assert 0.999 * epsilon < found.privacy.exact_epsilon <= epsilon
    parts = found.loss.parts
    assert all(isinstance(part, loss.Zcdp | loss.Pure) for part in parts)
    assert sum(isinstance(part, loss.Zcdp) for part in parts) == 9
    low, high = found.interval()
    truth = np.r_[1, np.arange(15) / 15]
    assert ((low < truth) & (truth < high)).mean() > 0.6  # 16 intervals of 95%


def test_a_narrow_fit_does_not_use_delta():
    x, y = table(8_000, 2)
    pure, both = (ut.linear_regression(x, y, epsilon=1, delta=d, entropy=SeededEntropy(1)) for d in (0, DELTA))
    assert (pure.value == both.value).all()
    assert both.privacy.exact_delta == 0


def test_a_wide_fit_is_less_noisy_than_without_delta():
    account = Account.open("noise", 1, DELTA, entropy=SeededEntropy(1))
    pure = Account.open("noise", 1, entropy=SeededEntropy(1))
    for p in (12, 20, 40):
        one, other = FitBudget.of(LeastSquaresLoss(), p, account), FitBudget.of(LeastSquaresLoss(), p, pure)
        assert one.sum("last").vector_noise(p) < 0.95 * other.sum("last").vector_noise(p)
        assert one.sum("scatter").matrix_noise(p) < 0.5 * other.sum("scatter").matrix_noise(p)


@pytest.mark.parametrize("relation", [SUBSTITUTE, ADD_REMOVE], ids=str)
def test_no_row_moves_a_sum_by_more_than_is_claimed(relation):
    """Rows of any size: the mechanism that was priced for the sums finds each move within its ρ."""
    rng, moved = np.random.default_rng(1), []
    account = Account.open("sums", 1000, DELTA, adjacency=relation, entropy=SeededEntropy(1))
    part = Allowance(account, Fraction(1, 100))
    calm = rng.normal(size=(40, 3))
    ends = [np.array(row) for row in ([1e300, 0, 0], [0, -1e300, 0], [1e-300, 1, 1], [3, -3, 3], [-3, 3, -3])]
    for row in ends:
        for other in [*ends, None]:
            if (other is None) == (relation is SUBSTITUTE):
                continue
            one = sampled(np.vstack([calm, row]))
            two = sampled(calm if other is None else np.vstack([calm, other]))
            with np.errstate(all="ignore"):
                for step, length, nonnegative in (
                    (lambda b: [Vectors(bounded(b, 2.0))], LENGTH, False),
                    (lambda b: [Squares(bounded(b, 2.0))], LENGTH**2, True),
                    (lambda b: [Vectors(shares_of(np.abs(b), 3.0))], LENGTH, True),
                ):
                    values = [data.sums(step)[0] for data in (one, two)]
                    lower = np.tril_indices(3)
                    weights = [1] * 3
                    if values[0].ndim == 2:
                        values = [value[lower] for value in values]
                        weights = [1 if i == j else 2 for i, j in zip(*lower, strict=True)]
                    seen = []
                    with ut.account.observed_by(lambda m, v, draw, seen=seen: seen.append(m) or draw()):
                        part.gaussian(values[0], length, weights, nonnegative)
                    moved.append(seen[0].price(*values, None) / float(seen[0].epsilon))
    assert 0.4 < max(moved) <= 1


def test_a_sum_that_moves_too_far_is_found():
    noise = GaussianSums(loss.Zcdp(Fraction(1, 2), DELTA), Fraction(10), (1, 2), Fraction(1))
    zero = np.array([0, 0], object)
    assert noise.price(zero, np.array([10, 0], object), zero) == pytest.approx(1)
    assert noise.price(zero, np.array([0, 7], object), zero) == pytest.approx(0.98)
    with pytest.raises(AssumptionFailed):
        noise.price(zero, np.array([0, 10], object), zero)


def test_noise_has_the_variance_of_its_weights():
    """Deviations of variances of 4,000 draws are 2.2%: seven of them are 16%."""
    noise = GaussianSums(loss.Zcdp(Fraction(1, 2), DELTA), Fraction(100), (1,) * 4000 + (2,) * 4000, Fraction(1))
    drawn = noise.draw(np.zeros(8000, object), SeededEntropy(1)).astype(float)
    assert np.var(drawn[:4000]) == pytest.approx(100**2, rel=0.16)
    assert np.var(drawn[4000:]) == pytest.approx(100**2 / 2, rel=0.16)


def test_levels_that_are_found_share_delta():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    x, _ = table(40_000, 14)
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(14)])
    frame["kind"] = rng.choice(["a", "b", "c"], 40_000)
    frame["y"] = x[:, 0] + (frame["kind"] == "b") + rng.normal(size=40_000)
    formula = "y ~ C(kind) + " + " + ".join(frame.columns[:14])
    found = ut.linear_regression(frame, formula=formula, epsilon=2, delta=DELTA, entropy=SeededEntropy(1))
    deltas = {part.delta for part in found.loss.parts if isinstance(part, loss.Zcdp)}
    assert deltas == {DELTA / 2}
    assert found.privacy.exact_delta == DELTA
    assert found.privacy.exact_epsilon <= 2
    assert "kind[b]" in found.labels


def test_an_estimator_takes_delta():
    models = pytest.importorskip("uptack.regression.estimators")
    x, y = table(30_000, 15)
    model = models.LinearRegression(epsilon=1, delta=1e-6, random_state=1).fit(x, y)
    assert model.privacy_.exact_delta == DELTA
    assert np.abs(model.coef_ - np.arange(15) / 15).max() < 0.1


def test_people_and_batches_get_the_same_noise():
    x, y = table(20_000, 12)
    options = {"epsilon": 3, "delta": DELTA}
    one = ut.linear_regression(x, y, entropy=SeededEntropy(1), **options)
    two = ut.linear_regression(x, y, person=np.arange(20_000), entropy=SeededEntropy(1), **options)
    assert one.privacy.exact_delta == two.privacy.exact_delta == DELTA
    assert np.allclose(one.value, two.value, atol=0.1)
