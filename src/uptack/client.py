"""`uptack.connect`: a session on a server. It has the interface of a local one, so a notebook runs on both.

    session = uptack.connect("https://stats.example.org", token)
    session["age"].median(epsilon=0.1)

Requests are sent with a key. If a connection breaks, the same request is sent again with the same key, and the server
charges it once and returns the same answer.
"""

from __future__ import annotations

import contextlib
import importlib
import ipaddress
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn
from urllib.parse import urlsplit

from uptack import checks, errors
from uptack.display import Tabular
from uptack.errors import InvalidArgument, UptackError
from uptack.labels import lines
from uptack.noise import SystemEntropy
from uptack.privacy import Adjacency, Privacy
from uptack.privacy.guarantee import total
from uptack.progress import steps
from uptack.session import Plan, PlannedRelease, Request, Session
from uptack.session.requests import Made
from uptack.table.schema import Schema
from uptack.table.unread import UnreadTable
from uptack.wire import answers
from uptack.wire.requests import plain, write_request

TRIES = 6
"""How often a request is sent while the server can't be reached: for about 15 seconds in all. Until the server has
replied once, the address may be mistyped, and a request is sent twice.
"""
PAUSE = 0.5
"""Seconds before the second try, and between questions whether a release is done. It doubles from try to try."""
TIMEOUT = 60.0
"""Seconds that one reply may take. A server replies within half of that, done or not."""


class Pending(UptackError):
    """A request that waits for the curator's approval. `id` is for `session.fetch(id)` later."""

    def __init__(self, id: str) -> None:
        self.id = id
        super().__init__(f"this request waits for the curator's approval. Ask later: session.fetch({id!r})")


@contextlib.contextmanager
def reading_replies() -> Iterator[None]:
    """A reply without the parts that it should have is an error of ours: not everything that answers is a server."""
    try:
        yield
    except UptackError:
        raise
    except answers.DAMAGE:
        raise UptackError("the server's reply can't be read: it is another version of uptack, or no server") from None


class ServerConnection:
    """Requests to a server, with the token of one caller."""

    def __init__(self, url: str, token: str, transport: Any = None) -> None:
        try:
            self._httpx = importlib.import_module("httpx")
        except ImportError as missing:
            raise UptackError('a connection to a server needs httpx: pip install "uptack[client]"') from missing
        self.url, self._replied = url.rstrip("/"), False
        headers = {"Authorization": f"Bearer {token}"}
        self._http = self._httpx.Client(base_url=self.url, headers=headers, timeout=TIMEOUT, transport=transport)

    def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        """The reply to a request, as JSON. A request that did not reach the server is sent again."""
        headers = {} if key is None else {"Idempotency-Key": key}
        for again in range(TRIES):
            try:
                reply = self._http.request(method, path, json=body, headers=headers)
            except self._httpx.TransportError:
                if not self._replied and again:
                    raise UptackError(
                        f"{self.url} can't be reached: is the address right, and the server up?"
                    ) from None
                if again == TRIES - 1:
                    raise UptackError(f"{self.url} can't be reached; a request that was sent is charged once") from None
            else:
                self._replied = True
                if reply.status_code not in (429, 503) or again == TRIES - 1:
                    return self._content(reply)
            time.sleep(PAUSE * 2**again)
        raise AssertionError

    def _content(self, reply: Any) -> Any:
        try:
            content = reply.json()
        except (ValueError, RecursionError):
            raise UptackError(f"{self.url} is not a server of uptack (HTTP {reply.status_code})") from None
        if reply.status_code >= 400:
            _raise(content)
        return content


def _raise(content: Any) -> NoReturn:
    """The error that a server has sent, as the one that a local session raises."""
    told = content.get("error") if isinstance(content, Mapping) else None
    told = told if isinstance(told, Mapping) else {}
    kind = getattr(errors, str(told.get("type")), None)
    if isinstance(kind, type) and issubclass(kind, UptackError) and "arguments" in told:
        error = None
        with contextlib.suppress(Exception):  # of arguments that this error does not have
            error = kind(*answers.read(told["arguments"]))
            error.args = (lines(str(error)),)
        if error is not None:
            raise error
    raise UptackError(lines(str(told.get("message", "the server has refused the request"))))


class RemoteSession(Session):
    """A session whose rows are on a server. It knows what is public of the table, and asks for the rest."""

    @reading_replies()
    def __init__(self, connection: ServerConnection, name: str, progress: bool | None = None) -> None:
        face = connection.call("GET", f"/api/datasets/{name}")
        table, adjacency, noun, schema = answers.read(face["session"])
        for part, kind in zip((table, adjacency, noun, schema), (UnreadTable, Adjacency, str, Schema), strict=True):
            if not isinstance(part, kind):
                raise TypeError(part)
        super().__init__(table, None, None, adjacency, "drop", SystemEntropy(), noun, schema, face["inferred"])
        self.name, self._connection, self._progress = name, connection, progress
        self._conditions: tuple[Mapping[str, Any], ...] = ()

    def _narrow(self, given: Mapping[str, Any]) -> RemoteSession:
        made = super()._narrow(given)
        assert isinstance(made, RemoteSession)
        made._conditions = (*self._conditions, plain(given))
        return made

    def run(self, request: Request) -> Made:
        """Ask for one release, and wait for its answer."""
        body = write_request(request, self._conditions)
        made: Made = self._ask(request.declaration.name, body)
        return made

    def report(self, *, epsilon: Any, **options: Any) -> Any:
        """A private report of the whole table, as `uptack.report` makes it: a page, Markdown, JSON, data frames."""
        given = {name: plain(value) for name, value in {"epsilon": epsilon, **options}.items() if value is not None}
        return self._ask("report", {"where": list(self._conditions), "options": given})

    @reading_replies()
    def _ask(self, statistic: str, body: Mapping[str, Any]) -> Any:
        path, key = f"/api/datasets/{self.name}/releases/{statistic}", secrets.token_urlsafe(24)
        with steps(f"{statistic.replace('_', ' ')} at {self._connection.url}", 1, show=self._progress):
            reply = self._wait(self._connection.call("POST", path, body, key))
        if reply["id"] is not None and reply["state"] in ("answered", "withheld"):  # else it was free
            self._spending.add(Privacy(reply["epsilon"], reply["delta"], self.adjacency))
        return _answer(reply)

    @reading_replies()
    def fetch(self, id: str) -> Any:
        """The answer of a release that was asked for before."""
        return _answer(self._wait(self._connection.call("GET", f"/api/releases/{id}")))

    @reading_replies()
    def releases(self) -> list[dict[str, Any]]:
        """The releases that this caller has asked for, the latest first."""
        found: list[dict[str, Any]] = self._connection.call("GET", "/api/releases")
        return [one for one in found if one["dataset"] == self.name]

    def _wait(self, reply: Mapping[str, Any]) -> Mapping[str, Any]:
        """The reply when its release is not running any more."""
        waited = 0
        while reply["state"] == "running":
            time.sleep(PAUSE * 2 ** min(waited, 4))
            waited, reply = waited + 1, self._connection.call("GET", f"/api/releases/{reply['id']}")
        return reply

    def plan(self, requests: Iterable[Request]) -> Plan:
        """The cost and the expected error of releases, from the server. Spends nothing."""
        made = []
        for request in requests:
            path = f"/api/datasets/{self.name}/plans/{request.declaration.name}"
            body = write_request(request, self._conditions)
            with reading_replies():
                reply = self._connection.call("POST", path, body)
                made += [PlannedRelease(request, *line) for line in answers.read(reply["lines"])]
        with reading_replies():
            whole = total([line.cost.under(self.adjacency) for line in made], self.adjacency)
        return Plan(tuple(made), whole, self.remaining)

    def pay(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: a server debits every request by itself."""
        raise UptackError("a session on a server can't pay for a whole plan at once; request a report instead")

    @property
    @reading_replies()
    def remaining(self) -> Privacy:
        """What is left of the budget for this caller."""
        left = self._connection.call("GET", f"/api/datasets/{self.name}")["remaining"]
        return Privacy(left["epsilon"], left["delta"], self.adjacency)


def _answer(reply: Mapping[str, Any]) -> Any:
    if reply["state"] == "waiting":
        raise Pending(reply["id"])
    if reply["state"] == "refused":
        raise UptackError("this request was refused: by the curator, or because others had used up the budget")
    if reply["state"] != "answered":
        raise UptackError("this release is withheld: it was not done in time. What the ledger shows as spent stands")
    return checks.instance("the answer", answers.read(reply["answer"]), Tabular, "a release, ⊥ or a report")


def connect(
    url: str, token: str, dataset: str | None = None, *, progress: bool | None = None, transport: Any = None
) -> RemoteSession:
    """A session on a data set of a server (`uptack serve`), with the interface of `uptack.open`.

    `token` is what the curator has issued. `dataset` may be left out if the server has only one. `progress` shows a
    line while a release is computed; None shows it where standard error is a terminal. `transport` is for `httpx`, such
    as one with certificates of one's own.

    A token is a secret, so an address on another machine must begin with https.
    """
    place = urlsplit(checks.instance("url", url, str, "the address of a server"))
    if place.scheme not in ("http", "https") or not place.hostname:
        raise InvalidArgument("url", "the address of a server, such as https://stats.example.org", repr(url[:80]))
    if place.scheme == "http" and not _is_local(place.hostname):
        raise InvalidArgument("url", "https for a server on another machine", "http", "A token is a secret.")
    connection = ServerConnection(url, checks.instance("token", token, str, "a text"), transport)
    with reading_replies():
        names = [str(one["name"]) for one in connection.call("GET", "/api/datasets")]
    if dataset is None and len(names) != 1:
        raise InvalidArgument("dataset", f"one of {', '.join(map(repr, names))}" if names else "given", "nothing")
    return RemoteSession(connection, names[0] if dataset is None else dataset, progress)


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
