"""The web application: the API and the pages behind one rim, and how a server starts and stops.

The rim limits the size of requests, adds headers for browsers, writes one log line per request and counts it, and turns
every unexpected error into a fixed text. A log line has the route and not the address, so it shows no token, no value
of an option and no answer.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import uptack
from uptack.errors import UptackError
from uptack.server.access import Access, Limits
from uptack.server.api import Asking, FreeWork, Reading, add_api, as_error
from uptack.server.config import ServerConfig
from uptack.server.pages import add_pages, error_status, render
from uptack.server.service import Caller, Refused, Service

LOG = logging.getLogger("uptack.server")
ENVIRONMENT = "UPTACK_SERVER"
"""Where worker processes find the configuration."""
FAILURE = "the server failed; the curator's log has the time"
NOWHERE = {404: "there is no such page", 405: "this address does not take such a request"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; frame-src 'self'; "
    "base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class TooLarge(Exception):
    """The body of a request is longer than allowed."""


class Rim:
    """What every request passes: limits, headers, logs, metrics, and a fixed text for what nobody expected."""

    def __init__(self, app: ASGIApp, largest: int, seen: Counter[tuple[str, int]]) -> None:
        self._app, self._largest, self._seen = app, largest, seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.monotonic(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message["headers"]}
                added = [(n.lower().encode(), v.encode()) for n, v in HEADERS.items() if n.lower().encode() not in own]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        try:
            await self._app(scope, self._limit_body(receive), sending)
        except TooLarge:
            refused = Refused(413, f"a request has at most {self._largest:,} bytes")
            await as_error(refused)(scope, receive, sending)
        except Exception:  # its text might show a row
            with contextlib.suppress(Exception):
                await error_reply(HttpRequest(scope), Refused(500, FAILURE))(scope, receive, sending)
        finally:
            route = getattr(scope.get("route"), "path", "(none)")
            self._seen[route, status] += 1
            line = {"method": scope["method"], "route": route, "status": status}
            LOG.info(json.dumps({**line, "ms": round(1000 * (time.monotonic() - start))}))

    def _limit_body(self, receive: Receive) -> Receive:
        size = 0

        async def receiving() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._largest:
                raise TooLarge
            return message

        return receiving


def error_reply(request: HttpRequest, error: UptackError) -> Response:
    """The reply of an error: a page for a browser, JSON for a program."""
    if "text/html" not in request.headers.get("accept", ""):
        return as_error(error)
    status, text = error_status(error)
    return render("error", None, status, message=text)


def create_app(service: Service) -> FastAPI:
    """The application of a service."""
    config, seen = service.config, Counter[tuple[str, int]]()
    limits = Limits.of(config)
    access, asking = Access(config, service.store, limits), Asking(service, limits)
    previews, reading = FreeWork(config, limits, "plans and examples"), Reading(config, limits)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        previews.close()
        reading.close()
        await run_in_threadpool(service.close)

    app = FastAPI(
        title="uptack",
        version=uptack.__version__,
        description="Differentially private statistics without bounds on the data.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        redirect_slashes=False,  # to an address that is made of the request's own Host
    )

    @app.exception_handler(UptackError)
    async def reply_to_error(request: HttpRequest, error: Exception) -> Response:
        assert isinstance(error, UptackError)
        return as_error(error)

    @app.exception_handler(HTTPException)
    async def reply_to_http_error(request: HttpRequest, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        text = NOWHERE.get(error.status_code, "this can't be done here")
        return error_reply(request, Refused(error.status_code, text))

    @app.get("/health", include_in_schema=False)
    async def health() -> Response:
        return PlainTextResponse("ok")

    @app.get("/ready", include_in_schema=False)
    async def ready() -> Response:
        if service.closing:
            raise Refused(503, "the server is shutting down")
        await run_in_threadpool(service.store.check)
        return PlainTextResponse("ok")

    @app.get("/metrics", include_in_schema=False)
    async def metrics(request: HttpRequest) -> Response:
        caller = access.check_curator(await access.visit(request))
        return PlainTextResponse(await run_in_threadpool(lambda: metrics_text(service, caller, seen)))

    add_api(app, service, access, asking, previews, reading)
    add_pages(app, service, access, asking, previews, reading)
    app.add_middleware(Rim, largest=config.largest_body, seen=seen)
    return app


def metrics_text(service: Service, caller: Caller, seen: Counter[tuple[str, int]]) -> str:
    """Counts for a curator, in the text format of Prometheus. They speak of this process and of her data sets."""
    lines = ["# TYPE uptack_requests_total counter"]
    lines += [f'uptack_requests_total{{route="{r}",status="{s}"}} {n}' for (r, s), n in sorted(seen.items())]
    states = Counter(record.state for record in service.store.list_releases(limit=100_000, datasets=caller.datasets))
    lines.append("# TYPE uptack_releases gauge")
    lines += [f'uptack_releases{{state="{s}"}} {n}' for s, n in sorted(states.items())]
    own = {name: held for name, held in service.datasets.items() if caller.sees(name)}
    lines.append("# TYPE uptack_first_slots_missed_total counter")
    lines += [f'uptack_first_slots_missed_total{{dataset="{name}"}} {service.missed[name]}' for name in own]
    lines.append("# TYPE uptack_epsilon_left gauge")
    lines += [f'uptack_epsilon_left{{dataset="{n}"}} {d.ledger.remaining().epsilon}' for n, d in own.items()]
    return "\n".join(lines) + "\n"


def app_from_environment() -> FastAPI:
    """The application of a worker process."""
    return create_app(Service(ServerConfig.from_text(os.environ[ENVIRONMENT])))


class AnnouncedServer(uvicorn.Server):
    """A server that says when it listens: a link that is opened before that is refused."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def serve(config: ServerConfig, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until a signal comes. Requests that are running are finished first.

    `ready` is called when the server listens; several workers start by themselves, so for them it is called before.
    """
    options: dict[str, Any] = {"host": config.host, "port": config.port, "log_level": "warning"}
    options |= dict.fromkeys(("access_log", "server_header", "proxy_headers"), False)
    options |= {"ssl_certfile": config.certificate, "ssl_keyfile": config.key, "timeout_graceful_shutdown": 30}
    if config.workers == 1:
        server = AnnouncedServer(uvicorn.Config(create_app(Service(config)), **options), ready)
        server.run()
        if not server.started:
            raise UptackError(f"the server could not start at {config.host}:{config.port}; see the lines above")
        return
    ready()
    os.environ[ENVIRONMENT] = config.to_text()
    uvicorn.run("uptack.server.app:app_from_environment", factory=True, workers=config.workers, **options)
