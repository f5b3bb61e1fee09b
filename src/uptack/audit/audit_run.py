"""A whole audit: all checks of every scenario, exact laws and planted faults, over processes; it can be resumed.

Every scenario, law and fault is a task of its own. Each result is appended to a file, with a digest of the code. A run
that has the same digest resumes where the other one stopped.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from copy import deepcopy
from dataclasses import asdict, replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

import uptack
from uptack import checks
from uptack.audit.audit_report import Audit, Finding
from uptack.audit.catalogue import catalogue, release_functions, uncovered
from uptack.audit.draws import draws, refuted, sampled
from uptack.audit.exact_laws import ExactLaw, exact_laws
from uptack.audit.hostile_tables import RETYPED
from uptack.audit.planted_faults import FAULTS, PlantedFault
from uptack.audit.price import price, prices
from uptack.audit.replay import replay
from uptack.audit.scenario import Scenario
from uptack.progress import track

BATCH = 8
"""Tasks that a process is given at a time."""
SEEDS = range(3)
"""Tapes that a fault is looked for on: a test that passes by chance hides what comes after it."""


def examine(scenario: Scenario) -> Finding:
    """All checks of one scenario, on all of its pairs."""
    problems: list[tuple[str, str, str]] = []
    refused, claims, samples = [], [0.0], []
    pairs = scenario.pairs()
    for name, pair in pairs.items():
        problems += [("replay", name, text) for text in replay(scenario, pair)]
        found = prices(scenario, pair)
        refused += [found.error] if found.error else []
        if scenario.priced and (name not in RETYPED or scenario.name.startswith("session: ")):
            problems += [("price", name, text) for text in found.problems]
            claims.append(found.total / found.claimed if found.claimed else 0.0)
        if scenario.draws:
            samples += (here := sampled(scenario, pair))
            problems += [("draws", name, text) for text in refuted(here)]
    if len(refused) == len(pairs) and not scenario.name.endswith("on containers"):  # many are no numbers
        problems.append(("replay", "all pairs", f"nothing is audited, since all are refused: {refused[0][:200]}"))
    return Finding("scenario", scenario.name, problems, scenario.function, len(pairs), max(claims), samples)


def prove(law: ExactLaw) -> Finding:
    """The least ε of a law that is known."""
    problems = [("exact", "both tables", text) for text in law.problems]
    return Finding("law", law.name, problems, reached=law.epsilon / law.claimed.epsilon)


def trace(fault: PlantedFault) -> Finding:
    """Plant a fault, and look for it with one check after the other, those that need no statistics first."""
    where = subject(fault)
    if isinstance(where, ExactLaw):
        with fault.planted():
            return replace(prove(where), kind="fault", name=fault.name)
    for check, seed in (*((price, seed) for seed in SEEDS), (replay, 0), *([(draws, 0)] if where.draws else [])):
        for name, pair in where.pairs().items():
            rows = deepcopy(pair)  # a fault may change them
            with fault.planted():
                texts = check(where, rows, seed)
            if texts:
                return Finding("fault", fault.name, [(check.__name__, name, texts[0])])
    return Finding("fault", fault.name)


def subject(fault: PlantedFault) -> Scenario | ExactLaw:
    """The scenario or law on which a fault is looked for."""
    if not isinstance(fault.scenario, str):
        return fault.scenario
    return catalogue().get(fault.scenario) or _laws()[fault.scenario]


# ------------------------------------------------------------------------------------------------------------ all tasks


@cache
def _laws() -> dict[str, ExactLaw]:
    return {law.name: law for law in exact_laws()}


@cache
def _todo() -> dict[str, Callable[[], Finding]]:
    made: dict[str, Callable[[], Finding]] = {f"scenario {n}": partial(examine, one) for n, one in catalogue().items()}
    made |= {f"law {name}": partial(prove, law) for name, law in _laws().items()}
    return made | {f"fault {fault.name}": partial(trace, fault) for fault in FAULTS}


def tasks(only: str | None = None) -> list[str]:
    """The names of all tasks, or of those with a text in them: "scenario median", "law count", "fault a note"."""
    return [task for task in _todo() if only is None or only in task]


def done(batch: Sequence[str]) -> dict[str, Finding]:
    """Do some tasks."""
    made = {}
    for task in batch:
        start = _processor_time()
        kind, _, name = task.partition(" ")
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # some functions print a plan, which is public
                found = _todo()[task]()
        except Exception as error:  # such as a fault whose path is gone
            found = Finding(kind, name, error=f"{type(error).__name__}: {error}")
        made[task] = replace(found, seconds=round(_processor_time() - start, 2))
    return made


def _processor_time() -> float:
    """Of this process and those that it has waited for."""
    return sum(os.times()[:4])


@cache
def digest() -> str:
    """A digest of the code of this package: results of other code are none of this one."""
    root, found = Path(uptack.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def run(
    only: str | None = None, *, workers: int | None = None, state: Path | None = None, progress: bool | None = None
) -> Audit:
    """Audit everything, or what has a text in its name. `workers` is a number of processes; all cores by default."""
    processes = checks.integer("workers", os.cpu_count() or 1 if workers is None else workers, least=1)
    names, known = tasks(only), _load(state)
    left = [name for name in names if name not in known]
    count = -(-len(left) // BATCH)
    batches = [left[i::count] for i in range(count)]
    for batch in track(_made(batches, processes), "audit", show=progress, total=count):
        known |= batch
        if state is not None:
            with state.open("a") as file:
                file.writelines(
                    json.dumps({"code": digest(), "task": task, **asdict(one)}, ensure_ascii=False) + "\n"
                    for task, one in batch.items()
                )
    missing = tuple(uncovered(catalogue().values())) if only is None else ()
    return Audit(tuple(known[name] for name in names), len(release_functions()), missing)


def _made(batches: Sequence[Sequence[str]], processes: int) -> Iterator[dict[str, Finding]]:
    if processes == 1 or len(batches) < 2:
        yield from map(done, batches)
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:  # polars does not survive a fork
        futures = [pool.submit(done, batch) for batch in batches]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _load(state: Path | None) -> dict[str, Finding]:
    """What earlier runs of the same code have done. A line that was cut off is none."""
    known: dict[str, Finding] = {}
    for line in [] if state is None or not state.exists() else state.read_text().splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            held = json.loads(line)
            if held.pop("code") == digest():
                task = held.pop("task")
                known[task] = Finding(**held)
    return known
