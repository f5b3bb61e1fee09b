"""What an audit found, as text, Markdown and plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from uptack.audit.detection import CHECKS, Trace
from uptack.display.align import aligned

Row = tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """One scenario: how many pairs it has, problems as (check, pair, text), the largest part of its claim that was
    reached, and for each mechanism that was drawn its name, price, the ε that draws show, and how many there were.
    """

    name: str
    function: str
    pairs: int
    problems: Sequence[Sequence[str]] = ()
    reached: float = 0.0
    drawn: Sequence[Sequence[Any]] = ()


@dataclass(frozen=True)
class LawFinding:
    """One exact law: what is claimed, the least ε that holds, and what is wrong."""

    name: str
    claimed: float
    epsilon: float
    problems: Sequence[str] = ()


@dataclass(frozen=True)
class Audit:
    """What all checks found. `missing` are release functions and options that no scenario has."""

    findings: tuple[Finding, ...]
    laws: tuple[LawFinding, ...]
    traces: tuple[Trace, ...]
    functions: int
    missing: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing of ours is broken, all faults are found, and everything is covered."""
        return not self.missing and not any(self._broken()) and all(trace.found for trace in self.traces)

    def _broken(self) -> Iterator[str]:
        for finding in self.findings:
            yield from (f"BROKEN {finding.name}: {pair}: {check}: {text}" for check, pair, text in finding.problems)
        for law in self.laws:
            yield from (f"BROKEN {law.name}: {text}" for text in law.problems)

    def functions_table(self) -> list[Row]:
        """A line for each function: scenarios, pairs of neighbours, and the largest part of a claim that they reach."""
        paths = sorted({finding.function for finding in self.findings})
        rows: list[Row] = [("function", "scenarios", "pairs", "claim reached")]
        for path in paths:
            here = [finding for finding in self.findings if finding.function == path]
            reached = max(finding.reached for finding in here)
            rows.append((path, f"{len(here):,}", f"{sum(one.pairs for one in here):,}", f"{reached:.0%}"))
        return rows

    def drawn_table(self) -> list[Row]:
        """A line for each mechanism that was drawn."""
        rows: list[Row] = [("scenario", "mechanism", "price", "ε that draws show", "draws")]
        for finding in self.findings:
            rows += [(finding.name, m, f"{p:.3g}", f"{e:.3g}", f"{n:,}") for m, p, e, n in finding.drawn]
        return rows

    def faults_table(self) -> list[Row]:
        """A line for each planted fault: the check that found it, and what gave it away."""
        rows: list[Row] = [("planted fault", "found by", "what gave it away")]
        return rows + [(one.name, one.check or "MISSED", one.sign[:160].replace("|", "¦")) for one in self.traces]

    def summary(self) -> str:
        """One line."""
        by = Counter(trace.check for trace in self.traces if trace.found)
        found = ", ".join(f"{by[check]} by {check}" for check in CHECKS if by[check])
        pairs = sum(finding.pairs for finding in self.findings)
        whole = sum(not finding.problems for finding in self.findings)
        lawful = sum(not law.problems for law in self.laws)
        return (
            f"{whole:,} of {len(self.findings):,} scenarios ({pairs:,} pairs of neighbours) and {lawful} of "
            f"{len(self.laws)} exact laws hold; {sum(by.values())} of {len(self.traces)} planted faults found "
            f"({found}); {self.functions} release functions, {len(self.missing)} functions or options not covered"
        )

    def table(self) -> str:
        """All of it as text."""
        parts = [
            aligned(rows) for rows in (self.functions_table(), self.drawn_table(), self.faults_table()) if rows[1:]
        ]
        parts += [list(self._broken()), [f"NOT COVERED {name}" for name in self.missing], [self.summary()]]
        return "\n\n".join("\n".join(part) for part in parts if part)

    def to_markdown(self) -> str:
        """The same as Markdown."""
        parts = [
            _markdown(rows) for rows in (self.functions_table(), self.drawn_table(), self.faults_table()) if rows[1:]
        ]
        broken = [f"- {line}" for line in (*self._broken(), *(f"NOT COVERED {name}" for name in self.missing))]
        return "\n\n".join("\n".join(part) for part in (*parts, broken, [f"{self.summary()}."]) if part) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"ok": self.ok, "summary": self.summary(), **asdict(self)}

    def __str__(self) -> str:
        return self.table()


def _markdown(rows: Sequence[Row]) -> list[str]:
    head, *rest = ("| " + " | ".join(row) + " |" for row in rows)
    return [head, "|" + "---|" * len(rows[0]), *rest]
