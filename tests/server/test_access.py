"""Who may do what: tokens, cookies, the proxy, forged forms, limits, and attacks on the rim."""

import contextlib
import json
import logging
import os
import shutil
import sqlite3
import time
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from sqlalchemy import update

from uptack.cli.serve_command import serve
from uptack.errors import InvalidArgument, LedgerError
from uptack.ledger import Ledger
from uptack.privacy import ADD_REMOVE, SUBSTITUTE
from uptack.server import release_store
from uptack.server.access import COOKIE, Limits
from uptack.server.config import DatasetConfig, ServerConfig, read_config
from uptack.server.release_store import ReleaseStore, fingerprint
from uptack.server.service import Refused

MEDIAN = "/api/datasets/clinic/releases/median"
AGE = {"columns": ["age"], "options": {"epsilon": 0.5}}


def bearer(secret):
    return {"Authorization": f"Bearer {secret}"}


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Bearer wrong", "Basic YTpi", "bearer\ttab", "Bearer a b"])
def test_a_missing_or_wrong_token_is_refused(server, header):
    reply = server.http.post(MEDIAN, json=AGE, headers={"Authorization": header} if header else {})
    assert reply.status_code == 401
    assert server.ledger.history() == []


def test_expired_and_revoked_tokens_are_refused(server):
    expired, revoked = server.token(days=1e-9), server.token("bob")
    time.sleep(0.01)
    assert server.http.get("/api/datasets", headers=bearer(expired)).status_code == 401
    assert server.http.get("/api/datasets", headers=bearer(revoked)).status_code == 200
    curator = server.signed_in("dr", "curator")
    assert curator.delete(f"/api/tokens/{fingerprint(revoked)}").status_code == 200
    assert server.http.get("/api/datasets", headers=bearer(revoked)).status_code == 401
    assert curator.delete(f"/api/tokens/{fingerprint(revoked)}").status_code == 404


def test_only_hashes_of_secrets_are_stored(server, tmp_path):
    secret = server.token()
    server.signed_in().post(MEDIAN, json=AGE)
    held = (tmp_path / "store.db").read_bytes()
    assert secret.encode() not in held
    assert fingerprint(secret).encode() in held
    assert len(secret) >= 43, "256 bits"


def test_a_token_is_good_for_its_purpose_only(server):
    link = server.service.store.issue("dr", "curator", purpose="link")
    cookie = server.service.store.issue("dr", "curator", purpose="cookie")
    for secret in (link, cookie):
        assert server.http.get("/api/datasets", headers=bearer(secret)).status_code == 401
    server.http.cookies.set(COOKIE, server.token())
    assert server.http.get("/api/datasets").status_code == 401
    assert server.service.store.use(link) is not None
    assert server.service.store.use(link) is None, "a link works once"


def test_a_token_sees_its_data_sets_only(start, clinic):
    server = start(DatasetConfig("clinic", clinic, 3), DatasetConfig("other", clinic, 3))
    http = server.signed_in(datasets=("other",))
    assert [one["name"] for one in http.get("/api/datasets").json()] == ["other"]
    hidden, none = http.post(MEDIAN, json=AGE), http.post(MEDIAN.replace("clinic", "nothing"), json=AGE)
    assert (hidden.status_code, hidden.json()) == (404, none.json())


def test_releases_of_others_do_not_exist(server):
    made = server.signed_in().post(MEDIAN, json=AGE).json()
    bob = server.signed_in("bob")
    assert bob.get(f"/api/releases/{made['id']}").json() == bob.get("/api/releases/none").json()
    assert bob.get(f"/api/releases/{made['id']}/at?x=1").status_code == 404
    assert bob.get("/api/releases").json() == []
    assert bob.get("/api/datasets/clinic/ledger").json()["entries"] == []
    assert server.signed_in("dr", "curator").get(f"/api/releases/{made['id']}").status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/tokens"), ("GET", "/api/tokens"), ("DELETE", "/api/tokens/x"), ("GET", "/metrics"),
        ("POST", "/api/datasets/clinic/pause"), ("POST", "/api/datasets/clinic/allowances"),
        ("POST", "/api/releases/x/decision"),
    ],
)  # fmt: skip
def test_what_is_the_curators_is_not_the_analysts(server, method, path):
    assert server.signed_in().request(method, path, json={}).status_code == 403


def test_a_proxy_is_believed_from_its_address_only(start, clinic):
    options = {"proxy_header": "X-Remote-User", "proxy_addresses": ("10.0.0.1",), "proxy_curators": ("dr",)}
    far = start(DatasetConfig("clinic", clinic, 3), **options)
    assert far.http.get("/api/datasets", headers={"X-Remote-User": "ann"}).status_code == 401
    near = start(DatasetConfig("clinic", clinic, 3), **{**options, "proxy_addresses": ("127.0.0.1",)})
    near.http._transport.client = ("127.0.0.1", 1)
    assert near.http.get("/api/datasets", headers={"X-Remote-User": "ann"}).status_code == 200
    assert near.http.get("/api/tokens", headers={"X-Remote-User": "ann"}).status_code == 403
    assert near.http.get("/api/tokens", headers={"X-Remote-User": "dr"}).status_code == 200


def test_names_are_not_paths_and_not_sql(server):
    http = server.signed_in()
    tricks = ["../clinic", "..%2fclinic", "clinic%00", "clinic;drop table uptack_entries", "%2e%2e"]
    for name in tricks:
        assert http.post(f"/api/datasets/{name}/releases/median", json=AGE).status_code in (404, 405)
    column = '"; DROP TABLE uptack_entries; --'
    for body in ({**AGE, "columns": [column]}, {**AGE, "where": [{column: 1}]}, {**AGE, "where": [column]}):
        assert http.post(MEDIAN, json=body).status_code == 422
    assert server.ledger.verify()


def test_a_value_with_sql_is_a_value(server):
    http = server.signed_in()
    reply = http.post(MEDIAN, json={**AGE, "where": [{"ward": "x' OR '1'='1"}]})
    assert reply.status_code == 200
    assert reply.json()["state"] == "answered"
    assert reply.json()["result"]["reply"] is False, "no row has this ward"


def test_large_and_deep_requests_are_refused(server):
    http = server.signed_in()
    assert http.post(MEDIAN, content=b" " * 300_000).status_code == 413
    assert http.post(MEDIAN, content=(b" " * 50_000 for _ in range(6))).status_code == 413
    deep = '{"columns": ["age"], "options": {"epsilon": 1, "groups": ' + "[" * 900 + "]" * 900 + "}}"
    assert http.post(MEDIAN, content=deep).status_code in (400, 422)
    huge = json.dumps({**AGE, "options": {"epsilon": 1}}).replace("1}", "1" + "0" * 5000 + "}")
    assert http.post(MEDIAN, content=huge).status_code in (400, 409, 422)
    assert server.ledger.history() == []


def test_headers_can_not_be_injected(server):
    http = server.signed_in()
    for key in ("a\x7fb", "x" * 201, "é"):
        reply = http.post(MEDIAN, json=AGE, headers={"Idempotency-Key": key.encode()})
        assert reply.status_code in (200, 422)
        assert "x" * 201 not in str(reply.headers)
    reply = http.get("/api/datasets/a%0d%0aSet-Cookie:%20b=c")
    assert "set-cookie" not in reply.headers


def test_browsers_are_told_what_to_refuse(server):
    for path in ("/api/datasets", "/health", "/nothing"):
        headers = server.http.get(path).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert "server" not in headers


def test_too_many_requests_are_refused(start):
    server = start(requests_per_second=2)
    http = server.signed_in()
    codes = [http.get("/api/datasets").status_code for _ in range(30)]
    assert codes[0] == 200
    assert codes[-1] == 429
    assert server.signed_in("bob").get("/api/datasets").status_code == 200, "others are not held up"


def test_places_for_releases_are_counted():
    limits = Limits(1, 2)
    with limits.running("ann"), limits.running("ann"), limits.running("bob"):
        with pytest.raises(Refused) as refused, limits.running("ann"):
            pass
        assert refused.value.status == 429
    with limits.running("ann"), limits.running("ann"), limits.running("ann", "plans"):
        pass


def test_processes_share_the_limits_of_a_caller(clinic):
    config = ServerConfig((DatasetConfig("clinic", clinic, 3),), "x.db", workers=4, requests_at_once=6)
    limits = Limits.of(config)
    with limits.running("ann"), limits.running("ann"), pytest.raises(Refused), limits.running("ann"):
        pass
    calls = [bearable(limits) for _ in range(100)]
    assert calls.count(True) < 50, "a quarter of 20 a second, and five seconds' worth at once"


def bearable(limits):
    try:
        limits.count("ann")
    except Refused:
        return False
    return True


def test_logs_and_errors_hold_no_secret_and_no_value(server, caplog):
    http = server.signed_in()
    secret = http.headers["Authorization"].split()[1]
    with caplog.at_level(logging.DEBUG, "uptack"):
        made = http.post(MEDIAN, json={**AGE, "where": [{"ward": "a secret word"}]}).json()
        http.post(MEDIAN, json={**AGE, "columns": ["a secret word"]})
        http.get(f"/api/releases/{made['id']}")
    text = caplog.text
    assert '"route": "/api/datasets/{dataset}/releases/median", "status": 200' in text
    assert secret not in text
    assert "a secret word" not in text
    assert made["id"] not in text


@pytest.mark.parametrize("source", ["server.toml", "clinic.parquet"])
def test_a_journal_holds_no_link_for_the_curator(source, clinic, tmp_path, monkeypatch):
    shutil.copy(clinic, tmp_path / "clinic.parquet")
    (tmp_path / "server.toml").write_text('store = "s.db"\n[datasets.t]\nsource = "clinic.parquet"\nepsilon = 1\n')
    monkeypatch.setattr("uptack.server.app.serve", lambda config, ready: ready())
    options = [] if source.endswith(".toml") else ["--epsilon", "1"]
    printed = CliRunner().invoke(serve, [str(tmp_path / source), *options]).output
    assert "uptack serves" in printed
    assert ("/enter?token=" in printed) == (source == "clinic.parquet")
    assert ("--role curator" in printed) == (source == "server.toml")


def test_an_unexpected_failure_says_nothing(server, monkeypatch):
    def fail(*_):
        raise RuntimeError("row 17 has the value 4711")

    monkeypatch.setattr(server.service, "face", fail)
    reply = server.signed_in().get("/api/datasets/clinic")
    assert reply.status_code == 500
    assert "4711" not in reply.text
    page = server.signed_in().get("/datasets/clinic", headers={"Accept": "text/html,*/*"})
    assert (page.status_code, "4711" in page.text) == (500, False)
    assert "The server failed" in page.text
    assert page.headers["content-type"].startswith("text/html")


def test_a_damaged_ledger_says_so_and_releases_nothing(server, tmp_path):
    http = server.signed_in()
    assert http.post(MEDIAN, json=AGE).status_code == 200
    with contextlib.closing(sqlite3.connect(tmp_path / "store.db")) as store:
        store.execute("DROP TRIGGER uptack_entries_update")
        store.execute("UPDATE uptack_entries SET spent_epsilon = '0/1' WHERE number = 2")
        store.commit()
    for reply in (http.post(MEDIAN, json=AGE), server.signed_in("dr", "curator").get("/curator")):
        assert reply.status_code == 503
        assert "ledger is damaged" in reply.text
        assert str(tmp_path) not in reply.text
    assert len(http.get("/api/releases").json()) == 1


def test_an_error_of_the_ledger_names_no_file(server, monkeypatch):
    def locked(*_):
        raise LedgerError("/srv/vault/store.db", "is locked")

    monkeypatch.setattr(server.service, "face", locked)
    for path in ("/api/datasets/clinic", "/datasets/clinic"):
        reply = server.signed_in().get(path)
        assert (reply.status_code, "vault" in reply.text) == (503, False)


def test_a_failure_after_the_debit_is_withheld(server, monkeypatch):
    from uptack.session import Request

    def fail(*_):
        raise RuntimeError("row 17 has the value 4711")

    monkeypatch.setattr(Request, "make", fail)
    reply = server.signed_in().post(MEDIAN, json=AGE)
    assert reply.json()["state"] == "withheld"
    assert "4711" not in reply.text
    assert server.ledger.spent().epsilon == 0.5


def test_a_file_that_has_changed_costs_nothing_more(start, tmp_path, clinic):
    path = tmp_path / "moving.parquet"
    shutil.copy(clinic, path)
    server = start(DatasetConfig("clinic", str(path), 3, approve_above="0.7"))
    http, curator = server.signed_in(), server.signed_in("dr", "curator")
    waiting = http.post(MEDIAN, json={**AGE, "options": {"epsilon": 1}}).json()["id"]
    rows = http.get("/api/datasets/clinic").json()["rows"]
    pq.write_table(pa.table({"age": ["secret"] * 10}), path)
    decision = curator.post(f"/api/releases/{waiting}/decision", json={"approve": True})
    for reply in (http.post(MEDIAN, json=AGE), decision):
        assert reply.status_code == 409
        assert "the file has changed" in reply.text
    assert http.get("/api/datasets/clinic").json()["rows"] == rows
    assert (server.ledger.history(), server.service.store.release(waiting).state) == ([], "waiting")


def test_a_file_that_changes_after_the_debit_is_withheld(start, tmp_path, clinic, monkeypatch):
    path = tmp_path / "moving.parquet"
    shutil.copy(clinic, path)
    server = start(DatasetConfig("clinic", str(path), 3))
    charge = Ledger.charge

    def charged(ledger, spent, run, **options):
        def changed():
            pq.write_table(pa.table({"age": ["secret"] * 10}), path)
            return run()

        return charge(ledger, spent, changed, **options)

    monkeypatch.setattr(Ledger, "charge", charged)
    http = server.signed_in()
    reply = http.post(MEDIAN, json=AGE)
    assert reply.json()["state"] == "withheld"
    assert "secret" not in reply.text
    assert http.get("/api/datasets/clinic").json()["rows"] == 2400
    assert len(server.ledger.history()) == 1
    assert server.ledger.verify()


def test_two_servers_share_one_ledger(start):
    one, two = start(), start()
    for server in (one, two):
        assert server.signed_in().post(MEDIAN, json={**AGE, "options": {"epsilon": 1.4}}).status_code == 200
    assert one.signed_in().post(MEDIAN, json=AGE).status_code == 409
    made = one.signed_in().post(MEDIAN, json={**AGE, "options": {"epsilon": 0.2}}, headers={"Idempotency-Key": "k"})
    again = two.signed_in().post(MEDIAN, json={**AGE, "options": {"epsilon": 0.2}}, headers={"Idempotency-Key": "k"})
    assert made.json() == again.json()
    assert one.ledger.verify()


def test_a_store_of_a_newer_version_is_refused(tmp_path):
    store = ReleaseStore(tmp_path / "store.db")
    with store._store.writing() as connection:
        connection.execute(update(release_store.versions).values(version=99))
    with pytest.raises(LedgerError, match=r"version 99 .* up to 1. Install a newer uptack"):
        ReleaseStore(tmp_path / "store.db")


def versions_of(place):
    with sqlite3.connect(place) as raw:
        columns = [name for _, name, *_ in raw.execute("PRAGMA table_info(uptack_settings)")]
        found = raw.execute("SELECT version FROM uptack_server").fetchall(), columns
    raw.close()
    return found


def test_an_older_store_is_brought_up_to_date(start, tmp_path, monkeypatch):
    place, old = tmp_path / "store.db", start()
    made = old.signed_in().post(MEDIAN, json=AGE, headers={"Idempotency-Key": "k"}).json()
    token, head = old.token("cy"), old.ledger.head()
    old.service.close()
    steps = (
        ("ALTER TABLE uptack_settings ADD COLUMN author TEXT NOT NULL DEFAULT ''",),
        ("UPDATE uptack_settings SET author = 'chen'", "ALTER TABLE uptack_settings ADD COLUMN day TEXT"),
    )
    monkeypatch.setattr(release_store, "MIGRATIONS", (*steps, ("ALTER TABLE nothing ADD COLUMN x TEXT",)))
    with pytest.raises(LedgerError):
        ReleaseStore(place)
    assert versions_of(place) == ([(1,)], ["name", "value"]), "a step that fails undoes those before it"
    monkeypatch.setattr(release_store, "MIGRATIONS", steps)
    for _ in range(2):  # steps run once
        new = start()
        assert versions_of(place) == ([(3,)], ["name", "value", "author", "day"])
        assert new.http.get("/api/datasets", headers=bearer(token)).status_code == 200
        assert new.signed_in().post(MEDIAN, json=AGE, headers={"Idempotency-Key": "k"}).json() == made
        assert new.ledger.verify(head)
    with sqlite3.connect(place) as raw:
        assert raw.execute("SELECT DISTINCT author FROM uptack_settings").fetchall() == [("chen",)]
    raw.close()
    monkeypatch.setattr(release_store, "MIGRATIONS", steps[:1])
    with pytest.raises(LedgerError, match=r"version 3 .* up to 2"):
        ReleaseStore(place)


def test_a_copy_of_the_store_is_a_backup(start, clinic, tmp_path):
    server = start()
    made = server.signed_in().post(MEDIAN, json=AGE, headers={"Idempotency-Key": "k"}).json()
    with sqlite3.connect(tmp_path / "store.db") as source, sqlite3.connect(tmp_path / "copy.db") as copy:
        source.backup(copy)
    source.close()
    copy.close()
    restored = start(store=str(tmp_path / "copy.db"))
    http = restored.signed_in()
    assert http.get(f"/api/releases/{made['id']}").json() == made
    assert http.post(MEDIAN, json=AGE, headers={"Idempotency-Key": "k"}).json() == made
    assert restored.ledger.spent() == server.ledger.spent()
    assert restored.ledger.verify(server.ledger.head())


CONFIG = """
store = "kept.db"
workers = 2
[proxy]
header = "X-Remote-User"
addresses = ["127.0.0.1"]
[datasets.patients]
source = "patients.parquet"
epsilon = 0.1
delta = 1e-6
person = "id"
adjacency = "add-remove"
approve_above = 0.05
"""


def test_a_configuration_is_read_from_toml(tmp_path):
    (tmp_path / "server.toml").write_text(CONFIG)
    made = read_config(tmp_path / "server.toml")
    assert (made.workers, made.proxy_header, made.store) == (2, "X-Remote-User", str(tmp_path / "kept.db"))
    (dataset,) = made.datasets
    assert str(dataset.epsilon) == "1/10"
    assert dataset.opening["person"] == "id"
    assert dataset.source == str(tmp_path / "patients.parquet")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("workers", "werkers", "unknown option 'werkers'"),
        ("person", "persons", "unknown option 'persons'"),
        ('store = "kept.db"', "", "store must be given"),
        ("[datasets.patients]", '[datasets."a b"]', "name of a data set"),
        ("127.0.0.1", "somewhere", "IP addresses"),
        ("add-remove", "both", "adjacency"),
        ("[proxy]", "[proxy", "TOML"),
        ('addresses = ["127.0.0.1"]', "", "together with addresses"),
        ('header = "X-Remote-User"', 'header = ""', "proxy.header must be a text"),
        ("approve_above = 0.05", "approve_above = -1", "approve_above of patients"),
        ("approve_above = 0.05", 'approve_above = "all"', "approve_above of patients"),
        ("approve_above = 0.05", "approve_above = true", "approve_above of patients"),
        ("approve_above = 0.05", 'seconds = "long"', "seconds of patients"),
        ("approve_above = 0.05", "title = 5", "title of patients"),
        ("workers = 2", "workers = 0", "workers must be"),
        ("workers = 2", 'workers = 2\nslots = "no"', "slots must be true or false"),
        ("workers = 2", "workers = 2\nslots = 0", "slots must be true or false"),
        ("workers = 2", "workers = 2\nrequests_per_second = 0", "requests_per_second must be"),
        ("workers = 2", "workers = 2\nrequests_at_once = 1.5", "requests_at_once must be"),
    ],
)
def test_a_wrong_configuration_says_what_is_wrong(tmp_path, old, new, message):
    (tmp_path / "server.toml").write_text(CONFIG.replace(old, new))
    with pytest.raises(InvalidArgument, match=message):
        read_config(tmp_path / "server.toml")


def test_a_configuration_reaches_worker_processes():
    opening = {"person": ["id"], "adjacency": ADD_REMOVE}
    made = ServerConfig((DatasetConfig("a", "a.csv", "1/3", opening=opening),), "store.db", proxy_header=None, port=81)
    assert ServerConfig.from_text(made.to_text()) == made


def test_a_revoked_token_leaves_no_cookie_and_no_link_behind(server):
    store, token = server.service.store, server.token()
    link = store.issue("ann", "analyst", purpose="link")
    server.http.post("/sign-in", data={"token": token})
    assert server.http.get("/api/datasets").status_code == 200
    others = server.signed_in("bob"), server.signed_in("ann", "curator")
    assert store.revoke(fingerprint(token))
    assert server.http.get("/api/datasets").status_code == 401
    assert store.use(link) is None
    assert [one.get("/api/datasets").status_code for one in others] == [200, 200]


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201])
def test_nobody_has_the_name_of_the_curator_in_the_ledger(server, name):
    with pytest.raises(InvalidArgument, match="name"):
        server.service.store.issue(name, "analyst")


def test_processes_that_start_together_have_one_secret(server):
    store = server.service.store
    assert store.first("together", "a") == store.first("together", "b") == "a"
    store.set("together", "c")
    assert store.first("together", "d") == "c"


def test_a_curator_of_one_data_set_can_not_reach_others(start, clinic):
    server = start(DatasetConfig("clinic", clinic, 3), DatasetConfig("other", clinic, 3))
    ann = server.signed_in().post(MEDIAN, json=AGE).json()["id"]
    token, http = server.token("bob"), server.signed_in("dr", "curator", datasets=("other",))
    for datasets in (["*"], ["clinic"], ["other", "clinic"], [["other"]]):
        reply = http.post("/api/tokens", json={"name": "eve", "role": "curator", "datasets": datasets})
        assert reply.status_code == 422
        assert "clinic" not in reply.json()["error"]["message"].partition("got")[0]
    made = http.post("/api/tokens", json={"name": "eve", "role": "curator"}).json()["token"]
    seen = server.http.get("/api/datasets", headers=bearer(made)).json()
    assert [one["name"] for one in seen] == ["other"]
    assert {one["name"] for one in http.get("/api/tokens").json()} == {"dr", "eve"}
    for one in (http, server.signed_in(datasets=("other",))):
        assert one.get(f"/api/releases/{ann}").status_code == one.get(f"/releases/{ann}/answer.csv").status_code == 404
    assert http.post(f"/api/releases/{ann}/decision", json={"approve": False}).status_code == 404
    assert http.delete(f"/api/tokens/{fingerprint(token)}").status_code == 404
    assert server.service.store.token(token) is not None
    metrics = http.get("/metrics").text
    assert 'dataset="other"' in metrics
    assert 'dataset="clinic"' not in metrics
    assert "uptack_releases{" not in metrics


def test_a_busy_data_set_hides_no_other(start, clinic):
    server = start(DatasetConfig("clinic", clinic, 3), DatasetConfig("other", clinic, 3, approve_above="0.1"))
    made = server.signed_in().post(MEDIAN.replace("clinic", "other"), json=AGE).json()["id"]
    record = server.service.store.release(made)
    for i in range(500):
        name = {"id": f"{i}", "key": f"{i}", "dataset": "clinic", "made": record.made + 1 + i}
        server.service.store.add(replace(record, **name))
    http = server.signed_in("dr", "curator", datasets=("other",))
    assert [one["id"] for one in http.get("/api/releases").json()] == [made]
    assert 'uptack_releases{state="waiting"} 1' in http.get("/metrics").text
    assert made in server.signed_in(datasets=("other",)).get("/releases").text
    assert http.get("/curator").text.count(f"/curator/decisions/{made}") == 1


def near(start, clinic, **options):
    """A server behind a proxy that signs people in."""
    proxy = {"proxy_header": "X-Remote-User", "proxy_addresses": ("127.0.0.1",), "proxy_curators": ("dr",)}
    server = start(DatasetConfig("clinic", clinic, 3, **options), **proxy)
    server.http._transport.client = ("127.0.0.1", 1)
    return server


def test_another_site_can_not_use_the_api_through_a_browser(start, clinic):
    server = near(start, clinic)
    server.http.post("/sign-in", data={"token": server.token()})
    browser, text = {"X-Remote-User": "dr"}, json.dumps(AGE)
    for signed_in in ({}, browser):
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
            sent = server.http.post(MEDIAN, content=text, headers={**signed_in, "Content-Type": kind})
            assert sent.status_code == 403
        foreign = {**signed_in, "Content-Type": "application/json", "Sec-Fetch-Site": "same-site"}
        assert server.http.post(MEDIAN, content=text, headers=foreign).status_code == 403
    pausing = server.http.post("/api/datasets/clinic/pause", content='{"paused": true}', headers=browser)
    assert (pausing.status_code, server.service.paused("clinic"), server.ledger.history()) == (403, False, [])
    assert server.http.post(MEDIAN, json=AGE, headers=browser).status_code == 200


def test_a_name_that_somebody_put_beside_the_proxys_is_not_believed(start, clinic):
    server = near(start, clinic)
    both = [("X-Remote-User", "dr"), ("X-Remote-User", "ann")]
    assert server.http.get("/api/tokens", headers=both).status_code == 401


def test_an_analyst_may_have_the_name_of_a_curator(start, clinic):
    server = near(start, clinic)
    curator, analyst = server.signed_in("curator", "curator"), {"X-Remote-User": "curator"}
    key = {"Idempotency-Key": "one"}
    made = curator.post(MEDIAN, json=AGE, headers=key).json()
    assert server.http.get("/api/releases", headers=analyst).json() == []
    assert "median" not in server.http.get("/releases", headers=analyst).text
    assert server.http.get(f"/api/releases/{made['id']}", headers=analyst).status_code == 404
    own = server.http.post(MEDIAN, json=AGE, headers={**analyst, **key}).json()
    assert own["id"] != made["id"]
    assert [one.analyst for one in server.ledger.history()] == [None, "curator"]
    assert made["id"] in curator.get("/curator").text


def test_a_cookie_behind_tls_is_sent_over_tls_only(server):
    form, behind = {"token": server.token()}, {"X-Forwarded-Proto": "https"}
    assert (
        "Secure"
        in server.http.post("/sign-in", data=form, headers=behind, follow_redirects=False).headers["set-cookie"]
    )


@pytest.mark.parametrize("proxy", ['curators = "dr"', 'curators = [""]', "curators = 3", "curators = { dr = true }"])
def test_a_text_is_not_a_list_of_curators(tmp_path, clinic, proxy):
    place = tmp_path / "server.toml"
    signing = '[proxy]\nheader = "X"\naddresses = ["127.0.0.1"]\n'
    place.write_text(f'store = "s.db"\n{signing}{proxy}\n[datasets.clinic]\nsource = "{clinic}"\nepsilon = 1\n')
    with pytest.raises(InvalidArgument, match="curators"):
        read_config(place)


@pytest.mark.parametrize("later", [{}, {"adjacency": SUBSTITUTE}])
def test_a_secret_number_of_rows_is_not_shown_by_a_restart(start, clinic, later):
    secret = {"adjacency": ADD_REMOVE}
    start(DatasetConfig("clinic", clinic, 3, opening=secret))
    with pytest.raises(InvalidArgument, match="the number of rows is secret"):
        start(DatasetConfig("clinic", clinic, opening=later))
    face = start(DatasetConfig("clinic", clinic, opening=secret)).signed_in().get("/api/datasets/clinic")
    assert face.json()["rows"] is None


def test_forms_that_make_no_sense_are_refused(server):
    server.http.post("/sign-in", data={"token": server.token()})
    page = "/datasets/clinic/ask/median"
    assert server.http.post(page, data={"form_token": "é"}).status_code == 403
    assert server.http.post(page, data={f"a{i}": "b" for i in range(3000)}).status_code == 400
    assert server.ledger.history() == []


@pytest.mark.skipif(os.name != "posix", reason="files have other permissions")
def test_others_on_the_machine_can_not_read_the_store(server, tmp_path):
    assert server.signed_in().post(MEDIAN, json=AGE).status_code == 200
    assert (tmp_path / "store.db").stat().st_mode & 0o077 == 0
