"""Noise for tables of counts, and the expected error of a count.

When a row is replaced, one cell of a table rises by one and another falls by one. The two directions may be hidden
unequally, which is what `SkewedLaplace` is for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from uptack.exact import Rational, Real, ball, working
from uptack.noise import Entropy, Geometric, IntegerLaplace, IntegerLaw
from uptack.noise.integer_laws import Integers, check_scale, refuse_tiny
from uptack.privacy import Adjacency, Privacy

GUARD = 128
"""Bits of working precision beyond the digits of U that a binomial draw compares."""


@dataclass(frozen=True)
class SkewedLaplace(IntegerLaw):
    """The integer Laplace law with a scale of its own on either side: P(z = k) = c·e^(-k/up), c·e^(k/down) below 0.

    It is the law of G - H for geometric G of scale `up` and H of scale `down`; with u = e^(-1/up) and d = e^(-1/down),
    c = (1 - u)(1 - d)/(1 - ud).

    **Theorem.** Let one row that is replaced raise one count by one and lower another by one (SUBSTITUTE). Independent
    noise on every count is ε-differentially private iff 1/up + 1/down ≤ ε; where a row is added or removed (ADD_REMOVE)
    iff max(1/up, 1/down) ≤ ε. With g rows per person, ε/g instead of ε.

    *Proof.* P(z = k - 1)/P(z = k) is e^(1/up) for k ≥ 1 and e^(-1/down) for k ≤ 0. So a count that rises by one
    multiplies the probability of an output by at most e^(1/up) and at least e^(-1/down), and one that falls by one by
    at most e^(1/down). A substitution does both, to two independent cells; an added or removed row does one. ∎

    Only the sum of the rates is fixed, so noise may be kept from rising at the price that it falls further: a table
    that is mostly empty has all its false cells from noise that rises.

    >>> law = SkewedLaplace(up=1, down=4)
    >>> law.cutoff(1e-6), SkewedLaplace("8/5", "8/5").cutoff(1e-6)
    (13, 22)
    """

    up: Rational
    down: Rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "up", check_scale("up", self.up))
        object.__setattr__(self, "down", check_scale("down", self.down))

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """The difference of two geometric vectors."""
        return self.beyond(size, entropy) - Geometric(self.down).draw(size, entropy)

    def beyond(self, size: int, entropy: Entropy) -> Integers:
        """z - t given z ≥ t, the same for every t ≥ 0: geometric, which has no memory."""
        return Geometric(self.up).draw(size, entropy)

    def exact_pmf(self, k: int) -> Real:
        """c·u^k for k ≥ 0 and c·d^-k below."""
        scale = Fraction(self.up if k >= 0 else self.down)
        return Real(lambda: self._times(lambda u, d: (1 - u) * (1 - d), abs(k), scale))

    def exact_tail(self, k: int) -> Real:
        """(1 - d)/(1 - ud)·u^k for k ≥ 0, and 1 - (1 - u)/(1 - ud)·d^(1 - k) below."""
        if k >= 0:
            return Real(lambda: self._times(lambda u, d: 1 - d, k, Fraction(self.up)))
        return Real(lambda: 1 - self._times(lambda u, d: 1 - u, 1 - k, Fraction(self.down)))

    def price(self, move: Sequence[int], delta: Fraction = Fraction(0)) -> float:
        """The dearer of the move and its reverse: 1/up for each step up, 1/down for each step down."""
        up, down = float(Fraction(self.up)), float(Fraction(self.down))
        rise, fall = sum(m for m in move if m > 0), -sum(m for m in move if m < 0)
        return max(rise / up + fall / down, fall / up + rise / down)

    def _times(self, factor: Callable[[arb, arb], arb], k: int, scale: Fraction) -> arb:
        u, d = (ball(-1 / Fraction(rate)).exp() for rate in (self.up, self.down))
        return factor(u, d) * ball(-k / scale).exp() / (1 - u * d)


def cell_noise(
    epsilon: Fraction, relation: Adjacency, rising: Fraction = Fraction(1, 2), most: int = 1
) -> SkewedLaplace:
    """Noise that makes all cells of a table of counts together ε-private: see `SkewedLaplace`.

    Under SUBSTITUTE `rising` is the share of ε that hides a rising count; a half gives the integer Laplace law of scale
    2/ε. Under ADD_REMOVE either side has all of ε: scale 1/ε. For tables of units (`uptack.table.unit`) `most` is
    how many of them a person has: units are to people what rows are.
    """
    budget = epsilon / (relation.rows_per_person * most)
    shares = (rising, 1 - rising) if relation.size_is_public else (Fraction(1), Fraction(1))
    up, down = (1 / (budget * share) for share in shares)
    refuse_tiny(epsilon, max(up, down), " for such a table")
    return SkewedLaplace(up, down)


def binomial(trials: int, chance: Real, entropy: Entropy) -> int:
    """An exact binomial draw with an irrational probability: the X with F(X - 1) ≤ U < F(X).

    F is summed in ball arithmetic, and digits of U are drawn until the place of U is certain. The time is proportional
    to the outcome, not to the number of trials.
    """
    drawn, bits = entropy.below(1 << 64), 64
    while trials:
        place = _place(trials, chance, drawn, bits)
        if place is not None:
            return place
        drawn, bits = drawn << 64 | entropy.below(1 << 64), bits + 64
    return 0


def _place(trials: int, chance: Real, drawn: int, bits: int) -> int | None:
    """The X for every U that starts with these digits, or None if they do not determine it."""
    with working(bits + GUARD):
        p = chance.expression()
        odds, term, total = p / (1 - p), (trials * (-p).log1p()).exp(), arb(0)
        low, high = ball(Fraction(drawn, 1 << bits)), ball(Fraction(drawn + 1, 1 << bits))
        for k in range(trials):
            total += term
            if total > high:
                return k
            if not total < low:
                return None
            term *= odds * (trials - k) / (k + 1)
    return trials


def one_count(given: Mapping[str, Any], cost: Privacy, rows: int) -> str:
    """The noise of a single count, with 95% confidence."""
    law = IntegerLaplace(cost.adjacency.rows_per_person / cost.exact_epsilon)
    return f"within ±{int(given.get('at_most') or 1) * law.interval(Fraction(95, 100))[1]}"


def each_count(given: Mapping[str, Any], cost: Privacy, rows: int) -> str:
    """The noise of each cell of a histogram, with 95% confidence."""
    law = cell_noise(cost.exact_epsilon, cost.adjacency)
    return f"each count within ±{int(given.get('at_most') or 1) * law.interval(Fraction(95, 100))[1]}"
