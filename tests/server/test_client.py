"""`uptack.connect`: the interface of a session, on a server."""

import datetime as dt
import json
import warnings

import numpy as np
import pytest

import uptack as ut
from uptack.client import Pending, _raise
from uptack.errors import BudgetExceeded, InvalidArgument, UnknownName, UptackError
from uptack.server.config import DatasetConfig
from uptack.session import Request


def connected(server, name="ann", **options):
    return ut.connect("http://localhost", server.token(name), transport=server.http._transport, **options)


@pytest.fixture
def session(server):
    return connected(server)


def test_a_notebook_runs_on_both(session, clinic):
    local = ut.open(clinic)
    for one in (local, session):
        share = one.proportion("ward", equals="Surgery", epsilon=0.2)
        assert share.interval(0.95)[0] <= share.value
        assert one.quantile("age", [0.25, 0.75], epsilon=0.2).value.shape == (2,)
        assert set(one["age"].median(by="ward", groups=["Surgery", "Medicine"], epsilon=0.2).value) == {
            "Surgery", "Medicine"
        }  # fmt: skip
        both = {"ward": ["Surgery", "Medicine"], "readmitted": [0, 1]}
        assert len(one["age"].median(by=list(both), groups=both, epsilon=0.2).value) == 4
        assert one.where("age >= 40").where(ward=("!=", "Surgery")).count(epsilon=0.1).value > 0
        assert not one.regression("cost ~ age", epsilon=0.2)  # too few rows, for free
        assert one.plan([Request("regression", "cost", "age", epsilon=0.1)]).total.epsilon == 0
        assert one.crosstab("ward", "readmitted", epsilon=0.2, delta=1e-7).to_pandas() is not None
        plan = one.plan([Request("median", "age", epsilon=0.1)])
        assert (plan.total.epsilon, plan.releases[0].error) == (0.1, "within 919 of 2,400 ranks")
        assert one.spent.epsilon == pytest.approx(1.1)
        assert one.describe().startswith("2,400 rows (substitute)")
        assert "median" in dir(one["age"])
    assert session.remaining.epsilon == pytest.approx(1.9)
    assert len(session.releases()) == 6
    assert session.fetch(session.releases()[0]["id"]) is not None


def test_a_report_of_a_server(session, tmp_path):
    report = session.report(epsilon=2, delta=1e-7)
    assert report.spent.epsilon <= 2
    for name in ("report.html", "report.md", "report.json"):
        assert "wait_minutes" in report.save(tmp_path / name).read_text(encoding="utf-8")
    with pytest.raises(InvalidArgument, match="file that ends in"):
        report.save(tmp_path / "report.zip")
    assert "wait_minutes" in report.to_markdown()
    assert report.to_markdown().startswith("# clinic\n")  # the name of the data set, where it has no title
    assert report.to_pandas().shape[0] > 5
    assert "wait_minutes" in repr(report)


def test_refusals_and_errors_are_those_of_a_local_session(session):
    assert not session["age"].median(epsilon=0.001)
    with pytest.raises(BudgetExceeded) as error:
        session["age"].median(epsilon=10)
    assert error.value.remaining.epsilon == 3.0
    with pytest.raises(UnknownName, match="no column named"):
        session["aeg"]
    with pytest.raises(InvalidArgument, match="epsilon must be"):
        session["age"].median(epsilon=-1)
    with pytest.raises(InvalidArgument, match="adjacency"):
        session["age"].median(epsilon=1, adjacency=ut.ADD_REMOVE)


def test_a_lost_connection_is_charged_once(server, monkeypatch):
    import httpx

    transport = server.http._transport
    real, lost = transport.handle_request, []

    def losing(request):
        reply = real(request)
        if request.method == "POST" and len(lost) < 2:
            lost.append(reply.status_code)
            raise httpx.ReadError("the reply was lost")
        return reply

    session = connected(server)
    monkeypatch.setattr("uptack.client.PAUSE", 0.01)
    monkeypatch.setattr(transport, "handle_request", losing)
    assert session["age"].median(epsilon=0.5)
    assert lost == [200, 200]
    assert len(server.ledger.history()) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_a_request_that_a_busy_server_refuses_is_sent_again(server, monkeypatch, status):
    import httpx

    transport = server.http._transport
    real, keys = transport.handle_request, []

    def busy(request):
        if request.method == "POST":
            keys.append(request.headers["idempotency-key"])
            if len(keys) < 3:
                return httpx.Response(status, json={"error": {"type": "Refused", "message": "busy"}})
        return real(request)

    session = connected(server)
    monkeypatch.setattr("uptack.client.PAUSE", 0.01)
    monkeypatch.setattr(transport, "handle_request", busy)
    assert session["age"].median(epsilon=0.5)
    assert (len(keys), len(set(keys)), len(server.ledger.history())) == (3, 1, 1)


def test_what_is_withheld_counts_as_spent(server, monkeypatch):
    def failing(*_):
        raise ValueError("a row")

    monkeypatch.setattr(Request, "make", failing)
    session = connected(server)
    with pytest.raises(UptackError, match="withheld"):
        session["age"].median(epsilon=0.5)
    assert session.spent.epsilon == server.ledger.spent().epsilon == 0.5


def test_a_request_that_waits_for_approval(start, clinic):
    server = start(DatasetConfig("clinic", clinic, 3, approve_above="0.1"))
    session = connected(server)
    with pytest.raises(Pending) as waiting:
        session["age"].median(epsilon=0.5)
    curator = server.signed_in("dr", "curator")
    curator.post(f"/api/releases/{waiting.value.id}/decision", json={"approve": True})
    assert session.fetch(waiting.value.id).privacy.epsilon == 0.5


def test_dates_and_exact_numbers_survive(start, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    days = np.datetime64("2024-01-01") + np.arange(3000) % 365
    pq.write_table(pa.table({"day": days, "x": np.arange(3000.0)}), tmp_path / "days.parquet")
    server = start(DatasetConfig("days", str(tmp_path / "days.parquet"), "10/3"))
    session = connected(server)
    whole = session["day"].median(epsilon="1/3")
    assert whole.privacy.exact_epsilon == ut.Privacy("1/3").exact_epsilon
    assert str(whole.value)[:4] == "2024"
    late = session.where(day=(">=", np.datetime64("2024-06-01")))
    assert str(late["day"].median(epsilon=1).value) > "2024-06-01"
    assert session["day"].histogram(edges=[dt.date(2024, 1, 1), dt.date(2025, 1, 1)], every="month", epsilon=1)
    assert str(session.remaining.epsilon) == str(1.0)


def test_where_to_connect(server):
    for url in ("ftp://localhost", "localhost:8000", "", "http://"):
        with pytest.raises(InvalidArgument, match="url must be"):
            ut.connect(url, "token")
    with pytest.raises(InvalidArgument, match="https"):
        ut.connect("http://example.org", "token")
    with pytest.raises(UptackError, match="not valid"):
        ut.connect("http://localhost", "wrong", transport=server.http._transport)
    with pytest.raises(UptackError, match="no such data set"):
        connected(server, dataset="other")


def test_no_warning_leaves_a_session(session):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session["age"].mean(epsilon=0.1)


@pytest.mark.parametrize("told", [None, [], "x", {"type": "InvalidArgument", "arguments": [1]}, {"type": "NoReply"}])
def test_an_error_that_makes_no_sense_is_still_an_error(told):
    with pytest.raises(UptackError, match="refused"):
        _raise({"error": told})


@pytest.mark.parametrize(
    "told", [{"message": "\x1b[2Jdone"}, {"type": "InvalidArgument", "arguments": ["epsilon", "\x1b[2J", "1"]}]
)
def test_an_error_of_a_server_moves_no_cursor(told):
    with pytest.raises(UptackError) as error:
        _raise({"error": told})
    assert "\x1b" not in str(error.value)
    assert r"\x1b[2J" in str(error.value)


def test_an_error_that_can_not_be_made_is_still_an_error():
    epsilon = {"$": "dict", "of": [["exact_epsilon", "one"], ["exact_delta", 0]]}
    price = {"$": "instance", "class": "uptack.privacy.guarantee:Privacy", "items": None, "of": epsilon}
    with pytest.raises(UptackError, match="too dear"):
        _raise({"error": {"type": "BudgetExceeded", "arguments": [price, 1], "message": "too dear"}})


MEMORY = {"$": "instance", "class": "uptack.table.memory.table:MemoryTable", "items": None,
          "of": {"$": "dict", "of": [["fields", {"$": "dict", "of": []}]]}}  # fmt: skip


@pytest.mark.parametrize("face", [5, {}, {"session": 1}, {"session": [1, 2]}, {"session": [MEMORY]}])
def test_a_data_set_that_makes_no_sense_is_an_error_of_ours(server, face):
    """The parts that are not replaced here are those of a server."""
    good = server.signed_in().get("/api/datasets/clinic").json()
    if isinstance(face, dict) and isinstance(face.get("session"), list):
        replaced = face["session"]
        face = {**good, "session": {"$": "tuple", "of": [*replaced, *good["session"]["of"][len(replaced) :]]}}
    with pytest.raises(UptackError, match="can't be read"):
        replying({"/api/datasets": [{"name": "x"}], "/api/datasets/x": face})


STRANGE = {
    "number": 5,
    "list": [],
    "nothing": {},
    "no state": {"id": "x"},
    "no release": {"id": "x", "state": "answered", "epsilon": 1, "delta": 0, "answer": [1]},
    "no id": {"state": "running"},
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("reply", STRANGE.values(), ids=STRANGE)
def test_a_reply_that_makes_no_sense_is_an_error_of_ours(server, reply):
    face = server.signed_in().get("/api/datasets/clinic").json()
    session = replying({"/api/datasets": [{"name": "x"}], "/api/datasets/x": face}, reply)
    for ask in (session["age"].median, lambda **_: session.plan([Request("median", "age", epsilon=1)])):
        with pytest.raises(UptackError, match=r"can't be read|is not a server|must be a release"):
            ask(epsilon=1)


def replying(replies, other=None):
    """A session on a server with these replies by path, and another for what is asked there."""
    import httpx

    def reply(request):
        found = replies.get(request.url.path, other)
        return httpx.Response(200, text=found if isinstance(found, str) else json.dumps(found))

    return ut.connect("http://localhost", "token", transport=httpx.MockTransport(reply))


def test_an_address_without_a_server_is_named_after_two_tries(monkeypatch):
    import httpx

    tries = []

    def fails(request):
        tries.append(request)
        raise httpx.ConnectError("refused")

    monkeypatch.setattr("uptack.client.PAUSE", 0.0)
    with pytest.raises(UptackError, match="is the address right"):
        ut.connect("http://localhost", "token", transport=httpx.MockTransport(fails))
    assert len(tries) == 2
