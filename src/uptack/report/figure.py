"""One figure of a report: a released value or ⊥, its interval, what it is, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from uptack.display import Record, of_value
from uptack.display.time_text import json_value
from uptack.privacy import Privacy
from uptack.release import NoReply
from uptack.session.requests import Made

CONFIDENCE = Fraction(95, 100)


def sentences(notes: Sequence[str]) -> str:
    """Notes as one paragraph. One alone stays as it is."""
    if len(notes) < 2:
        return "".join(notes)
    return " ".join(note[:1].upper() + note[1:] + ("" if note.endswith(".") else ".") for note in notes)


@dataclass(frozen=True)
class Figure:
    """One released figure, or what came in its place. Without a cost it was worked out from released ones.

    `noise` is what a reader may know about its error, for figures that are worked out from it.
    """

    label: str
    value: Any
    interval: tuple[Any, Any] | None = None
    note: str = ""
    how: str = ""
    cost: Privacy | None = None
    noise: Any = None

    @staticmethod
    def of(label: str, result: Made, cost: Privacy | None, advice: str = "") -> Figure:
        """The figure of a release, and what it cost. `advice` is what would help, in terms of the whole report."""
        how = result.mechanism
        if isinstance(result, NoReply):
            return Figure(label, None, None, advice or result.reason, how, cost)
        return Figure(label, result.value, None, sentences(result.notes), how, cost, result.noise)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        value = self.value.to_dict() if hasattr(self.value, "to_dict") else json_value(self.value)
        ends = None if self.interval is None else [json_value(end) for end in self.interval]
        cost = None if self.cost is None else self.cost.to_dict()
        return {"label": self.label, "value": value, "interval": ends, "note": self.note, "privacy": cost}

    def records(self, column: str) -> list[Record]:
        """One line for it, or of counts one per category; none for a curve."""
        if hasattr(self.value, "points"):
            return []
        cost = None if self.cost is None else self.cost.to_dict()
        rest = {"epsilon": cost and cost["epsilon"], "delta": cost and cost["delta"], "note": self.note}
        made = []
        for line in of_value(self.value, self.interval):
            category = {"category": line.pop("cell")} if "cell" in line else {}
            made.append({"column": column, "figure": self.label, **category, **line, **rest})
        return made
