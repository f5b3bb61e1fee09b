"""Running an audit: draws of every case, spread over processes, and one report of what was promised and what was found.

Each batch of draws has a seed of its own, made of the audit's seed, the name of the case, the side and the number of
the batch. So a report depends on its seed alone, not on how many processes worked on it.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, NamedTuple

from uptack import checks
from uptack.audit.answer_events import plain
from uptack.audit.audit_case import Case, ExactCase
from uptack.audit.audit_report import Finding, Report
from uptack.audit.exact_audit import least_epsilon
from uptack.audit.privacy_bounds import LEAST_DRAWS, witness
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.noise import SeededEntropy
from uptack.progress import track

BATCH = 250
CONFIDENCE = 0.999
"""Of a whole audit: its cases share the chance of a false alarm."""


class Batch(NamedTuple):
    """Some draws of one case on one side."""

    case: int
    side: int
    number: int
    draws: int


def run(
    cases: Iterable[Case | ExactCase],
    *,
    draws: int = 4000,
    seed: int = 0,
    confidence: Rational = CONFIDENCE,
    workers: int | None = None,
    progress: bool | None = None,
) -> Report:
    """Audit every case: `draws` answers on each of its two neighbours, or its exact law where that is known.

    **Theorem.** If all promises are kept, the report has a found ε above a claimed one with a chance of at most
    1 - `confidence` over the seed: every bound has the confidence 1 - (1 - confidence)/cases (`epsilon_lower_bound`).

    `workers=2` spreads the draws over processes; mechanisms must then be functions that can be pickled.

    >>> from uptack.audit import family, released
    >>> from uptack.mechanisms import laplace
    >>> from uptack.privacy import Privacy
    >>> noise = released(laplace, sensitivity=1, epsilon=1)
    >>> run(family("sum", noise, {"one row": (3, 4), "two rows": (3, 5)}, Privacy(1)), draws=1000).ok
    False
    """
    audited, each = list(cases), checks.integer("draws", draws, least=2 * LEAST_DRAWS)
    processes = checks.integer("workers", 1 if workers is None else workers, least=1)
    start = checks.integer("seed", seed, least=0)
    share = (1 - checks.inside_unit("confidence", confidence)) / max(len(audited), 1)
    names = [(type(case), case.name) for case in audited]
    if len(set(names)) < len(names):
        raise InvalidArgument("cases", "of different names", "some twice", "The seeds are made of the names.")
    batches = [batch for i, case in enumerate(audited) if isinstance(case, Case) for batch in _batches(i, case, each)]
    done = _drawn(audited, batches, start, processes)
    found = dict(track(done, "audit", show=progress, total=len(batches)))
    answers: dict[tuple[int, int], list[Any]] = defaultdict(list)
    for batch in batches:  # in their order, whichever was done first
        answers[batch.case, batch.side] += found[batch]
    return Report(
        tuple(
            _exactly(case) if isinstance(case, ExactCase) else _by_draws(case, answers[i, 0], answers[i, 1], 1 - share)
            for i, case in enumerate(audited)
        )
    )


def _batches(i: int, case: Case, draws: int) -> Iterator[Batch]:
    """The draws of a case in parts."""
    wanted = max(2 * LEAST_DRAWS, round(case.share * draws))
    for side in (0, 1):
        for number, start in enumerate(range(0, wanted, BATCH)):
            yield Batch(i, side, number, min(BATCH, wanted - start))


def _drawn(
    cases: Sequence[Case | ExactCase], batches: Sequence[Batch], seed: int, workers: int
) -> Iterator[tuple[Batch, list[Any]]]:
    if workers == 1:
        for batch in batches:
            yield batch, answers_of(cases[batch.case], batch, seed)
        return
    _check_picklable(cases)
    with ProcessPoolExecutor(workers) as pool:
        waiting = {pool.submit(answers_of, cases[batch.case], batch, seed): batch for batch in batches}
        for future in as_completed(waiting):
            yield waiting[future], future.result()


def _check_picklable(cases: Sequence[Case | ExactCase]) -> None:
    for case in cases:
        try:
            _ = isinstance(case, ExactCase) or pickle.dumps(case)
        except Exception:
            fix = "Use functions of a module, `released(function, ...)`, or workers=1."
            raise InvalidArgument("cases", "such that can be sent to other processes", repr(case.name), fix) from None


def answers_of(case: Case | ExactCase, batch: Batch, seed: int) -> list[Any]:
    """The answers of one batch, from entropy of its own."""
    assert isinstance(case, Case)
    label = f"{seed}/{case.name}/{batch.side}/{batch.number}"
    entropy = SeededEntropy(int.from_bytes(hashlib.sha256(label.encode()).digest()[:16], "big"))
    data = case.pair[batch.side]
    return [plain(case.mechanism(data, entropy)) for _ in range(batch.draws)]


def _by_draws(case: Case, answers: list[Any], answers_prime: list[Any], confidence: Rational) -> Finding:
    claimed = case.claimed
    seen = witness(answers, answers_prime, claimed.exact_delta, confidence, epsilon=claimed.exact_epsilon)
    return Finding(case.name, claimed, seen.epsilon, seen.delta, len(answers), case.broken)


def _exactly(case: ExactCase) -> Finding:
    found = least_epsilon(case.cells, case.claimed.exact_delta)
    return Finding(case.name, case.claimed, found, None, None, case.broken)
