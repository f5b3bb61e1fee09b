"""Lower confidence bounds on ε and δ, from the answers that a mechanism gave on two neighbours D and D'.

Where the law of a mechanism is known, `least_epsilon` computes its ε, and there is nothing to draw.

(ε, δ) promises P(E) ≤ e^ε·P'(E) + δ for every event E, both ways round. So one event with P(E) large and P'(E) small is
a witness against the promise. Both probabilities are bounded from counts, by the exact binomial bounds of Clopper and
Pearson, so a bound above the promise refutes it, with the stated confidence. A bound below it proves nothing.

Answers of any kind become a table of numbers: whether there was a reply, then the coordinates, and for each of them the
exponent of its lowest set bit, where careless floating-point noise shows. One more column is a score that is learned
from draws set aside for it, about the logarithm of the likelihood ratio. Events are half-lines and single outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy.stats import beta

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational, ball, bisect, read, working

Floats = NDArray[np.float64]
Cells = list[tuple[arb, arb]]
BITS, HALVINGS = 256, 60
"""The working precision of `least_epsilon`, and how often it halves the interval that ε lies in."""
LEAST_DRAWS = 4
CUTS = 64
"""How many half-lines in each direction, and how many single outcomes, are tried in each column."""
LEAST = 5e-324
"""Minus this stands for -0.0, which no comparison tells from 0.0."""
ZERO_BIT = -1100.0
"""The lowest bit of 0, which has none: below that of any float."""


def epsilon_lower_bound(
    draws_d: Sequence[Any] | Floats, draws_d_prime: Sequence[Any] | Floats, delta: Rational, confidence: Rational = 0.99
) -> float:
    """A lower confidence bound on the least ε for which a mechanism can be (ε, δ)-private between D and D'.

    The draws are answers in the order they were given: numbers, vectors, mappings, anything that prints; None for ⊥.

    **Theorem.** Let the draws be independent answers on D and on D'. If the mechanism is (ε, δ)-differentially private
    under an adjacency that has D and D' as neighbours, the result is above ε with probability at most 1 - `confidence`.

    *Proof.* A score is learned from every fourth draw, the event and the direction are chosen on another quarter: ⊥, a
    reply, half-lines and single outcomes of coordinates and of the score. On the other half the event is fixed, and
    p ≤ P(E) and P'(E) ≤ q by Clopper and Pearson, each but for a probability of (1 - confidence)/2. Then
    e^ε ≥ (P(E) - δ)/P'(E) ≥ (p - δ)/q. ∎

    >>> rng = np.random.default_rng(0)
    >>> near, far = (rng.laplace(centre, 1, 40_000) for centre in (0, 1))
    >>> 0.9 < epsilon_lower_bound(near.round(3), far.round(3), delta=0) < 1
    True

    Without the rounding the answers give themselves away by their last bits (Mironov 2012), and ε = 1 is refuted:

    >>> epsilon_lower_bound(near, far, delta=0) > 1
    True
    """
    slack, risk = float(checks.delta("delta", delta)), float(1 - checks.inside_unit("confidence", confidence))
    for name, draws in (("draws_d", draws_d), ("draws_d_prime", draws_d_prime)):
        if len(draws) < LEAST_DRAWS:
            raise InvalidArgument(name, f"at least {LEAST_DRAWS} answers", f"{len(draws)} of them")
    both = tables(draws_d, draws_d_prime)
    score = Score.fit(*(table[::4] for table in both))
    search, test = ([score.extend(table[part]) for table in both] for part in (slice(2, None, 4), slice(1, None, 2)))

    def log_ratio(hits: Any, sizes: Any) -> Floats:
        """ln((p - δ)/q), the ε that each event shows."""
        p, q = _below(hits[0], sizes[0], risk / 2) - slack, _above(hits[1], sizes[1], risk / 2)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(p, 0.0) / q))

    events = candidates(np.concatenate(search))
    hits, sizes = [count_hits(events, table) for table in search], [len(table) for table in search]
    every = np.array([log_ratio(hits, sizes), log_ratio(hits[::-1], sizes[::-1])])
    swapped, place = divmod(int(np.argmax(every)), len(events))
    if swapped:
        test.reverse()
    hits = [count_hits([events[place]], table) for table in test]
    return max(0.0, float(log_ratio(hits, [len(table) for table in test])[0]))


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
    where D' has a scale above 0: then δ is at least the probability of a false pass.

    **Theorem.** If the mechanism is (ε, δ)-differentially private between D and D', the result is above δ with
    probability at most 1 - `confidence`: δ ≥ P(E) - e^ε·P'(E) ≥ p - e^ε·q with p and q of Clopper and Pearson.

    >>> delta_lower_bound(126, 1000) > 0.09
    True
    >>> delta_lower_bound(126, 1000, epsilon=1, hits_prime=60, draws_prime=1000)
    0.0
    """
    rise = math.exp(min(float(checks.nonnegative("epsilon", epsilon)), 700.0))
    risk = float(1 - checks.inside_unit("confidence", confidence))
    size, times = _count("hits", hits, "draws", draws)
    if draws_prime is None:
        return float(_below(np.array([times]), size, risk)[0])
    size_prime, times_prime = _count("hits_prime", hits_prime, "draws_prime", draws_prime)
    p, q = _below(np.array([times]), size, risk / 2), _above(np.array([times_prime]), size_prime, risk / 2)
    return max(0.0, float(p[0] - rise * q[0]))


def least_epsilon(cells: Callable[[], Cells], delta: Rational = 0) -> float:
    """The least ε for which a law is (ε, δ)-private both ways round between D and D'; inf where there is none.

    `cells()` are the probabilities of each outcome on D and on D', as balls. Outcomes whose probabilities have the same
    ratio may be taken together. The law is (ε, δ)-private between D and D' iff h(ε) = Σ(p - e^ε·q)₊ ≤ δ, and the same
    with p and q exchanged. For δ = 0 that is a maximum; otherwise h falls in ε.

    >>> from uptack.noise import IntegerLaplace
    >>> tail = IntegerLaplace(2).exact_tail
    >>> def cells():
    ...     p, q = tail(1).expression(), tail(0).expression()
    ...     return [(p, q), (1 - p, 1 - q)]
    >>> round(least_epsilon(cells), 12)
    0.5
    """
    with working(BITS):
        pairs, slack = cells(), ball(read(delta))
        return max(_least_one_way(each, slack) for each in (pairs, [(q, p) for p, q in pairs]))


def _least_one_way(pairs: Cells, delta: arb) -> float:
    if not sum((p for p, q in pairs if q == 0), arb(0)) <= delta:  # the limit of h
        return math.inf
    most = max((float((p / q).log().mid()) for p, q in pairs if q > 0 and p > 0), default=0.0)

    def private(epsilon: float) -> bool:
        rise = arb(epsilon).exp()
        return bool(sum(((p - rise * q).nonnegative_part() for p, q in pairs), arb(0)) <= delta)

    if delta == 0 or most <= 0:
        return max(most, 0.0)
    return 0.0 if private(0.0) else bisect(private, 0.0, most, halvings=HALVINGS)[1]


def _below(hits: NDArray[np.int64], draws: int, risk: float) -> Floats:
    """The lower bounds of Clopper and Pearson."""
    return np.where(hits > 0, beta.ppf(risk, np.maximum(hits, 1), draws - hits + 1), 0.0)


def _above(hits: NDArray[np.int64], draws: int, risk: float) -> Floats:
    return np.where(hits < draws, beta.isf(risk, hits + 1, np.maximum(draws - hits, 1)), 1.0)


def _count(name: str, hits: int, of: str, draws: int) -> tuple[int, int]:
    size, times = checks.integer(of, draws, least=1), checks.integer(name, hits, least=0)
    if times > size:
        raise InvalidArgument(name, f"at most {of}", times)
    return size, times


# ------------------------------------------------------------------------------------------- answers as tables, events


def tables(answers: Sequence[Any] | Floats, answers_prime: Sequence[Any] | Floats) -> tuple[Floats, Floats]:
    """Both lists of answers as tables with the same columns: replied, coordinates, lowest bits. ⊥ has NaN in the rest.

    Where answers have several lengths, the length is the first coordinate. What is no number counts by its text.

    >>> tables([0.75, None], [-0.0, 3])[0].tolist()
    [[1.0, 0.75, -2.0], [0.0, nan, nan]]
    """
    rows = [None if _value_of(answer) is None else list(_leaves(answer)) for answer in (*answers, *answers_prime)]
    texts = sorted({leaf for row in rows if row for leaf in row if isinstance(leaf, str)})
    places = {text: place + 0.5 for place, text in enumerate(texts)}
    lengths = {len(row) for row in rows if row is not None}
    width = max(lengths, default=1) + (len(lengths) > 1)
    values = np.full((len(rows), width), math.nan)
    for row, line in zip(rows, values, strict=True):
        if row is not None:
            numbers = [places[leaf] if isinstance(leaf, str) else leaf for leaf in row]
            line[:] = [*([len(row)] * (len(lengths) > 1)), *numbers, *[0.0] * (max(lengths) - len(row))]
    replied = ~np.isnan(values).all(axis=1, keepdims=True)
    signed = np.where((values == 0) & np.signbit(values), -LEAST, values)
    table = np.hstack([replied, signed, _lowest_bits(values)])
    return table[: len(answers)], table[len(answers) :]


def _value_of(answer: Any) -> Any:
    """The value of a release, or of an answer that carries the law of its noise; None for ⊥."""
    return answer.value if hasattr(answer, "value") else answer


def _leaves(answer: Any) -> Iterator[float | str]:
    """The numbers of an answer, in order; a text for what is none."""
    bare = _value_of(answer)
    if isinstance(bare, np.ndarray):
        bare = bare.tolist()
    if isinstance(bare, Mapping):
        bare = [bare[key] for key in bare]
    if isinstance(bare, list | tuple):
        for part in bare:
            yield from _leaves(part)
    elif bare is not None:
        try:
            yield repr(bare) if isinstance(bare, str | bytes) else float(bare)
        except (TypeError, ValueError):
            yield repr(bare)


def _lowest_bits(values: Floats) -> Floats:
    """The e for which 2^e is the lowest set bit of each float."""
    mantissas, exponents = np.frexp(np.nan_to_num(values))
    whole = np.abs(np.ldexp(mantissas, 53)).astype(np.int64)
    low = (whole & -whole).astype(np.float64)
    with np.errstate(divide="ignore"):
        bits = np.where(whole == 0, ZERO_BIT, np.log2(low) + exponents - 53)
    return np.where(np.isnan(values), math.nan, bits)


class Event(NamedTuple):
    """Answers with an entry from `low` to `high` in one column of the table."""

    column: int
    low: float
    high: float


def candidates(table: Floats) -> list[Event]:
    """Half-lines and single outcomes in every column."""
    events = []
    for j, column in enumerate(table.T):
        outcomes, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        common = outcomes[np.argsort(-counts, kind="stable")][:CUTS]
        cuts = _cuts(column, CUTS).tolist()
        events += [Event(j, -math.inf, c) for c in cuts] + [Event(j, c, math.inf) for c in cuts]
        events += [Event(j, v, v) for v in common.tolist()]
    return events


def count_hits(events: Sequence[Event], table: Floats) -> NDArray[np.int64]:
    """How often each event happened, with one sort a column."""
    hits = np.empty(len(events), np.int64)
    columns = np.array([event.column for event in events])
    for j in np.unique(columns):
        values, here = np.sort(table[~np.isnan(table[:, j]), j]), np.flatnonzero(columns == j)
        low, high = (np.array([events[i][k] for i in here.tolist()]) for k in (1, 2))
        hits[here] = np.searchsorted(values, high, "right") - np.searchsorted(values, low, "left")
    return hits


@dataclass(frozen=True)
class Score:
    """The sum over all columns of ln P(cell)/P'(cell), cells cut at quantiles, learned from some of the draws.

    It is the likelihood ratio where the columns are independent; where they are not it is one more direction to try.
    """

    edges: tuple[Floats, ...]
    logs: tuple[Floats, ...]

    @staticmethod
    def fit(table: Floats, table_prime: Floats) -> Score:
        """From answers on D and on D', in no more cells than so many draws can fill.

        Logarithms of ratios of counts are shrunk by what may be chance: those within their standard error become 0.
        """
        edges, logs = [], []
        count = max(4, min(CUTS // 2, math.isqrt(len(table)) // 2))
        for column, column_prime in zip(table.T, table_prime.T, strict=True):
            cuts = _cuts(np.concatenate([column, column_prime]), count)
            counts, counts_prime = (
                np.bincount(_cells(c[~np.isnan(c)], cuts), minlength=2 * cuts.size + 1) + 1
                for c in (column, column_prime)
            )
            ratios = np.log(counts / counts_prime)
            edges.append(cuts)
            logs.append(ratios * np.maximum(0.0, 1 - (1 / counts + 1 / counts_prime) / np.maximum(ratios**2, 1e-9)))
        return Score(tuple(edges), tuple(logs))

    def extend(self, table: Floats) -> Floats:
        """The table with the score as its last column; ⊥ has the score of ⊥ alone."""
        total = np.zeros(len(table))
        for column, cuts, logs in zip(table.T, self.edges, self.logs, strict=True):
            total += np.where(np.isnan(column), 0.0, logs[_cells(np.nan_to_num(column), cuts)])
        return np.hstack([table, total[:, None]])


def _cuts(values: Floats, count: int) -> Floats:
    """Quantiles of the numbers among the values, each once."""
    numbers = np.sort(values[~np.isnan(values)])
    return np.unique(numbers[np.linspace(0, numbers.size - 1, count).astype(int)]) if numbers.size else numbers


def _cells(values: Floats, cuts: Floats) -> NDArray[np.int64]:
    """2i + 1 at cut i, and even numbers between the cuts: a value that many answers have is a cell of its own."""
    cells: NDArray[np.int64] = np.searchsorted(cuts, values, "left") + np.searchsorted(cuts, values, "right")
    return cells
