"""The whole audit: draws and exact laws, replays, the inside of releases, planted faults, and what nothing covers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from uptack.audit.audit_report import Report
from uptack.audit.fault_detection import Trace, trace
from uptack.audit.mechanism_audit import ERROR, inner
from uptack.audit.moving_neighbours import moving
from uptack.audit.option_coverage import release_functions, uncovered
from uptack.audit.planted_faults import FAULTS
from uptack.audit.replay import Replay, replay
from uptack.audit.replay_requests import asks
from uptack.display.align import aligned
from uptack.progress import track

Failures = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class CheckSummary:
    """One kind of check on many releases, and those on which it found something."""

    title: str
    runs: int
    failures: Failures

    def lines(self) -> Iterator[str]:
        """A line on it, and one for each failure."""
        yield f"{self.title}: {self.runs - len(self.failures):,} of {self.runs:,} show nothing"
        yield from (f"  BROKEN {name}: {'; '.join(found)}" for name, found in self.failures)


@dataclass(frozen=True)
class Audit:
    """What all checks found. `missing` are public functions and options that no replay covers."""

    report: Report
    looks: tuple[CheckSummary, ...]
    traces: tuple[Trace, ...]
    functions: int
    missing: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing of ours is broken, all faults are found, and everything is covered."""
        broken = any(look.failures for look in self.looks)
        return self.report.ok and not broken and not self.missing and all(t.found for t in self.traces)

    def rows(self) -> list[tuple[str, str, str]]:
        """The table of planted faults."""
        return [(t.fault.name, t.fault.check, t.how[0] if t.found else "MISSED") for t in self.traces]

    def summary(self) -> str:
        """One line."""
        found = sum(t.found for t in self.traces)
        covered = f"{self.functions - len(self.missing)} of {self.functions} release functions covered"
        return f"{self.report.summary()}, {found} of {len(self.traces)} planted faults found, {covered}"

    def table(self) -> str:
        """All of it as text."""
        planted = aligned(self.rows())
        looks = [line for look in self.looks for line in look.lines()]
        gaps = [f"NOT COVERED {name}" for name in self.missing]
        parts = [[self.report.table()], looks, ["Planted faults", *planted] if planted else [], gaps, [self.summary()]]
        return "\n\n".join("\n".join(part) for part in parts if part)

    def to_markdown(self) -> str:
        """The same as Markdown."""
        looks = [f"- {line.strip()}" for look in self.looks for line in look.lines()]
        planted = ["| planted fault | found by | what gave it away |", "|---|---|---|"]
        planted += [f"| {name} | {check} | {how.replace('|', '¦')} |" for name, check, how in self.rows()]
        return "\n".join(
            [
                self.report.to_markdown(),
                "## Replay",
                "",
                *looks,
                "",
                "## Planted faults",
                "",
                *planted,
                "",
                self.summary() + ".",
                "",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            **self.report.to_dict(),
            "ok": self.ok,
            "looks": [
                {"check": look.title, "runs": look.runs, "broken": [[n, list(f)] for n, f in look.failures]}
                for look in self.looks
            ],
            "planted": [{"name": n, "check": c, "found": how != "MISSED", "how": how} for n, c, how in self.rows()],
            "not_covered": list(self.missing),
        }

    def __str__(self) -> str:
        return self.table()


def whole(report: Report, *, only: str | None = None, progress: bool | None = None) -> Audit:
    """All checks that need no draws of their own, beside a report of those that do; `only` some by their names."""

    def chosen(name: str) -> bool:
        return only is None or only in name

    faults = [fault for fault in FAULTS if chosen(fault.name)]
    traces = tuple(trace(fault) for fault in track(faults, "faults", show=progress, total=len(faults)))
    missing = uncovered(asks()) if only is None else []
    return Audit(report, (_replays(chosen), _inside(chosen)), traces, len(release_functions()), tuple(missing))


def _replays(chosen: Any) -> CheckSummary:
    runs = [case for ask in asks() for case in ask.replays() if chosen(case.name)]
    return CheckSummary("Replays on hostile neighbours", len(runs), _found(runs, replay))


def _inside(chosen: Any) -> CheckSummary:
    """At the edge of what theorems allow, and on some hostile neighbours of every ask."""
    asked = [case for ask in asks() if ask.inside for case in ask.within()]
    runs = [case for case in (*moving().values(), *asked) if chosen(case.name)]
    return CheckSummary("The inside of releases", len(runs), _found(runs, _wrong))


def _wrong(case: Replay) -> list[str]:
    """What is wrong inside; errors are for replays to see."""
    return [text for text in inner(case) if not text.startswith(ERROR)]


def _found(runs: Sequence[Any], check: Any) -> Failures:
    seen = ((case.name, tuple(check(case))) for case in track(runs, "replays", total=len(runs)))
    return tuple((name, found) for name, found in seen if found)
