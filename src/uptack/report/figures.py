"""The figures of a report: what each asks for, what it weighs, when the budget carries it, in the order of their worth.

Median and quartiles of a numeric column are one draw, and whatever can be worked out from them is
(`uptack.report.cards`). A figure is asked for only where public numbers, the rows and the ε that it
would have, say that a column would get a good answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from uptack.mechanisms.inverse_sensitivity import FAILURE, LATTICES
from uptack.session import Request
from uptack.statistics.joint_quantiles import CANDIDATES
from uptack.table.values.times import DAY, Form

CONFIDENCE = Fraction(95, 100)
CUT = Fraction(1, 10)
ORDINARY = 16
"""ln of all candidates over those near the answer for an ordinary column: 8 to 22 as measured."""

LEVELS = {
    "median": (Fraction(1, 2),),
    "quartiles": (Fraction(1, 4), Fraction(3, 4)),
    "tails": (Fraction(1, 20), Fraction(19, 20)),
}
"""The levels of quantiles. Median and quartiles are one draw. Tails are another: they need more rows, and whether they
get a reply should not decide whether the median does."""

WORTH = ("median", "counts", "quartiles", "tails", "interval", "density", "trimmed mean")
"""Figures in the order of their worth. Where the budget can't carry all, the last ones are left out first."""

FEW_VALUES = 64
"""Integers in so narrow a range are counted one by one, and drawn as bars, in place of a density."""

NARROWEST, RESOLVED = 1e-70, 1e-9
"""A box for a density is wider than this, and than this part of the numbers at its ends."""


@dataclass(frozen=True)
class Asked:
    """What a request is made from: the column, what it may spend, where values are guessed to be, and what is known.

    `released` are the quantiles of the column by their levels, in ticks for times and durations, which `form` shows;
    empty in a plan, where what is asked stands for any question of the same cost.
    """

    name: str
    kind: str
    epsilon: Fraction
    delta: Fraction
    plausible: tuple[Any, Any] | None
    levels: tuple[Fraction, ...]
    released: Mapping[Fraction, float]
    form: Form | None = None
    keys: tuple[Any, ...] = ()


Ask = Callable[[Asked], Request]


def quantiles(asked: Asked) -> Request:
    """All levels of a column in one draw."""
    guess = {} if asked.plausible is None else {"plausible": asked.plausible}
    return Request("quantile", asked.name, epsilon=asked.epsilon, p=list(asked.levels), **guess)


def tails(asked: Asked) -> Request:
    """Both tails of a column in one draw."""
    return quantiles(replace(asked, levels=LEVELS["tails"]))


def interval(asked: Asked) -> Request:
    """An interval for the population's median, around the released one."""
    near: Any = asked.released.get(Fraction(1, 2), 0.0)
    if asked.form is not None:
        near = asked.form.show(near)
    return Request("quantile_interval", asked.name, epsilon=asked.epsilon, p=Fraction(1, 2), around=near)


def trimmed_mean(asked: Asked) -> Request:
    """The mean without a tenth of the rows at each end."""
    return Request("trimmed_mean", asked.name, epsilon=asked.epsilon, cut=CUT)


def density(asked: Asked) -> Request:
    """The density over a range that the released quantiles suggest; for few integers how many rows each has.

    For times: how many rows there are in each month of that range, or in another unit of the calendar.
    """
    low, high = box(asked.released)
    if asked.form is not None:
        ends = [asked.form.show(low, -1), asked.form.show(high if asked.released else float(DAY), 1)]
        every = unit(high - low)
        return Request("histogram", asked.name, epsilon=asked.epsilon, edges=ends, every=every)
    if asked.kind == "integer" and high - low < FEW_VALUES:
        keys = list(range(math.ceil(low), math.floor(high) + 1))
        return Request("histogram", asked.name, epsilon=asked.epsilon, keys=keys)
    return Request("fourier_density", asked.name, epsilon=asked.epsilon, low=low, high=high)


def unit(width: float) -> str:
    """The shortest unit of the calendar, from days on, of which a range of so many ticks has up to about forty."""
    lengths = {"day": DAY, "week": 7 * DAY, "month": 30 * DAY}
    return next((every for every, length in lengths.items() if width <= 40 * length), "year")


def box(released: Mapping[Fraction, float]) -> tuple[float, float]:
    """Where a density is drawn: from tail to tail and a quarter beyond, or twice the quartiles' range beyond them."""
    if not released:
        return 0.0, 1.0
    values = sorted(released.values())
    beyond = Fraction(1, 4) if len(values) > 3 else 2
    spread = values[-1] - values[0]
    return values[0] - float(beyond) * spread, values[-1] + float(beyond) * spread


def seen(released: Mapping[Fraction, float]) -> tuple[float, float]:
    """What a picture shows of that box: nothing below 0 where no released quantile is, as for ages and counts."""
    low, high = box(released)
    return (0.0 if low < 0 <= min(released.values(), default=-1) else low), high


def drawable(released: Mapping[Fraction, float]) -> bool:
    """Whether a density can be drawn over that box: wide enough for floats to tell points of it apart."""
    if not released:
        return False
    low, high = box(released)
    width, largest = high - low, max(abs(low), abs(high))
    return NARROWEST < width < math.inf and width > largest * RESOLVED


def counts(asked: Asked) -> Request:
    """How often the truth values occur, or the public categories, or whatever categories there are."""
    if asked.kind == "boolean" or asked.keys:
        keys = list(asked.keys) or [False, True]
        return Request("histogram", asked.name, epsilon=asked.epsilon, keys=keys)
    return Request("histogram", asked.name, epsilon=asked.epsilon, delta=asked.delta)


@dataclass(frozen=True)
class Draw:
    """A release of a report: its relative ε, and the request.

    `weight` says how much ε it gets where the quantiles of a column get 1.
    """

    label: str
    weight: Fraction
    ask: Ask


DRAWS = {
    "quantiles": Draw("quantiles", Fraction(1), quantiles),
    "interval": Draw("interval", Fraction(3, 4), interval),
    "tails": Draw("tails", Fraction(3, 4), tails),
    "density": Draw("density", Fraction(1, 3), density),
    "trimmed mean": Draw("trimmed mean", Fraction(1, 2), trimmed_mean),
    "counts": Draw("counts", Fraction(1, 3), counts),
}

TRUTH = Fraction(1, 8)
"""The weight of the counts of two truth values."""


def least_epsilon(figure: str, rows: int) -> float:
    """The ε of a figure's draw from which on a column of so many rows gets a good answer.

    For order statistics: the steps that stay inside the rows, times ε/2, outweigh ⊥ and all candidates far from the
    answer (`uptack.mechanisms.inverse_sensitivity`): whatever the data, or for the median alone in an ordinary column.
    The ends of an interval should stay between the quartiles. A density should be more than noise.
    """
    refusal = -math.log(FAILURE) + math.log(200)  # ⊥ is drawn once in 200 times at most
    if figure == "median":
        return 2 * (refusal + ORDINARY) / _room(rows, LEVELS[figure][0])
    if figure in LEVELS:
        dimension = 3 if figure == "quartiles" else len(LEVELS[figure])
        return 2 * (refusal + dimension * math.log(CANDIDATES[-1].size)) / _room(rows, min(LEVELS[figure]))
    if figure == "trimmed mean":
        return 2 * (refusal + math.log(LATTICES[-1].size)) / _room(rows, CUT)
    return {"interval": 1200.0, "density": 1000.0}.get(figure, 0.0) / max(rows, 1)


def _room(rows: int, share: Fraction) -> float:
    """Steps that stay inside the rows beyond a quantile, less what is rounded up elsewhere."""
    return max(float(share * rows) - 4, 1e-9)
