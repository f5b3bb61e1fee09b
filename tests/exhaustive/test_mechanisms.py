"""The privacy inequality of each exact output law, on universes small enough to enumerate."""

import itertools
from fractions import Fraction

import pytest
from flint import arb, ctx

from uptack.exact import ball, lower, upper
from uptack.noise import IntegerLaplace
from uptack.noise.integer_laws import normaliser
from uptack.privacy import gaussian_noise_multiplier


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("sensitivity", [1, 2, 5])
def test_integer_laplace_is_private(epsilon, sensitivity):
    law = IntegerLaplace(sensitivity / epsilon)
    with ctx.workprec(200):
        rise = upper(ball(epsilon).exp()) * (1 + Fraction(1, 2**150))
        for shift in range(1, sensitivity + 1):
            for k in range(-30, 31):
                high = law.exact_pmf(k).bounds(200)[1]
                low = law.exact_pmf(k + shift).bounds(200)[0]
                assert high <= rise * low
        worst = law.exact_pmf(0).bounds(200)[0] / law.exact_pmf(sensitivity).bounds(200)[1]
        assert worst >= rise * (1 - Fraction(1, 2**150)) ** 3  # and tight


def gaussian_excess(variance: Fraction, shift: tuple[int, ...], epsilon: Fraction, reach: int) -> Fraction:
    """Σ over y of (P(y) - e^ε·P(y - shift))₊ for independent integer Gaussians, the far part bounded by its mass."""
    z = normaliser(variance)
    rise = ball(epsilon).exp()
    mass = [(ball(-Fraction(k * k) / (2 * variance)).exp() / z) for k in range(reach + max(map(abs, shift)) + 1)]
    total, inside = arb(0), arb(0)
    for y in itertools.product(range(-reach, reach + 1), repeat=len(shift)):
        p, q = arb(1), arb(1)
        for a, s in zip(y, shift, strict=True):
            p, q = p * mass[abs(a)], q * mass[abs(a - s)]
        inside += p
        total += (p - rise * q).nonnegative_part()
    return upper(total + (1 - inside).nonnegative_part())


@pytest.mark.parametrize("shift", [(1,), (3,), (1, 1), (2, -1), (0, 2)])
@pytest.mark.parametrize(("epsilon", "delta"), [(Fraction(1), Fraction(1, 100)), (Fraction(2), Fraction(1, 10**4))])
def test_integer_gaussian_is_private_with_the_smoothing_term(shift, epsilon, delta):
    """The theorem of `engines.gaussian`: variance (mΔ)² + 9 is enough on the integers, in one and two dimensions."""
    length = sum(s * s for s in shift)
    variance = gaussian_noise_multiplier(epsilon, delta) ** 2 * length + 9
    with ctx.workprec(100):
        reach = int(float(variance) ** 0.5 * (7 if len(shift) == 2 else 12)) + 3
        assert gaussian_excess(variance, shift, epsilon, reach) <= delta


def test_the_smoothing_term_hides_less_than_it_must():
    """1 + 2S of the proof: S = Σe^(-2π²·9·j²) is below 2^-255."""
    with ctx.workprec(300):
        series = normaliser(Fraction(9)) / (18 * arb.pi()).sqrt() - 1
        assert upper(series) < Fraction(1, 2**254)


def choice_laws(scores: tuple[int, ...], rate: Fraction) -> tuple[list[arb], list[arb]]:
    """The exact laws of the exponential mechanism and of permute-and-flip."""
    coins = [ball(-rate * (max(scores) - s)).exp() for s in scores]
    weights = sum(coins, arb(0))
    flips = [arb(0)] * len(scores)
    for pattern in itertools.product((0, 1), repeat=len(scores)):
        chance = arb(1)
        for heads, coin in zip(pattern, coins, strict=True):
            chance *= coin if heads else 1 - coin
        for i, heads in enumerate(pattern):
            if heads:
                flips[i] += chance / sum(pattern)
    return [c / weights for c in coins], flips


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_choices_are_private_and_permute_and_flip_loses_less(epsilon):
    universe = list(itertools.product(range(4), repeat=3))
    with ctx.workprec(120):
        rise = ball(epsilon).exp() * (1 + arb(2) ** -80)
        laws = {s: choice_laws(s, epsilon / 2) for s in universe}
        rising = {s: choice_laws(s, epsilon) for s in universe}
        for a, b in itertools.product(universe, repeat=2):
            moves = [y - x for x, y in zip(a, b, strict=True)]
            if max(map(abs, moves)) <= 1:
                for p, q in zip(laws[a], laws[b], strict=True):
                    assert all(x <= rise * y for x, y in zip(p, q, strict=True))
                if min(moves) >= 0 or max(moves) <= 0:  # monotone: half the noise will do
                    for p, q in zip(rising[a], rising[b], strict=True):
                        assert all(x <= rise * y for x, y in zip(p, q, strict=True))
        for s in universe:
            weighted, flipped = (
                sum((p * (max(s) - v) for p, v in zip(law, s, strict=True)), arb(0)) for law in laws[s]
            )
            assert lower(flipped) <= upper(weighted)


def test_a_monotone_claim_for_scores_that_are_not_is_caught():
    with ctx.workprec(120):
        rise = ball(Fraction(2)).exp()
        exponential = [choice_laws(s, Fraction(2))[0] for s in ((0, 1, 0), (1, 0, 1))]
        assert any(p > rise * q for p, q in zip(*exponential, strict=True))
