"""Answers of any kind as a table of numbers, and the events worth trying on it.

An answer is ⊥ (None or a `NoReply`), a number, a vector, a mapping with fixed keys, or anything else that can be told
from others by how it prints. Its row in the table says whether it came at all, then its coordinates, and for each of
them the exponent of its lowest set bit: floating-point noise that was added carelessly shows there. One more column is
a score that is learned from draws set aside for it, about the logarithm of the likelihood ratio.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uptack.errors import InvalidArgument
from uptack.release import NoReply, Release

Floats = NDArray[np.float64]

CUTS = 64
"""How many half-lines in each direction, and how many single outcomes, are tried in each column."""

LEAST = 5e-324
"""Minus this stands for -0.0, which no comparison tells from 0.0."""

ZERO_BIT = -1100.0
"""The lowest bit of 0, which has none: below that of any float."""


class Event(NamedTuple):
    """Answers with an entry from `low` to `high` in one column of the table."""

    column: int
    low: float
    high: float

    def hits(self, table: Floats) -> int:
        """How often it happened."""
        values = table[:, self.column]
        return int(((self.low <= values) & (values <= self.high)).sum())


def tables(answers: Sequence[Any] | Floats, answers_prime: Sequence[Any] | Floats) -> tuple[Floats, Floats]:
    """Both lists of answers as tables with the same columns: replied, coordinates, lowest bits. ⊥ has NaN in the rest.

    >>> tables([0.75, None], [-0.0, 3])[0].tolist()
    [[1.0, 0.75, -2.0], [0.0, nan, nan]]
    """
    values = _matrix([plain(answer) for answer in (*answers, *answers_prime)])
    replied = ~np.isnan(values).all(axis=1, keepdims=True)
    signed = np.where((values == 0) & np.signbit(values), -LEAST, values)
    table = np.hstack([replied, signed, _lowest_bits(values)])
    return table[: len(answers)], table[len(answers) :]


def plain(answer: Any) -> float | Floats | str | None:
    """A number or vector as floats; None for ⊥; text for what is no number."""
    if answer is None or isinstance(answer, float | int | NoReply):
        return None if isinstance(answer, NoReply) else answer
    if isinstance(answer, Release):
        return plain(answer.value)
    if isinstance(answer, Mapping):
        answer = [answer[key] for key in answer]
    try:
        vector = np.asarray(answer, np.float64).ravel()
    except (TypeError, ValueError):
        return repr(answer)
    return vector if vector.size else repr(answer)


def _matrix(plain: Sequence[float | Floats | str | None]) -> Floats:
    """One row an answer. Text is numbered in its order, so that a number stands for the same text in any table."""
    if any(isinstance(answer, str) for answer in plain):
        names = {name: float(i) for i, name in enumerate(sorted({str(a) for a in plain if a is not None}))}
        plain = [None if a is None else names[str(a)] for a in plain]
    widths = {np.size(answer) for answer in plain if answer is not None}
    if len(widths) > 1:
        fix = "Let the mechanism return what to look at."
        raise InvalidArgument("answers", "of one kind and length", f"of lengths {sorted(widths)}", fix)
    none = np.full(max(widths, default=1), math.nan)
    return np.array([none if a is None else np.reshape(a, none.size) for a in plain], np.float64)


def _lowest_bits(values: Floats) -> Floats:
    """The e for which 2^e is the lowest set bit of each float."""
    mantissas, exponents = np.frexp(np.nan_to_num(values))
    whole = np.abs(np.ldexp(mantissas, 53)).astype(np.int64)
    low = (whole & -whole).astype(np.float64)
    with np.errstate(divide="ignore"):
        bits = np.where(whole == 0, ZERO_BIT, np.log2(low) + exponents - 53)
    return np.where(np.isnan(values), math.nan, bits)


@dataclass(frozen=True)
class Score:
    """The sum over all columns of ln P(cell)/P'(cell), cells cut at quantiles, learned from some of the draws.

    It is the likelihood ratio where the columns are independent; where they are not it is one more direction to try.
    """

    edges: tuple[Floats, ...]
    logs: tuple[Floats, ...]

    @staticmethod
    def learned(table: Floats, table_prime: Floats) -> Score:
        """From answers on D and on D', in no more cells than so many draws can fill."""
        edges, logs = [], []
        count = max(4, min(CUTS // 2, math.isqrt(len(table)) // 2))
        for column, column_prime in zip(table.T, table_prime.T, strict=True):
            cuts = _cuts(np.concatenate([column, column_prime]), count)
            seen, seen_prime = (
                np.bincount(_cells(c[~np.isnan(c)], cuts), minlength=2 * cuts.size + 1) for c in (column, column_prime)
            )
            edges.append(cuts)
            logs.append(_shrunk(seen, seen_prime))
        return Score(tuple(edges), tuple(logs))

    def extend(self, table: Floats) -> Floats:
        """The table with the score as its last column; ⊥ has the score of ⊥ alone."""
        total = np.zeros(len(table))
        for column, cuts, logs in zip(table.T, self.edges, self.logs, strict=True):
            total += np.where(np.isnan(column), 0.0, logs[_cells(np.nan_to_num(column), cuts)])
        return np.hstack([table, total[:, None]])


def _shrunk(seen: NDArray[np.int64], seen_prime: NDArray[np.int64]) -> Floats:
    """Logarithms of ratios of counts, less what may be chance: those within their standard error become 0."""
    logs = np.log((seen + 1) / (seen_prime + 1))
    variances = 1 / (seen + 1) + 1 / (seen_prime + 1)
    kept: Floats = logs * np.maximum(0.0, 1 - variances / np.maximum(logs**2, 1e-9))
    return kept


def _cuts(values: Floats, count: int) -> Floats:
    """Quantiles of the numbers among the values, each once."""
    known = np.sort(values[~np.isnan(values)])
    return np.unique(known[np.linspace(0, known.size - 1, count).astype(int)]) if known.size else known


def _cells(values: Floats, cuts: Floats) -> NDArray[np.int64]:
    """2i + 1 at cut i, and even numbers between the cuts: a value that many answers have is a cell of its own."""
    found: NDArray[np.int64] = np.searchsorted(cuts, values, "left") + np.searchsorted(cuts, values, "right")
    return found


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


def counted(events: Sequence[Event], table: Floats) -> NDArray[np.int64]:
    """How often each event happened: the same as `Event.hits`, with one sort a column."""
    found = np.empty(len(events), np.int64)
    columns = np.array([event.column for event in events])
    for j in np.unique(columns):
        values, here = np.sort(table[~np.isnan(table[:, j]), j]), np.flatnonzero(columns == j)
        low, high = (np.array([events[i][k] for i in here.tolist()]) for k in (1, 2))
        found[here] = np.searchsorted(values, high, "right") - np.searchsorted(values, low, "left")
    return found
