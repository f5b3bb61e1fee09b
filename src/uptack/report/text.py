"""A profile as tables of text: Markdown, and the same for a terminal. Cells are padded, so both are easy to read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from uptack.display.tabular import markdown_table
from uptack.labels import escape_markdown, label, markdown
from uptack.privacy import Privacy
from uptack.privacy.guarantee import promise, short
from uptack.report.column import FIGURE_NAMES

if TYPE_CHECKING:
    from uptack.report.column import ColumnProfile
    from uptack.report.profile import Profile
    from uptack.report.section import NameText, SectionAnswer


class TextStyle(NamedTuple):
    """How a report is written: `name` writes names out of the data, `most` is how many lines of a list are shown.

    `whole` says whether everything is in it, as in a file, or what fits on a terminal.
    """

    name: NameText
    whole: bool = True
    most: int | None = None

    def prose(self, text: str) -> str:
        """A sentence that may have names in it."""
        return escape_markdown(text) if self.name is markdown else text

    def table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], note: str, left: int = 1, long: bool = True
    ) -> list[str]:
        """A table and the note on it. Of a `long` one the first lines, if there are more than three others."""
        cut = self.most if long and self.most is not None and len(rows) > self.most + 3 else len(rows)
        below = [f"and {len(rows) - cut:,} more"] if cut < len(rows) else []
        below += [self.prose(sentence(note))] if note else []
        return [*markdown_table(head, rows[:cut], left), *([""] if below else []), *below]


def to_markdown(profile: Profile) -> str:
    """The whole report as Markdown: names are text in it, and never marks."""
    style = TextStyle(markdown)
    return "\n".join([*_lines(profile, style), *_bill(profile, style)])


def to_text(profile: Profile, bill: bool = False, most: int | None = None) -> str:
    """The same for a terminal, with or without what each figure cost; of categories those with `most` rows."""
    style = TextStyle(label, False, most)
    return "\n".join([*_lines(profile, style), *(_bill(profile, style) if bill else [])])


def _lines(profile: Profile, style: TextStyle) -> list[str]:
    whose = f"{style.prose(profile.whose)} {promise(profile.spent)}".strip()
    head = masthead(profile, style.name)
    lines = [f"# {style.name(profile.title)}", "", *([" · ".join(head), ""] if head else []), whose, ""]
    lines += [" · ".join(summary(profile)), ""]
    lines += [line for hint in profile.hints for line in (style.prose(hint), "")]
    if not profile.private:
        lines += ["**Not private**: the noise was drawn from a seeded source, for tests.", ""]
    lines += _overview([column for column in profile.columns if column.answered], style)
    for column in profile.columns:
        if details := column.part.card.details(column, style, profile.unit):
            lines += [f"## {style.name(column.part.name)}", "", *details, ""]
    if groups := unanswered_columns(profile):
        names = {note: ", ".join(style.name(one.part.name) for one in those) for note, those in groups.items()}
        lines += ["## No answer", "", *(f"- ⊥ {of}: {style.prose(note)}" for note, of in names.items()), ""]
    for answer in profile.sections.values():
        lines += [f"## {answer.title(style.name)}", "", *_section(answer, style), ""]
    return lines


def masthead(profile: Profile, name_text: NameText = str) -> list[str]:
    """Who published it, when and from what."""
    source = f"Source: {name_text(profile.source)}" if profile.source else ""
    return [part for part in (name_text(profile.author) if profile.author else "", profile.date, source) if part]


def _overview(columns: list[ColumnProfile], style: TextStyle) -> list[str]:
    """Columns that have figures in one table: a line each, and no column of it that is empty."""
    rows = [(column.part, cells) for column in columns if (cells := column.part.card.overview(column))]
    heads = list(dict.fromkeys(head for _, cells in rows for head in cells))
    heads = [head for head in heads if any(cells.get(head) for _, cells in rows)]
    named = [style.name(part.name) + (f" ({style.prose(part.measure)})" if part.measure else "") for part, _ in rows]
    table = [[name, *(cells.get(head, "") for head in heads)] for name, (_, cells) in zip(named, rows, strict=True)]
    return [*markdown_table(["column", *heads], table), ""] if table else []


def unanswered_columns(profile: Profile) -> dict[str, list[ColumnProfile]]:
    """The columns without an answer, together by what would help."""
    groups: dict[str, list[ColumnProfile]] = {}
    for column in profile.columns:
        if not column.answered:
            groups.setdefault(column.silence_reason, []).append(column)
    return groups


def _section(answer: SectionAnswer, style: TextStyle) -> list[str]:
    """The table of a section, and what it says of itself."""
    if not answer.replied:
        return [f"⊥ ({style.prose(answer.note)})"]
    table = answer.section.table(answer, style.name)
    return style.table(table.head, table.rows, answer.note, table.left, answer.section.long)


def _bill(profile: Profile, style: TextStyle) -> list[str]:
    table = [
        [FIGURE_NAMES.get(one.figure, one.figure), one.names(style.name), one.how,
         *map(short, (one.cost.epsilon, one.cost.delta))]
        for one in bill_lines(profile)
    ]  # fmt: skip
    lines = markdown_table(["figure", "of", "how", "ε each", "δ each"], table, left=3)
    return ["## What each figure cost", "", *lines, "", sentence(profile.spent.explain().partition(": ")[2]), ""]


# ------------------------------------------------------------------------------------------------------------- the bill


class Charge(NamedTuple):
    """What a figure cost; of several columns that were asked alike what each of them did."""

    columns: tuple[str, ...]
    figure: str
    how: str
    cost: Privacy

    def names(self, name_text: NameText = label) -> str:
        """The columns by their names, or how many they are, if more than six."""
        many = len(self.columns)
        return ", ".join(map(name_text, self.columns)) if many <= 6 else f"{many:,} columns"


def charges(profile: Profile) -> list[Charge]:
    """What each figure cost, those of columns first."""
    figures = [(column.part.name, figure) for column in profile.columns for figure in column.releases]
    for answer in profile.sections.values():
        names = map(answer.section.about, answer.requests)
        figures += zip(names, answer.figures, strict=True)
    return [Charge((name,), f.label, f.how, f.cost) for name, f in figures if f.cost is not None]


def bill_lines(profile: Profile) -> list[Charge]:
    """The same with columns that were asked alike in one line."""
    alike: dict[tuple[str, str, Privacy], tuple[str, ...]] = {}
    for one in charges(profile):
        asked = one.figure, one.how, one.cost
        alike[asked] = (*alike.get(asked, ()), *one.columns)
    return [Charge(columns, *asked) for asked, columns in alike.items()]


# ---------------------------------------------------------------------------------------------------------------- words


def sentence(text: str) -> str:
    """Remarks as sentences of their own.

    >>> sentence("no density without a spread; fewer columns")
    'No density without a spread. Fewer columns.'
    >>> sentence("in 4 groups (4 was chosen; set it with g=)")
    'In 4 groups (4 was chosen; set it with g=).'
    """
    outside = re.split(r"; (?![^()]*\))", text.replace("\n", " ").rstrip("."))  # a remark in parentheses stays one
    parts = [part.strip() for part in outside]
    return ". ".join(part[:1].upper() + part[1:] for part in parts) + "."


def summary(profile: Profile) -> list[str]:
    """What a reader should know first: how much was answered, of how many rows, for how much."""
    rows = f"a secret number of {profile.unit}" if profile.rows is None else f"{profile.rows:,} {profile.unit}"
    rows = {"1 rows": "1 row", "1 people": "1 person"}.get(rows, rows)
    delta = f", δ = {short(profile.spent.delta)}" if profile.spent.delta else ""
    return [
        f"{sum(column.answered for column in profile.columns)} of {len(profile.columns)} columns have results",
        rows,
        f"ε = {short(profile.spent.epsilon)} of {short(profile.budget.epsilon)} spent{delta}",
    ]
