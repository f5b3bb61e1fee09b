"""Requests about one column: options as a `Question`, the data as a column of numbers, and its public number of rows.

Options are checked before any data is read. Times and durations are converted to ticks, and answers back to the form of
their column. Options that are times are checked once the type of the column is known.
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
from uptack.noise import Entropy, IntegerLaplace
from uptack.privacy import Adjacency
from uptack.registry.options import METHODS
from uptack.release import Advice, Noise
from uptack.table.memory.table import as_column
from uptack.table.protocol import Column
from uptack.table.reads import MEASURED
from uptack.table.values.entrance import HELD, field
from uptack.table.values.kinds import LARGEST
from uptack.table.values.times import UNITS, Form, ParsedTime, parse_time


def duration_of_word(step: Any) -> Any:
    """A step, as a duration if it is the name of one, such as "day"."""
    return timedelta(microseconds=UNITS[step]) if isinstance(step, str) and step in UNITS else step


def in_ticks(value: Any) -> Any:
    """A time or a duration as its ticks; anything else as it is."""
    time = parse_time(value)
    return value if time is None else time.ticks


TIME_WORDS = {"duration": "a duration", "clock": "a time without a zone", "utc": "a time with a zone"}


def check_times(options: Sequence[tuple[str, ParsedTime | None]], form: Form | None) -> None:
    """Refuse an option of another kind than the column, by its type."""
    for name, time in options:
        wanted = form if form is None or name != "granularity" else form.spread
        if form is None and time is not None:
            raise InvalidArgument(name, "a number for a column of numbers", TIME_WORDS[time.word])
        if form is not None and (time is None or not time.fits(wanted)):
            what = {"duration": "a duration, such as timedelta(hours=1),", "utc": "a time, such as date(2024, 2, 29),"}
            must = what.get(form.word, "a time without a zone")
            must = "a duration, such as 'day' or timedelta(hours=1)," if wanted != form else must
            got = "a number" if time is None else TIME_WORDS[time.word]
            raise InvalidArgument(name, f"{must} for a column of {form.plural}", got)


CENTURIES = (in_ticks("1900-01-01") * 1.0, in_ticks("2100-01-01") * 1.0)
"""The default `plausible` range of times. For a median of a year's dates at ε = 1, n = 110: 87% of draws are a reply,
and 52% without it."""

WORDS: dict[object, float | str | None] = {"error": None, "low": -LARGEST, "high": LARGEST, "drop": "drop"}
"""The replacement of a missing value, by its word."""


@dataclass(frozen=True)
class ShownNoise:
    """The noise of a number of ticks, in the form of its column."""

    noise: Noise
    ticks: Any
    form: Form

    @property
    def confidence(self) -> Rational:
        """The confidence that is shown: that of an interval that was paid for, if there is one."""
        return getattr(self.noise, "confidence", SHOWN)

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        low, high = self.noise.around(self.ticks, confidence)
        show = self.form.show
        if getattr(low, "ndim", 0) == 0:
            return show(float(low), -1), show(float(high), 1)
        return [show(float(end), -1) for end in low], [show(float(end), 1) for end in high]


def _in_form(form: Form, outcome: Outcome[Any]) -> Outcome[Any]:
    """An outcome in ticks, in the form of the column: post-processing."""
    if outcome.value is None:
        return outcome
    noise = None if outcome.noise is None else ShownNoise(outcome.noise, outcome.value, form)
    return replace(outcome, value=form.show_all(outcome.value), noise=noise)


def column(x: Any, question: Question, floats: bool = False, times: str = "") -> tuple[Column, Question]:
    """The data as a column of numbers without NaN or infinities, and the question with its granularity.

    Integer columns, by type, have a granularity of 1 unless they are read as `floats`. By default a value that is not a
    finite number is an error. With `missing` each such row is replaced on its own, NaN by the given value and ±inf by
    ±the largest float, which keeps neighbours neighbours.

    A column of times or durations becomes one of ticks (`uptack.table.values.times`). `times` says what an answer in
    ticks is: "place", a time, "spread", a duration, or "" if times are refused.
    """
    data = as_column("x", x, MEASURED)
    form = data.form
    if form is not None and not times:
        what, fix = HELD[form.kind]
        raise InvalidArgument("x", "a one-dimensional column of numbers", f"a column of {what}", fix)
    if form is not None or question.time_options:
        check_times(question.time_options, form)
    if form is not None:
        step = question.granularity if floats else question.granularity or form.step
        recent = form.kind == "time" and times == "place" and question.method == "inverse"
        guess = CENTURIES if recent and question.plausible is None else question.plausible
        shown = question.showing(partial(_in_form, form if times == "place" else form.spread))
        question = replace(shown, granularity=step, plausible=guess)
    relation, capped = question.adjacency, data.unit.at_most is not None
    if data.of_people != bool(relation.person):  # the registry ensures it; this is a second line of defence
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
            fix += " Numbers that are texts: pass pandas.to_numeric(x)."
        raise InvalidArgument("x", "free of NaN and infinities", "some", fix)
    return data, question


COUNT_SHARE = Fraction(1, 10)
"""The part of ε that goes into the number of rows if it is secret. With half as much, errors of means
at n = 3,000 are 19% larger; with twice as much, intervals are 9% longer (`benchmarks/constants.py`)."""

CAPPED_UNIT = "people's worth of rows"
"""The unit of size if rows weigh alike: rows over the most that one person has (`uptack.table.unit`)."""


def public_size(n: int, question: Question) -> tuple[int, Question]:
    """The public number of rows, and what is left of the budget.

    Under SUBSTITUTE it is n. Under ADD_REMOVE it is n with integer Laplace noise, at a tenth of ε; ranks and weights
    that are computed from it are then public constants, as the proofs for added and removed rows need them.

    It is noisy too if missing rows are dropped, also under SUBSTITUTE: there a replaced row may stay, appear or
    disappear. Each moves the number of rows by at most 1 and, at public ranks, every order statistic by at most one
    rank, so the reaches are those of the proofs.

    The noisy number has been paid for, and is released with the answer (`Account.bought`).
    """
    if not question.size_is_secret:
        return n, question
    share = question.epsilon * COUNT_SHARE
    law = IntegerLaplace(question.rows / share)
    noisy = noisy_size(n, law, question.allot(share))
    question.keep_size(noisy, law, CAPPED_UNIT if question.capped else "")
    return noisy, replace(question.allot(question.epsilon - share, question.delta), count=law)


def noisy_size(n: int, law: IntegerLaplace, account: Account) -> int:
    """A number of rows with noise of this law, at least 0. Spends all of the account."""
    return max(noisy_integer(n, law, account), 0)


def size_bounds(n: int, question: Question, failure: Fraction) -> tuple[int, int]:
    """Bounds of the true number of rows: n itself if it is public, else they fail with probability `failure`.

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
"""For up to so many quantiles a secret number of rows is not bought: the error of boxes, about m/ε ranks, is less."""

LEAST_SHARE = Fraction(1, 10**12)
"""The least share of rows on each side of a quantile, or of a cut: no table has enough rows for a smaller one."""


@dataclass(frozen=True)
class Question(Account):
    """A request about one column: the account that pays for it, with the method, and how the rows are read.

    `count` is the law of the noise in the number of rows, if that is secret and has been paid for. `at_most` is a
    public upper bound of the number of rows, if some may be left out. `capped` says that rows of people weigh alike, so
    that the size depends on how many they have. If the adjacency is by person, rows here are people. `time_options` are
    the options that may be times or durations.
    """

    method: str = "inverse"
    granularity: Fraction | None = None
    missing: float | str | None = None
    count: IntegerLaplace | None = None
    plausible: tuple[float, float] | None = None
    at_most: int | None = None
    capped: bool = False
    time_options: tuple[tuple[str, ParsedTime | None], ...] = ()

    @cached_property
    def size_is_secret(self) -> bool:
        """Whether the number of rows must not be known."""
        return self.missing == "drop" or self.capped or not self.adjacency.size_is_public

    @property
    def follows(self) -> bool:
        """Whether ranks may follow a secret number of rows: not if one person can move the two apart."""
        apart = self.capped and self.adjacency.size_is_public
        return self.size_is_secret and self.method == "inverse" and not apart

    def refuse(self, how: str, advice: Advice, why: str = "") -> Outcome[Any]:
        """⊥ with advice. `why` names the step that failed, in released numbers; it is shown if something was spent."""
        if self.spent:
            why = why or advice.why or f"there are too few {self.adjacency.unit} at this ε"
            advice = replace(advice, why=why, at=float(self.promised))
        if self.count is not None:  # the noisy number may be too small, and an advice on ε would use the true one
            room = self.count.cutoff(Fraction(1, 1000))
            advice = replace(advice, n=None if advice.n is None else advice.n + room, epsilon=None)
        return Outcome.refusal(how, replace(advice, valued=self.missing == "drop"))

    @property
    def count_noise(self) -> IntegerLaplace:
        """The law of the noise in the number of rows: as paid for, or for all of ε."""
        return self.count or IntegerLaplace(self.rows / self.epsilon)


def missing_value(value: object) -> float | str | None:
    """The replacement of NaN: None to refuse it, ±the largest float for "low" and "high", a number, or "drop"."""
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


def check_share(name: str, value: object, share: Fraction) -> None:
    """Refuse a share of rows that is too small for any table."""
    if share < LEAST_SHARE:
        must = f"a share that leaves at least {float(LEAST_SHARE)} of the rows on each side"
        raise InvalidArgument(name, must, checks.describe(value))


def level(name: str, value: object) -> Fraction:
    """The level of a quantile."""
    p = checks.inside_unit(name, value)
    check_share(name, value, min(p, 1 - p))
    return p


class Promises(TypedDict, total=False):
    """The guarantee of every release, beside ε.

    - `delta`: the δ of (ε, δ): 0 for `method="inverse"`; the other methods need some, such as 1e-6.
    - `rows_per_person`: how many rows one person may have (1).
    - `adjacency`: `SUBSTITUTE` (default; the number of rows is public) or `ADD_REMOVE` (it is secret).
    - `entropy`: the operating system's (default), or a `SeededEntropy` for tests.
    """

    delta: Rational
    rows_per_person: int
    adjacency: Adjacency
    entropy: Entropy | None


class GroupOptions(Promises, total=False):
    """Options about groups and people.

    - `by`: a column with the group of every row, for one answer per group. `groups` are the public groups, or None for
      unknown ones, which need δ. `share` is the part of ε that finds them. With `person=`, `groups_per_person` is the
      number of groups in which one person counts; without it, that is chosen privately. See `uptack.per_group`.
    - `person`: whose rows they are, a column of ids or a tuple of several. The release then protects people with all
      their rows, and people weigh alike. `per_person` first makes one number of each person's rows, and `order` says
      which is the last. See `uptack.registry.declaration`.
    """

    by: Any
    groups: Any
    share: Rational | None
    groups_per_person: int | None
    person: Any
    per_person: str | None
    order: Any


class MeanOptions(GroupOptions, total=False):
    """Options of a statistic of one column: those of `GroupOptions`, and

    - `missing`: what to do with NaN and infinities. "error" (default) raises an error. "low", "high" or a number
      replaces each of them. "drop" leaves such rows out; the number of rows is then secret.
    - `weights`: with `person=`, "rows" for rows that weigh alike, up to `at_most` per person.
    """

    missing: str | Rational
    weights: str | None
    at_most: int | None


class Options(MeanOptions, total=False):
    """Options of an order statistic: those of `Promises` and `MeanOptions`, and

    - `method`: "inverse" (default), "ptr" or "dwork-lei".
    - `granularity`: a public step. All values are multiples of it, and so is the answer; integer columns have 1. An
      answer of 20 at a step of 100 is rounded to 0. From 1e-75 to 1e75; for `method="inverse"` only.
    - `plausible`: a guess (low, high) of the range of values, not taken from the data. It is no bound: values outside
      are possible answers too. A good guess gets replies with fewer rows, a wrong one costs little
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
    plausible = step = None
    if guess is not None:
        must = "a pair of numbers (low, high), low below high"
        if not isinstance(guess, list | tuple | np.ndarray) or len(guess) != 2:
            raise InvalidArgument("plausible", must, checks.describe(guess))
        low, high = (checks.rational("plausible", in_ticks(end), must) for end in guess)
        if not low < high:
            raise InvalidArgument("plausible", must, checks.describe(guess))
        plausible = float(low), float(high)
    if granularity is not None:
        step = checks.positive("granularity", in_ticks(duration_of_word(granularity)))
        if not Fraction(1, 10**75) <= step <= 10**75:  # beyond, lattices hold no multiples of it, or only those
            fix = "Leave it out, or change the unit of x."
            raise InvalidArgument("granularity", "a number from 1e-75 to 1e+75", checks.describe(granularity), fix)
    if method != "inverse":
        checks.left_out("plausible", guess, "unless method='inverse'", "Only method='inverse' can use a guess.")
        fix = "The other methods add noise, so their answers are not multiples of a step."
        checks.left_out("granularity", granularity, "unless method='inverse'", fix)
    promised = {name: options[name] for name in Promises.__annotations__ if name in options}
    question = Question.open(name, epsilon, **promised)
    missing = options.get("missing", "error")
    replacement = missing_value(missing)
    times = [] if granularity is None else [("granularity", parse_time(duration_of_word(granularity)))]
    times += [] if guess is None else [("plausible", parse_time(end)) for end in guess]
    times += [] if isinstance(missing, str) and missing in WORDS else [("missing", parse_time(missing))]
    question = replace(question, method=method, granularity=step, missing=replacement)
    return replace(question, plausible=plausible, time_options=tuple(times))
