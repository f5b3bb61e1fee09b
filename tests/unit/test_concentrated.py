import math
from fractions import Fraction

import numpy as np
import pytest

from uptack.errors import InvalidArgument, UnknownLoss
from uptack.privacy import (
    ADD_REMOVE,
    SUBSTITUTE,
    Concentrated,
    Privacy,
    concentrated_epsilon,
    concentrated_rho,
    cost,
    fair_scale,
    fair_shares,
    gaussian_epsilon,
    gaussian_noise_multiplier,
    loss,
    tight,
    total,
    zcdp,
)
from uptack.privacy.cost import zcdp_total
from uptack.privacy.loss import (
    Answer,
    Approximate,
    BoundedRange,
    Cascade,
    Composed,
    Disjoint,
    Gaussian,
    Partition,
    Pure,
    Subsample,
    Unit,
)

BUDGET = Privacy(2, 1e-6)
NOISE = Gaussian(1, 1e-6, gaussian_noise_multiplier(1, 1e-6))
UNIT = Unit(loss.Test(1, 1e-6), Answer(1))
EIGHTH = Fraction(1, 8)


def test_bounded_range_costs_its_epsilon():
    assert cost(BoundedRange("1/3")) == Privacy("1/3")
    assert cost(BoundedRange(1), ADD_REMOVE).adjacency == ADD_REMOVE
    with pytest.raises(InvalidArgument, match="epsilon"):
        BoundedRange(-1)


@pytest.mark.parametrize(
    ("tree", "rho", "delta"),
    [
        (BoundedRange(1), EIGHTH, 0),
        (Pure(1), Fraction(1, 2), 0),
        (Gaussian(1, 1e-5, 4), Fraction(1, 32), 0),
        (Approximate(1, 1e-6), Fraction(1, 2), Fraction(1, 10**6)),
        (loss.Test(1, 1e-6), Fraction(1, 2), 0),
        (UNIT, 2, Fraction(1, 10**6)),
        (Cascade((UNIT, UNIT)), Fraction(9, 2), Fraction(2, 10**6)),
        (Composed((BoundedRange(1), Pure(1), Approximate(1, 1e-6))), Fraction(9, 8), Fraction(1, 10**6)),
        (Disjoint((BoundedRange(2), Pure(1), BoundedRange(1))), 2, 0),  # a replaced row is two steps
        (Partition(BoundedRange(1)), EIGHTH, 0),
        (Partition(BoundedRange(1), blocks_per_row=3), 9 * EIGHTH, 0),
        (Subsample(BoundedRange(1)), EIGHTH, 0),
    ],
)
def test_nodes(tree, rho, delta):
    assert zcdp(tree) == Concentrated(Fraction(rho), Fraction(delta))


def test_adjacency():
    groups = Disjoint((BoundedRange(2), Approximate(1, 1e-6)))
    assert zcdp(groups, ADD_REMOVE) == (Fraction(1, 2), Fraction(1, 10**6))
    three = cost(groups, ADD_REMOVE).group(3)  # with a δ, several steps go by (ε, δ)
    assert zcdp(groups, ADD_REMOVE.per_person(3)) == (three.exact_epsilon**2 / 2, three.exact_delta)
    assert zcdp(Disjoint((BoundedRange(2),)), SUBSTITUTE.per_person(3)) == (36 * Fraction(1, 2), 0)
    assert zcdp(BoundedRange(2), SUBSTITUTE.per_person(3)) == (Fraction(1, 2), 0)  # its ε is about people already


def test_a_subsample_takes_what_is_better():
    assert zcdp(Subsample(BoundedRange(1), rate=0.99)).rho == EIGHTH
    amplified = cost(Subsample(BoundedRange(1), rate=0.01)).exact_epsilon
    assert zcdp(Subsample(BoundedRange(1), rate=0.01)).rho == amplified**2 / 2 < EIGHTH
    assert zcdp(Subsample(NOISE, rate=0.01)).delta == 0  # a δ is not taken in where there was none


def test_what_nobody_has_proved_is_refused():
    class Homemade(loss.Loss):
        pass

    for tree in (Homemade(), Composed((Pure(1), Homemade())), Partition(Homemade()), Answer(1)):
        with pytest.raises(UnknownLoss):
            zcdp(tree)
    with pytest.raises(InvalidArgument, match="adjacency"):
        zcdp(Pure(1), "substitute")


@pytest.mark.parametrize("rho", [1e-9, 0.001, 0.1, 1.0, 30.0, 1e6])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1, 0.9])
def test_the_conversion_is_the_least_over_all_orders(rho, delta):
    found = float(concentrated_epsilon(rho, delta))
    u = np.exp(np.linspace(-20, 40, 60_001))
    scan = (1 + u) * rho + (math.log(1 / delta) - np.log1p(u)) / u - np.log1p(1 / u)
    assert found <= max(0.0, scan.min()) * (1 + 1e-9) + 1e-12
    assert found >= max(0.0, scan.min()) * (1 - 1e-6) - 1e-12
    assert found <= rho + 2 * math.sqrt(rho * math.log(1 / delta))  # Bun and Steinke's simpler one
    best = max(0.0, scan.min())
    order = u[scan.argmin()] + 1  # the printed inequality, at the best order
    if best > 0 and rho < 100:
        log_delta = (order - 1) * (order * rho - best) - math.log(order - 1) + order * math.log1p(-1 / order)
        assert log_delta == pytest.approx(math.log(delta), abs=1e-6)


def test_the_conversion_covers_gaussian_noise():
    """Gaussian noise is known exactly: zCDP must not promise more than that, and not much less."""
    for sigma, delta in ((5, 1e-6), (1, 1e-3), (Fraction(1, 3), 1e-9)):
        exact = gaussian_epsilon(sigma, delta)
        assert exact <= concentrated_epsilon(1 / (2 * Fraction(sigma) ** 2), delta) <= exact * Fraction(12, 10)


def test_the_conversion_at_the_ends():
    assert concentrated_epsilon(0, 1e-6) == 0
    assert concentrated_epsilon(1e-300, 1e-6) < Fraction(1, 10**5)
    assert 50 < concentrated_epsilon(1, 1e-300) < 60
    assert concentrated_epsilon(10**17, 1e-6) > 10**17
    with pytest.raises(InvalidArgument, match="rho must be at most"):
        concentrated_epsilon(10**19, 1e-6)
    with pytest.raises(InvalidArgument, match="delta"):
        concentrated_epsilon(1, 0)


def test_the_inverse():
    for epsilon, delta in ((2, 1e-6), (0.01, 1e-9), (50, 0.1)):
        rho = concentrated_rho(epsilon, delta)
        assert concentrated_epsilon(rho, delta) <= Fraction(str(epsilon))
        assert concentrated_epsilon(rho * Fraction(10**9 + 1, 10**9), delta) > Fraction(str(epsilon))


def test_a_delta_of_the_parts_is_taken_from_the_whole():
    trees = [Approximate(0.1, 1e-8)] * 50
    made = zcdp_total(trees, 1e-6)
    assert made is not None
    rest = (Fraction(1, 10**6) - 50 * Fraction(1, 10**8)) / (1 - 50 * Fraction(1, 10**8))
    assert made == Privacy(concentrated_epsilon(50 * Fraction(1, 200), rest), 1e-6)
    assert zcdp_total(trees, 5e-7) is None


@pytest.mark.parametrize(("count", "share"), [(15, 0.217), (50, 0.119)])
def test_the_figures_of_a_report(count, share):
    shares = fair_shares([BoundedRange(1)] * count, BUDGET)
    assert round(float(shares[0].epsilon), 3) == share
    assert len(set(shares)) == 1
    assert tight(shares, BUDGET.exact_delta) <= BUDGET


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_few_draws_get_no_less_than_their_part(count):
    shares = fair_shares([BoundedRange(1)] * count, BUDGET)
    assert shares[0].epsilon >= Fraction(2, count)
    assert tight(shares, BUDGET.exact_delta) <= BUDGET


def test_shares_of_mixed_draws():
    draws = [BoundedRange(1)] * 6 + [BoundedRange(2), Pure(1), NOISE, Composed((Pure("1/10"), BoundedRange(1)))]
    shares = fair_shares(draws, BUDGET)
    scale = shares[0].epsilon
    assert shares[6:8] == (BoundedRange(2 * scale), Pure(scale))
    assert shares[8].noise_multiplier == NOISE.noise_multiplier / scale
    assert shares[9] == Composed((Pure(scale / 10), BoundedRange(scale)))
    spent = tight(shares, BUDGET.exact_delta)
    assert spent <= BUDGET
    assert spent.epsilon > 1.99
    assert total(cost(share) for share in shares).epsilon > 2.5  # what plain composition would ask


def test_a_pure_budget_is_split():
    assert fair_shares([BoundedRange(1), Pure(3)], Privacy(2)) == (BoundedRange("1/2"), Pure("3/2"))
    assert fair_scale(lambda s: [Pure(s)] * 4, Privacy(1)) == Fraction(1, 4)
    with pytest.raises(InvalidArgument, match="budget"):
        fair_shares([Approximate(1, 1e-6)] * 2, Privacy(1, 1e-6))
    with pytest.raises(InvalidArgument, match="cost of build"):
        fair_shares([Pure(0)], Privacy(1))


@pytest.mark.parametrize("count", [1, 3, 10, 40, 200])
def test_tight_is_never_looser_than_any_way(count):
    trees = [BoundedRange(0.1)] * count
    found = tight(trees, 1e-6)
    assert found.exact_epsilon <= min(Fraction(count, 10), zcdp_total(trees, 1e-6).exact_epsilon)
    assert found.exact_epsilon <= tight([Pure(0.1)] * count, 1e-6).exact_epsilon
    if count > 3:
        assert found.exact_epsilon < Fraction(count, 10)


def test_large_losses_go_through():
    assert tight([BoundedRange(30)] * 2, 1e-6).epsilon <= 60
    assert tight([BoundedRange(0)] * 2, 1e-6).epsilon == 0
    assert tight([BoundedRange(1e-300)] * 2, 1e-6).epsilon <= 2e-300
    assert tight([Approximate(1, 1e-6 - 1e-17)], 1e-6).epsilon <= 1
    assert tight([Pure(10**9)] * 3, 1e-6) == Privacy(3 * 10**9)
    assert tight([Approximate(400, 1e-6)] * 2, 1e-6 * 3).epsilon <= 800
    with pytest.raises(InvalidArgument, match="delta must be large enough"):
        tight([Approximate(400, 1e-6)] * 2, 1e-6)
