"""Lower confidence bounds on ε and δ, from the answers that a mechanism gave on two neighbours D and D'.

(ε, δ) promises P(E) ≤ e^ε·P'(E) + δ for every event E, both ways round. So one event with P(E) large and P'(E) small is
a witness against the promise. Both chances are known from counts, by the exact binomial bounds of Clopper and Pearson,
so a bound that is above the promise refutes it, with the stated confidence. A bound below it proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational

Floats = NDArray[np.float64]

CUTS = 64
"""How many half-lines in each direction, and how many single outcomes, are tried."""


class Event(NamedTuple):
    """Answers from `low` to `high`, or ⊥, which is written as NaN."""

    low: float
    high: float
    no_reply: bool = False

    def hits(self, draws: Floats) -> int:
        """How often it happened."""
        found = np.isnan(draws) if self.no_reply else (self.low <= draws) & (draws <= self.high)
        return int(found.sum())


def epsilon_lower_bound(
    draws_d: Sequence[float | None] | Floats,
    draws_d_prime: Sequence[float | None] | Floats,
    delta: Rational,
    confidence: Rational = 0.99,
) -> float:
    """A lower confidence bound on the least ε for which a mechanism can be (ε, δ)-private between D and D'.

    **Theorem.** Let the draws be independent answers on D and on D', None for ⊥, in the order they were given. If the
    mechanism is (ε, δ)-differentially private under an adjacency that has D and D' as neighbours, the result is above
    ε with a chance of at most 1 - `confidence`.

    *Proof.* The event and the direction are chosen on the first half of the draws alone: ⊥, a reply, half-lines, single
    outcomes. On the second half the event is fixed, and p ≤ P(E) and P'(E) ≤ q by Clopper and Pearson, each but for a
    chance of (1 - confidence)/2. Then e^ε ≥ (P(E) - δ)/P'(E) ≥ (p - δ)/q. ∎

    >>> rng = np.random.default_rng(0)
    >>> near, far = rng.laplace(0, 1, 40_000), rng.laplace(1, 1, 40_000)
    >>> 0.9 < epsilon_lower_bound(near, far, delta=0) < 1
    True
    """
    slack, risk = float(checks.delta("delta", delta)), _risk(confidence)
    first, first_prime, second, second_prime = (
        half
        for start in (0, 1)
        for half in (_draws("draws_d", draws_d)[start::2], _draws("draws_d_prime", draws_d_prime)[start::2])
    )
    tried = [(e, swap) for e in _events(np.concatenate([first, first_prime])) for swap in (False, True)]
    search, test = ((first, first_prime), (first_prime, first)), ((second, second_prime), (second_prime, second))
    event, swap = max(tried, key=lambda t: _log_ratio(t[0], *search[t[1]], slack, risk))
    return max(0.0, _log_ratio(event, *test[swap], slack, risk))


def delta_lower_bound(
    hits: int,
    draws: int,
    confidence: Rational = 0.99,
    *,
    epsilon: Rational = 0,
    hits_prime: int = 0,
    draws_prime: int | None = None,
) -> float:
    """A lower confidence bound on the least δ for which a mechanism can be (ε, δ)-private between D and D'.

    `hits` of the `draws` answers on D were in an event E that was fixed before they were drawn, and `hits_prime` of the
    `draws_prime` answers on D'. Without the latter E is taken to be impossible on D', as an answer of exactly 0 is
    where D' has a scale above 0: then δ is at least the chance of a false pass.

    **Theorem.** If the mechanism is (ε, δ)-differentially private between D and D', the result is above δ with a chance
    of at most 1 - `confidence`: δ ≥ P(E) - e^ε·P'(E) ≥ p - e^ε·q with p and q of Clopper and Pearson.

    >>> delta_lower_bound(126, 1000) > 0.09
    True
    >>> delta_lower_bound(126, 1000, epsilon=1, hits_prime=60, draws_prime=1000)
    0.0
    """
    rise, risk = math.exp(min(float(checks.nonnegative("epsilon", epsilon)), 700.0)), _risk(confidence)
    size, seen = _count("hits", hits, "draws", draws)
    if draws_prime is None:
        return _below(seen, size, risk)
    size_prime, seen_prime = _count("hits_prime", hits_prime, "draws_prime", draws_prime)
    return max(0.0, _below(seen, size, risk / 2) - rise * _above(seen_prime, size_prime, risk / 2))


def _log_ratio(event: Event, draws: Floats, draws_prime: Floats, delta: float, risk: float) -> float:
    """ln((p - δ)/q), the ε that the event shows."""
    p = _below(event.hits(draws), draws.size, risk / 2) - delta
    return math.log(p / _above(event.hits(draws_prime), draws_prime.size, risk / 2)) if p > 0 else -math.inf


def _below(hits: int, draws: int, risk: float) -> float:
    """The lower bound of Clopper and Pearson."""
    return float(beta.ppf(risk, hits, draws - hits + 1)) if hits > 0 else 0.0


def _above(hits: int, draws: int, risk: float) -> float:
    """The upper one."""
    return float(beta.isf(risk, hits + 1, draws - hits)) if hits < draws else 1.0


def _events(draws: Floats) -> list[Event]:
    """What is worth trying, from the draws of the search."""
    values = np.sort(draws[~np.isnan(draws)])
    cuts = np.unique(values[np.linspace(0, values.size - 1, CUTS).astype(int)]) if values.size else values
    outcomes, counts = np.unique(values, return_counts=True)
    common = outcomes[np.argsort(-counts, kind="stable")][:CUTS]
    events = [Event(0.0, 0.0, no_reply=True), Event(-math.inf, math.inf)]
    events += [e for c in cuts.tolist() for e in (Event(-math.inf, c), Event(c, math.inf))]
    return events + [Event(v, v) for v in common.tolist()]


def _draws(name: str, draws: Sequence[float | None] | Floats) -> Floats:
    """Answers as floats, ⊥ as NaN."""
    values = np.array([math.nan if v is None else v for v in draws], np.float64)
    if values.size < 2:
        raise InvalidArgument(name, "at least two answers", f"{values.size} of them")
    return values


def _count(name: str, hits: int, of: str, draws: int) -> tuple[int, int]:
    size, seen = checks.integer(of, draws, least=1), checks.integer(name, hits, least=0)
    if seen > size:
        raise InvalidArgument(name, f"at most {of}", seen)
    return size, seen


def _risk(confidence: Rational) -> float:
    return float(1 - checks.inside_unit("confidence", confidence))
