"""The bill of a report: what each figure cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from uptack.labels import label
from uptack.privacy import Privacy

if TYPE_CHECKING:
    from uptack.report.profile import Profile
    from uptack.report.section import NameText

NAMES = 6
"""Up to so many columns of a line of the bill go by their names."""


class Charge(NamedTuple):
    """What one figure cost."""

    column: str
    label: str
    how: str
    cost: Privacy


class BillLine(NamedTuple):
    """Figures of several columns that were asked alike, and what each cost."""

    columns: tuple[str, ...]
    charge: Charge

    def names(self, name_text: NameText = label) -> str:
        """The columns by their names, or how many they are."""
        many = len(self.columns)
        return ", ".join(map(name_text, self.columns)) if many <= NAMES else f"{many:,} columns"


def charges(profile: Profile) -> list[Charge]:
    """What each figure cost, those of columns first."""
    figures = [(column.part.name, figure) for column in profile.columns for figure in column.releases]
    for answer in profile.sections.values():
        names = map(answer.section.about, answer.requests)
        figures += zip(names, answer.figures, strict=True)
    return [Charge(name, f.label, f.how, f.cost) for name, f in figures if f.cost is not None]


def bill_lines(profile: Profile) -> list[BillLine]:
    """The same with columns that were asked alike in one line."""
    alike: dict[tuple[str, str, Privacy], list[Charge]] = {}
    for charge in charges(profile):
        alike.setdefault((charge.label, charge.how, charge.cost), []).append(charge)
    return [BillLine(tuple(one.column for one in same), same[0]) for same in alike.values()]
