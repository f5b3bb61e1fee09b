"""Attacks of somebody who has read the code: on budgets, on secrets, on time and on the machine."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from uptack.ledger import Ledger
from uptack.privacy import ADD_REMOVE
from uptack.server.config import DatasetConfig, ServerConfig
from uptack.server.release_store import ReleaseStore, fingerprint
from uptack.server.service import Caller
from uptack.wire import answers

MEDIAN = "/api/datasets/clinic/releases/median"
AGE = {"columns": ["age"], "options": {"epsilon": 0.5}}


def bearer(secret):
    return {"Authorization": f"Bearer {secret}"}


# -------------------------------------------------------------------------------------------------------------- budgets

KILLED = """
import os, sys
from uptack.ledger.ledger_store import Store
from uptack.server.config import ServerConfig
from uptack.server.service import Caller, Service

config, which, when, waits = ServerConfig.from_text(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
service, writing, count = Service(config), Store.writing, 0

def dying(store):
    from contextlib import contextmanager

    @contextmanager
    def inner():
        global count
        count += 1
        if when == "before" and count == which:
            os._exit(9)
        with writing(store) as connection:
            yield connection
        if when == "after" and count == which:
            os._exit(9)

    return inner()

Store.writing = dying
body = {"columns": ["age"], "options": {"epsilon": 0.5}}
if waits:
    service.decide(Caller("dr", "curator"), waits, True)
else:
    service.ask(Caller("ann", "analyst"), "clinic", "median", body, "one")
service.close()
os._exit(0)
"""


@pytest.mark.parametrize("approved", [False, True])
def test_a_process_that_dies_at_any_write_charges_once(start, clinic, tmp_path, approved):
    outcomes = []
    for which in range(1, 5):
        for when in ("before", "after"):
            place = str(tmp_path / f"{which}{when}.db")
            dataset = DatasetConfig("clinic", clinic, 3, seconds=0.2, approve_above="0.1" if approved else None)
            server = start(dataset, store=place, slots=True)
            ann, key = server.signed_in(), {"Idempotency-Key": "one"}
            waits = ann.post(MEDIAN, json=AGE, headers=key).json()["id"] if approved else ""
            run = [sys.executable, "-c", KILLED, server.service.config.to_text(), str(which), when, waits]
            code = subprocess.run(run, check=False, env=os.environ).returncode
            debits = len(server.ledger.history())
            store = server.service.store
            if (record := store.by_key("clinic", "ann", "one")) is not None and record.state == "running":
                store.move(record.id, "running", "running", due=time.time() - 1)  # as after its last slot
            reply = ann.post(MEDIAN, json=AGE, headers=key).json()
            outcomes.append((which, when, code, debits, reply["state"]))
            assert len(server.ledger.history()) <= 1
            assert reply["state"] != "answered" or len(server.ledger.history()) == 1
            assert server.ledger.verify()
    died = [one for one in outcomes if one[2] == 9]
    assert len(died) == 6, outcomes  # the record (or the decision), the debit, the answer: before and after each
    assert [one[3] for one in died] == [0, 0, 0, 1, 1, 1]
    assert [one[4] for one in died[1:]] == ["withheld"] * 4 + ["answered"]
    assert died[0][4] == ("waiting" if approved else "answered"), "nothing was written, so it is asked anew"


def test_servers_that_race_for_the_last_of_the_budget_stay_within_it(start, clinic):
    dataset = DatasetConfig("clinic", clinic, 1)
    servers, replies = [start(dataset, requests_at_once=50) for _ in range(2)], []
    together = threading.Barrier(8, timeout=60)

    def ask(number):
        http = servers[number % 2].signed_in(f"a{number}")
        together.wait()
        replies.append(http.post(MEDIAN, json={**AGE, "options": {"epsilon": "2/5"}}))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    answered = [one for one in replies if one.status_code == 200 and one.json()["state"] == "answered"]
    assert len(answered) == 2
    assert servers[0].ledger.spent().exact_epsilon * 5 == 4
    assert {one.json().get("state", one.status_code) for one in replies} <= {"answered", "refused", 409}


def test_an_approval_is_paid_from_what_is_left_then(start, clinic):
    server = start(DatasetConfig("clinic", clinic, 1, approve_above="0.3"))
    ann, curator = server.signed_in(), server.signed_in("dr", "curator")
    waiting = [ann.post(MEDIAN, json=AGE).json()["id"] for _ in range(3)]
    codes = [curator.post(f"/api/releases/{one}/decision", json={"approve": True}).status_code for one in waiting]
    for one in waiting:
        curator.post(f"/api/releases/{one}/decision", json={"approve": True})
    server.service.close()
    states = [server.service.store.release(one).state for one in waiting]
    assert codes.count(200) >= 2
    assert sorted(states) in (["answered", "answered", "refused"], ["answered", "answered", "waiting"])
    assert server.ledger.spent() <= server.ledger.budget


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGTERM")
def test_a_signal_to_end_lets_a_release_finish(clinic, tmp_path):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    store, url = ReleaseStore(tmp_path / "store.db"), f"http://127.0.0.1:{port}"
    options = ["--store", store.place, "--epsilon", "3", "--seconds", "4", "--port", port]
    command = [sys.executable, "-m", "uptack", "serve", clinic, *map(str, options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert "serves" in process.stdout.readline()
        with ThreadPoolExecutor(1) as threads:
            headers = bearer(store.issue("ann", "analyst"))
            asked = threads.submit(httpx.post, url + MEDIAN, json=AGE, headers=headers, timeout=60)
            while not store.list_releases(state="running"):
                assert not asked.done(), asked.result().text
                time.sleep(0.05)
            process.send_signal(signal.SIGTERM)
            assert asked.result().json()["state"] == "answered"
        process.wait(60)
    finally:
        process.kill()
    assert [one.state for one in store.list_releases()] == ["answered"]
    assert len(Ledger(store.place, dataset="clinic").history()) == 1


# --------------------------------------------------------------------------------------------- hostile requests

LONG = "9" * 4400
MANY_DIGITS = f"{'7' * 4300}.{'3' * 4300}e-4300"
"""Below 1, and Python neither writes its digits out nor makes a float of its p/q."""
NUMBERS = (
    f'"{MANY_DIGITS}"',
    '"1e999999999"', '"1e-999999999"', '"nan"', '"-0"', '"1/0"', f'"1/{"9" * 4000}"', f'"{LONG}"', LONG, "1e400", "NaN",
    "-Infinity", "-0.0", "5e-324", "1e308", "true", "null", "[1]", '{"a": 1}', '"1/3\\u0000"', '"\\ud800"',
)  # fmt: skip
CONDITIONS = (
    "\ud800", "ward == '\ud800'", "ward == '\0'", {"ward": "\ud800"}, {"\ud800": 1}, "(" * 100_000,
    "not " * 20_000 + "age > 1", "age > " + "-" * 5_000 + "1", "age > 1" + " and age > 1" * 15_000,
    {"age": ["==", [[[[]]]]]}, {"age": [">=", 10**300]}, "age > 1e400", "age > 9**9**9", "age.__class__ == 1",
    "__import__('os')", "1 < age < 5", "", None, [], 5,
)  # fmt: skip
FORMULAS = (
    "(" * 2_400, "cost ~ " + "(" * 2_000 + "age" + ")" * 2_000, "cost ~ age" + " + age" * 800, "cost ~ I(age**9999)",
    "cost ~ (age + wait_minutes)**50", "cost ~ exp(exp(exp(age)))", "~", "cost ~ cost", "cost ~ \ud800",
    "cost ~ " + " * ".join(["age", "C(ward)"] * 20), "cost ~ " + "-" * 3_000 + "age",
)  # fmt: skip


def hostile():
    for number in NUMBERS:
        yield "median", f'{{"columns": ["age"], "options": {{"epsilon": {number}}}}}'
        yield "median", f'{{"columns": ["age"], "options": {{"epsilon": 1, "granularity": {number}}}}}'
    for condition in CONDITIONS:
        yield "count", json.dumps({"where": [condition], "options": {"epsilon": 1}})
    for formula in FORMULAS:
        yield "linear_regression", json.dumps({"options": {"epsilon": 8, "formula": formula}})
    for title in ("\ud800", "\0", "\u202e"):
        yield "report", json.dumps({"options": {"epsilon": 1, "title": title, "columns": ["age"]}})
    yield "report", json.dumps({"options": {"epsilon": 1, "columns": ["age"] * 10_000}})
    for statistic in ("mean", "median", "count"):
        groups = [str(i) for i in range(10_000)]
        columns = [] if statistic == "count" else ["cost"]
        yield statistic, json.dumps({"columns": columns, "options": {"epsilon": 1, "by": "ward", "groups": groups}})
        levels = {"ward": groups[:100], "age": [*range(100)]}
        options = {"epsilon": 1, "by": ["ward", "age"], "groups": levels}
        yield statistic, json.dumps({"columns": columns, "options": options})


def test_no_small_request_fails_takes_long_or_is_charged_for_nothing(start, clinic, monkeypatch):

    server = start(DatasetConfig("clinic", clinic, 10**6, "1/2"), requests_at_once=50)
    http, ledger, slow = server.signed_in(), server.ledger, []
    for statistic, body in hostile():
        for kind in ("plans", "examples", "releases"):
            before, began = len(ledger.history()), time.process_time()
            path = f"/api/datasets/clinic/{kind}/{statistic}"
            reply = http.post(path, content=body, headers={"Content-Type": "application/json"})
            slow += [(kind, statistic, body[:60])] * (time.process_time() - began > 10)
            assert reply.status_code < 500, (kind, statistic, body[:100], reply.text[:200])
            made = reply.json()
            assert made.get("state") != "withheld", (statistic, body[:100])
            charged = len(ledger.history()) > before
            assert charged == (kind == "releases" and reply.status_code == 200 and made["id"] is not None)
    assert not slow


def test_a_key_that_comes_twice_in_json_is_what_is_paid_for(server):
    body = '{"columns": ["age"], "options": {"epsilon": 0.25, "epsilon": 1}}'
    made = server.signed_in().post(MEDIAN, content=body, headers={"Content-Type": "application/json"}).json()
    assert made["request"]["options"] == {"epsilon": 1}
    assert made["result"]["privacy"]["epsilon"] == server.ledger.spent().epsilon == 1


def test_a_released_function_of_two_numbers_is_asked_for_points(server):
    http = server.signed_in()
    body = {"columns": ["age", "cost"], "options": {"epsilon": 2}}
    made = http.post("/api/datasets/clinic/releases/fourier_density", json=body).json()
    at = f"/api/releases/{made['id']}/at"
    assert len(http.get(at, params={"x": [30, 40, 50, 60]}).json()["value"]) == 2
    assert http.get(at, params={"x": [30, 40, 50]}).status_code == 422
    for point in (["1e308", "-1e308"], ["-0.0", "5e-324"]):
        (value,) = http.get(at, params={"x": point}).json()["value"]
        assert isinstance(value, float)
    assert http.get(at, params={"x": ["1e400", "1"]}).status_code == 422
    assert len(server.ledger.history()) == 1


# --------------------------------------------------------------------------------------------- what must not be seen

OPTIONS = {
    "proportion": {"equals": "Surgery"}, "quantile": {"p": 0.5}, "histogram": {"keys": ["Surgery", "Medicine"]},
    "superiority": {"groups": ["Surgery", "Medicine"]}, "mann_whitney": {"groups": ["Surgery", "Medicine"]},
    "synthetic": {"delta": 1e-6, "rows": 100}, "kde": {"delta": 1e-6}, "iqr": {},
}  # fmt: skip


@pytest.mark.usefixtures("every_statistic")
def test_no_plan_and_no_form_uses_a_secret_number_of_rows(start, clinic):
    server = start(DatasetConfig("clinic", clinic, 100, "1/100", opening={"adjacency": ADD_REMOVE}), slots=True)
    held, ann, seen = server.service.datasets["clinic"], Caller("ann", "analyst"), []
    replied = set()
    for size in (300, 10**7):
        held.public = replace(held.public, size=size)
        replies = {}
        for name, declaration in server.service.statistics().items():
            kinds, least = declaration.reads.kinds, declaration.reads.least
            texts = ["ward"] if "text" in kinds else []
            columns = [*texts, "age", "cost", "wait_minutes"][: max(least, 1)]
            if declaration.reads.last:
                columns[-1] = "ward"
            for options in ({}, {"interval": 0.95}, {"delta": 1e-7}, {"by": "ward", "groups": ["Surgery", "Medicine"]}):
                body = {"columns": columns, "options": {"epsilon": 2, **OPTIONS.get(name, {}), **options}}
                reply = server.signed_in().post(f"/api/datasets/clinic/plans/{name}", json=body)
                replies[name, json.dumps(options)] = reply.text
                if reply.status_code == 200:
                    replied.add(name)
                    job = server.service._job(held, ann, name, body)
                    replies[name, json.dumps(options), "slots"] = repr(getattr(job, "slots", job))
        for page in ("/datasets", "/datasets/clinic", "/datasets/clinic/ask/median?column=age&epsilon=1&interval=0.95"):
            text = server.signed_in().get(page, headers={"Accept": "text/html"}).text
            replies[page] = text.partition('name="key"')[0]
        seen.append(replies)
    assert {name for name in seen[0] if seen[0][name] != seen[1][name]} == set()
    assert len(replied) > 20, sorted(replied)


def test_an_answer_is_in_no_store_before_its_slot_ends(start, clinic, tmp_path):
    """A second server on the store would show it, and the lock of a long write would be felt by everybody."""
    server = start(DatasetConfig("clinic", clinic, 3, seconds=2.0), slots=True)
    record = server.service.ask(Caller("ann", "analyst"), "clinic", "median", AGE, "one")
    files = [tmp_path / "store.db", tmp_path / "store.db-journal"]
    end, seen, states = record.made + 1.8, set(), set()
    time.sleep(max(0.0, record.made + 1.0 - time.time()))
    while time.time() < end:
        seen.add(tuple(one.stat().st_mtime_ns if one.exists() else 0 for one in files))
        state = server.service.store.release(record.id).state
        states |= {state} if time.time() < end else set()
        time.sleep(0.02)
    assert len(seen) <= 1, "nothing is written between the debit and the end of the slot"
    assert states <= {"running"}, "nor was it before"
    server.service.running(record).result(30)
    assert server.service.store.release(record.id).state == "answered"


def test_a_locked_store_does_not_stop_the_server(start, clinic):
    server = start()
    token, held, done = server.token(), threading.Event(), threading.Event()

    def lock():
        with server.service.store._store.writing() as connection:
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql("BEGIN EXCLUSIVE")
            held.set()
            done.wait(20)

    with server.http as http:  # all requests in one loop
        locking = threading.Thread(target=lock)
        locking.start()
        assert held.wait(10)
        asking = threading.Thread(target=lambda: http.get("/api/datasets", headers=bearer(token)))
        asking.start()
        time.sleep(0.3)
        began = time.monotonic()
        assert http.get("/health").text == "ok"
        took = time.monotonic() - began
        done.set()
        locking.join()
        asking.join()
    assert took < 5


# --------------------------------------------------------------------------------------------- secrets


def test_a_token_that_is_revoked_during_the_sign_in_leaves_no_cookie(server, monkeypatch):
    store, token = server.service.store, server.token()
    issue = ReleaseStore.issue

    def late(self, *given, **options):
        if options.get("purpose") == "cookie":
            store.revoke(fingerprint(token))
        return issue(self, *given, **options)

    monkeypatch.setattr(ReleaseStore, "issue", late)
    assert server.http.post("/sign-in", data={"token": token}, follow_redirects=False).status_code == 401
    with store._store.reading() as connection:
        from uptack.server.release_store import tokens

        rows = connection.execute(tokens.select()).all()
    assert [one.revoked for one in rows if one.purpose == "cookie"] == [True]


def test_a_curator_of_one_data_set_signs_nobody_else_out(start, clinic):
    server = start(DatasetConfig("clinic", clinic, 3), DatasetConfig("other", clinic, 3))
    cookie = server.service.store.issue("dr", "curator", purpose="cookie")
    eve = server.signed_in("eve", "curator", datasets=("other",))
    own = eve.post("/api/tokens", json={"name": "dr", "role": "curator"}).json()["token"]
    assert eve.delete(f"/api/tokens/{fingerprint(own)}").status_code == 200
    assert server.service.store.token(cookie) is not None


def test_the_host_that_a_request_names_decides_nothing(server):
    server.http.post("/sign-in", data={"token": server.token("dr", "curator")})
    for host in ("localhost/x?", "localhost/x#", "evil.example"):
        sent = server.http.post("/api/datasets/clinic/pause", content='{"paused": true}',
                                headers={"Host": host, "Content-Type": "text/plain"})  # fmt: skip
        assert sent.status_code == 403
        for path in ("/datasets/", "/sign-in/", "/api/datasets/"):
            reply = server.http.get(path, headers={"Host": host}, follow_redirects=False)
            assert (reply.status_code, "location" in reply.headers) == (404, False)
    assert not server.service.paused("clinic")


def test_an_unknown_address_is_an_error_like_others(server):
    page = server.http.get("/nothing", headers={"Accept": "text/html,*/*"})
    assert (page.status_code, "There is no such page." in page.text) == (404, True)
    assert server.http.get("/nothing").json()["error"]["message"]
    assert server.http.put("/datasets").status_code == 405


def test_a_proxy_may_keep_its_own_authorization(start, clinic):
    proxy = {"proxy_header": "X-Remote-User", "proxy_addresses": ("127.0.0.1",)}
    server = start(DatasetConfig("clinic", clinic, 3), **proxy)
    server.http._transport.client = ("127.0.0.1", 1)
    both = {"X-Remote-User": "ann", "Authorization": "Basic YTpi"}
    assert server.http.get("/api/datasets", headers=both).status_code == 200
    assert server.http.get("/api/datasets", headers={**both, "Authorization": "Bearer no"}).status_code == 401


def test_a_link_from_somebody_else_chooses_no_key(server):
    server.http.post("/sign-in", data={"token": server.token()})
    page = server.http.get("/datasets/clinic/ask/median?column=age&epsilon=0.5&key=theirs&form_token=theirs").text
    assert "theirs" not in page


def test_an_analyst_sees_her_entries_in_order_and_no_more_than_a_page(server, monkeypatch):
    monkeypatch.setattr("uptack.server.api.MOST_ENTRIES", 3)
    ann, bob = server.signed_in(), server.signed_in("bob")
    for number in range(4):
        for http in (ann, bob):
            small = {"columns": ["age"], "options": {"epsilon": "1/4", "p": number / 10 + 0.1}}
            assert http.post(MEDIAN.replace("median", "quantile"), json=small).status_code == 200
    seen = ann.get("/api/datasets/clinic/ledger").json()["entries"]
    assert [one["number"] for one in seen] == [4, 6, 8]
    assert {one["analyst"] for one in seen} == {"ann"}
    assert server.ledger.analysts() == ["ann", "bob"]
    assert [one.number for one in server.ledger.entries(latest=2)] == [8, 9]


# ------------------------------------------------------------------------------------------------------- stored answers


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"$": "instance", "class": "uptack.ledger:Ledger"}', "[" * 9000]
)
def test_a_stored_answer_that_is_damaged_or_hostile_shows_nothing_and_breaks_nothing(server, text):
    http = server.signed_in()
    made = http.post(MEDIAN, json=AGE).json()
    store = server.service.store
    assert store.move(made["id"], "answered", "running", due=time.time() + 60)
    assert store.move(made["id"], "running", "answered", answer=text)
    for path in (f"/api/releases/{made['id']}", f"/releases/{made['id']}", f"/releases/{made['id']}/answer.csv"):
        reply = http.get(path)
        assert reply.status_code in (200, 422, 500)
        assert "Traceback" not in reply.text
    assert http.get("/api/releases").status_code == 200
    assert answers.loads("[]") == []


def test_the_configuration_of_a_worker_has_no_secret_in_its_errors(clinic):
    place = "postgresql://u:hunter2@nowhere.invalid/db"
    config = ServerConfig((DatasetConfig("clinic", clinic, 3),), place)
    with pytest.raises(Exception, match="can't be used") as failed:
        ReleaseStore(config.store, timeout=1)
    assert "hunter2" not in str(failed.value)
    assert Path(clinic).exists()
