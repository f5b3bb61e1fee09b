"""Lower confidence bounds on ε and δ, from the answers that a mechanism gave on two neighbours D and D'.

(ε, δ) promises P(E) ≤ e^ε·P'(E) + δ for every event E, both ways round. So one event with P(E) large and P'(E) small is
a witness against the promise. Both chances are known from counts, by the exact binomial bounds of Clopper and Pearson,
so a bound that is above the promise refutes it, with the stated confidence. A bound below it proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from uptack import checks
from uptack.audit.answer_events import Event, Floats, Score, candidates, counted, tables
from uptack.errors import InvalidArgument
from uptack.exact import Rational

LEAST_DRAWS = 4


class Witness(NamedTuple):
    """The event that tells most, which way round, and what the draws set aside for testing it say of ε and of δ."""

    event: Event
    swapped: bool
    hits: int
    hits_prime: int
    draws: int
    epsilon: float
    delta: float


def witness(
    answers: Sequence[Any] | Floats,
    answers_prime: Sequence[Any] | Floats,
    delta: Rational,
    confidence: Rational = 0.99,
    *,
    epsilon: Rational = 0,
) -> Witness:
    """The event found on one half of the draws and tested on the other: `epsilon_lower_bound` with its evidence.

    Its `delta` is a lower confidence bound as well, on the least δ that goes with the given ε.
    """
    slack, risk = float(checks.delta("delta", delta)), float(1 - checks.inside_unit("confidence", confidence))
    given = checks.nonnegative("epsilon", epsilon)
    for name, draws in (("draws_d", answers), ("draws_d_prime", answers_prime)):
        if len(draws) < LEAST_DRAWS:
            raise InvalidArgument(name, f"at least {LEAST_DRAWS} answers", f"{len(draws)} of them")
    both = tables(answers, answers_prime)
    score = Score.learned(*(table[::4] for table in both))
    search, test = ([score.extend(table[part]) for table in both] for part in (slice(2, None, 4), slice(1, None, 2)))
    event, swapped = _best(search, slack, risk)
    one, other = reversed(test) if swapped else test
    hits, hits_prime = event.hits(one), event.hits(other)
    found = float(_log_ratio(np.array([hits]), np.array([hits_prime]), (len(one), len(other)), slack, risk)[0])
    least = delta_lower_bound(hits, len(one), confidence, epsilon=given, hits_prime=hits_prime, draws_prime=len(other))
    return Witness(event, swapped, hits, hits_prime, min(len(one), len(other)), max(0.0, found), least)


def epsilon_lower_bound(
    draws_d: Sequence[Any] | Floats,
    draws_d_prime: Sequence[Any] | Floats,
    delta: Rational,
    confidence: Rational = 0.99,
) -> float:
    """A lower confidence bound on the least ε for which a mechanism can be (ε, δ)-private between D and D'.

    The draws are answers in the order they were given: numbers, vectors, anything; None for ⊥
    (`uptack.audit.answer_events`).

    **Theorem.** Let the draws be independent answers on D and on D'. If the mechanism is (ε, δ)-differentially private
    under an adjacency that has D and D' as neighbours, the result is above ε with a chance of at most 1 - `confidence`.

    *Proof.* A score is learned from every fourth draw, the event and the direction are chosen on another quarter: ⊥, a
    reply, half-lines and single outcomes of coordinates and of the score. On the other half the event is fixed, and
    p ≤ P(E) and P'(E) ≤ q by Clopper and Pearson, each but for a chance of (1 - confidence)/2. Then
    e^ε ≥ (P(E) - δ)/P'(E) ≥ (p - δ)/q. ∎

    >>> rng = np.random.default_rng(0)
    >>> near, far = (rng.laplace(centre, 1, 40_000) for centre in (0, 1))
    >>> 0.9 < epsilon_lower_bound(near.round(3), far.round(3), delta=0) < 1
    True

    Without the rounding the answers give themselves away by their last bits (Mironov 2012), and ε = 1 is refuted:

    >>> epsilon_lower_bound(near, far, delta=0) > 1
    True
    """
    return witness(draws_d, draws_d_prime, delta, confidence).epsilon


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
    rise = math.exp(min(float(checks.nonnegative("epsilon", epsilon)), 700.0))
    risk = float(1 - checks.inside_unit("confidence", confidence))
    size, seen = _count("hits", hits, "draws", draws)
    if draws_prime is None:
        return float(_below(np.array([seen]), size, risk)[0])
    size_prime, seen_prime = _count("hits_prime", hits_prime, "draws_prime", draws_prime)
    p, q = _below(np.array([seen]), size, risk / 2), _above(np.array([seen_prime]), size_prime, risk / 2)
    return max(0.0, float(p[0] - rise * q[0]))


def _best(search: Sequence[Floats], delta: float, risk: float) -> tuple[Event, bool]:
    """The event and the direction that show the largest ε on the draws of the search."""
    events = candidates(np.concatenate(search))
    hits, sizes = [counted(events, table) for table in search], [len(table) for table in search]
    shown = np.array(
        [
            _log_ratio(hits[0], hits[1], (sizes[0], sizes[1]), delta, risk),
            _log_ratio(hits[1], hits[0], (sizes[1], sizes[0]), delta, risk),
        ]
    )
    swapped, i = divmod(int(np.argmax(shown)), len(events))
    return events[i], bool(swapped)


def _log_ratio(
    hits: NDArray[np.int64], hits_prime: NDArray[np.int64], sizes: tuple[int, int], delta: float, risk: float
) -> Floats:
    """ln((p - δ)/q), the ε that each event shows."""
    p, q = _below(hits, sizes[0], risk / 2) - delta, _above(hits_prime, sizes[1], risk / 2)
    with np.errstate(divide="ignore"):
        shown: Floats = np.log(np.maximum(p, 0.0) / q)
    return shown


def _below(hits: NDArray[np.int64], draws: int, risk: float) -> Floats:
    """The lower bounds of Clopper and Pearson."""
    return np.where(hits > 0, beta.ppf(risk, np.maximum(hits, 1), draws - hits + 1), 0.0)


def _above(hits: NDArray[np.int64], draws: int, risk: float) -> Floats:
    """The upper ones."""
    return np.where(hits < draws, beta.isf(risk, hits + 1, np.maximum(draws - hits, 1)), 1.0)


def _count(name: str, hits: int, of: str, draws: int) -> tuple[int, int]:
    size, seen = checks.integer(of, draws, least=1), checks.integer(name, hits, least=0)
    if seen > size:
        raise InvalidArgument(name, f"at most {of}", seen)
    return size, seen
