"""Who asks, and how much: tokens, cookies, a trusted proxy, forged requests, and limits per caller."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from uptack.server.config import ServerConfig
from uptack.server.release_store import ReleaseStore, Role, fingerprint
from uptack.server.service import Caller, Refused

COOKIE = "uptack"
COOKIE_DAYS = 0.5
"""How long a browser stays signed in."""
LINK_DAYS = 1 / 24
"""How long a one-time link is good for."""
FORM_TOKEN = "form_token"
"""The field of a form that shows that the page was ours."""
MOST_FIELDS = 2000
"""Fields of one form, at most: a table has far fewer columns and options."""
BURST = 5.0
"""Seconds' worth of requests that may come at once."""


class Limits:
    """How many requests a caller may send per second, and how many releases or previews are computed for her at once.

    A process counts its own requests, so each of several has its share of the limits (`of`).
    """

    def __init__(self, per_second: float, at_once: int) -> None:
        self._rate, self._most, self._lock = per_second, at_once, threading.Lock()
        self._allowance: dict[str, tuple[float, float]] = {}
        self._running: Counter[tuple[str, str]] = Counter()

    @classmethod
    def of(cls, config: ServerConfig) -> Limits:
        """The limits of one process: what a caller may do on the whole server, divided by the number of processes."""
        return cls(config.requests_per_second / config.workers, -(-config.requests_at_once // config.workers))

    def count(self, who: str) -> None:
        """Count a request. Raises 429 if there are too many."""
        now, full = time.monotonic(), self._rate * BURST
        with self._lock:
            if len(self._allowance) > 10_000:  # callers who have not been seen for a while have their full allowance
                self._allowance = {k: v for k, v in self._allowance.items() if now - v[1] < BURST}
            left, last = self._allowance.get(who, (full, now))
            left = min(full, left + (now - last) * self._rate)
            self._allowance[who] = (max(left - 1, 0.0), now)
        if left < 1:
            raise Refused(429, "too many requests; wait a second")

    @contextmanager
    def running(self, who: str, what: str = "releases") -> Iterator[None]:
        """Hold one of the caller's places for releases, or for previews."""
        with self._lock:
            if self._running[who, what] >= self._most:
                raise Refused(429, f"{self._most} of your {what} are being computed; wait for one of them")
            self._running[who, what] += 1
        try:
            yield
        finally:
            with self._lock:
                self._running[who, what] -= 1
                self._running += Counter()  # forgets those that have none


@dataclass(frozen=True)
class Visit:
    """A caller, and what a form of hers must carry; None where no browser adds credentials by itself."""

    caller: Caller
    form_token: str | None


class Access:
    """Finds out who asks. Secrets are compared by their hashes, and are never logged."""

    def __init__(self, config: ServerConfig, store: ReleaseStore, limits: Limits) -> None:
        self._config, self._store, self._limits = config, store, limits
        self._secret = store.first("secret", secrets.token_urlsafe(32)).encode()

    async def visit(self, request: HttpRequest) -> Visit:
        """The caller of a request, which is counted. Raises 401 if nobody is signed in, 429 after too many requests."""
        try:
            visit = await run_in_threadpool(self._visit, request)
        except Refused:
            self._limits.count(f"address {request.client.host if request.client else ''}")
            raise
        self._limits.count(visit.caller.place)
        api = visit.form_token is not None and request.scope["path"].startswith("/api/")
        if api and request.method not in ("GET", "HEAD"):  # another site can't send JSON by a browser without asking
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            foreign = request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
            if foreign or kind != "application/json":
                raise Refused(403, "requests from a browser must be JSON and come from a page of this server")
        return visit

    def _visit(self, request: HttpRequest) -> Visit:
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":  # a proxy that signs people in may leave its own scheme here
            token = self._store.token(secret.strip())
            if token is None or token.purpose != "token":
                raise Refused(401, "this token is not valid: it may be mistyped, expired, revoked, or part of a link")
            return Visit(Caller(token.name, token.role, token.datasets), None)
        if (name := self._proxy_name(request)) is not None:
            role: Role = "curator" if name in self._config.proxy_curators else "analyst"
            return Visit(Caller(name, role), self._form_token(f"proxy {name}"))
        cookie = request.cookies.get(COOKIE, "")
        token = self._store.token(cookie) if cookie else None
        if token is None or token.purpose != "cookie":
            raise Refused(401, "sign in first")
        return Visit(Caller(token.name, token.role, token.datasets), self._form_token(token.hash))

    def _proxy_name(self, request: HttpRequest) -> str | None:
        """The name that the reverse proxy vouches for. From another address the header counts for nothing."""
        header, client = self._config.proxy_header, request.client
        if header is None or client is None or client.host not in self._config.proxy_addresses:
            return None
        names = request.headers.getlist(header)
        name = names[0] if len(names) == 1 else ""  # of several, the proxy has added one to somebody else's
        return name if 0 < len(name) <= 200 and name.isprintable() else None

    def _form_token(self, identity: str) -> str:
        return hmac.new(self._secret, f"form {identity}".encode(), hashlib.sha256).hexdigest()

    def check_form(self, visit: Visit, sent: str) -> None:
        """Refuse a form that another site has sent in the caller's name."""
        if visit.form_token is None or not hmac.compare_digest(visit.form_token.encode(), sent.encode()):
            raise Refused(403, "this form has expired; load the page again")

    def check_curator(self, visit: Visit) -> Caller:
        """The caller, if she is the curator."""
        if visit.caller.role != "curator":
            raise Refused(403, "this is for the curator")
        return visit.caller

    def enter(self, secret: str) -> tuple[str, Caller] | None:
        """The cookie for a token, or for a one-time link, which is used up; None if it is not valid.

        The secret is checked again when the cookie is there: revoking it revokes the cookie too.
        """
        token = self._store.token(secret)
        if token is None or token.purpose == "cookie":
            return None
        left = (token.expires - time.time()) / 86_400
        days = COOKIE_DAYS if token.purpose == "link" else min(COOKIE_DAYS, left)
        cookie = self._store.issue(token.name, token.role, token.datasets, days=days, purpose="cookie")
        if (self._store.use if token.purpose == "link" else self._store.token)(secret) is None:
            self._store.revoke(fingerprint(cookie))
            return None
        return cookie, Caller(token.name, token.role, token.datasets)

    def leave(self, request: HttpRequest) -> None:
        if cookie := request.cookies.get(COOKIE):
            self._store.revoke(fingerprint(cookie))

    def set_cookie(self, request: HttpRequest, response: Response, cookie: str) -> None:
        """Send a cookie that scripts can't read and other sites can't use."""
        secure = self._config.certificate is not None or request.headers.get("x-forwarded-proto") == "https"
        response.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", secure=secure, path="/")


async def read_form(request: HttpRequest) -> dict[str, list[str]]:
    """The fields of a form."""
    body = await request.body()
    try:
        return parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Refused(400, f"a form has at most {MOST_FIELDS:,} fields") from None
