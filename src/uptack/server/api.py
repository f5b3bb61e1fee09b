"""The HTTP API. A release function that is declared is an endpoint, with the JSON Schema of its options.

What a browser or a program gets is listed in `docs/server.md` and in `/api/openapi.json`.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import secrets
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, TypeVar

from fastapi import Depends, FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from uptack import checks
from uptack.errors import BudgetExceeded, InvalidArgument, LedgerCorrupt, LedgerError, UptackError
from uptack.labels import json_text
from uptack.release import NoReply
from uptack.server.access import Access, Limits
from uptack.server.config import ServerConfig
from uptack.server.release_store import Record
from uptack.server.service import REPORT, Caller, Refused, Service, report_options
from uptack.wire import answers
from uptack.wire.requests import NUMBER, body_schema, object_schema, read_object, request_schema

Handler = Callable[..., Response | Awaitable[Response]]
T = TypeVar("T")

PATIENCE = 25.0
"""Seconds that a request waits for its answer. After that the client asks for the release by its id."""
LOOK = 1.0
"""Seconds between looks at a release that another process computes."""
MOST_WAITING = 32
"""Plans and examples that a thread has before it, at most: a plan takes milliseconds, an error curve about two seconds,
and a client waits for a minute."""
LONG = 1_000_000
"""Characters of a long answer. A million synthetic rows of three columns have 30 million. Their reply takes 1.7 s and
0.3 GB."""
MOST_DAYS = 3650
MOST_ENTRIES = 10_000
"""Entries of a ledger in one reply: a few seconds."""
MOST_DEPTH = 8
"""How deep a request may be nested: groups of several columns are 5 deep."""
DAMAGED = "the ledger is damaged, so nothing is released; the curator can check it with uptack ledger verify"
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
    "description": "A request that is sent again with the same key is the same request: it is charged once.",
}
POINTS: dict[str, Any] = {
    "name": "x",
    "in": "query",
    "required": True,
    "schema": {"type": "array", "items": {"type": "number"}},
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": text}
    for status, text in {
        400: "The body is not JSON.",
        401: "Nobody is signed in.",
        403: "Not for this caller.",
        404: "Not found, or not for this caller.",
        409: "The budget or the state does not allow it.",
        413: "The request is too large.",
        422: "The request is wrong. Nothing was spent.",
        423: "The curator has paused this data set.",
        429: "Too many requests.",
        503: "The server is busy or shutting down, or its store does not answer.",
    }.items()
}


def as_json(content: Any, status: int = 200) -> Response:
    """A reply in JSON."""
    return Response(json_text(content), status, media_type="application/json")


def as_error(error: UptackError) -> Response:
    """An error of the dry run, which is a function of the request and of public facts."""
    if isinstance(error, LedgerError):  # its text names files of the server
        broken = isinstance(error, LedgerCorrupt)
        error = Refused(503, DAMAGED if broken else "the ledger does not answer; ask again later")
    status = error.status if isinstance(error, Refused) else 409 if isinstance(error, BudgetExceeded) else 422
    told: dict[str, Any] = {"type": type(error).__name__, "message": str(error)}
    if type(error).__module__ == "uptack.errors":
        arguments: Any = error.__reduce__()[1]
        told["arguments"] = answers.encode([one if _sendable(one) else str(one) for one in arguments])
    reply = as_json({"error": told}, status)
    if status == 401:
        reply.headers["WWW-Authenticate"] = "Bearer"
    if status in (429, 503):
        reply.headers["Retry-After"] = "1"
    return reply


def _sendable(value: object) -> bool:
    try:
        answers.dumps(value)
    except (UptackError, ValueError):
        return False
    return True


async def read_json(request: HttpRequest) -> Any:
    """The body as JSON."""
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise Refused(400, "the body must be JSON in UTF-8") from None
    level = [body]
    for _ in range(MOST_DEPTH):
        level = [one for held in level for one in (held.values() if isinstance(held, dict) else held)
                 if isinstance(one, dict | list)] if isinstance(body, dict | list) else []  # fmt: skip
    if level:
        raise Refused(400, f"the body is nested more than {MOST_DEPTH} levels deep")
    return body


def as_outcome(record: Record | NoReply) -> Response:
    """The reply of `outcome`. It may take seconds (`LONG`), so it is made in a thread."""
    waits = isinstance(record, Record) and record.state in ("running", "waiting")
    return as_json(outcome(record), 202 if waits else 200)


def outcome(record: Record | NoReply) -> dict[str, Any]:
    """A release as a client sees it: its record and, if there is one, its answer, for programs and for people."""
    if isinstance(record, NoReply):
        return {"id": None, "state": "answered", "answer": answers.encode(record), "result": record.to_dict()}
    about = {**record.to_dict(), "request": json.loads(record.request)}
    if record.state != "answered":
        return {**about, "answer": None, "result": None}
    made = answers.loads(record.answer)
    return {**about, "answer": json.loads(record.answer), "result": made.to_dict()}


class Asking:
    """Ask for a release, and wait for its answer until its time slot ends: for the API and for pages."""

    def __init__(self, service: Service, limits: Limits) -> None:
        self._service, self._limits = service, limits

    async def __call__(self, caller: Caller, ask: Callable[[], Record | NoReply]) -> Record | NoReply:
        """The record that `ask` makes in a thread, or ⊥ that costs nothing. A record may still be running."""
        with ExitStack() as place:
            place.enter_context(self._limits.running(caller.place))
            made = await run_in_threadpool(ask)
            if isinstance(made, NoReply):
                return made
            running = self._service.running(made)
            if running is not None:  # it may go on after the reply, and so may its place
                kept = place.pop_all()
                running.add_done_callback(lambda _: kept.close())
            return await self._wait(caller, made)

    async def _wait(self, caller: Caller, record: Record) -> Record:
        """The record when its answer may be seen, or as it is after `PATIENCE`."""
        patience = time.time() + PATIENCE
        running = self._service.running(record)
        if running is not None:
            waiting = asyncio.wrap_future(running)
            await asyncio.wait([waiting], timeout=PATIENCE)
        made = await run_in_threadpool(self._service.release, caller, record.id)
        while made.state == "running" and (now := time.time()) < patience:  # in another process
            await asyncio.sleep(min(patience - now, LOOK))
            made = await run_in_threadpool(self._service.release, caller, record.id)
        return made


class FreeWork:
    """What costs no ε: plans and examples, or long answers to be written. It has a few threads of its own, so releases
    never wait for it. A caller has as many places as for releases, and there is an end to the queue."""

    def __init__(self, config: ServerConfig, limits: Limits, what: str) -> None:
        count = max(1, (os.cpu_count() or 1) // config.workers)
        self._limits, self._what, self._threads = limits, what, ThreadPoolExecutor(count, "uptack-free")
        self._room = threading.BoundedSemaphore(MOST_WAITING * count)

    async def __call__(self, caller: Caller, work: Callable[..., T], *given: Any) -> T:
        """What `work` returns. Raises 429 if too much is computed for the caller, 503 if the queue is full."""
        with ExitStack() as place:
            place.enter_context(self._limits.running(caller.place, self._what))
            if not self._room.acquire(blocking=False):
                raise Refused(503, f"too many {self._what} are being computed; ask again in a moment")
            place.callback(self._room.release)
            try:
                running = self._threads.submit(work, *given)
            except RuntimeError:
                raise Refused(503, "the server is shutting down; ask again later") from None
            kept = place.pop_all()
        running.add_done_callback(lambda _: kept.close())  # a caller who hangs up keeps her place until it is done
        return await asyncio.wrap_future(running)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class Reading:
    """Make a reply or a page of a stored answer, in a thread: a few at once of long ones."""

    def __init__(self, config: ServerConfig, limits: Limits) -> None:
        self._long = FreeWork(config, limits, "long answers")
        self.close = self._long.close

    async def __call__(self, caller: Caller, record: Record, work: Callable[..., T], *given: Any) -> T:
        if len(record.answer) > LONG:
            return await self._long(caller, work, *given)
        return await run_in_threadpool(work, *given)


def add_api(
    app: FastAPI, service: Service, access: Access, asking: Asking, previews: FreeWork, reading: Reading
) -> None:
    """Add all endpoints to an application."""

    def endpoint(
        method: str, path: str, summary: str, schema: dict[str, Any] | None = None, *parameters: dict[str, Any]
    ) -> Callable[[Handler], Handler]:
        extra: dict[str, Any] = {"parameters": [*parameters]} if parameters else {}
        if schema is not None:
            extra["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}

        def add(handler: Handler) -> Handler:
            described: dict[str, Any] = {"summary": summary, "responses": ERRORS, "openapi_extra": extra or None}
            app.add_api_route(f"/api{path}", handler, methods=[method], **described)
            return handler

        return add

    async def visitor(request: HttpRequest) -> Caller:
        return (await access.visit(request)).caller

    async def the_curator(request: HttpRequest) -> Caller:
        return access.check_curator(await access.visit(request))

    known, known_curator, sent = Depends(visitor), Depends(the_curator), Depends(read_json)  # a body last

    @endpoint("GET", "/datasets", "Data sets, with what is public about them")
    def datasets(caller: Caller = known) -> Response:
        return as_json([service.face(caller, name) for name in service.datasets if caller.sees(name)])

    @endpoint("GET", "/datasets/{dataset}", "What is public about a data set")
    def face(dataset: str, caller: Caller = known) -> Response:
        return as_json(service.face(caller, dataset))

    @endpoint("GET", "/datasets/{dataset}/ledger", "The latest entries of the ledger, and the head of its chain")
    def ledger(dataset: str, caller: Caller = known) -> Response:
        book = service.dataset(caller, dataset).ledger
        head, lines = book.head(), book.entries(analyst=caller.analyst or None, latest=MOST_ENTRIES)
        return as_json({
            "head": {"number": head.number, "hash": head.hash},
            "remaining": book.remaining(caller.analyst or None).to_dict(),
            "entries": [line.to_dict() for line in lines],
        })  # fmt: skip

    @endpoint("GET", "/releases", "The caller's releases; all of them for the curator")
    def releases(caller: Caller = known) -> Response:
        whose = None if caller.role == "curator" else caller.name
        return as_json([one.to_dict() for one in service.store.list_releases(whose, datasets=caller.datasets)])

    @endpoint("GET", "/releases/{id}", "One release with its answer")
    async def one_release(id: str, caller: Caller = known) -> Response:
        record = await run_in_threadpool(service.release, caller, id)
        return await reading(caller, record, as_outcome, record)

    @endpoint("GET", "/releases/{id}/at", "Values of a released function", None, POINTS)
    async def at(request: HttpRequest, id: str, caller: Caller = known) -> Response:
        try:
            points = [float(text) for text in request.query_params.getlist("x")]
        except ValueError:
            raise InvalidArgument("x", "numbers", "another text") from None
        record = await run_in_threadpool(service.release, caller, id)
        return as_json({"x": points, "value": await reading(caller, record, service.at, caller, id, points)})

    def statistic_endpoints(name: str, schema: dict[str, Any], summary: str) -> None:
        @endpoint("POST", f"/datasets/{{dataset}}/plans/{name}", f"Plan: {summary}", schema)
        async def plan(dataset: str, caller: Caller = known, body: Any = sent) -> Response:
            made = await previews(caller, service.plan, caller, dataset, name, body)
            lines = [[line.cost, line.refusal, line.error, line.loss] for line in made.releases]
            return as_json({**made.to_dict(), "affordable": made.affordable, "lines": answers.encode(lines)})

        @endpoint("POST", f"/datasets/{{dataset}}/releases/{name}", summary, schema, KEY)
        async def release(request: HttpRequest, dataset: str, caller: Caller = known, body: Any = sent) -> Response:
            key = request.headers.get("idempotency-key", secrets.token_urlsafe(16))
            made = await asking(caller, functools.partial(service.ask, caller, dataset, name, body, key))
            return await run_in_threadpool(as_outcome, made)  # it is paid for, so this is never refused

        @endpoint("POST", f"/datasets/{{dataset}}/examples/{name}", f"On made-up rows: {summary}", schema)
        async def example(dataset: str, caller: Caller = known, body: Any = sent) -> Response:
            def try_out() -> Response:
                made = service.try_out(caller, dataset, name, body)
                return as_json({"made_up": True, "answer": answers.encode(made), "result": made.to_dict()})

            return await previews(caller, try_out)

    for name, declaration in service.statistics().items():
        statistic_endpoints(name, request_schema(declaration), declaration.summary)
    statistic_endpoints(REPORT, body_schema(report_options()), "A private report of all columns.")

    # ------------------------------------------------------------------------------------------------- for the curator

    decision = object_schema({"approve": {"type": "boolean"}}, ["approve"])

    @endpoint("POST", "/releases/{id}/decision", "Approve or refuse a request that waits", decision)
    def decide(id: str, caller: Caller = known_curator, body: Any = sent) -> Response:
        given = read_object("the request", body, ("approve",))
        approve = checks.instance("approve", given.get("approve"), bool, "true or false")
        return as_json(service.decide(caller, id, approve).to_dict())

    pausing = object_schema({"paused": {"type": "boolean"}}, ["paused"])

    @endpoint("POST", "/datasets/{dataset}/pause", "Pause or resume a data set", pausing)
    def pause(dataset: str, caller: Caller = known_curator, body: Any = sent) -> Response:
        service.dataset(caller, dataset)
        given = read_object("the request", body, ("paused",))
        paused = checks.instance("paused", given.get("paused"), bool, "true or false")
        service.pause(dataset, paused)
        return as_json({"paused": paused})

    amounts = {"analyst": {"type": "string"}, "epsilon": NUMBER, "delta": NUMBER}
    grant = object_schema(amounts, ["analyst", "epsilon"])

    @endpoint("POST", "/datasets/{dataset}/allowances", "Grant an analyst an allowance", grant)
    def allow(dataset: str, caller: Caller = known_curator, body: Any = sent) -> Response:
        book, given = service.dataset(caller, dataset).ledger, read_object("the request", body, amounts)
        analyst = checks.instance("analyst", given.get("analyst"), str, "a name")
        return as_json(book.allow(analyst, given.get("epsilon"), given.get("delta", 0)).to_dict())  # type: ignore[arg-type]

    token: dict[str, Any] = {
        "name": {"type": "string", "minLength": 1, "maxLength": 200},
        "role": {"type": "string", "enum": ["analyst", "curator"]},
        "datasets": {"type": "array", "items": {"type": "string"}},
        "days": {"type": "number", "exclusiveMinimum": 0, "maximum": MOST_DAYS},
    }

    @endpoint("POST", "/tokens", "A new token. It is shown once", object_schema(token, ["name"]))
    def issue(caller: Caller = known_curator, body: Any = sent) -> Response:
        return as_json({"token": issue_token(service, caller, read_object("the request", body, token))}, 201)

    @endpoint("GET", "/tokens", "Tokens, without their secrets")
    def tokens(caller: Caller = known_curator) -> Response:
        return as_json([vars(one) for one in service.tokens(caller)])

    @endpoint("DELETE", "/tokens/{hash}", "Revoke a token")
    def revoke(hash: str, caller: Caller = known_curator) -> Response:
        service.revoke(caller, hash)
        return as_json({"revoked": True})


def issue_token(service: Service, caller: Caller, body: Any) -> str:
    """A new token for an analyst or a curator, for data sets that the caller is the curator of."""
    name = checks.instance("name", body.get("name"), str, "a name")
    role: Any = checks.choice("role", body.get("role", "analyst"), ("analyst", "curator"))
    listed = checks.instance("datasets", body.get("datasets", list(caller.datasets)), list, "a list of data sets")
    seen = [name for name in (*service.datasets, "*") if caller.sees(name)]
    for one in listed:
        if one not in seen:
            raise InvalidArgument("datasets", f"among {', '.join(seen)}", checks.describe(one))
    days = body.get("days", 90)
    if isinstance(days, bool) or not isinstance(days, int | float) or not 0 < days <= MOST_DAYS:
        raise InvalidArgument("days", f"above 0 and at most {MOST_DAYS}", checks.describe(days))
    return service.store.issue(name, role, tuple(listed), days=days)
