"""How a total budget is divided over the figures of a table: by public numbers and the schema alone.

All draws of the columns are fixed before the first of them runs, so they are composed tightly
(`uptack.privacy.fair_budget`): with δ > 0 fifteen columns get 1.6 times the ε each that an even split would give them.
Sections are paid for by themselves, since each is one large release.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import uptack.report.sections  # noqa: F401  (they register themselves)
from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.privacy import Privacy, tight
from uptack.privacy.fair_budget import fair_scale
from uptack.privacy.guarantee import total
from uptack.privacy.loss import Approximate, Loss
from uptack.report.cards import FIGURES, card_of
from uptack.report.cards.category_card import CATEGORIES
from uptack.report.column import ColumnDraw, ColumnFigure, Part
from uptack.report.section import SectionPlan, plan_section, registered
from uptack.session import Request, Session
from uptack.table.names import known
from uptack.table.values.kinds import NUMERIC
from uptack.table.values.times import TIMED

SECRET_ROWS = 10_000
"""What the number of rows is taken for where it is secret: it decides which figures are asked for, and nothing else."""


@dataclass(frozen=True)
class DrawLosses:
    """What draws do to the data, at most, for any ε of theirs. Columns that are asked alike lose alike.

    A request is completed once and priced at many ε, since the search for the largest unit tries many.
    """

    session: Session
    _by_draw: dict[Any, Callable[[Fraction], Loss]] = field(default_factory=dict)

    def of(self, part: Part, draw: ColumnDraw) -> Loss:
        """The loss of a draw: what `Session.loss_of` says of its request."""
        key = (part.card.name, part.delta, draw.label, part.read_off(draw))
        if key not in self._by_draw:
            self._by_draw[key] = self._at(replace(part, unit=Fraction(1)).request(draw))
        return self._by_draw[key](part.epsilon(draw))

    def _at(self, request: Request) -> Callable[[Fraction], Loss]:
        """The loss of a request at any ε in place of its own."""
        full, relation, rows = self.session.complete(request), self.session.adjacency, self.session.source.size
        spends, given, delta, own = full.declaration.spends, full.given, full.cost.exact_delta, full.cost.adjacency

        def at(epsilon: Fraction) -> Loss:
            cost = Privacy(epsilon, delta, own)
            known_loss = spends(given | {"epsilon": epsilon}, cost, rows) if spends is not None else None
            if known_loss is not None and own == relation:
                return known_loss
            wider = cost.under(relation)
            return Approximate(wider.exact_epsilon, wider.exact_delta)

        return at

    def of_parts(self, parts: Sequence[Part]) -> list[Loss]:
        """Those of all draws, in their order."""
        keys = [(part.alike, part.unit) for part in parts]
        first = dict(zip(reversed(keys), reversed(parts), strict=True))
        trees = {key: [self.of(part, draw) for draw in part.accepted] for key, part in first.items()}
        return [tree for key in keys for tree in trees[key]]


@dataclass(frozen=True)
class Division:
    """A report that has been planned: what is asked of each column, what that costs together, and the sections."""

    parts: tuple[Part, ...]
    budget: Privacy
    price: Privacy
    losses: DrawLosses
    sections: tuple[SectionPlan, ...] = ()
    rows: int = SECRET_ROWS

    @property
    def cost(self) -> Privacy:
        """What the report costs, at most: the columns together, and each section."""
        return total([self.price, *(section.cost for section in self.sections)], self.price.adjacency)

    def requests(self) -> list[Request]:
        """Everything that will be asked for."""
        asked = [part.request(draw) for part in self.parts for draw in part.accepted]
        return [*asked, *(request for section in self.sections for request in section.accepted)]

    def left_out(self) -> dict[str, list[str]]:
        """The columns that each figure is left out of, since the budget does not carry it."""
        names = list(dict.fromkeys(figure.name for figure in FIGURES))
        lacking = {f: [p.name for p in self.parts if f in p.possible and f not in p.figures] for f in names}
        return {figure: columns for figure, columns in lacking.items() if columns}


def divide(
    session: Session,
    epsilon: Rational,
    delta: Rational = 0,
    *,
    columns: Sequence[str] | None = None,
    shares: Mapping[str, Rational] | None = None,
    plausible: Mapping[str, tuple[Any, Any]] | None = None,
    measures: Mapping[str, str] | None = None,
    rough: bool = False,
    losses: DrawLosses | None = None,
    **options: Any,
) -> Division:
    """The figures of a report, and what each may spend: (ε, δ) is the budget of all of them together.

    Figures are taken in the order of their worth, each for all columns at once, as long as the budget carries it and
    all that were taken before. Columns are weighed by `shares`, 1 for each that is not named. Half of δ goes to counts
    of unknown categories, where there are such, and the rest to tight composition. `rough` finds which figures are
    taken, and prices nothing; `losses` are those of another division of the same session. `options` are those of the
    sections.
    """
    whole, slack = checks.epsilon(epsilon), checks.delta("delta", delta)
    parts = _parts(session, slack, columns, shares or {}, plausible or {}, measures or {})
    sections = _sections(session, whole, options)
    left = whole - sum(section.cost.exact_epsilon for section in sections)
    rows = session.source.size if session.adjacency.size_is_public else SECRET_ROWS
    taking = _Taking(session, Privacy(left, slack, session.adjacency), rough, losses or DrawLosses(session), rows)
    taken = tuple(taking.all(parts))
    price = Privacy(0, 0, session.adjacency)
    if not rough and any(part.accepted for part in taken):
        price = tight(taking.losses.of_parts(taken), slack, session.adjacency)
    budget = Privacy(whole, slack, session.adjacency)
    return Division(taken, budget, price, taking.losses, sections, rows)


def _sections(session: Session, epsilon: Fraction, options: Mapping[str, Any]) -> tuple[SectionPlan, ...]:
    """The sections that were asked for."""
    declared = registered()
    for name in options:
        if name not in {section.option for section in declared}:
            raise TypeError(f"a report has no option {name!r}")
    wanted = [(section, options.get(section.option)) for section in declared]
    return tuple(
        plan_section(session, section, value, epsilon * section.share)
        for section, value in wanted
        if value is not None and value is not False
    )


def _parts(
    session: Session,
    delta: Fraction,
    columns: Sequence[str] | None,
    shares: Mapping[str, Rational],
    plausible: Mapping[str, tuple[Any, Any]],
    measures: Mapping[str, str],
) -> list[Part]:
    kinds = session.source.kinds
    names = tuple(kinds) if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)
    for name in (*names, *shares, *measures):
        known(name, kinds)
    for name in plausible:
        known(name, kinds, (*NUMERIC, *TIMED))
    listed = {name: session.schema.levels(name) if kinds[name] in ("text", "integer") else () for name in names}
    size = session.source.size if session.adjacency.size_is_public else None
    units = {name: getattr(session.schema.columns.get(name), "unit", None) or "" for name in names} | dict(measures)
    unlisted = [name for name in names if kinds[name] in CATEGORIES.kinds and not listed[name]]
    parts = [
        Part(
            name,
            kinds[name],
            card_of(kinds[name]),
            checks.positive(f"share of {name}", shares.get(name, 1)),
            delta / (2 * len(unlisted)) if name in unlisted else Fraction(0),
            plausible.get(name) or session.schema.plausible(name),
            form=session.source.forms.get(name),
            keys=listed[name],
            people=bool(session.adjacency.person),
            rows=size,
            measure=units[name],
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
    losses: DrawLosses
    rows: int

    def all(self, parts: Sequence[Part]) -> list[Part]:
        """Where the budget carries all figures together, it carries each of them with those before it: units shrink."""
        taken = self._scaled([replace(part, figures=part.possible) for part in parts], rough=True)
        if len(self._carried(taken)) < sum(len(part.figures) for part in taken):
            taken = list(parts)
            for figure in FIGURES:
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
            asked = (
                part.kind,
                part.alike,
                part.form,
                self.session.schema.granularity(part.name),
            )
            if part.plausible is not None or asked not in free:
                lines = self.session.plan(part.request(draw) for draw in part.draws).releases
                made = zip(part.draws, lines, strict=True)
                part = replace(part, refusals={d.label: line.refusal for d, line in made if line.refusal is not None})
                free += [] if part.refusals else [asked]
            found.append(part)
        return found

    def _one_more(self, parts: list[Part], one: ColumnFigure) -> list[Part]:
        """The parts with one figure more, where it and all before are carried. The first of a column is always."""
        figure = one.name
        able = [p for p in parts if figure in p.possible and any(f.rank == one.rank for f in p.named(figure))]
        first = [p for p in able if not p.figures]
        wanted = [p.name for p in able]
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
        if not any(part.accepted for part in parts):
            return parts
        kinds = Counter(part.alike for part in parts)
        first = {part.alike: part for part in reversed(parts)}

        def build(scale: Fraction) -> list[Loss]:
            scaled = [(replace(first[kind], unit=scale), many) for kind, many in kinds.items()]
            return [tree for part, many in scaled for d in part.accepted for tree in [self.losses.of(part, d)] * many]

        unit = fair_scale(build, self.budget, rough)
        return [replace(part, unit=unit) for part in parts]
