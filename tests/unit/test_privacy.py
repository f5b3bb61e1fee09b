import math
from fractions import Fraction

import pytest

from uptack.errors import Incomparable, InvalidArgument, UnknownLoss
from uptack.privacy import (
    ADD_REMOVE,
    SUBSTITUTE,
    Privacy,
    RandomPrivacy,
    cost,
    fair_scale,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_noise_multiplier,
    loss,
    tight,
    total,
)
from uptack.privacy.loss import Answer, Approximate, Cascade, Composed, Gaussian, Partition, Pure, Unit

UNIT = Unit(loss.Test(1, 1e-6), Answer(1))
SCALE = Cascade((UNIT, UNIT))  # S of the papers: two shifted grids
MEDIAN = Composed((SCALE, SCALE))  # M: S, then two shifted grids of its own


def test_ten_tenths_are_one():
    assert total([Privacy(0.1)] * 10) == Privacy(1)
    assert total([Privacy(0.1)] * 10).epsilon == 1.0


def test_order_is_partial():
    strong, weak, other = Privacy(1, 1e-9), Privacy(2, 1e-6), Privacy(3, 0)
    assert strong <= weak
    assert weak >= strong
    assert strong < weak
    assert not strong < strong
    assert not weak <= other
    assert not other <= weak
    with pytest.raises(Incomparable, match="different neighbours"):
        _ = strong <= Privacy(1, adjacency=ADD_REMOVE)
    with pytest.raises(Incomparable):
        _ = strong + RandomPrivacy(1)
    with pytest.raises(Incomparable):
        _ = RandomPrivacy(1) + strong


def test_group_privacy():
    wide = Privacy(0.5, 1e-6).group(3)
    assert wide.exact_epsilon == Fraction(3, 2)
    exact = 1e-6 * (1 + math.exp(0.5) + math.exp(1.0))
    assert exact <= wide.delta < exact * (1 + 1e-12)
    assert Privacy(1, 0.4).group(3).exact_delta == 1


def test_adjacencies_convert_only_where_a_theorem_says_so():
    assert Privacy(1, adjacency=ADD_REMOVE).under(SUBSTITUTE) == Privacy(2)
    assert Privacy(1, adjacency=ADD_REMOVE.per_person(2)).under(SUBSTITUTE.per_person(3)).epsilon == 4
    assert Privacy(1, adjacency=SUBSTITUTE.per_person(4)).under(SUBSTITUTE).epsilon == 1
    with pytest.raises(Incomparable, match="number of rows as public"):
        Privacy(1).under(ADD_REMOVE)


def test_random_privacy_adds_all_three():
    assert RandomPrivacy(1, 1e-6, 0.01) + RandomPrivacy(0.5, 0, 0.02) == RandomPrivacy(1.5, 1e-6, 0.03)
    assert "random" in str(RandomPrivacy(1))


def test_the_power_of_any_attack():
    assert Privacy(1).power(0.05) == pytest.approx(0.05 * math.e, rel=1e-12)
    assert Privacy(1, 0.01).power(0) == pytest.approx(0.01)
    assert Privacy(5).power(0.5) == pytest.approx(1 - math.exp(-5) * 0.5, rel=1e-12)
    assert Privacy(0).power(0.3) == pytest.approx(0.3)
    assert "13.6%" in Privacy(1).explain()


@pytest.mark.parametrize(
    ("tree", "epsilon", "tests"),
    [
        (SCALE, 3, 2),  # S: STOC 2009; repaired (2ε, 2δ') below
        (MEDIAN, 6, 4),  # M: Theorem 12
        (Composed((MEDIAN,) * 5), 30, 20),  # R_S with p = 5: (6pε, 4pδ), Example 36
        (Composed((Composed((SCALE,) * 2), Cascade((UNIT,) * 4))), 2**2 + 3 * 2 + 1, 8),  # R_H, p = 2, Example 38
        (Cascade((UNIT,) * 2, same_answer=True), 2, 2),  # S as repaired: tight
        (Composed((Cascade((UNIT,) * 2, True),) * 2), 4, 4),  # M as repaired
        (Cascade((UNIT,) * 8, same_answer=True), 8, 8),  # many tests: their joint failure costs the most
        (Partition(MEDIAN), 6, 4),
        (UNIT, 2, 1),
        (Unit(loss.Test(1, 1e-6), None), 1, 1),
    ],
)
def test_costs_of_the_papers(tree, epsilon, tests):
    assert cost(tree) == Privacy(epsilon, Fraction(tests, 10**6))


def test_other_nodes():
    assert cost(loss.Test(1, 1e-6)) == Privacy(1)
    assert cost(Approximate(1, 0.1)) == Privacy(1, 0.1)
    assert cost(Partition(Pure(1), blocks_per_row=3)) == Privacy(3)
    assert cost(loss.Subsample(Pure(1))) == Privacy(1)
    amplified = cost(loss.Subsample(Approximate(1, 1e-6), rate=0.01))
    exact = math.log1p(0.01 * math.expm1(1))
    assert exact <= amplified.epsilon < exact * (1 + 1e-12)
    assert amplified.exact_delta == Fraction(1, 10**8)
    assert cost(Pure(1), ADD_REMOVE).adjacency == ADD_REMOVE


def test_what_nobody_has_proved_is_refused():
    class Homemade(loss.Loss):
        pass

    for tree in (Homemade(), Composed((Pure(1), Homemade())), "ptr"):
        with pytest.raises((UnknownLoss, InvalidArgument)):
            cost(tree)


def test_trees_are_values():
    assert Cascade((UNIT, UNIT)) == SCALE
    assert len({SCALE, Cascade((UNIT, UNIT)), MEDIAN}) == 2
    with pytest.raises(InvalidArgument, match="units"):
        Cascade([UNIT])
    with pytest.raises(InvalidArgument, match="units"):
        Cascade((Pure(1),))
    with pytest.raises(InvalidArgument, match="parts"):
        Composed(())


def test_gaussian_calibration_is_tight_on_the_safe_side():
    for epsilon, delta in ((1, 1e-5), (0.1, 1e-8), (10, 1e-6), (0.001, 0.3)):
        sigma = gaussian_noise_multiplier(epsilon, delta)
        assert gaussian_delta(sigma, epsilon) <= Fraction(str(delta))
        assert not gaussian_delta(sigma * Fraction(10**9 - 1, 10**9), epsilon) <= Fraction(str(delta))
        assert float(gaussian_epsilon(sigma, delta)) == pytest.approx(epsilon, rel=1e-9)
    assert float(gaussian_noise_multiplier(1, 1e-5)) == pytest.approx(3.731, abs=5e-4)  # Hall (1.9) has 4.941
    assert gaussian_epsilon(100, 0.5) == 0


def test_the_printed_gaussian_constant_fails_above_one():
    """sqrt(2 ln(2/β))/α is not enough at α = 10: the node that claims it is refused."""
    printed = Fraction(math.sqrt(2 * math.log(2 / 0.01)) / 10)
    assert not gaussian_delta(printed, 10) <= Fraction(1, 100)
    with pytest.raises(InvalidArgument, match="noise_multiplier must be large enough"):
        Gaussian(10, 0.01, printed)


def test_calibration_gives_the_largest_share():
    def build(e):
        return [Cascade((Unit(loss.Test(e, 1e-9), Answer(e)),) * 2)]

    assert Fraction(1, 3) <= fair_scale(build, Privacy(1, 1e-6)) < Fraction(1001, 3000)
    share = fair_scale(lambda e: [loss.Subsample(Pure(e), rate=0.1)], Privacy(1))
    assert cost(loss.Subsample(Pure(share), rate=0.1)) <= Privacy(1)
    assert not cost(loss.Subsample(Pure(share * Fraction(10**9 + 1, 10**9)), rate=0.1)) <= Privacy(1)
    with pytest.raises(InvalidArgument, match="budget must be"):
        fair_scale(build, Privacy(1, 1e-9))


def test_tight_composition_is_never_looser():
    one = Gaussian(0.5, 1e-7, gaussian_noise_multiplier(0.5, 1e-7))
    many = tight([one] * 64, 1e-5)
    merged = float(gaussian_epsilon(one.noise_multiplier / 8, 1e-5))  # 64 Gaussians are one with an eighth of the noise
    assert merged <= many.epsilon <= merged * 1.001
    assert many.epsilon < 64 * 0.5 / 4
    for trees in ([Pure(1)], [Pure(0.1)] * 5, [SCALE, MEDIAN], [Pure(3), one]):
        basic = total(cost(t) for t in trees)
        assert tight(trees, max(basic.exact_delta, Fraction(1, 10**9))).exact_epsilon <= basic.exact_epsilon
    assert tight([Pure(1), Pure(2)], 0) == Privacy(3)
    assert tight([], 1e-6) == Privacy(0)
    with pytest.raises(InvalidArgument, match="delta must be large enough"):
        tight([Approximate(1, 0.1)] * 2, 1e-6)
