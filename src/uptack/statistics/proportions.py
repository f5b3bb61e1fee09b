"""The share of rows that are true, with an exact interval for the population."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from uptack.account import Outcome
from uptack.exact import Rational, read
from uptack.grouping import per_group
from uptack.mechanisms.integer_noise import noisy_sums
from uptack.noise import IntegerLaplace
from uptack.privacy import Privacy
from uptack.reach.protocol import Floats
from uptack.registry import release
from uptack.release import NoReply, Release
from uptack.statistics.column_input import column
from uptack.statistics.column_options import MeanOptions, read_question
from uptack.statistics.order_statistic_errors import secret_size
from uptack.table.reads import COLUMN

MOST = 5_000
"""Values of the noise that are added up one by one."""

FORGOTTEN = 1e-12
"""The chance of larger noise, which counts in full."""


def true_and_false(x: Floats) -> list[int]:
    """How many rows are above 0, and how many are not."""
    true = int(np.count_nonzero(x > 0))
    return [true, x.size - true]


@dataclass(frozen=True)
class ProportionInterval:
    """The interval of Clopper and Pearson (1934) for a binomial count B with noise Z of a known law.

    **Theorem.** Let y = B + Z be seen, B binomial with n rows and share p, Z independent of it. The interval of all p
    with P(B + Z ≥ y) > α/2 and P(B + Z ≤ y) > α/2 covers p with a probability of at least 1 - α: the one tail rises
    with p and the other falls, so each end misses with at most α/2. Where n is secret, it is between two numbers but
    for α/10; the rest of α is used for both ends, the lower one with the most rows and the upper one with the fewest,
    as both tails move one way with n. ∎

    **People with up to g rows** (`each`), which may have anything to do with each other: B is a sum over people of at
    most g each. In convex order it is at most g·B', B' binomial with ⌈n/g⌉ and p, since copies are the least
    independent that rows can be. By Bentkus (2004, *On Hoeffding's inequalities*, Annals of Probability 32) P(B ≥ h) is
    then at most e·P(B' ≥ ⌊h/g⌋), which takes the place of P(B ≥ h) in both tails.
    """

    true: int
    rows: int
    law: IntegerLaplace
    secret: bool
    each: int = 1

    def around(self, value: Any, confidence: Rational) -> tuple[float, float]:
        """For the share in the population."""
        failing = 1 - read(confidence)
        fewest = most = self.rows
        if self.secret:
            off = 2 * (self.law.cutoff(failing / 40) - 1)  # of either count, but for α/20 each
            fewest, most, failing = max(self.rows - off, 0), max(self.rows + off, 0), failing * Fraction(9, 10)
        side, y = float(failing / 2), self.true
        low = _crossing(lambda p: self._at_least(y, most, p) > side) if most else 0.0
        high = 1 - _crossing(lambda p: self._at_least(fewest - y, fewest, p) > side) if fewest else 1.0
        return min(low, float(value)), max(high, float(value))

    def _at_least(self, y: int, n: int, p: float) -> float:
        """P(B + Z ≥ y). The noise is symmetric, so the other tail is that of n - B with 1 - p."""
        import scipy

        z, chances = _noise(self.law)
        beyond = scipy.stats.binom.sf((y - z) // self.each - 1, -(-n // self.each), p)
        beyond = beyond if self.each == 1 else np.minimum(math.e * beyond, 1.0)
        return float((chances * beyond).sum()) + FORGOTTEN


@lru_cache(maxsize=32)
def _noise(law: IntegerLaplace) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Values of the noise and their chances, but for `FORGOTTEN`. Where there are very many, each stands for all from
    the one before it on: the larger noise makes P(B + Z ≥ y) larger, and an interval wider.
    """
    most = law.cutoff(FORGOTTEN)
    step = -(-(2 * most + 1) // MOST)
    ends = np.arange(-most - 1, most + step, step)
    q = math.exp(-1 / float(Fraction(law.scale)))
    above = q ** np.abs(ends.astype(np.float64) + (ends > -1)) / (1 + q)  # beyond an end: P(Z > z), or P(Z ≤ z) below 0
    up_to = np.where(ends > -1, 1 - above, above)
    return ends[1:], np.diff(up_to)


def _crossing(holds: Callable[[float], bool]) -> float:
    """The largest p known not to fulfil a condition that larger ones do; 0 where all do."""
    low, high = 0.0, 1.0
    if holds(low):
        return 0.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low


def _within(given: Mapping[str, Any], cost: Privacy, rows: int) -> str:
    """How far off, with 95% confidence, where the number of rows is public."""
    if secret_size(given, cost) or not rows:
        return ""
    off = IntegerLaplace(cost.adjacency.rows_per_person / cost.exact_epsilon).cutoff(Fraction(1, 40)) - 1
    return f"within {100 * off / rows:.2g} percentage points of the rows' own share"


@release(reads=COLUMN, by=per_group, plan=_within, people="each")
def proportion(x: Any, *, epsilon: Rational, **options: Unpack[MeanOptions]) -> Release[float] | NoReply:
    """The share of rows that are true, which for numbers is above 0, with an interval for the population.

    **Theorem.** ε-differentially private. Where the number of rows is public, a replaced row moves the number of true
    ones by at most 1, and it has integer Laplace noise. Where it is secret, the numbers of true and of other rows both
    have noise; a row that comes or goes moves one of them by 1, and a replaced one each by 1. Up to `rows_per_person`
    times as much for people with several. There is always a reply.

    `result.interval(0.95)` is exact: see `uptack.statistics.proportions.ProportionInterval`. It does not take rows of
    one person to be independent of each other. With `missing="low"` rows without a value are not true, with "high" they
    are.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> found = proportion(np.arange(1000) < 120, epsilon=1, entropy=SeededEntropy(1))
    >>> found.value, [round(end, 3) for end in found.interval(0.95)]
    (0.119, [0.099, 0.141])
    """
    question = read_question("proportion", epsilon, options)
    data, question = column(x, question)
    secret = question.size_is_secret
    moved = 2 if secret and question.adjacency.size_is_public else 1
    law = IntegerLaplace(moved * question.rows / question.epsilon)
    true, false = data.sum(true_and_false)
    noisy = noisy_sums([true, false] if secret else [true], law, question.account)
    rows = noisy[0] + noisy[1] if secret else data.count()
    if secret:
        question.account.bought(rows, law, times=2)
    value = min(max(noisy[0] / max(rows, 1), 0.0), 1.0)
    noise = ProportionInterval(noisy[0], max(rows, 0), law, secret, question.rows)
    return question.account.close(Outcome(value, "integer noise on counts", noise))
