"""The share of rows, or of people, that are true or have some value, with an exact interval for the population."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.account import Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational, bisect, read
from uptack.grouping import per_group
from uptack.mechanisms.additive_noise import noisy_sums
from uptack.noise import IntegerLaplace
from uptack.privacy import Privacy
from uptack.reach.l_statistics import Floats
from uptack.registry import release
from uptack.release import NoReply, Release
from uptack.statistics.column_options import GroupOptions, MeanOptions, Question, column, read_question
from uptack.statistics.statistic import secret_size
from uptack.table.conditions import conditions
from uptack.table.memory.table import as_column
from uptack.table.protocol import Column, Weights
from uptack.table.reads import SHARES
from uptack.table.unit import Integers, PrivacyUnit, roomy
from uptack.table.values.entrance import HELD, Field
from uptack.table.values.kinds import NUMBERS
from uptack.table.values.times import TIMED

MOST = 5_000
"""Terms in a sum over the law of the noise."""

TAIL_ERROR = 1e-12
"""The probability of larger noise, which is added to every tail."""


def true_and_false(lines: Floats, weights: Weights) -> list[int]:
    """Of one column the number of rows above 0 and of the others, or the units of both."""
    (x,) = lines
    if weights is None:
        hits = int(np.count_nonzero(x > 0))
        return [hits, x.size - hits]
    units = roomy(weights)
    hits = int(units[x > 0].sum())
    return [hits, int(units.sum()) - hits]


@dataclass(frozen=True)
class ProportionInterval:
    """The interval of Clopper and Pearson (1934) for a binomial count B with noise Z of a known law.

    **Theorem.** Let y = B + Z be seen, B binomial with n rows and share p, Z independent of it. The interval of all p
    with P(B + Z ≥ y) > α/2 and P(B + Z ≤ y) > α/2 covers p with a probability of at least 1 - α: the one tail rises
    with p and the other falls, so each end misses with at most α/2. ∎

    **Where n is secret** the other rows are counted as well, with noise of the same law. Let c be the cutoff with
    P(Z ≥ c) ≤ α/16. But for α/8 at each end, the true rows are at least y - c + 1 where the others are at most
    rows - y + c - 1, and the other way round. The interval of a count without noise, at 1 - 3α/4, has a lower end that
    rises with the true rows and falls with the others. So it is taken at these two numbers, whose sum is again `rows`,
    and the upper end at the mirrored ones. ∎

    **Blocks of up to g rows** (`each`) that may depend on each other: the rows of one person where `rows_per_person` is
    g, and the g = U units of a person (`uptack.table.unit`), whose share of true rows is any number between 0 and 1. B
    is a sum over people of at most g each. In convex order it is at most g·B', B' binomial with ⌈n/g⌉ and p. By Bentkus
    (2004, *On Hoeffding's inequalities*, Annals of Probability 32) P(B ≥ h) is then at most e·P(B' ≥ ⌊h/g⌋), which
    takes the place of P(B ≥ h) in both tails. Where n is secret, the blocks of true rows are rounded down and those of
    others up, with one more for the block that is cut: so the end moves one way with both of them, as above.
    """

    true: int
    rows: int
    law: IntegerLaplace
    secret: bool
    each: int = 1

    def around(self, value: Any, confidence: Rational) -> tuple[float, float]:
        """For the share in the population."""
        failing = 1 - read(confidence)
        if self.secret:
            off, side = self.law.cutoff(failing / 16) - 1, float(failing * Fraction(3, 8))
            low = self._end(self.true - off, self.rows - self.true + off, side)
            high = 1 - self._end(self.rows - self.true - off, self.true + off, side)
        else:
            side = float(failing / 2)
            low = _least_share(lambda p: self._at_least(self.true, p) > side) if self.rows else 0.0
            high = 1 - _least_share(lambda p: self._at_least(self.rows - self.true, p) > side) if self.rows else 1.0
        return min(low, float(value)), max(high, float(value))

    def _end(self, true: int, others: int, side: float) -> float:
        """The lower end of the interval without noise, for at least so many true rows and at most so many others."""
        g = self.each
        hits, rest = max(true, 0) // g, -(-max(others, 0) // g) + (g > 1)
        factor, starts = (1.0 if g == 1 else math.e), np.array([hits])
        return _least_share(lambda p: factor * float(binomial_tails(starts, hits + rest, p)[0]) > side) if hits else 0.0

    def _at_least(self, y: int, p: float) -> float:
        """P(B + Z ≥ y). The noise is symmetric, so the other tail is that of n - B with 1 - p."""
        z, chances = _noise_law(self.law)
        beyond = binomial_tails((y - z) // self.each, -(-self.rows // self.each), p)
        beyond = beyond if self.each == 1 else np.minimum(math.e * beyond, 1.0)
        return float((chances * beyond).sum()) + TAIL_ERROR


WIDE = 9
"""Standard deviations beyond which binomial tails are below 1e-17, with WIDE² more for small counts (Bernstein)."""


def binomial_tails(starts: NDArray[np.int64], n: int, p: float) -> NDArray[np.float64]:
    """P(B ≥ start) for each start, B binomial with n and p: sums of probabilities around the mean, which add up to 1.

    >>> binomial_tails(np.array([-1, 0, 1, 2, 3]), 2, 0.5)
    array([1.  , 1.  , 0.75, 0.25, 0.  ])
    """
    if not 0 < p < 1:
        return (starts <= (n if p >= 1 else 0)).astype(np.float64)
    reach = WIDE * math.sqrt(n * p * (1 - p)) + WIDE**2
    low, high = max(math.floor(n * p - reach), 0), min(math.ceil(n * p + reach), n)
    k = np.arange(low, high, dtype=np.float64)
    logs = np.append(0.0, np.cumsum(np.log((n - k) / (k + 1)) + math.log(p / (1 - p))))
    chances = np.exp(logs - logs.max())
    tails = np.append(np.cumsum(chances[::-1])[::-1] / chances.sum(), 0.0)
    return tails[np.clip(starts - low, 0, high - low + 1)]


@lru_cache(maxsize=32)
def _noise_law(law: IntegerLaplace) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Values of the noise and their chances, but for `TAIL_ERROR`. Where there are very many, each stands for all from
    the one before it on: the larger noise makes P(B + Z ≥ y) larger, and an interval wider.
    """
    most = law.cutoff(TAIL_ERROR)
    step = -(-(2 * most + 1) // MOST)
    ends = np.arange(-most - 1, most + step, step)
    rate = 1 / float(Fraction(law.scale))
    beyond = np.exp(-rate * np.abs(ends.astype(np.float64) + (ends > -1)))
    above = beyond / (1 + math.exp(-rate))  # P(Z > z), or P(Z ≤ z) below 0
    up_to = np.where(ends > -1, 1 - above, above)
    return ends[1:], np.diff(up_to)


def _least_share(holds: Callable[[float], bool]) -> float:
    """The largest p known not to fulfil a condition that larger ones do; 0 where all do."""
    return 0.0 if holds(0.0) else bisect(holds, 0.0, 1.0, halvings=50)[0]


def _error_bound(given: Mapping[str, Any], cost: Privacy, rows: int) -> str:
    """How far off, with 95% confidence, where the number of rows is public."""
    if secret_size(given, cost) or not rows:
        return ""
    off = IntegerLaplace(cost.adjacency.rows_per_person / cost.exact_epsilon).cutoff(Fraction(1, 40)) - 1
    return f"within {100 * off / rows:.2g} percentage points of the rows' own share"


def indicator(x: Any, equals: Any, above: Any) -> Column:
    """1 for rows that count and 0 for others, by the declared type of the column and the options alone."""
    data = as_column("x", x, None, "a one-dimensional column")
    if equals is not None:
        checks.left_out("above", above, "where equals= is given")
    if equals is None and above is None:
        if data.kind != "boolean":
            must = "a column of truth values unless equals= or above= is given"
            fix = "Pass equals=, the value or values to count (1 for a column of 0 and 1), or above=, a number."
            names = {"integer": "integers", "number": "numbers", "any": "Python objects"}
            what = names[data.kind] if data.kind in names else HELD[data.kind][0]
            raise InvalidArgument("x", must, f"a column of {what}", fix)
        equals = True
    several = isinstance(equals, list | tuple | set | frozenset | np.ndarray)
    if several and any(value is None for value in equals):
        raise InvalidArgument("equals", "values other than None", "None", "missing= says what becomes of such rows.")
    tested = (">", above) if equals is None else ("in" if several else "==", equals)
    try:
        forms = {} if data.form is None else {data.name: data.form}
        (condition,) = conditions({data.name: tested}, {data.name: data.kind}, forms)
    except InvalidArgument as error:
        raise InvalidArgument("above" if equals is None else "equals", error.must, error.got) from None
    return data.meeting(condition)


@release(
    reads=SHARES,
    by=per_group,
    plan=_error_bound,
    people="share",
    examples=({"above": 0}, {"equals": 1, "missing": "drop"}),
)
def proportion(
    x: Any, *, epsilon: Rational, equals: Any = None, above: Any = None, **options: Unpack[MeanOptions]
) -> Release[float] | NoReply:
    """The proportion of rows that are True, or have a given value, with an interval for the population.

    In a column of truth values the rows that are True count. For any other column `equals=` is the value that counts,
    or a list of values, and `above=` a number that values must exceed. Without either such a column is refused: if it
    is coded 1 = yes, 2 = no, every row would be "true".

    With `person=` the estimand is the mean over people of the share of their rows that count: people weigh alike.
    `per_person="any"` is the share of people with at least one such row, and `per_person="last"` the share of people
    whose last row, by `order=`, is one.

    **Theorem.** ε-differentially private. Let each row have one unit, or each person U of them, spread over her rows
    (`uptack.table.unit`). If the number of rows or people is public, replacing one moves the units of true rows by
    at most one row's, or one person's, and they have integer Laplace noise. If it is secret, the units of true and of
    other rows both have noise; an added or removed row or person moves both together by at most that, and a replaced
    one by twice as much. Up to `rows_per_person` times as much for people with several rows. There is always a reply.

    `result.interval(0.95)` is exact: see `uptack.statistics.proportions.ProportionInterval`. It does not take rows of
    one person to be independent of each other. With `missing="low"` rows without a value don't count, with "high" they
    do, and with "drop" they are left out.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> result = proportion(np.arange(1000) < 120, epsilon=1, entropy=SeededEntropy(1))
    >>> result.value, [round(end, 3) for end in result.interval(0.95)]
    (0.119, [0.099, 0.141])
    >>> proportion(np.array(["yes", "no"] * 500), equals="yes", epsilon=1, entropy=SeededEntropy(1)).value
    0.499
    """
    question = read_question("proportion", epsilon, options)
    data, question = column(indicator(x, equals, above), question)
    true, false = data.rows.sum(true_and_false)
    count = 0 if question.size_is_secret else data.count()
    notes: tuple[str, ...] = ()
    if data.of_people and data.own is None:
        notes = ("Mean over people of the share of their rows that count. Every person has the same weight.",)
    elif data.of_people and data.own is not None:
        which = "whose last row counts" if data.own.how == "last" else "with at least one row that counts"
        notes = (f"Share of people {which}.",)
    return _noisy_share(true, false, question.size_is_secret, count, data.unit.most, question, notes)


def _noisy_share(
    true: int, false: int, secret: bool, count: int, most: int, question: Question, notes: tuple[str, ...] = ()
) -> Release[float] | NoReply:
    """The share of units that are true. `count` is the public number of rows, or of people, each of `most` units."""
    unit, moved = most * question.rows, 2 if secret and question.adjacency.size_is_public else 1
    law = IntegerLaplace(moved * unit / question.epsilon)
    noisy = noisy_sums([true, false] if secret else [true], law, question)
    rows = noisy[0] + noisy[1] if secret else count * most
    if secret:
        size = IntegerLaplace(moved * question.rows / question.epsilon)
        question.keep_size(round(rows / most), size, times=2)
    value = min(max(noisy[0] / max(rows, 1), 0.0), 1.0)
    noise = ProportionInterval(noisy[0], max(rows, 0), law, secret, unit)
    return question.close(Outcome(value, "integer noise on counts", noise, notes=notes))


@release(reads=SHARES, by=per_group, plan=_error_bound, people="share", page="proportion", missing=None)
def completeness(x: Any, *, epsilon: Rational, **options: Unpack[GroupOptions]) -> Release[float] | NoReply:
    """The proportion of rows that have a value, in a column of any type, with an interval for the population.

    NaN, None and cells that do not fit the column's type are missing values. With `person=` it is the mean over people
    of the share of their rows that have one, or with `per_person="any"` the share of people who have at least one.

    **Theorem.** ε-differentially private: the proportion of rows with a value (`proportion`).

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> completeness(np.where(np.arange(1000) < 120, np.nan, 1.0), epsilon=1, entropy=SeededEntropy(1)).value
    0.879
    """
    question = read_question("completeness", epsilon, options)
    data = as_column("x", x, None, "a one-dimensional column")
    own = data.own
    if own is not None and own.how != "max":
        raise InvalidArgument("per_person", "'mean' or 'any' for completeness", repr(own.how))
    base = data.table.column(data.name)
    unit = data.table.unit if own is None else PrivacyUnit(data.table.unit.ids, "any", 1)
    there = base.floats() if base.kind in NUMBERS else base
    question.begin()
    (present,) = base.table.with_unit(unit).cells(there, _missing_codes, 1)
    public = question.adjacency.size_is_public
    whole = base.table.size if public else base.table.trues(None)
    return _noisy_share(int(present), whole * unit.most - int(present), not public, whole, unit.most, question)


def _missing_codes(values: Field) -> Integers:
    """0 for rows that have a value, and -1 for those that have none."""
    if values.kind in TIMED:
        missing: Any = values.ticks()[1]
    elif values.kind not in NUMBERS:
        levels, codes = values.codes()
        missing = np.array([one is None for one in levels], bool)[codes]
    else:
        numbers, gaps = values.numbers()
        missing = np.isnan(numbers) if numbers.dtype.kind == "f" else np.zeros(values.size, bool)
        missing = missing if gaps is None else missing | gaps
    return np.where(missing, -1, 0)
