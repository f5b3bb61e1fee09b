"""The findings of an audit as text, Markdown and plain values, and the audit as a command."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from uptack.display.tabular import aligned

CHECKS = ("price", "replay", "draws", "exact")
Row = tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """One scenario, exact law or planted fault (`kind`): its problems as (check, pair, text). A fault must have one.

    Of a scenario also the number of pairs, the largest part of its claim that was reached, and for each mechanism that
    was drawn its name, its price, the ε that draws show, and their number. `error` says why a check could not be made.
    `seconds` are of processor time.
    """

    kind: str
    name: str
    problems: Sequence[Sequence[str]] = ()
    function: str = ""
    pairs: int = 0
    reached: float = 0.0
    drawn: Sequence[Sequence[Any]] = ()
    error: str = ""
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether it is as it should be: a fault with problems, anything else without."""
        return not self.error and bool(self.problems) == (self.kind == "fault")


@dataclass(frozen=True)
class Audit:
    """All findings. `missing` are release functions and options that no scenario has."""

    findings: tuple[Finding, ...]
    functions: int
    missing: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing of ours is broken, all faults are found, and everything is covered."""
        return not self.missing and all(one.good for one in self.findings)

    def of(self, kind: str) -> list[Finding]:
        """The findings of a kind."""
        return [one for one in self.findings if one.kind == kind]

    def functions_table(self) -> list[Row]:
        """A line for each function: scenarios, pairs of neighbours, and the largest part of a claim that they reach."""
        rows: list[Row] = [("function", "scenarios", "pairs", "claim reached")]
        for path in sorted({one.function for one in self.of("scenario")}):
            here = [one for one in self.of("scenario") if one.function == path]
            reached = max(one.reached for one in here)
            rows.append((path, f"{len(here):,}", f"{sum(one.pairs for one in here):,}", f"{reached:.0%}"))
        return rows

    def drawn_table(self) -> list[Row]:
        """A line for each mechanism that was drawn."""
        rows: list[Row] = [("scenario", "mechanism", "price", "ε that draws show", "draws")]
        for one in self.findings:
            rows += [(one.name, m, f"{p:.3g}", f"{e:.3g}", f"{n:,}") for m, p, e, n in one.drawn]
        return rows

    def faults_table(self) -> list[Row]:
        """A line for each planted fault: the check that found it, and how it showed."""
        rows: list[Row] = [("planted fault", "found by", "sign")]
        for one in self.of("fault"):
            check, _, sign = one.problems[0] if one.problems else ("MISSED", "", "")
            rows.append((one.name, check, sign[:160].replace("|", "¦")))
        return rows

    def time_table(self) -> list[Row]:
        """Processor time by kind."""
        rows: list[Row] = [("part", "tasks", "processor seconds")]
        for kind in ("scenario", "law", "fault"):
            if here := self.of(kind):
                rows.append((kind, f"{len(here):,}", f"{sum(one.seconds for one in here):.0f}"))
        return rows

    def summary(self) -> str:
        """One line."""
        scenarios, laws, faults = (self.of(kind) for kind in ("scenario", "law", "fault"))
        by = Counter(fault.problems[0][0] for fault in faults if fault.problems)
        found = ", ".join(f"{by[check]} by {check}" for check in CHECKS if by[check])
        return (
            f"{sum(one.good for one in scenarios):,} of {len(scenarios):,} scenarios "
            f"({sum(one.pairs for one in scenarios):,} pairs of neighbours) and {sum(one.good for one in laws)} of "
            f"{len(laws)} exact laws hold; {sum(by.values())} of {len(faults)} planted faults found ({found}); "
            f"{self.functions} release functions, {len(self.missing)} functions or options not covered"
        )

    def _broken(self) -> Iterator[str]:
        for one in self.findings:
            if one.error:
                yield f"NOT CHECKED {one.name}: {one.error}"
            if one.kind != "fault":
                yield from (f"BROKEN {one.name}: {pair}: {check}: {text}" for check, pair, text in one.problems)
        yield from (f"NOT COVERED {name}" for name in self.missing)

    def _parts(self) -> list[list[Row]]:
        every = (self.functions_table(), self.drawn_table(), self.faults_table(), self.time_table())
        return [rows for rows in every if rows[1:]]

    def table(self) -> str:
        """All of it as text."""
        parts = [*map(aligned, self._parts()), list(self._broken()), [self.summary()]]
        return "\n\n".join("\n".join(part) for part in parts if part)

    def to_markdown(self) -> str:
        """The same as Markdown."""
        parts = [*map(_markdown, self._parts()), [f"- {line}" for line in self._broken()], [f"{self.summary()}."]]
        return "\n\n".join("\n".join(part) for part in parts if part) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"ok": self.ok, "summary": self.summary(), **asdict(self)}

    def __str__(self) -> str:
        return self.table()


def _markdown(rows: Sequence[Row]) -> list[str]:
    head, *rest = ("| " + " | ".join(row) + " |" for row in rows)
    return [head, "|" + "---|" * len(rows[0]), *rest]


def main(argv: Sequence[str] | None = None) -> int:
    """Audit everything and print the report; 1 if anything is broken, missed or not covered, else 0."""
    parser = argparse.ArgumentParser(prog="uptack audit", description="Replay, price and draws of every release.")
    parser.add_argument("--only", metavar="NAME", help="scenarios, laws and faults with this in their names")
    parser.add_argument("--workers", type=int, help="processes; as many as there are cores by default")
    parser.add_argument("--state", type=Path, metavar="FILE", help="write down what is done, and resume from there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the report as Markdown")
    given = parser.parse_args(argv)
    from uptack.audit.audit_run import run, tasks  # the catalogue: not to be loaded with the library

    if not tasks(given.only):
        parser.error(f"nothing has {given.only!r} in its name")
    audit = run(given.only, workers=given.workers, state=given.state)
    if given.json:
        given.json.write_text(json.dumps(audit.to_dict(), indent=2, ensure_ascii=False))
    if given.markdown:
        given.markdown.write_text(audit.to_markdown())
    sys.stdout.write(audit.table() + "\n")
    return 0 if audit.ok else 1
