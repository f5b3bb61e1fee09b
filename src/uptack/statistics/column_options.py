"""What is asked of one column: options as a `Question`, the data as a column of numbers, and its public number of rows.

Options are checked before any data is read. Times and durations are ticks inside, and are shown in the form of their
column; options that are given as times are compared with the column when its type is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, TypedDict

import numpy as np

from uptack import checks
from uptack.account import Account, Outcome
from uptack.display.numbers import SHOWN
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms.additive_noise import noisy_integer
from uptack.mechanisms.plausible_range import Lattice, Plausible
from uptack.noise import Entropy, IntegerLaplace, MachineNumbers
from uptack.privacy import Adjacency
from uptack.registry.options import METHODS
from uptack.release import Advice, Noise
from uptack.table.arguments import MEASURED, as_column
from uptack.table.protocol import Column
from uptack.table.values.entrance import HELD, field
from uptack.table.values.kinds import LARGEST
from uptack.table.values.times import UNITS, Form, ParsedTime, parse_time


def named_duration(step: Any) -> Any:
    """A step that may be the name of a duration, such as "day"."""
    return timedelta(microseconds=UNITS[step]) if isinstance(step, str) and step in UNITS else step


def in_ticks(value: Any) -> Any:
    """A time or a duration as its ticks; anything else as it is."""
    time = parse_time(value)
    return value if time is None else time.ticks


TIME_WORDS = {"duration": "a duration", "clock": "a time without a zone", "utc": "a time with a zone"}


def check_times(options: Sequence[tuple[str, ParsedTime | None]], form: Form | None) -> None:
    """Refuses an option of another kind than the column: by what was said, and by the column's type."""
    for name, said in options:
        wanted = form if form is None or name != "granularity" else form.spread
        if form is None and said is not None:
            raise InvalidArgument(name, "a number for a column of numbers", TIME_WORDS[said.word])
        if form is not None and (said is None or not said.fits(wanted)):
            what = {"duration": "a duration, such as timedelta(hours=1),", "utc": "a time, such as date(2024, 2, 29),"}
            must = what.get(form.word, "a time without a zone")
            must = "a duration, such as 'day' or timedelta(hours=1)," if wanted != form else must
            got = "a number" if said is None else TIME_WORDS[said.word]
            raise InvalidArgument(name, f"{must} for a column of {form.held}", got)


CENTURIES = (in_ticks("1900-01-01") * 1.0, in_ticks("2100-01-01") * 1.0)
"""What is plausible of a time if nobody says. For a median of a year's dates at ε = 1, n = 110: 87% of draws are a
reply, and 52% without it."""

WORDS: dict[object, float | str | None] = {"error": None, "low": -LARGEST, "high": LARGEST, "drop": "drop"}
"""What stands in for a missing value, by its word."""


@dataclass(frozen=True)
class ShownNoise:
    """What is known of the error of a number of ticks, shown as the value is."""

    noise: Noise
    ticks: Any
    form: Form

    @property
    def confidence(self) -> Rational:
        """The confidence of what is shown: the one that an interval was paid for at, where it was."""
        return getattr(self.noise, "confidence", SHOWN)

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        """The ends, rounded outward to what the form can show."""
        low, high = self.noise.around(self.ticks, confidence)
        if getattr(low, "ndim", 0) == 0:
            return self.form.show(float(low), -1), self.form.show(float(high), 1)
        return [self.form.show(float(end), -1) for end in low], [self.form.show(float(end), 1) for end in high]


def _in_form(form: Form, outcome: Outcome[Any]) -> Outcome[Any]:
    """An outcome in ticks, in the form of the column: post-processing."""
    if outcome.value is None:
        return outcome
    noise = None if outcome.noise is None else ShownNoise(outcome.noise, outcome.value, form)
    return replace(outcome, value=form.shown(outcome.value), noise=noise)


def column(x: Any, question: Question, floats: bool = False, times: str = "") -> tuple[Column, Question]:
    """The data as a column of numbers without NaN or infinities, and the question with its granularity.

    Integer columns have a granularity of 1 by themselves, unless they are to be read as `floats`: that is their type,
    not their content. By default a value that is not a finite number is an error for the curator to see. With `missing`
    each such row is replaced on its own, NaN by the value asked for and ±inf by ±the largest float, which keeps
    neighbours neighbours.

    A column of times or durations is one of ticks from here on (`uptack.table.values.times`). `times` says what an
    answer in ticks is: "place", a moment among the rows, "spread", a duration, or "" where ticks are of no use.
    """
    data = as_column("x", x, MEASURED)
    form = data.form
    if form is not None and not times:
        what, fix = HELD[form.kind]
        raise InvalidArgument("x", "a one-dimensional column of numbers", f"a column of {what}", fix)
    if form is not None or question.time_options:
        check_times(question.time_options, form)
    if form is not None:
        question = _in_ticks(question, form, times, floats)
    relation, capped = question.account.adjacency, data.unit.at_most is not None
    if data.of_people != bool(relation.person):  # the registry has seen to it; nothing else may get through
        must = "by person for people's data, and only for them"
        raise InvalidArgument("adjacency", must, str(relation), "Pass person=.")
    question = replace(question, capped=capped)
    if floats:
        data = data.floats()
    elif data.integers:
        question = replace(question, granularity=question.granularity or Fraction(1))
    if question.missing == "drop":
        known = data.table.size if relation.size_is_public and not capped else None
        return data.drop(), replace(question, at_most=known)
    if isinstance(question.missing, float):
        return data.filled(question.missing), question
    if not data.finite():
        what = "number" if form is None else "time"
        fix = f"Pass missing='drop', or 'low', 'high' or a {what} to replace each such row."
        if form is None and not isinstance(x, Column) and field("x", x).kind == "any":
            fix += " Times need a type: pass numpy.array(x, 'datetime64[us]') or pandas.to_datetime(x)."
        raise InvalidArgument("x", "free of NaN and infinities", "some", fix)
    return data, question


def _in_ticks(question: Question, form: Form, times: str, floats: bool) -> Question:
    """The same question in ticks, whose answer is shown in the form of the column, or as a duration.

    Without `plausible` times are guessed to be recent: `CENTURIES`.
    """
    account = question.account.showing(partial(_in_form, form if times == "place" else form.spread))
    step = question.granularity if floats else question.granularity or form.step
    moments = form.kind == "time" and times == "place" and question.method == "inverse"
    guess = CENTURIES if moments and question.plausible is None else question.plausible
    return replace(question, account=account, granularity=step, plausible=guess)


COUNT_SHARE = Fraction(1, 10)
"""The part of ε that goes into the number of rows where it is secret."""

CAPPED_UNIT = "people's worth of rows"
"""What is counted where rows weigh alike: rows over the most that one person has (`uptack.table.unit`)."""


def public_size(n: int, question: Question) -> tuple[int, Question]:
    """The number of rows as everybody may know it, and what is left of the budget.

    Under SUBSTITUTE it is n. Under ADD_REMOVE it is n with integer Laplace noise, at a tenth of ε; ranks and weights
    that are worked out from it are then public constants, as the proofs for added and removed rows need them.

    The same where missing rows are dropped, also under SUBSTITUTE: there a replaced row may be one that stays, one that
    comes or one that goes. Each moves the number of rows by at most 1 and, at public ranks, every order statistic by at
    most one rank, so the reaches are those of the proofs.

    The noisy number is an outcome that has been paid for, and comes with the answer (`Account.bought`).
    """
    if not question.size_is_secret:
        return n, question
    share = question.epsilon * COUNT_SHARE
    law = IntegerLaplace(question.rows / share)
    noisy = noisy_size(n, law, question.account.allot(share))
    question.account.bought(noisy, law, CAPPED_UNIT if question.capped else "")
    return noisy, replace(question.worth(question.epsilon - share, question.delta), count=law)


def noisy_size(n: int, law: IntegerLaplace, account: Account) -> int:
    """A number of rows with noise of this law, at least 0. Spends all of the account."""
    return max(noisy_integer(n, law, account), 0)


def size_bounds(n: int, question: Question, failure: Fraction) -> tuple[int, int]:
    """Between which numbers the true number of rows lies: surely where n is public, else but for `failure`.

    With t the least integer with P(z ≥ t) ≤ failure/2, and so P(|z| ≥ t) ≤ failure, it is within t - 1 of n.
    """
    if not question.size_is_secret:
        return n, n
    off = question.count_noise.cutoff(failure / 2) - 1
    return max(n - off, 0), n + off


def least_n(holds: Callable[[int], bool]) -> int:
    """The number of rows from which on a public condition holds, to within one part in a thousand."""
    high = 1
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > max(1, high // 1000):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


MOST_FOLLOWED = 11
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
    time_options: tuple[tuple[str, ParsedTime | None], ...] = ()

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
        return self.account.adjacency.rows_per_person

    @cached_property
    def size_is_secret(self) -> bool:
        """Whether the number of rows that the statistic is of depends on people."""
        return self.missing == "drop" or self.capped or not self.account.adjacency.size_is_public

    @property
    def follows(self) -> bool:
        """Whether ranks may follow a secret number of rows: not where one person moves it and them apart."""
        if not self.size_is_secret or self.method != "inverse":
            return False
        return not (self.capped and self.adjacency.size_is_public)

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
        if self.count is not None:  # it may come out too small; and what ε would do depends on a secret number
            room = self.count.cutoff(Fraction(1, 1000))
            advice = replace(advice, n=None if advice.n is None else advice.n + room, epsilon=None)
        return Outcome.refusal(how, replace(advice, valued=self.missing == "drop"))

    @property
    def count_noise(self) -> IntegerLaplace:
        """The law of the noise in the number of rows: as it was paid for, or as all of ε would buy it."""
        return self.count or IntegerLaplace(self.rows / self.epsilon)


def missing_value(value: object) -> float | str | None:
    """What stands in for NaN: None to refuse it, ±the largest float for "low" and "high", a number, or "drop"."""
    if isinstance(value, str) and value in WORDS:
        return WORDS[value]
    must = "'error', 'drop', 'low', 'high' or a number"
    checks.single("missing", value, must)
    if isinstance(value, str) and parse_time(value) is None:
        raise InvalidArgument("missing", must, repr(value))
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
      number of each person's rows first, and `order` says which is the last. See `uptack.registry.options`.
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
    missing = options.get("missing", "error")
    replacement = missing_value(missing)
    times = [] if granularity is None else [("granularity", parse_time(named_duration(granularity)))]
    times += [] if guess is None else [("plausible", parse_time(end)) for end in guess]
    times += [] if isinstance(missing, str) and missing in WORDS else [("missing", parse_time(missing))]
    return Question(account, method, step, replacement, plausible=plausible, time_options=tuple(times))
