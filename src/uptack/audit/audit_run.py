"""A whole audit: all checks of every scenario and every planted fault, as a command and as a report.

Every scenario and every fault is a task of its own, and tasks run in several processes. With a file for its state, a
run goes on where one of the same code was stopped.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import uptack
from uptack import checks
from uptack.audit.catalogue import catalogue, release_functions, uncovered
from uptack.audit.hostile_tables import RETYPED
from uptack.audit.planted_faults import FAULTS, PlantedFault
from uptack.audit.price import draws, price, prices, sample, violations
from uptack.audit.replay import replay
from uptack.audit.scenario import Scenario
from uptack.display.tabular import align_lines
from uptack.progress import track

CHECKS = ("price", "replay", "draws")
BATCH = 8
"""Tasks that a process gets at a time."""
SEEDS = range(3)
"""Tapes on which a fault is looked for: a test that passes by chance hides what comes after it."""


@dataclass(frozen=True)
class Finding:
    """One scenario or planted fault (`kind`): its problems as (check, pair, text). A fault must have one.

    A scenario also has the number of its pairs, the largest part of its claim that was reached, and for each mechanism
    that was drawn its name, its price, the ε that the draws show, and their number. `error` says why a check could not
    be made. `seconds` are of processor time.
    """

    kind: str
    name: str
    problems: Sequence[Sequence[str]] = ()
    function: str = ""
    pairs: int = 0
    reached: float = 0.0
    samples: Sequence[Sequence[Any]] = ()
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
        """Whether no promise is broken, all faults are found, and everything is covered."""
        return not self.missing and all(one.good for one in self.findings)

    def of(self, kind: str) -> list[Finding]:
        return [one for one in self.findings if one.kind == kind]

    def tables(self) -> list[list[tuple[str, ...]]]:
        """Functions, mechanisms that were drawn, planted faults and processor time, as rows of texts below a head."""
        functions: dict[str, list[Finding]] = {}
        for one in sorted(self.of("scenario"), key=lambda one: one.function):
            functions.setdefault(one.function, []).append(one)
        signs = [(one, one.problems[0] if one.problems else ("MISSED", "", "")) for one in self.of("fault")]
        kinds = [(kind, self.of(kind)) for kind in ("scenario", "fault") if self.of(kind)]
        tables: list[list[tuple[str, ...]]] = [
            [("function", "scenarios", "pairs", "claim reached"),
             *((path, f"{len(group):,}", f"{sum(one.pairs for one in group):,}", f"{max(m.reached for m in group):.0%}")
               for path, group in functions.items())],
            [("scenario", "mechanism", "price", "ε that draws show", "draws"),
             *((one.name, m, f"{p:.3g}", f"{e:.3g}", f"{n:,}") for one in self.findings for m, p, e, n in one.samples)],
            [("planted fault", "found by", "sign"),
             *((one.name, check, sign[:160].replace("|", "¦")) for one, (check, _, sign) in signs)],
            [("part", "tasks", "processor seconds"),
             *((kind, f"{len(group):,}", f"{sum(one.seconds for one in group):.0f}") for kind, group in kinds)],
        ]  # fmt: skip
        return [rows for rows in tables if rows[1:]]

    def summary(self) -> str:
        scenarios, faults = self.of("scenario"), self.of("fault")
        by = Counter(fault.problems[0][0] for fault in faults if fault.problems)
        each = ", ".join(f"{by[check]} by {check}" for check in CHECKS if by[check])
        return (
            f"{sum(one.good for one in scenarios):,} of {len(scenarios):,} scenarios "
            f"({sum(one.pairs for one in scenarios):,} pairs of neighbours) hold; "
            f"{sum(by.values())} of {len(faults)} planted faults found ({each}); "
            f"{self.functions} release functions, {len(self.missing)} functions or options not covered"
        )

    def failures(self) -> Iterator[str]:
        """A line for each broken promise, failed check and gap. Faults that were missed are in their table."""
        for one in self.findings:
            if one.error:
                yield f"NOT CHECKED {one.name}: {one.error}"
            if one.kind != "fault":
                yield from (f"BROKEN {one.name}: {pair}: {check}: {text}" for check, pair, text in one.problems)
        yield from (f"NOT COVERED {name}" for name in self.missing)

    def __str__(self) -> str:
        parts = [*map(align_lines, self.tables()), list(self.failures()), [self.summary()]]
        return "\n\n".join("\n".join(part) for part in parts if part)

    def to_markdown(self) -> str:
        parts = [["| " + " | ".join(row) + " |" for row in rows] for rows in self.tables()]
        for lines, rows in zip(parts, self.tables(), strict=True):
            lines.insert(1, "|" + "---|" * len(rows[0]))
        parts += [[f"- {line}" for line in self.failures()], [f"{self.summary()}."]]
        return "\n\n".join("\n".join(part) for part in parts if part) + "\n"

    def to_dict(self) -> dict[str, Any]:
        return {"ok": self.ok, "summary": self.summary(), **asdict(self)}


def examine(scenario: Scenario) -> Finding:
    """All checks of one scenario, on all of its pairs."""
    problems: list[tuple[str, str, str]] = []
    refused, claims, samples = [], [0.0], []
    pairs = scenario.pairs()
    for name, pair in pairs.items():
        problems += [("replay", name, text) for text in replay(scenario, pair)]
        costs = prices(scenario, pair)
        refused += [costs.error] if costs.error else []
        if scenario.priced and (name not in RETYPED or scenario.name.startswith("session: ")):
            problems += [("price", name, text) for text in costs.problems]
            claims.append(costs.total / costs.claimed if costs.claimed else 0.0)
        if scenario.draws:
            samples += (here := sample(scenario, pair))
            problems += [("draws", name, text) for text in violations(here)]
    if len(refused) == len(pairs) and not scenario.name.endswith("on containers"):  # many do not hold numbers
        problems.append(("replay", "all pairs", f"nothing is audited, since all are refused: {refused[0][:200]}"))
    return Finding("scenario", scenario.name, problems, scenario.function, len(pairs), max(claims), samples)


def trace(fault: PlantedFault) -> Finding:
    """Plant a fault, and look for it with one check after the other, those that need no statistics first."""
    where = fault.subject
    for check, seed in (*((price, seed) for seed in SEEDS), (replay, 0), *([(draws, 0)] if where.draws else [])):
        for name, pair in where.pairs().items():
            rows = deepcopy(pair)  # a fault may change them
            with fault.planted():
                texts = check(where, rows, seed)
            if texts:
                return Finding("fault", fault.name, [(check.__name__, name, texts[0])])
    return Finding("fault", fault.name)


@cache
def _tasks() -> dict[str, Callable[[], Finding]]:
    scenarios = {f"scenario {name}": partial(examine, one) for name, one in catalogue().items()}
    return {**scenarios, **{f"fault {fault.name}": partial(trace, fault) for fault in FAULTS}}


def tasks(only: str | None = None) -> list[str]:
    """The names of all tasks, or of those that contain a text: "scenario median", "fault a note"."""
    return [task for task in _tasks() if only is None or only in task]


def perform(task: str) -> Finding:
    """The finding of one task, with its processor time."""
    start = sum(os.times()[:4])  # of this process and those that it has waited for
    kind, _, name = task.partition(" ")
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # some functions print a plan, which is public
            finding = _tasks()[task]()
    except Exception as error:  # such as a fault whose path is gone
        finding = Finding(kind, name, error=f"{type(error).__name__}: {error}")
    return replace(finding, seconds=round(sum(os.times()[:4]) - start, 2))


def run(
    only: str | None = None, *, workers: int | None = None, state: Path | None = None, progress: bool | None = None
) -> Audit:
    """Audit everything, or the tasks that contain a text. `workers` is a number of processes; all cores by default.

    Each finding is added to the file `state`, and findings of the same code that are there are not made again.
    """
    processes = checks.integer("workers", os.cpu_count() or 1 if workers is None else workers, least=1)
    names, findings = tasks(only), {} if state is None else _findings(state)
    left = [name for name in names if name not in findings]
    with contextlib.ExitStack() as stack:
        if processes == 1 or len(left) <= BATCH:
            made: Iterator[Finding] = map(perform, left)
        else:  # polars does not survive a fork
            pool = stack.enter_context(ProcessPoolExecutor(processes, get_context("spawn")))
            made = pool.map(perform, left, chunksize=BATCH)
        file = stack.enter_context(open(os.devnull if state is None else state, "a", buffering=1, encoding="utf-8"))
        for name, finding in zip(left, track(made, "audit", show=progress, total=len(left)), strict=True):
            findings[name] = finding
            file.write(json.dumps({"code": _digest(), "task": name, "finding": asdict(finding)}) + "\n")
    missing = tuple(uncovered(catalogue().values())) if only is None else ()
    return Audit(tuple(findings[name] for name in names), len(release_functions()), missing)


@cache
def _digest() -> str:
    files = sorted(Path(uptack.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _findings(state: Path) -> dict[str, Finding]:
    """The findings in a file that were made with this code. The last line may be cut off."""
    findings = {}
    for line in state.read_text("utf-8").splitlines() if state.exists() else ():
        with contextlib.suppress(json.JSONDecodeError):
            entry = json.loads(line)
            if entry["code"] == _digest():
                findings[entry["task"]] = Finding(**entry["finding"])
    return findings


def main(argv: Sequence[str] | None = None) -> int:
    """Audit everything and print the report; 1 if anything is broken, missed or not covered, else 0."""
    parser = argparse.ArgumentParser(prog="uptack audit", description="Replay, price and draws of every release.")
    parser.add_argument("--only", metavar="NAME", help="scenarios and faults that contain this text in their names")
    parser.add_argument("--workers", type=int, help="processes; as many as there are cores by default")
    parser.add_argument("--state", type=Path, metavar="FILE", help="keep findings in this file, and resume from it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the report as Markdown")
    options = parser.parse_args(argv)
    if not tasks(options.only):
        parser.error(f"nothing has {options.only!r} in its name")
    audit = run(options.only, workers=options.workers, state=options.state)
    if options.json:
        options.json.write_text(json.dumps(audit.to_dict(), indent=2, ensure_ascii=False))
    if options.markdown:
        options.markdown.write_text(audit.to_markdown())
    sys.stdout.write(f"{audit}\n")
    return 0 if audit.ok else 1
