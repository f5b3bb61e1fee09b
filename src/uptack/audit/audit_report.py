"""What an audit found: one line a case, claimed against found."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

from uptack.display.align import aligned
from uptack.privacy import Privacy

ROUNDING = 1e-9
"""By what part an exact law may come out above its claim: it is computed to far more digits, but shown as a float."""


@dataclass(frozen=True)
class Finding:
    """What one case came to.

    `epsilon` is the largest ε that was found, at the claimed δ: a lower confidence bound from so many `draws` on each
    side, or the least ε itself where the law is known (`draws` is None). `delta` is the same at the claimed ε.
    """

    name: str
    claimed: Privacy
    epsilon: float
    delta: float | None
    draws: int | None
    broken: bool

    @property
    def refuted(self) -> bool:
        """Whether the promise is not kept."""
        return self.epsilon > self.claimed.epsilon * (1 + (ROUNDING if self.draws is None else 0))

    @property
    def ok(self) -> bool:
        """Whether it came out as it should: promises are kept, and what is broken on purpose is found out."""
        return self.refuted == self.broken

    @property
    def verdict(self) -> str:
        """A word on it."""
        if self.broken:
            return "caught" if self.refuted else "MISSED"
        return "BROKEN" if self.refuted else "kept"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; an ε that no number bounds is None."""
        return {
            "name": self.name,
            "claimed": self.claimed.to_dict(),
            "found_epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "found_delta": self.delta,
            "draws": self.draws,
            "broken_on_purpose": self.broken,
            "verdict": self.verdict,
        }

    def _row(self) -> tuple[str, ...]:
        relation = str(self.claimed.adjacency)
        way = "exact" if self.draws is None else f"{self.draws:,}"
        delta = f"{self.claimed.delta:.3g}" if self.claimed.exact_delta else "0"
        found = "∞" if math.isinf(self.epsilon) else f"{self.epsilon:.3f}"
        return self.name, f"{self.claimed.epsilon:.4g}", delta, relation, found, way, self.verdict


HEADER = ("mechanism: neighbours", "claimed ε", "claimed δ", "adjacency", "found ε", "draws", "verdict")


@dataclass(frozen=True)
class Report:
    """All findings of an audit."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether every promise is kept and everything that is broken on purpose is caught."""
        return all(finding.ok for finding in self.findings)

    @property
    def failures(self) -> tuple[Finding, ...]:
        """Those that did not come out as they should."""
        return tuple(finding for finding in self.findings if not finding.ok)

    def _parts(self) -> list[tuple[str, list[tuple[str, ...]]]]:
        kept, broken = ([f._row() for f in self.findings if f.broken == side] for side in (False, True))
        return [(title, rows) for title, rows in (("What is promised", kept), ("Broken on purpose", broken)) if rows]

    def summary(self) -> str:
        """One line."""
        promised = [f for f in self.findings if not f.broken]
        controls = [f for f in self.findings if f.broken]
        return (
            f"{sum(f.ok for f in promised)} of {len(promised)} promises kept, "
            f"{sum(f.ok for f in controls)} of {len(controls)} broken mechanisms caught"
        )

    def table(self) -> str:
        """The report as text."""
        head, *rows = aligned([HEADER, *(row for _, part in self._parts() for row in part)])
        lines, left = [head], iter(rows)
        for title, part in self._parts():
            lines += ["", title, *itertools.islice(left, len(part))]
        return "\n".join([*lines, "", self.summary()])

    def to_markdown(self) -> str:
        """The report as a table in Markdown."""
        lines = []
        for title, part in self._parts():
            lines += [f"## {title}", "", _cells(HEADER), _cells(("---",) * len(HEADER)), *map(_cells, part), ""]
        return "\n".join([*lines, self.summary() + ".", ""])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"ok": self.ok, "findings": [finding.to_dict() for finding in self.findings]}

    def __str__(self) -> str:
        return self.table()


def _cells(row: tuple[str, ...]) -> str:
    return "| " + " | ".join(row) + " |"
