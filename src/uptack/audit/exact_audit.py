"""Audits without chance: where the law of a mechanism is known, the least ε between two neighbours is computed.

A law is given as cells: pairs of chances on D and on D', in ball arithmetic. The mechanism is (ε, δ)-private between
the two iff h(ε) = Σ(p - e^ε·q)₊ ≤ δ, and the same with p and q exchanged.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from uptack.exact import Rational, ball, read, working
from uptack.mechanisms.inverse_sensitivity import Boxes
from uptack.mechanisms.ptr import diameter
from uptack.noise import IntegerLaplace, IntegerLaw
from uptack.privacy import Privacy
from uptack.reach import Reach

Cells = list[tuple[arb, arb]]
BITS = 256
"""The working precision: found values are right to far more digits than they are shown with."""

ROUNDING = 1e-9
STEPS = 60
"""Halvings of the interval that the least ε lies in."""


@dataclass(frozen=True, eq=False)
class ExactLaw:
    """A mechanism whose law is known: `cells()` are the chances of its outcomes on D and on D', as balls.

    Outcomes may be taken together where both chances are multiplied by the same.
    """

    name: str
    cells: Callable[[], Cells]
    claimed: Privacy

    @property
    def epsilon(self) -> float:
        """The least ε that goes with the claimed δ."""
        return least_epsilon(self.cells, self.claimed.exact_delta)

    @property
    def problems(self) -> list[str]:
        """What is wrong: it is computed to far more digits than it is compared with."""
        found, claimed = self.epsilon, self.claimed.epsilon
        return [f"has ε = {found:.4g} of {claimed:.4g}"] if found > claimed * (1 + ROUNDING) else []


def least_epsilon(cells: Callable[[], Cells], delta: Rational = 0) -> float:
    """The least ε for which a law is (ε, δ)-private both ways round between D and D'; inf where there is none.

    >>> from uptack.noise import IntegerLaplace
    >>> round(least_epsilon(lambda: shifted(IntegerLaplace(2), 1)), 12)
    0.5
    """
    with working(BITS):
        pairs, slack = cells(), ball(read(delta))
        both = [pairs, [(q, p) for p, q in pairs]]
        return max(_least(one, slack) for one in both)


def _least(pairs: Cells, delta: arb) -> float:
    """For one direction: by a maximum for δ = 0, else by halving, since h falls in ε."""
    if any(bool(p > 0) and bool(q == 0) for p, q in pairs) and not _excess(pairs, None) <= delta:
        return math.inf
    ratios = [float((p / q).log().mid()) for p, q in pairs if q > 0 and p > 0]
    low, high = 0.0, max(ratios, default=0.0)
    if delta == 0 or high <= 0:
        return max(high, 0.0)
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if _excess(pairs, middle) <= delta else (middle, high)
    return high if not _excess(pairs, 0.0) <= delta else 0.0


def _excess(pairs: Cells, epsilon: float | None) -> arb:
    """h(ε); for ε = None its limit, the mass where q is 0."""
    if epsilon is None:
        return sum((p for p, q in pairs if q == 0), arb(0))
    rise = arb(epsilon).exp()
    return sum(((p - rise * q).nonnegative_part() for p, q in pairs), arb(0))


def shifted(law: IntegerLaw, shift: int, reach: int = 60) -> Cells:
    """Integer noise on 0 and on `shift`: one cell each from -reach to reach, and what lies beyond on either side.

    Taking a tail as one cell loses nothing for laws with geometric tails, whose ratio is constant there.
    """
    return cut_off(law, 0, shift, -reach, reach)


def cut_off(law: IntegerLaw, count: int, count_prime: int, cutoff: int, reach: int = 60) -> Cells:
    """A noisy count that is told only at or above a cutoff: silence, one cell each up to `reach`, and the rest."""
    silent = _both(lambda c: 1 - law.exact_tail(cutoff - c).expression(), count, count_prime)
    told = [
        _both(lambda c, k=k: law.exact_pmf(k - c).expression(), count, count_prime)  # type: ignore[misc]
        for k in range(cutoff, reach + 1)
    ]
    beyond = _both(lambda c: law.exact_tail(reach + 1 - c).expression(), count, count_prime)
    return [silent, *told, beyond]


def _both(chance: Callable[[int], arb], count: int, count_prime: int) -> tuple[arb, arb]:
    return chance(count), chance(count_prime)


def together(*parts: Callable[[], Cells]) -> Cells:
    """Independent answers given together."""
    product = itertools.product(*(part() for part in parts))
    return [(_times(p for p, _ in cells), _times(q for _, q in cells)) for cells in product]


def _times(factors: Iterable[arb]) -> arb:
    return math.prod(factors, start=arb(1))


def passed(passing: arb, passing_prime: arb, same: bool) -> Cells:
    """A test that replies with a value as it is: the same value on both sides, or another one on each."""
    silent = (1 - passing, 1 - passing_prime)
    return [silent, (passing, passing_prime)] if same else [silent, (passing, arb(0)), (arb(0), passing_prime)]


def either(chance: arb, tests: int = 2) -> arb:
    """The chance that some of several independent tests passes."""
    return 1 - (1 - chance) ** tests


def proposed(
    reaches: tuple[Reach, Reach], bound: int, epsilon: tuple[Fraction, Fraction], delta: Fraction, reach: int = 60
) -> Cells:
    """Propose-test-release of an integer by the diameter of its reach: ε for the test and for the answer."""
    noise, answer = IntegerLaplace(1 / epsilon[0]), IntegerLaplace(bound / epsilon[1])
    holds, t = diameter(bound), noise.cutoff(delta)
    far = [next(k for k in itertools.count() if not holds(*r.interval(k))) for r in reaches]
    p, q = (noise.exact_tail(1 + t - a).expression() for a in far)
    value, value_prime = (int(r.value) for r in reaches)
    told = cut_off(answer, value, value_prime, -reach, reach)
    return [(1 - p, 1 - q), *((p * a, q * b) for a, b in told)]


def inverse(shells: Boxes, shells_prime: Boxes, rho: Fraction) -> Cells:
    """The law of inverse sensitivity of a number: a cell for each run of candidates with the same two scores."""
    both = (shells, shells_prime)
    (first, last), *_ = shells.whole
    ends = {int(v) for b in both for v in b.lows[0]} | {int(v) + 1 for b in both for v in b.highs[0]}
    starts = sorted({first, *(v for v in ends if first <= v <= last)})
    sizes = [b - a for a, b in itertools.pairwise([*starts, last + 1])]
    decay = ball(rho)
    columns = []
    for one in both:
        weights = [ball(size) * decay ** _score(one, y) for y, size in zip(starts, sizes, strict=True)]
        total = sum(weights, arb(0))
        columns.append([w / total for w in weights])
    return list(zip(*columns, strict=True))


def _score(shells: Boxes, y: int) -> int:
    """The least k with y in box k: the boxes grow, so both ends are found by bisection."""
    below = np.searchsorted(-shells.lows[0], -y, "left")
    above = np.searchsorted(shells.highs[0], y, "left")
    return int(max(below, above))


def chosen(scores: Sequence[int], scores_prime: Sequence[int], rate: Fraction, flips: bool) -> Cells:
    """The exponential mechanism on two lists of scores, or permute-and-flip."""
    law = _flipped if flips else _weighted
    return list(zip(law(scores, rate), law(scores_prime, rate), strict=True))


def _weighted(scores: Sequence[int], rate: Fraction) -> list[arb]:
    weights = [ball(rate * (s - max(scores))).exp() for s in scores]
    total = sum(weights, arb(0))
    return [w / total for w in weights]


def _flipped(scores: Sequence[int], rate: Fraction) -> list[arb]:
    """A uniform one of those whose coins say heads, over all ways that the coins may fall."""
    coins = [ball(rate * (s - max(scores))).exp() for s in scores]
    law = [arb(0)] * len(scores)
    for heads in itertools.product((False, True), repeat=len(scores)):
        chance = _times(c if up else 1 - c for c, up in zip(coins, heads, strict=True))
        law = [p + chance / sum(heads) if up else p for p, up in zip(law, heads, strict=True)]
    return law
