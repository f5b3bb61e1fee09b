"""Noisy counts of cells, and the budget in ρ that they are paid from.

A table of cells holds the units of all rows (`uptack.table.unit`). A person has at most m of them, spread over her
rows; where each row is its own, m is the number of rows that one person may own.

**Lemma (sensitivity).** A person who is added or removed moves a table of cells by a vector v ≥ 0 with ‖v‖₁ ≤ m, so
‖v‖₂ ≤ m. One who is replaced moves it by v - v' with such v and v', so by at most 2m in ℓ1, and by at most √2·m in ℓ2:
‖v - v'‖₂² ≤ ‖v‖₂² + ‖v'‖₂² ≤ 2m², since v·v' ≥ 0. ∎
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account, AssumptionFailed, Mechanism
from uptack.exact import Real, ball, least
from uptack.mechanisms.additive_noise import IntegerNoise, concentrated_price
from uptack.noise import Entropy, IntegerGaussian
from uptack.noise.coins import pick
from uptack.noise.integer_laws import LARGEST_SCALE
from uptack.privacy.loss import BoundedRange, Zcdp
from uptack.table.unit import PrivacyUnit

Counts = NDArray[Any]
"""Whole numbers: of 64 bits, or Python's own."""
Floats = NDArray[np.float64]
Keyed = tuple[Sequence[Hashable], Counts]
"""Keys that occur, each once, and the units of each."""

KEYS = 1 << 18
"""Values of a column, or buckets of them, that are held at once: so many rows or people have no more that are frequent
enough to be sent. It bounds memory to about 100 MB; of fewer rows than that every value is counted."""


@dataclass(frozen=True)
class FrequentKeys(Mechanism[Keyed, Keyed]):
    """Keys whose units and noise reach a cutoff, and these noisy counts. Nobody needs to list the keys.

    Keys with fewer than `floor` ≥ 1 units are passed over as those without any are, so that an engine need not send
    them.

    **Theorem.** Let a person have at most m units, let b be the floor, t + b - 1 the cutoff, and let t meet
    P(z ≥ t - m) + (m - 1)·P(z ≥ t) ≤ δ < 1/2. With integer Gaussian noise of variance Δ²/2ρ, Δ as in the lemma of this
    module, the release is δ-approximately ρ-zCDP.

    *Proof.* Let D and D' be neighbours. Let A be the keys that reach the floor in D and not in D'. The person who
    differs has w_i units of D in such a key, and it has at most b - 1 in D', so 1 ≤ w_i and at most b - 1 + w_i in D.
    The w_i add up to at most m, so there are at most m of them. Such a key passes with probability at most
    f(w_i) = P(z ≥ t - w_i). f has the differences f(w + 1) - f(w) = P(z = t - w - 1), which grow in w up to t - 1 ≥ m:
    f is convex on [0, m], and a sum of k ≤ m of its values is largest where one key has all units. So some key of A
    passes with probability at most f(m) + (m - 1)·f(0) ≤ δ. The noise on other keys is independent of that. Given that
    none of A passes, the output has the law Q of the keys that reach the floor in both; so the law of the output is
    (1 - δ)·Q + δ·R for some law R. D' has the same with Q', from the same keys. Q and Q' are the same function of
    Gaussian counts that are at most Δ apart in ℓ2, so their divergence is at most αρ. ∎
    """

    loss: Zcdp
    law: IntegerGaussian
    cutoff: int
    floor: int = 1

    def above_floor(self, value: Keyed) -> Keyed:
        """The keys that reach the floor."""
        keys, units = value
        there = np.flatnonzero(units >= self.floor)
        return value if there.size == len(keys) else ([keys[i] for i in there.tolist()], units[there])

    def draw(self, value: Keyed, entropy: Entropy) -> Keyed:
        keys, units = self.above_floor(value)
        noisy = units + self.law.draw(len(keys), entropy)
        passing = noisy >= self.cutoff
        return [keys[i] for i in np.flatnonzero(passing).tolist()], noisy[passing]

    def price(self, value: Keyed, other: Keyed, output: Keyed) -> float:
        """The move of common keys as ε. Keys of one side must stay below the cutoff, but for the failure."""
        sides = (self.above_floor(value), self.above_floor(other))
        one, two = ({key: int(units) for key, units in zip(*side, strict=True)} for side in sides)
        for mine, theirs in ((one, two), (two, one)):
            alone = sum(self.law.tail(self.cutoff - units) for key, units in mine.items() if key not in theirs)
            if alone > float(Fraction(self.loss.failure)) * (1 + 1e-9):
                raise AssumptionFailed("a person's own keys pass with a probability above the failure")
        return concentrated_price(self.loss, self.law, [two[key] - units for key, units in one.items() if key in two])


@dataclass(frozen=True)
class ScoredChoice(Mechanism[Sequence[int], int]):
    """The place of a high score: i with probability proportional to e^(rate·s_i), exactly.

    **Theorem.** If no score moves by more than Δ, the log-ratio of the probabilities lies in an interval of length
    2·rate·Δ: it is rate·(s_i - s'_i) plus a constant. So the choice has that bounded range ε, and is ε²/8-zCDP
    (`uptack.privacy.cost`).
    """

    loss: BoundedRange
    rate: Fraction

    def draw(self, value: Sequence[int], entropy: Entropy) -> int:
        below = [int(score) - max(value) for score in value]
        logs = np.array([float(self.rate * score) for score in below])
        return pick(logs, lambda: (ball(self.rate * score).exp() for score in below), entropy)

    def price(self, value: Sequence[int], other: Sequence[int], output: int) -> float:
        if len(value) != len(other):
            raise AssumptionFailed("the candidates depend on the data")
        moves = [int(b) - int(a) for a, b in zip(value, other, strict=True)]
        return float(self.rate * (max(moves) - min(moves)))


@lru_cache(maxsize=256)
def cutoff(law: IntegerGaussian, most: int, failure: Fraction) -> int:
    """The least t with P(z ≥ t - m) + (m - 1)·P(z ≥ t) ≤ δ.

    >>> cutoff(IntegerGaussian(100), 1, Fraction(1, 10**6)), cutoff(IntegerGaussian(100), 5, Fraction(1, 10**6))
    (50, 54)
    """

    def passing(t: int) -> Real:
        own, others = law.exact_tail(t - most), law.exact_tail(t)
        return Real(lambda: own.expression() + (most - 1) * others.expression())

    return least(lambda t: t > most and bool(passing(t) <= failure))


def _bounded_range(rho: Fraction) -> Fraction:
    """The largest ε with ε²/8 ≤ ρ, of 60 bits after the point."""
    return Fraction(math.isqrt(math.floor(8 * rho * 4**60)), 2**60)


def short(rho: float | Fraction) -> Fraction:
    """A ρ rounded down to a rational with few digits."""
    return Fraction(math.floor(Fraction(rho) * 2**64), 2**64)


class RhoBudget:
    """What is left of ρ, and the three ways to spend it. Counts go in as units and come out as people, or rows."""

    def __init__(self, account: Account, rho: Fraction, unit: PrivacyUnit) -> None:
        """Of a release that may spend ρ. The account is that of `Account.concentrated`."""
        self.account, self.rho, self.left = account, rho, rho
        self.most, self.step = unit.most * account.rows, unit.step
        self.replaced = account.adjacency.size_is_public
        self.distance = (2 if self.replaced else 1) * self.most
        """How far counts of cells move in ℓ1."""

    def law(self, rho: Fraction) -> IntegerGaussian:
        """The noise of counts that cost ρ."""
        return IntegerGaussian((2 if self.replaced else 1) * Fraction(self.most) ** 2 / (2 * rho))

    def sigma(self, rho: Fraction) -> float:
        return math.sqrt(Fraction(self.law(rho).variance)) / self.step

    def least_rho(self) -> Fraction:
        """The least ρ of counts whose noise can be drawn."""
        return Fraction(self.most, LARGEST_SCALE) ** 2 * 2

    def counts(self, units: Counts, rho: Fraction) -> Floats:
        """Counts of public cells with independent integer Gaussian noise.

        **Theorem** (Canonne, Kamath and Steinke 2020, theorem 14). If the counts move by at most Δ in ℓ2, they are
        Δ²/2σ²-zCDP.
        """
        noisy = self.account.draw(IntegerNoise(self._pay(rho), self.law(rho)), units)
        return np.asarray(noisy / self.step, np.float64)

    def cutoff(self, rho: Fraction, failure: Fraction, floor: int = 1) -> int:
        """From how many units on a key is shown."""
        return cutoff(self.law(rho), self.most, failure) + floor - 1

    def floor(self, size: float) -> int:
        """How many units a key needs for an engine to send it, of about so many rows: one, unless there are many."""
        return 1 + (self.step // 4 if self.step > 1 else 0) + int(size) // KEYS * self.step

    def frequent(
        self, keys: Sequence[Hashable], units: Counts, rho: Fraction, failure: Fraction, floor: int = 1
    ) -> tuple[Any, Floats]:
        """The keys that are frequent, in their order, and how often they occur, with noise."""
        law, loss = self.law(rho), self._pay(rho, failure)
        mechanism = FrequentKeys(loss, law, self.cutoff(rho, failure, floor), floor)
        shown, noisy = self.account.draw(mechanism, (keys, units))
        return shown, np.asarray(noisy / self.step, np.float64)

    def choose(self, scores: Sequence[int], moves: int, rho: Fraction) -> int:
        """The place of a high score, for a price of ρ = ε²/8. Scores move by at most `moves` units."""
        self.left -= rho
        epsilon = _bounded_range(rho)
        return self.account.draw(ScoredChoice(BoundedRange(epsilon), epsilon / (2 * moves)), tuple(scores))

    def telling(self, gap: float, many: int, moves: int) -> Fraction:
        """The ρ of a choice that finds a score so many units above so many others about as often as not."""
        return short(Fraction(2 * moves * math.log(1 + many) / gap) ** 2 / 8)

    def odds(self, moves: int, rho: Fraction) -> float:
        """By how many units scores of such a choice differ if one is e times as likely as the other."""
        return float(2 * moves / _bounded_range(rho))

    def _pay(self, rho: Fraction, failure: Fraction = Fraction(0)) -> Zcdp:
        self.left -= rho
        return Zcdp(rho, self.account.delta, failure)
