"""A whole audit: all checks of every scenario, exact laws and planted faults, over processes; it can be resumed.

Every scenario and every fault is a task of its own. What is done is written to a file, with a digest of the code. A run
that finds its own digest there goes on where the other one stopped.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import uptack
from uptack import checks
from uptack.audit.audit_report import Audit, Finding, LawFinding
from uptack.audit.catalogue import catalogue
from uptack.audit.coverage import release_functions, uncovered
from uptack.audit.detection import Trace, trace
from uptack.audit.draws import sampled
from uptack.audit.exact_audit import ExactLaw
from uptack.audit.exact_laws import exact_laws
from uptack.audit.hostile_tables import RETYPED
from uptack.audit.planted_faults import FAULTS
from uptack.audit.price import prices
from uptack.audit.replay import replay
from uptack.audit.scenario import Scenario
from uptack.progress import track

BATCH = 8
"""Tasks that a process is given at a time."""
SAVED = 25
"""Batches after which the state is written."""
Result = dict[str, Any]


def audited(scenario: Scenario) -> Finding:
    """All checks of one scenario."""
    problems: list[tuple[str, str, str]] = []
    refused, claims, laws = [], [0.0], []
    pairs = scenario.pairs()
    for name, pair in pairs.items():
        problems += [("replay", name, text) for text in replay(scenario, pair)]
        found = prices(scenario, pair)
        refused += [found.error] if found.error else []
        if scenario.priced and (name not in RETYPED or scenario.name.startswith("session: ")):
            problems += [("price", name, text) for text in found.problems]
            claims.append(found.total / found.claimed if found.claimed else 0.0)
        if scenario.draws:
            drawn = sampled(scenario, pair)
            laws += [(one.name, one.price, one.found, one.draws) for one in drawn]
            problems += [
                ("draws", name, f"{one.name}: ε = {one.found:.3g} of {one.price:.3g}") for one in drawn if one.refuted
            ]
    if len(refused) == len(pairs) and not scenario.name.endswith("on containers"):  # many are no numbers
        problems.append(("replay", "all pairs", f"nothing is audited, since all are refused: {refused[0][:200]}"))
    return Finding(scenario.name, scenario.function, len(pairs), tuple(problems), max(claims), tuple(laws))


def lawful(law: ExactLaw) -> LawFinding:
    """The least ε of a law that is known."""
    return LawFinding(law.name, law.claimed.epsilon, law.epsilon, tuple(law.problems))


@cache
def _laws() -> dict[str, ExactLaw]:
    return {law.name: law for law in exact_laws()}


@cache
def _faults() -> dict[str, Any]:
    return {fault.name: fault for fault in FAULTS}


KINDS: dict[str, Callable[[str], Any]] = {
    "scenario": lambda name: audited(catalogue()[name]),
    "law": lambda name: lawful(_laws()[name]),
    "fault": lambda name: trace(_faults()[name]),
}
MADE: dict[str, Any] = {"scenario": Finding, "law": LawFinding, "fault": Trace}


def tasks(only: str | None = None) -> list[str]:
    """The names of all tasks, or of those with a text in them: "scenario median", "law count", "fault a note"."""
    every = [*(f"scenario {name}" for name in catalogue()), *(f"law {name}" for name in _laws())]
    every += [f"fault {name}" for name in _faults()]
    return [task for task in every if only is None or only in task]


def done(batch: Sequence[str]) -> list[tuple[str, Result]]:
    """Do some tasks, and say what came of each, as plain values."""
    made = []
    for task in batch:
        kind, _, name = task.partition(" ")
        with contextlib.redirect_stderr(io.StringIO()):  # some functions print a plan, which is public
            made.append((task, vars(KINDS[kind](name)).copy()))
    return made


@cache
def digest() -> str:
    """A digest of the code of this package: a state of other code is no state of this one."""
    root, found = Path(uptack.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def run(
    only: str | None = None, *, workers: int | None = None, state: Path | None = None, progress: bool | None = None
) -> Audit:
    """Audit everything, or what has a text in its name. `workers` is a number of processes; all cores by default."""
    processes = checks.integer("workers", os.cpu_count() or 1 if workers is None else workers, least=1)
    names = tasks(only)
    known = _load(state)
    left = [name for name in names if name not in known]
    batches = [left[i :: -(-len(left) // BATCH)] for i in range(-(-len(left) // BATCH))] if left else []
    for count, batch in enumerate(track(_made(batches, processes), "audit", show=progress, total=len(batches)), 1):
        known.update(batch)
        if count % SAVED == 0:
            _save(state, known)
    _save(state, known)
    parts: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    for name in names:
        kind = name.partition(" ")[0]
        parts[kind].append(MADE[kind](**known[name]))
    missing = tuple(uncovered(catalogue().values())) if only is None else ()
    return Audit(
        tuple(parts["scenario"]), tuple(parts["law"]), tuple(parts["fault"]), len(release_functions()), missing
    )


def _made(batches: Sequence[Sequence[str]], processes: int) -> Iterator[list[tuple[str, Result]]]:
    if processes == 1 or len(batches) < 2:
        yield from map(done, batches)
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:  # polars does not survive a fork
        for future in as_completed([pool.submit(done, batch) for batch in batches]):
            yield future.result()


def _load(state: Path | None) -> dict[str, Result]:
    """What an earlier run of the same code has done."""
    if state is None or not state.exists():
        return {}
    held = json.loads(state.read_text())
    return dict(held["done"]) if held["code"] == digest() else {}


def _save(state: Path | None, known: dict[str, Result]) -> None:
    if state is not None:
        beside = state.with_suffix(".part")
        beside.write_text(json.dumps({"code": digest(), "done": known}, ensure_ascii=False))
        beside.replace(state)
