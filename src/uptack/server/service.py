"""What a server does, without HTTP: plan, debit, compute, store, answer.

    dry run ─► price ─► approval, if above the threshold ─► debit ─► read ─► store ─► answer at the time slot

**Theorem.** All answers that a service has sent about a data set are together (ε, δ)-differentially private, where
(ε, δ) is the budget of its ledger. *Proof.* An answer is computed after its debit (`Session.run`), once (a record
leaves the state "running" once), so the ledger's theorem holds. Whatever else a client sees is a function of requests,
of public facts and of answers: errors come from the dry run or are fixed texts, the time is that of a slot
(`uptack.server.time_slots`), and "withheld" says only that no answer was stored in time. No reply and no debit waits
for a release that is reading rows (`Dataset`). ∎
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from uptack import checks
from uptack.errors import BudgetExceeded, InvalidArgument, UptackError
from uptack.kernels.function_release import FunctionRelease
from uptack.ledger import Ledger
from uptack.noise import SeededEntropy
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy
from uptack.privacy.guarantee import short
from uptack.privacy.loss import rational_text
from uptack.registry import Declaration, Option, declared, in_tables
from uptack.registry.options import KNOWN
from uptack.release import NoReply, Release
from uptack.report.profile import Profile, profile, usual_delta
from uptack.report.profile import plan as plan_report
from uptack.report.section import registered_sections
from uptack.server.config import DatasetConfig, ServerConfig
from uptack.server.release_store import Record, ReleaseStore, Role, State, Token
from uptack.server.time_slots import TimeSlots
from uptack.session import Plan, Request, Session
from uptack.session import open as open_session
from uptack.session.session import Spending
from uptack.table.engine.files import schema_of
from uptack.table.unread import UnreadTable
from uptack.wire import answers
from uptack.wire.requests import narrow, read_object, read_options, read_request
from uptack.wire.stored_report import StoredReport

LONGEST_KEY = 200
REPORT = "report"
MOST_POINTS = 100_000
"""Points of a released function in one question."""
MOST_CELLS = 5_000_000
"""Cells of synthetic rows in one answer: they take a few seconds and half a gigabyte, and are stored."""
MOST_UNDECIDED = 50
"""Requests of an analyst that wait for the curator. They are free, and the curator's page lists 500 of all analysts."""
MOST_GROUPS = 1_000
"""Groups that a request lists, at most: each takes up to 2 ms of a processor, whether it has rows or not."""
MADE_UP = 5_000
"""Rows of made-up data, at most."""
WRITING = 10.0
"""Seconds after the last time slot within which its answer must be on disk. After that it is withheld."""
PLACES = 4
"""Releases at once, per core, for all worker processes together. A place is kept until the slot ends. If it were free
as soon as a release is done, the time of the next debit, which the ledger tells, would tell when that was."""
NO_SLOTS = TimeSlots(0.001, 20)
"""Slots so short that answers are sent as soon as they are there; the last ends after nine minutes."""


def report_options() -> tuple[Option, ...]:
    """What a request for a report may say. Each section has its option."""
    columns = Option("columns", "Only these columns. If none is chosen: all of them.", "words")
    title = Option("title", "The title of the report.", "word")
    sections = (Option(one.option, one.help, "word" if one.takes is str else "flag") for one in registered_sections())
    return (KNOWN["epsilon"], KNOWN["delta"], columns, title, *sections)


class Refused(UptackError):
    """A request that is not admitted: `status` is the HTTP status, and nothing was spent."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


@dataclass
class Dataset:
    """A data set that is served: its configuration, a session that reads rows, and the public side of its table.

    Threads take turns to read from a connection. So all but a release sees `public` alone: a plan that waited for a
    release to be done would tell when that was. `public` is that of the start, or of the last release.
    """

    config: DatasetConfig
    reader: Session
    public: UnreadTable

    @property
    def session(self) -> Session:
        """The curator's session on what is public."""
        return self.reader.on(self.public)

    @property
    def ledger(self) -> Ledger:
        assert self.reader.ledger is not None
        return self.reader.ledger

    @property
    def rows(self) -> int | None:
        return self.public.size if self.reader.adjacency.size_is_public else None

    def session_of(self, analyst: str) -> Session:
        """A session that spends on behalf of an analyst; "" is the curator."""
        made = self.session
        made.analyst, made._spending = analyst or None, Spending(made.adjacency)
        return made

    def facts(self) -> UnreadTable:
        """What is public of the table now."""
        return UnreadTable.of(self.reader.source)


def open_dataset(config: DatasetConfig, store: ReleaseStore) -> Dataset:
    """Open a data set. Where its budget treats the number of rows as secret, nothing may show it."""
    session = _session(config, store)
    made = Dataset(config, session, UnreadTable.of(session.source))
    if made.session.adjacency.size_is_public and not made.ledger.adjacency.size_is_public:
        fix = "Pass --adjacency add-remove, or adjacency = 'add-remove' in the configuration."
        must = "add-remove, as in its budget: the number of rows is secret"
        raise InvalidArgument(f"adjacency of {config.name}", must, "substitute", fix)
    return made


def _session(config: DatasetConfig, store: ReleaseStore) -> Session:
    """The curator's session, with the ledger that the schema names, or else one in the server's store."""
    schema = schema_of(config.source)
    if schema is not None and schema.ledger is not None:
        made = open_session(config.source, **config.opening)
        assert made.ledger is not None
        stated = Privacy(config.epsilon or 0, config.delta, made.ledger.adjacency)
        if config.epsilon is not None and stated != made.ledger.budget:
            must = f"left out, or as in the ledger that {schema.name} names: {made.ledger.budget}"
            raise InvalidArgument(f"the budget of {config.name}", must, str(stated), "A budget never changes.")
        return made
    if config.name in store.budgets():
        relation = Ledger(store.place, dataset=config.name).adjacency
    elif config.epsilon is None:
        fix = "It is the total budget of all releases: --epsilon, or epsilon= in the configuration."
        raise InvalidArgument(f"epsilon of {config.name}", "given the first time it is served", "nothing", fix)
    else:
        relation = open_session(config.source, **config.opening).adjacency
    budget: dict[str, Any] = {"epsilon": config.epsilon, "delta": config.delta, "adjacency": relation}
    ledger = Ledger(store.place, dataset=config.name, **({} if config.epsilon is None else budget))
    return open_session(config.source, ledger=ledger, **config.opening)


@dataclass(frozen=True)
class Caller:
    """Who asks: an analyst, or the curator, and about which data sets."""

    name: str
    role: Role
    datasets: tuple[str, ...] = ("*",)

    @property
    def analyst(self) -> str:
        """The name in the ledger and in records, which have none for the curator: an analyst may have any name."""
        return "" if self.role == "curator" else self.name

    @property
    def place(self) -> str:
        """Whose requests are counted together."""
        return f"{self.role} {self.name}"

    def sees(self, dataset: str) -> bool:
        return "*" in self.datasets or dataset in self.datasets

    def covers(self, datasets: Sequence[str]) -> bool:
        """Whether all of these data sets are open to this caller; "*" is all that there are."""
        return all(map(self.sees, datasets))


@dataclass(frozen=True)
class ReleaseJob:
    """A request that passed the dry run: what it costs at most, and how it is computed once it may be."""

    held: Dataset
    line: str
    cost: Privacy
    slots: TimeSlots
    run: Callable[[], Any]


class Service:
    """The data sets of a server, its store, and what analysts and the curator can do."""

    def __init__(self, config: ServerConfig) -> None:
        self.config, self.store = config, ReleaseStore(config.store)
        self.datasets = {one.name: open_dataset(one, self.store) for one in config.datasets}
        self.closing, self.missed = False, Counter[str]()  # releases that were not done in their first slot
        self._places = max(1, PLACES * (os.cpu_count() or 1) // config.workers)
        self._threads = ThreadPoolExecutor(self._places, "uptack-release")
        self._running: dict[str, Future[None]] = {}

    # -------------------------------------------------------------------------------------------------- what is public

    def dataset(self, caller: Caller, name: str) -> Dataset:
        """A data set that the caller may see. One that she may not see does not exist for her."""
        if name not in self.datasets or not caller.sees(name):
            raise Refused(404, "there is no such data set")
        return self.datasets[name]

    def face(self, caller: Caller, name: str) -> dict[str, Any]:
        """What is public of a data set: columns and kinds, the unit of privacy, rows if public, the budget left."""
        held = self.dataset(caller, name)
        session = held.session_of(caller.analyst)
        about = session.to_dict()
        del about["spent"]
        table = replace(held.public, size=held.rows or 0)  # a secret size stays here
        return {
            "name": name,
            "title": held.config.title or session.schema.title or name,
            **about,
            "numeric": list(session.numeric),
            "unit": session.adjacency.unit,
            "adjacency": session.adjacency.to_dict(),
            "budget": held.ledger.budget.to_dict(),
            "approve_above": None if held.config.approve_above is None else float(held.config.approve_above),
            "paused": self.paused(name),
            "session": answers.encode((table, session.adjacency, session.noun, replace(session.schema, ledger=None))),
        }

    def statistics(self) -> dict[str, Declaration]:
        return {name: one for name, one in declared().items() if in_tables(one)}

    def made_up(self, name: str, seed: int = 0) -> Session:
        """A session on invented rows with the columns of a data set. Its answers cost nothing and say nothing."""
        return made_up_session(self.datasets[name].session, seed)

    # --------------------------------------------------------------------------------------------------------- asking

    def plan(self, caller: Caller, name: str, statistic: str, body: object) -> Plan:
        """The price and the expected error of a request. It reads no rows and costs nothing."""
        session = self.dataset(caller, name).session_of(caller.analyst)
        if statistic == REPORT:
            narrowed, options, _ = self._report_options(session, body)
            return plan_report(narrowed, **options)
        narrowed, request = self._read(session, statistic, body)
        return narrowed.plan([request])

    def try_out(self, caller: Caller, name: str, statistic: str, body: object, seed: int = 0) -> Any:
        """The answer to a request on made-up rows: it costs nothing, and shows what an answer looks like."""
        self.dataset(caller, name)
        if statistic == REPORT:
            narrowed, options, title = self._report_options(self.made_up(name, seed), body)
            return storable(narrowed.report(**options, title=f"Made-up data: {title or name}", progress=False))
        narrowed, request = self._read(self.made_up(name, seed), statistic, body)
        if statistic == "synthetic" and request.given.get("rows", 0) > MADE_UP:
            request = Request(statistic, *request.columns, **{**request.given, "rows": MADE_UP})
        return storable(narrowed.run(request))

    def ask(self, caller: Caller, name: str, statistic: str, body: object, key: str) -> Record | NoReply:
        """Make a release: its record, or ⊥ where public numbers decide on it for free.

        A request with a key that the caller has used for this data set before is the same request: it is not debited
        again, and has the same record.
        """
        held = self.dataset(caller, name)
        try:
            written = json.dumps(body, sort_keys=True, allow_nan=False)
        except ValueError:
            raise InvalidArgument("the request", "of finite numbers", "NaN or an infinite one") from None
        if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
            raise InvalidArgument("Idempotency-Key", f"1 to {LONGEST_KEY} printable characters", "another text")
        if (known := self.store.by_key(name, caller.analyst, key)) is not None:
            return self._same(known, statistic, written)
        self._admit(held)
        job = self._job(held, caller, statistic, body)
        if isinstance(job, NoReply):
            return job
        now, threshold = time.time(), held.config.approve_above
        waits = caller.role != "curator" and threshold is not None and job.cost.exact_epsilon > threshold
        if waits and len(self.store.list_releases(caller.analyst, "waiting", MOST_UNDECIDED)) == MOST_UNDECIDED:
            raise Refused(429, f"{MOST_UNDECIDED} of your requests wait for the curator; ask again after a decision")
        mine = Record(
            id=secrets.token_urlsafe(16),
            dataset=name,
            analyst=caller.analyst,
            key=key,
            statistic=statistic,
            request=written,
            line=job.line,
            epsilon=rational_text(job.cost.exact_epsilon),
            delta=rational_text(job.cost.exact_delta),
            state="waiting" if waits else "running",
            made=now,
            due=now + job.slots.last + WRITING,
        )
        record = self._same(self.store.add(mine), statistic, written)
        if record.id == mine.id and not waits:
            self._start(record, job)
        return record

    @staticmethod
    def _same(record: Record, statistic: str, request: str) -> Record:
        """The record of a key, if it is of the same request."""
        if (record.statistic, record.request) != (statistic, request):
            raise Refused(422, "this key was used for another request: a key names one request")
        return record

    def running(self, record: Record) -> Future[None] | None:
        """What is done when the slot ends of a release that this process computes; None for others."""
        return self._running.get(record.id)

    def release(self, caller: Caller, id: str) -> Record:
        """A record of the caller's own, or any if she is the curator."""
        found = self.store.release(id)
        mine = found is not None and (caller.role == "curator" or found.analyst == caller.analyst)
        if found is None or not mine or not caller.sees(found.dataset):
            raise Refused(404, "there is no such release")
        return found

    def answer(self, caller: Caller, id: str) -> Any:
        record = self.release(caller, id)
        if record.state != "answered":
            raise Refused(409, f"this release has no answer: it is {record.state}")
        return answers.loads(record.answer)

    def at(self, caller: Caller, id: str, points: Sequence[float]) -> list[float]:
        """The values of a released function at points. It costs nothing: the function has been released."""
        made = self.answer(caller, id)
        function = getattr(getattr(made, "value", None), "at", None)
        if function is None:
            raise Refused(409, "this release is not a function")
        if not 0 < len(points) <= MOST_POINTS or not all(map(math.isfinite, points)):
            raise InvalidArgument("x", f"1 to {MOST_POINTS:,} finite numbers", f"{len(points)} values")
        dimension = getattr(made.value, "dimension", 1)
        if len(points) % dimension:
            raise InvalidArgument("x", f"{dimension} numbers for each point", f"{len(points)} numbers")
        at = np.array(points, float)
        return [float(value) for value in np.atleast_1d(function(at if dimension == 1 else at.reshape(-1, dimension)))]

    # ------------------------------------------------------------------------------------------------ for the curator

    def paused(self, name: str) -> bool:
        return self.store.setting(f"paused {name}") == "yes"

    def pause(self, name: str, paused: bool) -> None:
        self.store.set(f"paused {name}", "yes" if paused else "no")

    def tokens(self, caller: Caller) -> list[Token]:
        """The tokens of a curator: those for nothing but her own data sets."""
        return [one for one in self.store.tokens() if caller.covers(one.datasets)]

    def revoke(self, caller: Caller, hash: str) -> None:
        if hash not in {one.hash for one in self.tokens(caller)} or not self.store.revoke(hash):
            raise Refused(404, "there is no such token, or it was revoked already")

    def decide(self, caller: Caller, id: str, approve: bool) -> Record:
        """Approve or refuse a request that waits. An approved one is debited and computed now."""
        record = self.release(caller, id)
        if caller.role != "curator":
            raise Refused(403, "only the curator decides")
        if record.state != "waiting":
            raise Refused(409, f"this request does not wait for a decision: it is {record.state}")
        if not approve:
            self.store.move(id, "waiting", "refused")
            return self.release(caller, id)
        held, asker = self.dataset(caller, record.dataset), Caller(record.analyst, "analyst")
        self._admit(held)
        job = self._job(held, asker, record.statistic, json.loads(record.request))
        if isinstance(job, NoReply):
            raise Refused(409, "the data set has changed, and is too small for this request now")
        now = time.time()
        if self.store.move(id, "waiting", "running", made=now, due=now + job.slots.last + WRITING):
            self._start(replace(record, state="running", made=now), job, otherwise="waiting")
        return self.release(caller, id)

    def close(self) -> None:
        """Refuse new releases, and finish those that are running, each at the end of its slot."""
        self.closing = True
        self._threads.shutdown(wait=True)

    # ------------------------------------------------------------------------------------------------------- the work

    def _job(self, held: Dataset, caller: Caller, statistic: str, body: object) -> ReleaseJob | NoReply:
        """The dry run of a request. Whatever is wrong with it is said here, before anything is stored or spent."""
        session, groups = held.session_of(caller.analyst), 0
        if statistic == REPORT:
            narrowed, options, title = self._report_options(session, body)
            title = title or held.config.title or session.schema.title or held.config.name
            plan, columns = plan_report(narrowed, **options), len(session.source.kinds)
            line = narrowed.line(f"report, {_price(plan.total)}")
            reader = narrowed.on(held.reader.source)
            options |= {"public": narrowed, "title": title, "progress": False}
            run: Callable[[], Any] = functools.partial(profile, reader, **options)
        else:
            narrowed, request = self._read(session, statistic, body)
            plan, columns, groups = narrowed.plan([request]), len(request.columns), _groups(request)
            if plan.releases[0].refusal is not None:
                return plan.releases[0].refusal
            reader, line = narrowed.on(held.reader.source), narrowed.line(request)
            run = functools.partial(reader.run_rehearsed_on, request, narrowed)
        plan.check_affordable()
        slots = TimeSlots.of(held.rows, columns, groups, held.config.seconds) if self.config.slots else NO_SLOTS
        return ReleaseJob(held, line, plan.total, slots, run)

    def _start(self, record: Record, job: ReleaseJob, otherwise: State = "refused") -> None:
        """Compute a release in a thread of its own. `otherwise` is its state if the server shuts down just then."""

        done = self._running[record.id] = Future[None]()

        def compute() -> None:
            try:
                self._compute(record, job)
            finally:
                del self._running[record.id]
                done.set_result(None)

        try:
            self._threads.submit(compute)
        except RuntimeError:  # the server has begun to shut down meanwhile
            del self._running[record.id]
            self.store.move(record.id, "running", otherwise)
            raise Refused(503, "the server is shutting down; ask again later") from None

    def _compute(self, record: Record, job: ReleaseJob) -> None:
        """Debit, compute, and store what came of it when its slot ends. After the last slot nothing is stored.

        A release that has waited for a place until its last slot is not debited any more: it would hardly be done in
        time. The public side of the table is read again, since a database may grow; only while no other release is
        running, so that of two releases the one that reads later also ends later.
        """
        if time.time() >= record.made + job.slots.last / 2:
            self.store.move(record.id, "running", "withheld")
            return
        if self.paused(record.dataset):  # since it was admitted
            self.store.move(record.id, "running", "refused")
            return
        state, text = self._make(job)
        facts = None
        if len(self._running) == 1 and job.held.reader.source.is_current:
            with contextlib.suppress(UptackError):
                facts = job.held.facts()
        end = job.slots.end(time.time() - record.made)
        self.missed[record.dataset] += self.config.slots and end > job.slots.first
        time.sleep(max(0.0, record.made + end - time.time()))
        job.held.public = facts or job.held.public
        if end <= job.slots.last:
            self.store.move(record.id, "running", state, answer=text)

    def _make(self, job: ReleaseJob) -> tuple[State, str]:
        """Debit and compute. Whatever goes wrong after the dry run is withheld: it may depend on the rows."""
        try:
            return "answered", answers.dumps(storable(job.run()))
        except BudgetExceeded:  # somebody else was faster, and nothing was debited
            return "refused", ""
        except Exception:
            return "withheld", ""

    def _read(self, session: Session, statistic: str, body: object) -> tuple[Session, Request]:
        declaration = self.statistics().get(statistic)
        if declaration is None:
            raise Refused(404, "there is no such statistic")
        narrowed, request = read_request(session, declaration, body)
        if statistic == "kde":  # a server stores its curve: of one column, in a window that was chosen privately
            if "bandwidth" in request.given:
                fix = "It is then chosen privately, together with the window that the server draws the curve in."
                raise InvalidArgument("bandwidth", "left out of a request to a server", "given", fix)
            if len(request.columns) > 1:
                fix = "Of two or three columns ask for fourier_density."
                raise InvalidArgument("columns", "one column in a request to a server", len(request.columns), fix)
        if statistic == "synthetic":
            public = session.source.size if session.adjacency.size_is_public else MOST_CELLS + 1
            rows, columns = request.given.get("rows"), len(request.columns) or len(session.source.kinds)
            most = MOST_CELLS // columns
            if (public if rows is None else rows) > most:  # else a secret number would decide how much memory it takes
                raise InvalidArgument("rows", f"given, and at most {most:,} of {columns} columns on a server", rows)
        checks.few("groups", _groups(request), MOST_GROUPS, "on a server", "Ask in several requests.")
        return narrowed, request

    def _report_options(self, session: Session, body: object) -> tuple[Session, dict[str, Any], str | None]:
        """The session on the rows that a report is about, its options, and its title."""
        parts = read_object("the request", body, ("where", "options"))
        options = {"delta": usual_delta(session), **read_options(REPORT, report_options(), parts.get("options", {}))}
        if "epsilon" not in options:
            raise InvalidArgument("epsilon", "given, such as 1", "nothing")
        columns = options.get("columns")
        if isinstance(columns, list) and len({*map(repr, columns)}) < len(columns):
            raise InvalidArgument("columns", "different ones", "one of them twice")
        return narrow(session, parts.get("where", [])), options, options.pop("title", None)

    def _admit(self, held: Dataset) -> None:
        """Refuse releases while the server shuts down or the data set is paused, and if as many wait as are computed.

        A release that waits for a place too long would be withheld, and so would one from a file that has changed.
        """
        if self.closing:
            raise Refused(503, "the server is shutting down; ask again later")
        if len(self._running) >= 2 * self._places:
            raise Refused(503, "the server is busy; ask again in a moment")
        if self.paused(held.config.name):
            raise Refused(423, "the curator has paused this data set")
        if not held.reader.source.is_current:
            raise Refused(409, "the file has changed since the server opened it; the curator must restart the server")


def _groups(request: Request) -> int:
    """How many groups a request lists: for several columns their values, or all combinations of them."""
    listed = request.given.get("groups") or ()
    return math.prod(map(len, listed.values())) if isinstance(listed, Mapping) else len(listed)


def _price(cost: Privacy) -> str:
    """A cost as a title has it, in four digits at most."""
    return f"ε = {short(cost.epsilon)}" + (f", δ = {short(cost.delta)}" if cost.delta else "")


def storable(made: Any) -> Any:
    """An answer as a server keeps it: a report as its pages, a function that is drawn point by point as a curve."""
    if isinstance(made, Profile):
        lines = tuple(made.records())
        texts = made.to_html(), made.to_markdown(), made.to_json(), repr(made)
        return StoredReport(*texts, lines, made.spent, made.private)
    if isinstance(made, Release) and isinstance(made.value, FunctionRelease):
        return replace(made, value=made.value.on_grid().density(), noise=None)
    return made


def half_width(made: Any) -> float | None:
    """Half the width of the 95% interval of an answer, on average over its figures; None where that is no number.

    A histogram without a category that has enough rows has no figures, and the interval of a mean may be infinite.
    """
    try:
        low, high = made.interval(0.95)
        widths = np.asarray(high, float) - np.asarray(low, float)
    except (UptackError, TypeError, ValueError):
        return None
    return float(widths.mean()) / 2 if widths.size and np.isfinite(widths).all() else None


def made_up_session(session: Session, seed: int) -> Session:
    """A session on invented rows with the names and kinds of columns of another. It reads nothing of that one's rows.

    Numbers are log-normal, integers small, texts one of five, times within a year: what people try options on. If
    people are the unit of privacy, each has two rows on average.
    """
    rng, ids = np.random.default_rng(seed), session.adjacency.person
    public = session.source.size if session.adjacency.size_is_public else MADE_UP
    rows = min(max(public, 100), MADE_UP)
    columns: dict[str, Any] = {}
    if ids:
        whose = np.repeat(np.arange(rows), rng.geometric(0.5, rows))
        columns, rows = dict.fromkeys(ids, whose), whose.size
    for name, kind in session.source.kinds.items():
        levels = session.schema.columns[name].levels if name in session.schema.columns else None
        if levels:
            columns[name] = np.array(levels)[rng.integers(0, len(levels), rows)]
        elif kind == "integer":
            columns[name] = rng.poisson(20, rows)
        elif kind == "number":
            columns[name] = np.exp(rng.normal(3, 0.6, rows)).round(2)
        elif kind == "boolean":
            columns[name] = rng.random(rows) < 0.3
        elif kind == "time":
            columns[name] = np.datetime64("2024-01-01T00:00:00", "us") + rng.integers(0, 365 * 86_400, rows) * 10**6
        elif kind == "duration":
            columns[name] = (rng.exponential(3600, rows) * 10**6).astype("timedelta64[us]")
        else:
            columns[name] = np.array(["A", "B", "C", "D", "E"])[rng.integers(0, 5, rows)]
    relation = ADD_REMOVE if not session.adjacency.size_is_public else SUBSTITUTE
    noun, person = session.noun, list(ids) or None
    return open_session(columns, person=person, adjacency=relation, noun=noun, entropy=SeededEntropy(seed))
