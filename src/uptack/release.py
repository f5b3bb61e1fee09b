"""What a private computation returns: a value with its cost, or ⊥ with its cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, NoReturn, Protocol, Self, TypeVar

import numpy as np

from uptack import checks
from uptack.display import Ends, FigureTable, PlottedValue, Record, Tabular, of_value
from uptack.display.numbers import SHOWN, between, is_number, json_value, number
from uptack.display.numbers import plain as _python
from uptack.display.plots import dots, levels
from uptack.display.tabular import STAMP
from uptack.errors import InvalidArgument, NoInterval, NoReplyError, UptackError
from uptack.exact import Rational
from uptack.labels import json_text, lines
from uptack.privacy import Privacy, RandomPrivacy
from uptack.privacy.loss import Loss

T = TypeVar("T")
WITH_INTERVAL = ("median", "quantile", "median_difference", "quantile_difference")
"""Functions with the option `interval`, which releases an interval for a part of ε."""
LONG = 6
"""A vector or a mapping of more entries than this is shown as a table."""


class Noise(Protocol):
    """What a reader may know about the error of a released value."""

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        """Bounds that cover the estimated quantity with this confidence, separately for each coordinate."""
        ...


class SizeLaw(Protocol):
    """The law of the noise in a number of rows."""

    def cutoff(self, failure: Rational) -> int:
        """The least t with P(z ≥ t) ≤ failure."""
        ...


@dataclass(frozen=True)
class NoisySize:
    """A noisy number of rows or people, which a release needed to compute its value.

    It was paid for as a part of the release, so showing it is post-processing and costs nothing more. It contains
    `times` draws of noise from one law, and is at least 0.
    """

    value: int
    law: SizeLaw
    unit: str = "rows"
    times: int = 1

    def interval(self, confidence: Rational = SHOWN) -> tuple[int, int]:
        """An interval for the true number, at this confidence.

        Let t be the least integer with P(z ≥ t) ≤ α/2k. Each of the k draws is within t - 1 except with probability
        α/k, so their sum is within k(t - 1) except with probability α. Raising a negative sum to 0 does not move it
        away from the true number.
        """
        failing = 1 - checks.inside_unit("confidence", confidence)
        off = self.times * (self.law.cutoff(failing / (2 * self.times)) - 1)
        return max(self.value - off, 0), self.value + off

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON, with the interval of 95%."""
        return {"value": self.value, "interval": list(self.interval()), "unit": self.unit}

    def __int__(self) -> int:
        return self.value

    def __str__(self) -> str:
        return f"about {number(self.value)} {self.unit} ({100 * SHOWN:g}%: {between(self.interval(), 0.0)})"

    def __repr__(self) -> str:
        return f"NoisySize({self})"


@dataclass(frozen=True)
class EachNoise:
    """The noise of a vector whose coordinates were released one by one."""

    parts: tuple[Noise | None, ...]

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        if any(part is None for part in self.parts):
            raise NoInterval("the error of some coordinate depends on the data, so there is no interval for it")
        ends = [part.around(v, confidence) for part, v in zip(self.parts, value, strict=True) if part is not None]
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


def _price(privacy: Privacy | RandomPrivacy) -> Record:
    """The cost of a release, as entries of a record."""
    values = privacy.to_dict()
    return {"epsilon": values.get("epsilon"), "delta": values.get("delta")}


@dataclass(frozen=True, eq=False)
class Release(Tabular, Generic[T]):
    """A value that may be published, with what it cost and how it was made.

    `private` is False if the noise came from a seeded source. Such a value must not be published. `rows` is the noisy
    number of rows behind the value, if the release needed one, as with `missing="drop"`; else None. `labels` are the
    public names of the entries of a vector, such as the levels of quantiles.
    """

    value: T
    privacy: Privacy | RandomPrivacy
    mechanism: str
    loss: Loss
    noise: Noise | None = None
    private: bool = True
    notes: tuple[str, ...] = ()
    rows: NoisySize | None = None
    labels: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.value, np.ndarray):  # a read-only copy
            object.__setattr__(self, "value", self.value.copy())
            self.value.setflags(write=False)

    def __bool__(self) -> Literal[True]:
        return True

    def unwrap(self) -> T:
        """The value. (On ⊥ the same call raises `NoReplyError`.)"""
        return self.value

    def __getitem__(self, key: Any) -> Any:
        """An entry of the value: of several quantiles by its place, of counts or groups by its name."""
        return self.value[key]  # type: ignore[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)  # type: ignore[call-overload,no-any-return]

    def __float__(self) -> float:
        return float(self.value)  # type: ignore[arg-type]

    def __format__(self, form: str) -> str:
        """The value in this form, as in f"{answer:.1f}"; "" is the whole answer, as it prints."""
        return format(self.value, form) if form else str(self)

    def interval(self, confidence: Rational = 0.95) -> tuple[Any, Any]:
        """An interval for the value without noise, at this confidence. It accounts for the privacy noise only.

        If the release was made with an interval for the population, that interval is returned. For a vector, each
        coordinate has its own interval, and each holds with this confidence. For groups there is a mapping of lower
        ends and one of upper ends; they are None for a group without a reply.
        """
        checks.inside_unit("confidence", confidence)
        parts = self._parts()
        if self.noise is None and parts:
            pairs = [part.interval(confidence) if part else (None, None) for part in parts.values()]
            lows, highs = (dict(zip(parts, ends, strict=True)) for ends in zip(*pairs, strict=True))
            return lows, highs
        if self.noise is None:
            raise NoInterval(
                f"there is no interval, because the error depends on the data ({self.mechanism}). "
                f"For {', '.join(WITH_INTERVAL[:-1])} and {WITH_INTERVAL[-1]}, pass interval=0.95"
            )
        low, high = self.noise.around(self.value, confidence)
        return _python(low), _python(high)

    def _parts(self) -> Mapping[Any, Any]:
        """The replies of which the value consists, such as those of groups; nothing if it is one value."""
        each = self.value if isinstance(self.value, Mapping) else {}
        return each if all(isinstance(part, Release | NoReply) for part in each.values()) else {}

    def summary(self) -> str:
        """The figures, their intervals, the cost and the notes, as text. A value that describes itself is asked first.

        >>> from uptack.privacy.loss import Pure
        >>> print(Release(12.5, Privacy(1), "median", Pure(1)).summary())
        median
        value
         12.5
        ε = 1.0 (substitute)
        """
        own = getattr(self.value, "summary", None)
        if own is None:
            return self.table().text()
        stamp = [] if self.private else [STAMP]
        return "\n".join([own(), str(self.privacy), *self.notes, *stamp])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "reply": True,
            "value": json_value(self.value),
            "mechanism": self.mechanism,
            "privacy": self.privacy.to_dict(),
            "private": self.private,
            "notes": list(self.notes),
            "rows": None if self.rows is None else self.rows.to_dict(),
        }

    def to_json(self, **options: Any) -> str:
        """The same as a JSON text; options go to `json.dumps`."""
        return json_text(self.to_dict(), **options)

    def named(self, *names: Any) -> Self:
        """The same release, with other names for the last entries of its value, such as the columns of a design.

        >>> from uptack.privacy.loss import Pure
        >>> fit = Release(np.array([1.0, 2.5]), Privacy(1), "regression", Pure(1), labels=("intercept", "x0"))
        >>> fit.named("age").labels
        ('intercept', 'age')
        """
        if len(names) > len(self.labels):
            raise InvalidArgument("names", f"at most {len(self.labels)}, one per entry", f"{len(names)} of them")
        return replace(self, labels=(*self.labels[: len(self.labels) - len(names)], *names))

    def records(self) -> list[Record]:
        """One record per figure: its name, `value`, `low` and `high`, `epsilon`, `delta` and `note`.

        `epsilon` and `delta` are the cost of the whole release, not of each record.
        """
        cost = {**_price(self.privacy), "note": " ".join(self.notes)}
        beside: Mapping[str, Any] = getattr(self.noise, "beside", dict)()  # further columns, such as standard errors
        figures = of_value(self.value, self.interval_at_hand()[0], self.labels)
        return [{**one, **cost, **one, **{k: v[i] for k, v in beside.items()}} for i, one in enumerate(figures)]

    def table(self) -> FigureTable:
        ends, percent = self.interval_at_hand()
        figures = of_value(self.value, ends, self.labels)
        notes = [str(self.privacy), *([] if self.rows is None else [str(self.rows)]), *self.notes]
        return FigureTable.of(figures, self.mechanism, notes, percent=percent, private=self.private)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """A picture of the value, with intervals where it has them. Returns the axes.

        It needs matplotlib: `pip install "uptack[plots]"`. Further arguments go to the value's own `plot`.
        """
        if isinstance(self.value, PlottedValue):
            return self.value.plot(ax, **{"interval": self.interval_at_hand()[0]} | style)
        if hasattr(self.value, "plot"):
            return self.value.plot(ax=ax, **style)
        if not isinstance(self.value, np.ndarray) or self.value.ndim != 1 or self.value.dtype.kind not in "iuf":
            raise UptackError(f"a {self.mechanism} has no plot; print the value instead")
        lines = of_value(self.value, self.interval_at_hand()[0], self.labels)
        names, ends = [one["figure"] for one in lines], [[one[end] for one in lines] for end in ("low", "high")]
        draw = levels if self.labels and all(map(is_number, names)) else dots
        ax = draw(names, self.value.tolist(), ends, ax, **style)
        ax.set_xlabel("quantile" if draw is levels else "value")
        return ax

    def interval_at_hand(self) -> tuple[Ends, str]:
        """The interval that is shown, at no cost, and its confidence in percent: 95%, or that of the release.

        The figures of groups have intervals of their own, all at one confidence.
        """
        noises: tuple[Any, ...] = (self.noise, *(part.noise for part in self._parts().values()))
        confidence = next((noise.confidence for noise in noises if hasattr(noise, "confidence")), SHOWN)
        percent = f"{100 * float(confidence):g}%"
        try:
            return self.interval(confidence), percent
        except UptackError:
            return None, percent

    def __str__(self) -> str:
        return repr(self) if hasattr(self.value, "grid") else self.summary()

    def __repr__(self) -> str:
        value, grid = self.value, hasattr(self.value, "grid")  # counts by pairs, which are a table of their own
        entries = value.size if isinstance(value, np.ndarray) else len(value) if isinstance(value, Mapping) else 1
        if entries > LONG and not grid:
            return f"Release: {self.table().text()}"
        if grid:
            below = [str(self.privacy), *self.notes, *([] if self.private else [STAMP])]
            return "\n".join([f"Release: {lines(self.mechanism)}", repr(self.value), *below])
        stamp = "" if self.private else ", NOT PRIVATE: seeded randomness"
        return lines(f"Release({_python(self.value)!r}, {self.mechanism}, {self.privacy}{stamp})")


@dataclass(frozen=True)
class Advice:
    """What would give a reply, computed from public and released numbers only. Any one of the changes is enough.

    It always includes more rows or another question. A larger ε is never the only option. If the ⊥ was paid for, `why`
    names the step that gave no answer, and `at` is the ε that n is meant for: what counts is the product n·ε.
    """

    n: int | None = None
    epsilon: float | None = None
    delta: float | None = None
    other: str = ""
    why: str = ""
    at: float | None = None
    valued: bool = False
    """Whether n counts the rows that have a value: others were dropped."""
    unit: str = "rows"
    """What n counts: "rows" or "people", of one group where it says so."""

    def __post_init__(self) -> None:
        if self.n is None and not self.other:
            must = "given, or `other`, since a larger ε must not be the only advice"
            raise InvalidArgument("n", must, "None", "State how many rows are enough.")

    def __str__(self) -> str:
        product = "" if self.product is None else f" (n·ε ≈ {number(self.product)})"
        ways = [
            self.rows_text + product,
            f"ε ≥ {self.epsilon:.3g}" if self.epsilon is not None else "",
            f"δ ≥ {self.delta:.3g}" if self.delta is not None else "",
            self.other,
        ]
        return ", or ".join(way for way in ways if way)

    @property
    def rows_text(self) -> str:
        """How many rows would be enough, in words; "" where no number of rows is known to be."""
        which = " with a value" if self.valued else ""
        return "" if self.n is None else f"at least {self.n:,} {self.unit}{which}"

    @property
    def product(self) -> float | None:
        """The least n·ε for a reply, if it is known."""
        return None if self.n is None or self.at is None else float(f"{self.n * self.at:.3g}")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        ways = {"n": self.n, "epsilon": self.epsilon, "delta": self.delta, "other": self.other}
        return {**ways, "why": self.why, "n_epsilon": self.product}


@dataclass(frozen=True, eq=False)
class NoReply(Tabular):
    """⊥: no reply. It holds the cost of the attempt, and nothing about the data.

    >>> reply = NoReply(Privacy(0), "median", None, Advice(n=200, epsilon=2.5))
    >>> reply
    ⊥ (median, ε = 0.0 (substitute); a reply needs at least 200 rows, or ε ≥ 2.5)
    >>> bool(reply), reply.value
    (False, None)
    """

    privacy: Privacy | RandomPrivacy
    mechanism: str
    loss: Loss | None
    advice: Advice
    private: bool = True
    value: None = field(default=None, init=False)

    def __bool__(self) -> Literal[False]:
        return False

    @property
    def reason(self) -> str:
        """Which step gave no answer, if anything was spent on it, and what would give a reply."""
        why = f"{self.advice.why}; " if self.advice.why else ""
        return f"{why}a reply needs {self.advice}"

    noise = rows = None
    notes: tuple[str, ...] = ()
    labels: tuple[Any, ...] = ()

    def summary(self, *names: Any, **options: Any) -> str:
        """⊥, its cost, and what would give a reply."""
        return self.table().text()

    def lines(self, *names: Any, **options: Any) -> list[str]:
        """The same, line by line."""
        return self.summary().splitlines()

    def named(self, *names: Any) -> Self:
        """The same ⊥: there are no entries to name."""
        return self

    def unwrap(self, *_: Any, **__: Any) -> NoReturn:
        """Raises `NoReplyError`: there is no value, so no entry of it, no interval around it and nothing to draw."""
        raise NoReplyError(self)

    __getitem__ = __float__ = interval = plot = unwrap

    def __format__(self, form: str) -> str:
        """ "⊥" in any form of a number; "" is the whole answer, as it prints."""
        return "⊥" if form else str(self)

    def interval_at_hand(self) -> tuple[Ends, str]:
        """No interval: there is no value."""
        return None, ""

    def records(self) -> list[Record]:
        """One line without a value. The note says what would give a reply."""
        note = f"no reply: {self.reason}"
        return [{"value": None, "low": None, "high": None, **_price(self.privacy), "note": note}]

    def table(self) -> FigureTable:
        notes = (self.reason, str(self.privacy))
        return FigureTable(self.mechanism, ("value",), (("⊥ (no reply)",),), notes, private=self.private)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "reply": False,
            "value": None,
            "mechanism": self.mechanism,
            "privacy": self.privacy.to_dict(),
            "private": self.private,
            "advice": self.advice.to_dict(),
        }

    def to_json(self, **options: Any) -> str:
        """The same as a JSON text; options go to `json.dumps`."""
        return json_text(self.to_dict(), **options)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return lines(f"⊥ ({self.mechanism}, {self.privacy}; {self.reason})")
