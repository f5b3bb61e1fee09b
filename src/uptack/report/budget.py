"""How a total budget is divided over the figures of a table: by public numbers and the schema alone.

All draws of a report are fixed before the first of them runs, so they are composed tightly
(`uptack.privacy.fair_budget`): with δ > 0 fifteen columns get 1.6 times the ε each that an even split would give them.
The regression is paid for by itself, since it is one large release.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from uptack import checks
from uptack.data.protocol import form_of, known
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.privacy import Privacy, tight
from uptack.privacy.fair_budget import fair_scale
from uptack.privacy.loss import Loss
from uptack.release import NoReply
from uptack.report.beside import Beside, beside
from uptack.report.figures import DRAWS, LEVELS, TRUTH, WORTH, Asked, Draw, least_epsilon
from uptack.session import Request, Session
from uptack.table.schema import Said
from uptack.table.values.kinds import NUMERIC
from uptack.table.values.times import TIMED, Form

COUNTED = ("text", "any")
"""Kinds whose categories nobody listed beforehand: texts, and columns without a declared type."""

SECRET_ROWS = 10_000
"""What the number of rows is taken for where it is secret: it decides which figures are asked for, and nothing else."""


@dataclass(frozen=True)
class Part:
    """What is asked of one column: its figures, and `unit`, the ε of a draw of weight 1.

    `refusals` are draws that public numbers refuse: they are not made, and what they would cost goes to the others.
    """

    name: str
    kind: str
    share: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)
    plausible: tuple[Any, Any] | None = None
    figures: tuple[str, ...] = ()
    unit: Fraction = Fraction(0)
    refusals: Mapping[str, NoReply] = field(default_factory=dict, hash=False, compare=False)
    form: Form | None = None
    keys: tuple[Any, ...] = ()

    @property
    def alike(self) -> tuple[Any, ...]:
        """What decides, together with the unit, what its draws do to the data."""
        return self.kind == "boolean", self.form is None, self.share, self.delta, self.figures, tuple(self.refusals)

    @property
    def numeric(self) -> bool:
        """Whether it is a column of numbers, times or durations."""
        return self.kind in ("integer", "number", *TIMED)

    @property
    def countable(self) -> bool:
        """Whether its categories can be counted: those of a text, unless a schema has them, need some δ."""
        return self.kind == "boolean" or (self.kind in COUNTED and (self.delta > 0 or bool(self.keys)))

    @property
    def possible(self) -> tuple[str, ...]:
        """The figures that a column of its kind can have, in the order of their worth."""
        never = ("counts", "density") if self.kind == "duration" else ("counts",)
        return tuple(f for f in WORTH if (f not in never if self.numeric else f == "counts" and self.countable))

    @property
    def skipped(self) -> str:
        """Why nothing is released; "" where something is."""
        if self.numeric or self.countable:
            return ""
        if self.kind in COUNTED:
            return "Counting categories that nobody listed beforehand needs δ > 0: pass --delta 1e-6, or list them."
        return f"Columns of type {self.kind} are not reported."

    @property
    def levels(self) -> tuple[Fraction, ...]:
        """The levels of the quantiles that are drawn together: the median, and the quartiles if it has them."""
        return tuple(sorted(p for figure in ("median", "quartiles") if figure in self.figures for p in LEVELS[figure]))

    @property
    def draws(self) -> tuple[Draw, ...]:
        """Its releases, in the order in which they are made."""
        asked = [name for name in DRAWS if name in self.figures or (name == "quantiles" and self.levels)]
        return tuple(DRAWS[name] for name in asked)

    def epsilon(self, draw: Draw) -> Fraction:
        """What a draw may spend."""
        weight = TRUTH if self.kind == "boolean" else draw.weight
        return self.unit * self.share * weight

    def request(self, draw: Draw, released: Mapping[Fraction, float] | None = None) -> Request:
        """The release of a draw, given the quantiles of its column that have been released."""
        rest = (self.delta, self.plausible, self.levels, released or {})
        return draw.ask(Asked(self.name, self.kind, self.epsilon(draw), *rest, form=self.form, keys=self.keys))

    def lacks(self, figure: str, rows: int) -> float:
        """How many times its budget a figure needs: at most 1 where the budget carries it."""
        draw = DRAWS.get(figure, DRAWS["quantiles"])
        return least_epsilon(figure, rows) / float(self.epsilon(draw))


@dataclass(frozen=True)
class Division:
    """A report that has been planned: its parts, what they cost together, and what there is beside them."""

    parts: tuple[Part, ...]
    budget: Privacy
    price: Privacy
    beside: tuple[Beside, ...] = ()
    rows: int = SECRET_ROWS

    def requests(self) -> list[Request]:
        """Everything that will be asked for."""
        asked = [part.request(draw) for part in self.parts for draw in part.draws if draw.label not in part.refusals]
        return [*asked, *(one.request for one in self.beside if one.request is not None)]

    def left_out(self) -> dict[str, list[str]]:
        """The columns that each figure is left out of, since the budget does not carry it."""
        lacking = {f: [p.name for p in self.parts if f in p.possible and f not in p.figures] for f in WORTH}
        return {figure: names for figure, names in lacking.items() if names}


def divide(
    session: Session,
    epsilon: Rational,
    delta: Rational = 0,
    *,
    columns: Sequence[str] | None = None,
    shares: Mapping[str, Rational] | None = None,
    target: str | None = None,
    correlations: bool = False,
    plausible: Mapping[str, tuple[Any, Any]] | None = None,
    rough: bool = False,
) -> Division:
    """The figures of a report, and what each may spend: (ε, δ) is the budget of all of them together.

    Figures are taken in the order of `WORTH`, each for all columns at once, as long as the budget carries it and all
    that were taken before. Columns are weighed by `shares`, 1 for each that is not named. Half of δ goes to counts of
    unknown categories, where there are such, and the rest to tight composition. `rough` finds which figures are taken,
    and prices nothing.
    """
    whole, slack = checks.epsilon(epsilon), checks.delta("delta", delta)
    parts = _parts(session, slack, columns, shares or {}, plausible or {})
    others = beside(session, whole, target, correlations)
    left = whole - sum(one.cost.exact_epsilon for one in others if one.cost is not None)
    budget = Privacy(left, slack, session.adjacency)
    taking = _Taking(session, budget, rough)
    found = taking.all(parts)
    trees = losses(session, found)
    price = tight(trees, slack, session.adjacency) if trees and not rough else Privacy(0, 0, session.adjacency)
    return Division(tuple(found), Privacy(whole, slack, session.adjacency), price, others, taking.rows)


def losses(session: Session, parts: Sequence[Part]) -> list[Loss]:
    """What all draws of the columns do to the data, in their order. Columns that are asked alike lose alike."""
    alike: dict[Any, list[Loss]] = {}

    def of(part: Part) -> list[Loss]:
        key = (part.alike, part.unit)
        if key not in alike:
            draws = [draw for draw in part.draws if draw.label not in part.refusals]
            alike[key] = [session.loss_of(part.request(draw)) for draw in draws]
        return alike[key]

    return [tree for part in parts for tree in of(part)]


def planned_rows(session: Session) -> int:
    """The number of rows by which figures are chosen: public, or a fixed one."""
    return session.source.rows if session.adjacency.size_is_public else SECRET_ROWS


def _parts(
    session: Session,
    delta: Fraction,
    columns: Sequence[str] | None,
    shares: Mapping[str, Rational],
    plausible: Mapping[str, tuple[Any, Any]],
) -> list[Part]:
    kinds = session.source.columns
    names = tuple(kinds) if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)
    for name in (*names, *shares):
        known(name, kinds)
    for name in plausible:
        known(name, kinds, (*NUMERIC, *TIMED))
    listed = {name: session.schema.levels(name) if kinds[name] == "text" else () for name in names}
    careful = sum(kinds[name] in COUNTED and not listed[name] for name in names)
    each = delta / (2 * careful) if careful else Fraction(0)
    parts = [
        Part(
            name,
            kinds[name],
            checks.positive(f"share of {name}", shares.get(name, 1)),
            each if kinds[name] in COUNTED and not listed[name] else Fraction(0),
            plausible.get(name) or session.schema.plausible(name),
            form=form_of(session.source, name),
            keys=listed[name],
        )
        for name in names
    ]
    if all(part.skipped for part in parts):
        raise InvalidArgument(
            "columns", "at least one that can be reported", "none", "See uptack.open(...).describe()."
        )
    return parts


@dataclass(frozen=True)
class _Taking:
    """Figures are taken one after the other, as long as the budget carries them."""

    session: Session
    budget: Privacy
    rough: bool

    @property
    def rows(self) -> int:
        return planned_rows(self.session)

    def all(self, parts: Sequence[Part]) -> list[Part]:
        """Where the budget carries all figures together, it carries each of them with those before it: units shrink."""
        taken = self._scaled([replace(part, figures=part.possible) for part in parts], rough=True)
        if len(self._carried(taken)) < sum(len(part.figures) for part in taken):
            taken = list(parts)
            for figure in WORTH:
                taken = self._one_more(taken, figure)
        return taken if self.rough else self._scaled(self._refused(taken), rough=False)

    def _refused(self, parts: Sequence[Part]) -> list[Part]:
        """The parts without what public numbers refuse; whatever is wrong with a request is found here, too.

        A part that is asked as another one was, which was refused nothing, is refused nothing either. But plausible
        values that somebody said may be wrong, and are looked at for each: 1 and True are the same to a comparison.
        """
        free: list[tuple[Any, ...]] = []
        found = []
        for part in parts:
            asked = (part.kind, part.alike, part.form, self.session.schema.columns.get(part.name, Said()).granularity)
            if part.plausible is not None or asked not in free:
                lines = self.session.plan(part.request(draw) for draw in part.draws).releases
                made = zip(part.draws, lines, strict=True)
                part = replace(part, refusals={d.label: line.refusal for d, line in made if line.refusal is not None})
                free += [] if part.refusals else [asked]
            found.append(part)
        return found

    def _one_more(self, parts: list[Part], figure: str) -> list[Part]:
        """The parts with one figure more, where it and all before are carried. The first of a column is always."""
        first = [p for p in parts if figure in p.possible and not p.figures]
        wanted = [p.name for p in parts if figure in p.possible]
        while wanted:
            tried = [replace(p, figures=(*p.figures, figure)) if p.name in wanted else p for p in parts]
            tried = self._scaled(tried, rough=True)
            if first:
                return tried
            worse = self._carried(parts) - self._carried(tried)
            poor = [p.name for p in tried if p.name in wanted and p.lacks(figure, self.rows) > 1]
            if not poor and not worse:
                return tried
            if not poor:
                return parts
            wanted = [name for name in wanted if name not in poor]
        return parts

    def _carried(self, parts: list[Part]) -> set[tuple[str, str]]:
        return {(p.name, figure) for p in parts for figure in p.figures if p.lacks(figure, self.rows) <= 1}

    def _scaled(self, parts: list[Part], rough: bool) -> list[Part]:
        """The parts with the largest unit at which all their draws together are within the budget."""
        if not losses(self.session, parts):
            return parts

        kinds = Counter(part.alike for part in parts)
        first = {part.alike: part for part in reversed(parts)}

        def build(scale: Fraction) -> list[Loss]:
            found = [(losses(self.session, [replace(first[kind], unit=scale)]), times) for kind, times in kinds.items()]
            return [tree for trees, times in found for tree in trees * times]

        unit = fair_scale(build, self.budget, rough)
        return [replace(part, unit=unit) for part in parts]
