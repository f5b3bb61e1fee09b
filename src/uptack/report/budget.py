"""How a total budget is divided over the figures of a table, and what would help where it is too small.

All of it follows from public numbers and the schema. The draws of the columns are fixed before the first of them runs,
so they are composed tightly (`uptack.privacy.accounting`): with δ > 0 fifteen columns get 1.6 times the ε each that an
even split would give them. Sections are paid for by themselves, since each is one large release.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import uptack.report.sections  # noqa: F401  (they register themselves)
from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.labels import label
from uptack.privacy import Privacy, tight
from uptack.privacy.accounting import LinearLoss, fair_scale, rough_scale
from uptack.privacy.guarantee import total
from uptack.privacy.loss import Loss
from uptack.release import NoReply
from uptack.report.category_card import CATEGORIES, OTHERS, TRUTH_VALUES
from uptack.report.column import FIGURE_NAMES, ColumnDraw, Part
from uptack.report.number_card import DURATIONS, INTEGERS, LISTED_INTEGERS, NUMBERS, TIMES
from uptack.report.section import SectionPlan, plan_section, registered_sections
from uptack.session import Request, Session
from uptack.session.requests import Made
from uptack.table.names import column_name
from uptack.table.values.kinds import NUMERIC
from uptack.table.values.times import TIMED

SECRET_ROWS = 10_000
"""What the number of rows is taken for where it is secret: it decides which figures are asked for, and nothing else."""

CARDS = (INTEGERS, LISTED_INTEGERS, NUMBERS, TIMES, DURATIONS, TRUTH_VALUES, CATEGORIES)

BY_KIND = {kind: card for card in reversed(CARDS) for kind in card.kinds}

FIGURES = sorted({(one.name, one.rank): one for card in CARDS for one in card.figures}.values(), key=lambda f: f.rank)
"""All figures, the most useful first. Where the budget can't carry all, the last ones are left out first."""


@dataclass(frozen=True)
class DrawLosses:
    """What draws do to the data, at most, for any ε of theirs. Columns with the same requests have the same losses.

    A request is completed once and priced at many ε.
    """

    session: Session
    _requests: dict[Any, Request] = field(default_factory=dict)
    _relative: dict[Any, LinearLoss] = field(default_factory=dict)

    @staticmethod
    def _key(part: Part, draw: ColumnDraw) -> tuple[Any, ...]:
        """What decides the request of a draw: the figures that are read off it, among others; () if there are none."""
        read = tuple(one.name for one in part.card.figures if one.draw == draw.label and one.name in part.figures)
        return (part.card.name, part.delta, draw.label, read) if read else ()

    def of(self, part: Part, draw: ColumnDraw) -> Loss:
        """The loss of a draw: what `Session.loss_of` says of its request."""
        key = self._key(part, draw)
        if key not in self._requests:
            self._requests[key] = self.session.complete(replace(part, unit=Fraction(1)).request(draw))
        return self.session.loss_of(self._requests[key], part.epsilon(draw))

    def relative(self, part: Part) -> list[LinearLoss]:
        """The losses of the draws of a part, per unit."""
        keys = {draw: (part.share, self._key(part, draw)) for draw in part.card.draws if self._key(part, draw)}
        for draw, key in keys.items():
            if key not in self._relative:
                tree = self.of(replace(part, unit=Fraction(1)), draw)
                self._relative[key] = LinearLoss.of(tree, self.session.adjacency)
        return [self._relative[key] for key in keys.values()]

    def of_parts(self, parts: Sequence[Part]) -> list[Loss]:
        """Those of all draws, in their order. Equal ones are one object, so that each is priced once."""
        keys = [(part.alike, part.unit) for part in parts]
        first = dict(zip(reversed(keys), reversed(parts), strict=True))
        trees = {key: [self.of(part, draw) for draw in part.accepted] for key, part in first.items()}
        return [tree for key in keys for tree in trees[key]]


@dataclass(frozen=True)
class Division:
    """The plan of a report: what is asked of each column, what that costs together, and the sections."""

    parts: tuple[Part, ...]
    budget: Privacy
    price: Privacy
    losses: DrawLosses
    sections: tuple[SectionPlan, ...] = ()
    rows: int = SECRET_ROWS
    by_name: tuple[str, ...] = ()
    """Columns that are left out since their names say that they are ids or row numbers."""

    @property
    def cost(self) -> Privacy:
        """What the report costs, at most: the columns together, and each section."""
        return total([self.price, *(section.cost for section in self.sections)], self.price.adjacency)

    @property
    def column_share(self) -> float:
        """The part of ε that sections leave to the columns, at least: one that is ⊥ costs nothing."""
        return float(1 - sum(one.section.share for one in self.sections))

    def requests(self) -> list[Request]:
        """All releases of the report."""
        columns = [part.request(draw) for part in self.parts for draw in part.accepted]
        return [*columns, *(request for section in self.sections for request in section.accepted)]


def divide(
    session: Session,
    epsilon: Rational,
    delta: Rational = 0,
    *,
    columns: Sequence[str] | None = None,
    skip: Sequence[str] | None = None,
    shares: Mapping[str, Rational] | None = None,
    plausible: Mapping[str, tuple[Any, Any]] | None = None,
    measures: Mapping[str, str] | None = None,
    **options: Any,
) -> Division:
    """The figures of a report, and what each may spend: (ε, δ) is the budget of all of them together.

    Columns are weighed by `shares`, 1 for each that is not named. Half of δ goes to counts of unknown categories, where
    there are such, and the rest to tight composition. `options` are those of the sections.
    """
    whole, slack = checks.epsilon(epsilon), checks.delta("delta", delta)
    names, by_name = report_columns(session, columns, skip)
    parts = _parts(session, slack, names, shares or {}, plausible or {}, measures or {})
    declared = {section.option: section for section in registered_sections()}
    for name in options:
        if name not in declared:
            raise TypeError(f"a report has no option {name!r}")
    wanted = [(one, options[name]) for name, one in declared.items() if options.get(name) not in (None, False)]
    sections = tuple(plan_section(session, one, names, value, whole * one.share) for one, value in wanted)
    left = Privacy(whole - sum(section.cost.exact_epsilon for section in sections), slack, session.adjacency)
    rows = session.source.size if session.adjacency.size_is_public else SECRET_ROWS
    losses, price = DrawLosses(session), Privacy(0, 0, session.adjacency)
    chosen = _with_refusals(session, select(parts, left.epsilon, left.delta, losses, rows))
    if any(part.accepted for part in chosen):
        unit = fair_scale(lambda scale: losses.of_parts(_with_unit(chosen, scale)), left)
        chosen = _with_unit(chosen, unit)  # the largest at which all draws together are within the budget
        price = tight(losses.of_parts(chosen), slack, session.adjacency)
    return Division(tuple(chosen), Privacy(whole, slack, session.adjacency), price, losses, sections, rows, by_name)


def report_columns(
    session: Session, columns: Sequence[str] | None, skip: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of a report, and those that only their names leave out: nothing else says what is a row number.

    `columns` are those that are wanted. Without it they are all but those of `skip` and those that the schema skips.
    """
    kinds, described = session.source.kinds, session.schema.columns
    wanted, unwanted = ((one,) if isinstance(one, str) else tuple(one or ()) for one in (columns, skip))
    for name in (*wanted, *unwanted):
        column_name(name, kinds)
    if columns is not None:
        return tuple(name for name in wanted if name not in unwanted), ()
    omitted = {*unwanted, *(name for name, column in described.items() if column.skip)}
    by_name = tuple(name for name in session.row_numbers if name not in omitted)
    by_name = by_name if len(by_name) < len(kinds) else ()
    return tuple(name for name in kinds if name not in omitted and name not in by_name), by_name


def _parts(
    session: Session,
    delta: Fraction,
    names: Sequence[str],
    shares: Mapping[str, Rational],
    plausible: Mapping[str, tuple[Any, Any]],
    measures: Mapping[str, str],
) -> list[Part]:
    kinds, schema = session.source.kinds, session.schema
    for name in (*shares, *measures):
        column_name(name, kinds)
    for name in plausible:
        column_name(name, kinds, (*NUMERIC, *TIMED))
    listed = {name: schema.column(name).levels or () if kinds[name] in ("text", "integer") else () for name in names}
    units = {name: column.unit or "" for name, column in schema.columns.items()} | dict(measures)
    unlisted = [name for name in names if kinds[name] in CATEGORIES.kinds and not listed[name]]
    parts = [
        Part(
            name,
            kinds[name],
            LISTED_INTEGERS if kinds[name] == "integer" and listed[name] else BY_KIND.get(kinds[name], OTHERS),
            checks.positive(f"share of {name}", shares.get(name, 1)),
            delta / (2 * len(unlisted)) if name in unlisted else Fraction(0),
            plausible.get(name) or schema.column(name).plausible,
            form=session.source.forms.get(name),
            keys=listed[name],
            people=bool(session.adjacency.person),
            rows=session.source.size if session.adjacency.size_is_public else None,
            measure=units.get(name, ""),
            narrowed=bool(session.conditions),
        )
        for name in names
    ]
    if all(part.skip_reason for part in parts):
        fix = "See uptack.open(...).describe()."
        raise InvalidArgument("columns", "at least one that can be reported", "none", fix)
    return parts


PAIR = frozenset({"lower quartile interval", "upper quartile interval"})
"""Figures that a column has both or neither of."""


def select(parts: Sequence[Part], epsilon: float, delta: float, losses: DrawLosses, rows: int) -> list[Part]:
    """The parts with the figures that the budget carries, and about the unit that they then have.

    Figures are taken in the order of their rank, each for all columns at once, as long as the budget carries it and all
    that were taken before. The first figure of a column is always taken. If the budget carries all figures together, it
    carries each of them with those before it: units shrink. Where one of the quartiles would have no interval, neither
    has one.
    """
    least = {part.name: part.least_units(rows) for part in parts}

    def unit(trial: Sequence[Part]) -> float:
        return rough_scale([one for part in trial for one in losses.relative(part)], epsilon, delta)

    def carried(trial: Sequence[Part], unit: float) -> set[tuple[str, str]]:
        return {(part.name, name) for part in trial for name in part.figures if least[part.name][name] <= unit}

    taken = [replace(part, figures=tuple(least[part.name])) for part in parts]
    reached = unit(taken)
    if len(carried(taken, reached)) == sum(len(part.figures) for part in taken):
        return [replace(part, unit=Fraction(reached)) for part in taken]
    taken, reached = list(parts), 0.0
    for figure in FIGURES:
        able = [part.name for part in taken if figure.name in least[part.name] and figure in part.card.figures]
        first = any(part.name in able and not part.figures for part in taken)
        while able:
            trial = [replace(p, figures=(*p.figures, figure.name)) if p.name in able else p for p in taken]
            trial_unit = unit(trial)
            good = [name for name in able if first or least[name][figure.name] <= trial_unit]
            if len(good) == len(able):
                if first or carried(taken, reached) <= carried(trial, trial_unit):
                    taken, reached = trial, trial_unit
                break
            able = good
    whole = [part if PAIR.issubset(part.figures) else _without(part, PAIR) for part in taken]
    reached = reached if whole == taken else unit(whole)
    return [replace(part, unit=Fraction(reached)) for part in whole]


def _with_unit(parts: Sequence[Part], unit: Fraction) -> list[Part]:
    return [replace(part, unit=unit) for part in parts]


def _without(part: Part, figures: frozenset[str]) -> Part:
    return replace(part, figures=tuple(name for name in part.figures if name not in figures))


def _with_refusals(session: Session, parts: Sequence[Part]) -> list[Part]:
    """The parts without what public numbers refuse; a wrong request is an error here.

    A part with the requests of another one, which was refused nothing, is refused nothing either. But plausible values
    may be wrong, and are checked for each: 1 and True are equal.
    """
    free: list[tuple[Any, ...]] = []
    checked = []
    for part in parts:
        requests = (part.kind, part.alike, part.form, session.schema.column(part.name).granularity)
        if part.plausible is not None or requests not in free:
            lines = session.plan(part.request(draw) for draw in part.draws).releases
            pairs = zip(part.draws, lines, strict=True)
            part = replace(part, refusals={d.label: line.refusal for d, line in pairs if line.refusal is not None})
            free += [] if part.refusals else [requests]
        checked.append(part)
    return checked


# --------------------------------------------------------------------------------------------------------------- advice

LARGEST_ADVICE = 20.0
"""The largest ε that is advised: with a larger one, nobody would be protected."""


@dataclass(frozen=True)
class FigureAdvice:
    """What would get a reply in place of a ⊥, for the figures of one report."""

    division: Division
    _totals: dict[Fraction, float] = field(default_factory=dict)

    def __call__(self, reply: Made, epsilon: Fraction) -> str:
        """What would help where a draw of so much ε came to ⊥: rows, or an ε of the whole report."""
        if not isinstance(reply, NoReply):
            return ""
        times = math.inf if reply.advice.epsilon is None else reply.advice.epsilon / float(epsilon)
        if times >= 1000:  # a thousand times the ε is no advice
            return self._words(reply, math.inf)
        factor = Fraction(math.ceil(100 * times), 100)
        if factor not in self._totals:
            self._totals[factor] = _total(self.division, factor)
        return self._words(reply, self._totals[factor])

    def of_section(self, reply: NoReply, request: Request) -> str:
        """The same for a request of a section: its ε grows in proportion to that of the whole report."""
        more = reply.advice.epsilon
        times = math.inf if more is None else more / float(request.given["epsilon"])
        return self._words(reply, _rounded_up(self.division.budget.epsilon * times))

    @staticmethod
    def _words(reply: NoReply, whole: float) -> str:
        advice = reply.advice
        ways = [advice.rows_text] if advice.n is not None else []
        ways += [f"ε of about {whole:g} for the whole report"] if whole <= LARGEST_ADVICE else []
        why = f"{advice.why}; " if advice.why else ""
        return f"{why}a reply needs " + (", or ".join(ways) or advice.other or "more rows")


def _total(division: Division, factor: Fraction) -> float:
    """The ε of a report whose columns have so many times the ε that they have. Sections keep their shares."""
    grown = [replace(part, unit=part.unit * factor, refusals={}) for part in division.parts]
    price = tight(division.losses.of_parts(grown), division.budget.exact_delta, division.budget.adjacency)
    return _rounded_up(price.epsilon / division.column_share)


def omitted_figures(parts: Sequence[Part]) -> dict[str, list[str]]:
    """The columns that each figure is left out of, since the budget does not carry it."""
    possible = {part.name: part.possible_figures for part in parts}
    names = dict.fromkeys(figure.name for figure in FIGURES)
    lacking = {f: [p.name for p in parts if f in possible[p.name] and f not in p.figures] for f in names}
    return {figure: columns for figure, columns in lacking.items() if columns}


def sufficient_epsilons(division: Division) -> dict[str, float]:
    """For each figure that is left out somewhere, an ε of the whole report that carries it: by trying larger ones."""
    waiting, enough = list(omitted_figures(division.parts)), dict[str, float]()
    bare, share = [replace(part, figures=(), refusals={}) for part in division.parts], division.column_share
    for step in itertools.count(1):
        whole = _rounded_up(division.budget.epsilon * 1.4**step)  # to within 40%
        if not waiting or whole > LARGEST_ADVICE:
            break
        still = omitted_figures(select(bare, whole * share, division.budget.delta, division.losses, division.rows))
        enough |= {figure: whole for figure in waiting if figure not in still}
        waiting = [figure for figure in waiting if figure not in enough]
    return enough


def hints(division: Division, unanswered: int = 0) -> tuple[str, ...]:
    """What a report leaves out, and what would help most where it answers little."""
    numeric = [part for part in division.parts if part.card.numeric]
    poor = [part for part in numeric if "quartiles" not in part.figures]
    enough, lines = sufficient_epsilons(division), list[str]()
    if unanswered:
        lines.append(f"{unanswered} of {len(numeric)} numeric columns have no median.")
    elif poor:
        lines.append(f"{len(poor)} of {len(numeric)} numeric columns have no quartiles.")
    if lines:
        wanted, whole = "median" if unanswered else "quartiles", enough.get("quartiles")
        times = max(part.least_units(division.rows)[wanted] / float(part.unit) for part in numeric)
        if unanswered:
            whole = _total(division, Fraction(times)) if times > 1 else None
        lines.append(_best_advice(division, numeric, times, whole))
    missing = dict[str, list[str]]()
    for figure, names in omitted_figures(division.parts).items():
        every = len(names) == sum(figure in part.possible_figures for part in division.parts)
        where = "" if every else f" of {len(names)} column{'s' if len(names) > 1 else ''}"
        needs = f"≈ {enough[figure]:g}" if figure in enough else f"> {LARGEST_ADVICE:g}"
        missing.setdefault(needs, []).append(f"{FIGURE_NAMES.get(figure, figure)}{where}")
    if missing:
        figures = (f"{', '.join(names)} (needs ε {needs})" for needs, names in missing.items())
        lines.append("Not computed at this budget: " + "; ".join(figures) + ".")
    if division.by_name:
        omitted = ", ".join(map(label, division.by_name))
        lines.append(
            f"Left out because of their names, as ids or row numbers: {omitted}. To include them, list them as columns."
        )
    return tuple(lines)


def _best_advice(division: Division, numeric: list[Part], times: float, enough: float | None) -> str:
    """More ε, or fewer columns: whichever the user can do. The columns lack so many times their ε.

    A plausible range is no way out: it makes answers more accurate, but the public numbers that decide on ⊥ are the
    worst case over all ranges.
    """
    ways = []
    if enough is not None and enough <= LARGEST_ADVICE:
        ways.append(f"ε ≈ {enough:g} instead of {division.budget.epsilon:g}")
    fewer = int(len(numeric) / (times if division.budget.pure else times**2))  # n draws of ε/√n each, about, with δ
    if 0 < fewer < len(numeric):
        ways.append(f"fewer columns (about {fewer} of these {len(numeric)})")
    return "What would help most: " + ", or ".join(ways) + "." if ways else "Only more rows would help."


def _rounded_up(value: float) -> float:
    """Two digits, rounded up.

    >>> _rounded_up(2.341), _rounded_up(0.0312), _rounded_up(31.2)
    (2.4, 0.032, 32.0)
    """
    if not math.isfinite(value) or value <= 0:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.3g}")
