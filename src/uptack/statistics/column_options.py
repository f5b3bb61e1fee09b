"""What is asked of one column, checked before any data is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypedDict

import numpy as np

from uptack import checks
from uptack.account import Account, Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms.plausible_range import Lattice, Plausible
from uptack.noise import Entropy, IntegerLaplace, MachineNumbers
from uptack.privacy import Adjacency
from uptack.registry.options import METHODS
from uptack.release import Advice
from uptack.statistics.time_options import in_ticks, named_duration, read_time_options
from uptack.table.values.kinds import LARGEST
from uptack.table.values.times import Spoken, spoken

FOLLOWED = 11
"""Up to so many quantiles a secret number of rows is not bought: the error of boxes, about m/ε ranks, is less."""

STEPS = (Fraction(1, 10**75), Fraction(10**75))
"""The least and the most granularity: beyond, the lattices of candidates have no multiples of it, or nothing else."""

FINER = "Leave it out, or measure the column in other units."

LEAST_SHARE = Fraction(1, 10**12)
"""Rows that a quantile, or a cut, must leave on each side: no table has as many rows as a smaller share needs."""


@dataclass(frozen=True)
class Question:
    """What was asked of one column: an account to pay from, the method, and how the rows are read.

    `count` is the law of the noise in the number of rows, where that number is secret and has been paid for. `at_most`
    is a public number of rows where some may be left out: those that are left are secret, and not more. `capped` says
    that rows of people weigh alike, so that the size depends on how many they have. In all of this people stand for
    rows where the adjacency is one by person. `time_options` are the options that were given as times, durations or
    numbers.
    """

    account: Account
    method: str = "inverse"
    granularity: Fraction | None = None
    missing: float | str | None = None
    count: IntegerLaplace | None = None
    plausible: tuple[float, float] | None = None
    at_most: int | None = None
    capped: bool = False
    time_options: tuple[tuple[str, Spoken | None], ...] = ()

    @property
    def epsilon(self) -> Fraction:
        """What may be spent."""
        return self.account.epsilon

    @property
    def delta(self) -> Fraction:
        """The δ that may be spent."""
        return self.account.delta

    @property
    def adjacency(self) -> Adjacency:
        """Whom the release protects."""
        return self.account.adjacency

    @property
    def rows(self) -> int:
        """Rows per person: the ranks that one step moves."""
        return self.account.rows

    @property
    def size_is_secret(self) -> bool:
        """Whether the number of rows that the statistic is of depends on people."""
        return not self.adjacency.size_is_public or self.missing == "drop" or self.capped

    @property
    def follows(self) -> bool:
        """Whether ranks may follow a secret number of rows: not where one person moves it and them apart."""
        apart = self.capped and self.adjacency.size_is_public
        return self.size_is_secret and self.method == "inverse" and not apart

    def guessed(self, lattices: Sequence[MachineNumbers], spread: bool = False) -> tuple[Lattice, ...]:
        """Lattices of candidates with the guess of where values lie; for a `spread`, of how far apart they are."""
        if self.plausible is None:
            return tuple(lattices)
        low, high = self.plausible
        return tuple(Plausible(one, *((0.0, high - low) if spread else (low, high))) for one in lattices)

    def split(self, *shares: Rational) -> tuple[Question, ...]:
        """The same question with parts of its budget, which add up to all of it."""
        return tuple(replace(self, account=part) for part in self.account.split(*shares))

    def part(self, share: Rational) -> Question:
        """The same question with one part of its budget."""
        return replace(self, account=self.account.part(share))

    def worth(self, epsilon: Fraction, delta: Fraction = Fraction(0)) -> Question:
        """The same question with so much of its budget."""
        return replace(self, account=self.account.allot(epsilon, delta))

    def refuse(self, how: str, advice: Advice, why: str = "") -> Outcome[Any]:
        """⊥, and what would get a reply. `why` is the step that gave no answer, in released numbers: it is said where
        something was spent on it."""
        if self.account.spent:
            why = why or advice.why or f"the {how} gave no answer"
            advice = replace(advice, why=why, at=float(self.account.promised))
        if self.count is not None:
            advice = self._with_room_for_the_count(advice)
        return Outcome.refusal(how, advice)

    @property
    def count_noise(self) -> IntegerLaplace:
        """The law of the noise in the number of rows: as it was paid for, or as all of ε would buy it."""
        return self.count or IntegerLaplace(self.rows / self.epsilon)

    def _with_room_for_the_count(self, advice: Advice) -> Advice:
        """Advice where a tenth of ε is first spent on a noisy number of rows, which may come out too small.

        What ε would do is not said: it depends on a number of rows that is secret.
        """
        n = None if advice.n is None else advice.n + self.count_noise.cutoff(Fraction(1, 1000))
        return replace(advice, n=n, epsilon=None)


def _missing(value: object) -> float | str | None:
    """What stands in for NaN: None to refuse it, ±the largest float for "low" and "high", a number, or "drop"."""
    fixed = {"error": None, "low": -LARGEST, "high": LARGEST, "drop": "drop"}
    must = "'error', 'drop', 'low', 'high' or a number"
    checks.single("missing", value, must)
    if isinstance(value, str) and spoken(value) is None:
        if value not in fixed:
            raise InvalidArgument("missing", must, repr(value))
        return fixed[value]
    number = checks.rational("missing", in_ticks(value), must)
    if abs(number) > Fraction(LARGEST):
        raise InvalidArgument("missing", must, checks.describe(value), "For larger numbers pass 'low' or 'high'.")
    return float(number)


def _plausible(value: object) -> tuple[float, float]:
    """A guess of where values lie: two numbers in their order."""
    must = "a pair of numbers (low, high), low below high"
    if not isinstance(value, list | tuple | np.ndarray) or len(value) != 2:
        raise InvalidArgument("plausible", must, checks.describe(value))
    low, high = (checks.rational("plausible", in_ticks(end), must) for end in value)
    if not low < high:
        raise InvalidArgument("plausible", must, checks.describe(value))
    return float(low), float(high)


def _between(name: str, value: object, limits: tuple[Fraction, Fraction], fix: str = "") -> Fraction:
    """A positive number within public limits, which no data have a say in."""
    number, (least, most) = checks.positive(name, value), limits
    if not least <= number <= most:
        raise InvalidArgument(
            name, f"a number from {float(least):.0e} to {float(most):.0e}", checks.describe(value), fix
        )
    return number


def resolved(name: str, value: object, share: Fraction) -> None:
    """Refuses a share of rows that no table has a row in."""
    if share < LEAST_SHARE:
        must = f"a share that leaves at least {float(LEAST_SHARE)} of the rows on each side"
        raise InvalidArgument(name, must, checks.describe(value))


def level(name: str, value: object) -> Fraction:
    """The level of a quantile."""
    p = checks.inside_unit(name, value)
    resolved(name, value, min(p, 1 - p))
    return p


class Promises(TypedDict, total=False):
    """What every release promises beside ε.

    - `delta`: the chance that the guarantee fails: 0 for `method="inverse"`; the others need some, such as 1e-6.
    - `rows_per_person`: how many rows one person may own (1).
    - `adjacency`: `SUBSTITUTE` (default; the number of rows is public) or `ADD_REMOVE` (it is secret).
    - `entropy`: the operating system's (default), or a `SeededEntropy` for tests.
    """

    delta: Rational
    rows_per_person: int
    adjacency: Adjacency
    entropy: Entropy | None


class MeanOptions(Promises, total=False):
    """What a statistic of one column can be told.

    - `missing`: what to do with NaN and infinities. "error" (default) tells the curator. "low", "high" or a number
      takes the place of each such row. "drop" leaves rows without a value out; how many there are is then secret.
    - `by`: a column with the group of every row, for one answer per group. `groups` are the public groups, or None for
      unknown ones, which need δ. `share` is the part of ε that finds them. With `person=`, `groups_per_person` is in
      how many groups one person counts; without it, that is chosen privately. See `uptack.per_group`.
    - `person`: whose rows they are, a column of ids or a tuple of several. The release then protects people with all
      their rows, who weigh alike; with `weights="rows"` rows do, up to `at_most` per person. `per_person` makes one
      number of each person's rows first, and `order` says which is the last. See `uptack.registry.person_options`.
    """

    missing: str | Rational
    by: Any
    groups: Any
    share: Rational | None
    groups_per_person: int | None
    person: Any
    per_person: str | None
    weights: str | None
    at_most: int | None
    order: Any


class Options(MeanOptions, total=False):
    """What an order statistic can be told: all of `Promises` and `MeanOptions`, and

    - `method`: "inverse" (default), "ptr" or "dwork-lei".
    - `granularity`: a public step that all values are multiples of, and the answer will be; integer columns have 1 by
      themselves. With a step of 100 an answer of 20 comes out as 0. From 1e-75 to 1e75; for `method="inverse"` only.
    - `plausible`: a guess (low, high) of where the values lie, from knowledge and not from the data; no bounds, since
      values outside are answered too. A good guess gets replies with fewer rows, a wrong one costs little
      (`uptack.mechanisms.plausible_range`). For `method="inverse"` only.
    """

    method: str
    granularity: Rational | None
    plausible: tuple[Rational, Rational] | None


def read_question(name: str, epsilon: Rational, options: Mapping[str, Any]) -> Question:
    """The checked arguments of a release of one column. The registry has refused what the function does not have."""
    method, delta = options.get("method", "inverse"), options.get("delta", 0)
    if not isinstance(method, str) or method not in METHODS:
        raise InvalidArgument("method", "'inverse', 'ptr' or 'dwork-lei'", checks.describe(method))
    if method != "inverse":
        checks.inside_unit("delta", delta, f"method={method!r} needs δ > 0, such as 1e-6; 'inverse' does not.")
    granularity, guess = options.get("granularity"), options.get("plausible")
    plausible = None if guess is None else _plausible(guess)
    if plausible is not None and method != "inverse":
        fix = "Only method='inverse' can use a guess."
        raise InvalidArgument("plausible", "left out unless method='inverse'", checks.describe(guess), fix)
    step = None if granularity is None else _between("granularity", in_ticks(named_duration(granularity)), STEPS, FINER)
    if step is not None and method != "inverse":
        fix = "The other methods add noise, so their answers are not multiples of a step."
        raise InvalidArgument("granularity", "left out unless method='inverse'", checks.describe(granularity), fix)
    promised = {name: options[name] for name in Promises.__annotations__ if name in options}
    account = Account.open(name, epsilon, **promised)
    missing = _missing(options.get("missing", "error"))
    said = read_time_options(granularity, guess, options.get("missing", "error"))
    return Question(account, method, step, missing, plausible=plausible, time_options=said)
