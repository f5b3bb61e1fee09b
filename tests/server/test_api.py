"""The API: what is asked is rehearsed, debited once, stored, and answered at its time slot."""

import datetime as dt
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from uptack.errors import InvalidArgument
from uptack.ledger import Ledger
from uptack.privacy import ADD_REMOVE
from uptack.samples import path
from uptack.server.config import DatasetConfig
from uptack.server.service import Caller, Dataset, Service
from uptack.server.time_slots import TimeSlots
from uptack.session import Request
from uptack.wire import answers

MEDIAN = "/api/datasets/clinic/releases/median"
WAIT = {"columns": ["wait_minutes"], "options": {"epsilon": 0.5}}


def test_a_release_is_debited_stored_and_answered(server):
    http = server.signed_in()
    reply = http.post(MEDIAN, json=WAIT, headers={"Idempotency-Key": "one"})
    assert reply.status_code == 200
    made = reply.json()
    assert made["state"] == "answered"
    assert made["result"]["privacy"]["epsilon"] == 0.5
    assert answers.decode(made["answer"]).value == made["result"]["value"]
    assert server.ledger.spent().epsilon == 0.5
    assert server.ledger.history()[0].analyst == "ann"
    assert http.get(f"/api/releases/{made['id']}").json() == made
    assert [one["id"] for one in http.get("/api/releases").json()] == [made["id"]]


def test_a_request_with_the_same_key_is_charged_once(server):
    http = server.signed_in()
    first = http.post(MEDIAN, json=WAIT, headers={"Idempotency-Key": "one"}).json()
    server.service.pause("clinic", True)  # what was answered stays
    assert http.post(MEDIAN, json=WAIT, headers={"Idempotency-Key": "one"}).json() == first
    assert server.ledger.spent().epsilon == 0.5


def test_nothing_waits_for_a_release_that_reads_rows(server, monkeypatch):
    reading, done, make = threading.Event(), threading.Event(), Request.make

    def held_up(self, table, entropy):  # a query that takes as long as the test
        if self.statistic == "median":
            reading.set()
            assert done.wait(30)
        return make(self, table, entropy)

    monkeypatch.setattr(Request, "make", held_up)
    asking = [threading.Thread(target=lambda: server.signed_in().post(MEDIAN, json=WAIT))]
    http, mean = server.signed_in(), {"columns": ["cost"], "options": {"epsilon": 0.25}}
    page = "/datasets/clinic/ask/mean?epsilon=0.25&column=cost"
    replies, seen = [], []

    def look():
        replies.append(http.get("/api/datasets/clinic").status_code)
        replies.append(http.post("/api/datasets/clinic/plans/median", json=WAIT).status_code)
        replies.append(http.post("/api/datasets/clinic/plans/report", json={"options": {"epsilon": 1}}).status_code)
        replies.append(http.post("/api/datasets/clinic/examples/mean", json=mean).status_code)
        replies.append(http.get(page).status_code)

    try:
        asking[0].start()
        assert reading.wait(30)
        looking = threading.Thread(target=look)
        looking.start()
        looking.join(30)
        assert replies == [200] * 5
        for body, kind in ((mean, "mean"), ({"options": {"epsilon": 1, "columns": ["age"]}}, "report")):
            path = f"/api/datasets/clinic/releases/{kind}"
            asking.append(threading.Thread(target=lambda p=path, b=body: server.signed_in().post(p, json=b)))
            asking[-1].start()
        for _ in range(300):
            seen = server.ledger.history()
            if len(seen) == 3:
                break
            time.sleep(0.1)
    finally:
        done.set()
        for thread in asking:
            thread.join()
    assert len(seen) == 3  # debits do not wait for the rows either


def test_nothing_follows_from_a_secret_number_of_rows(start, clinic):
    server = start(DatasetConfig("clinic", clinic, 3, opening={"adjacency": ADD_REMOVE}), slots=True)
    held, ann = server.service.datasets["clinic"], Caller("ann", "analyst")
    seen = []
    for size in (held.public.size, 10**7):
        held.public = replace(held.public, size=size)
        seen.append((server.service.face(ann, "clinic"), server.service._job(held, ann, "median", WAIT).slots))
        for kind, body in (
            ("median", WAIT),
            ("count", {"options": {"epsilon": 1}}),
            ("report", {"options": {"epsilon": 1}}),
        ):
            seen[-1] += (server.signed_in().post(f"/api/datasets/clinic/plans/{kind}", json=body).text,)
    assert seen[0] == seen[1]


def test_a_release_that_ends_later_does_not_bring_back_older_facts(start, clinic, monkeypatch):
    server = start(DatasetConfig("clinic", clinic, 3, seconds=2.0), slots=True)
    held, ann, read = server.service.datasets["clinic"], Caller("ann", "analyst"), threading.Event()
    rows = held.public.size

    def facts(self):  # the table has grown by one row
        read.set()
        return replace(self.public, size=rows + 1)

    monkeypatch.setattr(Dataset, "facts", facts)
    records = [server.service.ask(ann, "clinic", "median", WAIT, "one")]
    assert read.wait(30)  # its slot has not ended
    records.append(server.service.ask(ann, "clinic", "median", {**WAIT, "options": {"epsilon": 0.25}}, "two"))
    for running in filter(None, map(server.service.running, records)):
        running.result(60)
    assert held.public.size == rows + 1


def test_an_empty_key_is_refused(server):
    """Whoever sends one expects to be charged once."""
    reply = server.signed_in().post(MEDIAN, json=WAIT, headers={"Idempotency-Key": ""})
    assert reply.status_code == 422
    assert server.ledger.history() == []


def test_a_key_names_one_request(server):
    http = server.signed_in()
    http.post(MEDIAN, json=WAIT, headers={"Idempotency-Key": "one"})
    other = {**WAIT, "options": {"epsilon": 0.25}}
    assert http.post(MEDIAN, json=other, headers={"Idempotency-Key": "one"}).status_code == 422
    assert server.signed_in("bob").post(MEDIAN, json=other, headers={"Idempotency-Key": "one"}).status_code == 200


def test_the_same_key_at_once_is_charged_once(server):
    clients, replies = [server.signed_in() for _ in range(6)], []

    def ask(http):
        replies.append(http.post(MEDIAN, json=WAIT, headers={"Idempotency-Key": "one"}).json()["id"])

    threads = [threading.Thread(target=ask, args=(http,)) for http in clients[:4]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(replies)) == 1
    assert len(server.ledger.history()) == 1


def test_a_wrong_request_leaves_nothing_behind(server):
    http = server.signed_in()
    wrong = [
        {"columns": ["no such"], "options": {"epsilon": 1}},
        {"columns": ["age"], "options": {}},
        {"columns": ["age"], "options": {"epsilon": -1}},
        {"columns": ["age"], "options": {"epsilon": "one"}},
        {"columns": ["age"], "options": {"epsilon": 1, "colour": "red"}},
        {"columns": ["age"], "options": {"epsilon": 1, "entropy": 1}},
        {"columns": ["age"], "options": {"epsilon": 1, "adjacency": "add-remove"}},
        {"columns": ["age"], "options": {"epsilon": 50}},
        {"columns": ["age", "cost"], "options": {"epsilon": 1}},
        {"columns": ["age"], "where": ["no such > 3"], "options": {"epsilon": 1}},
        {"columns": "age", "options": {"epsilon": 1}},
        {"columns": ["age"], "options": {"epsilon": 1}, "more": 1},
        {"columns": [["age"]], "options": {"epsilon": [1]}},
        ["age"], 3, "age",
    ]  # fmt: skip
    for body in wrong:
        reply = http.post(MEDIAN, json=body)
        assert reply.status_code in (409, 422), (body, reply.text)
        assert reply.json()["error"]["message"]
    for raw in (b"{", b"\xff", b"[" * 100_000, b""):
        assert http.post(MEDIAN, content=raw).status_code == 400
    assert server.ledger.history() == []
    assert http.get("/api/releases").json() == []


def test_a_free_refusal_costs_nothing(server):
    http = server.signed_in()
    made = http.post(MEDIAN, json={"columns": ["age"], "options": {"epsilon": 0.001}}).json()
    assert (made["id"], made["result"]["reply"]) == (None, False)
    assert server.ledger.history() == []


def test_a_plan_costs_nothing_and_says_what_a_release_costs(server):
    http = server.signed_in()
    plan = http.post("/api/datasets/clinic/plans/median", json=WAIT).json()
    assert plan["total"]["epsilon"] == 0.5
    assert plan["affordable"] is True
    assert plan["releases"][0]["error"]
    assert server.ledger.history() == []


def test_examples_are_made_up(server):
    http = server.signed_in()
    made = http.post("/api/datasets/clinic/examples/mean", json=WAIT).json()
    assert made["result"]["private"] is False
    report = http.post("/api/datasets/clinic/examples/report", json={"options": {"epsilon": 1}}).json()
    assert made["made_up"] is report["made_up"] is True
    assert report["result"]["table"] == "Made-up data: clinic"
    assert report["result"]["private"] is False
    assert {one["name"] for one in report["result"]["columns"]} == set(server.service.made_up("clinic").source.kinds)
    assert server.ledger.history() == []
    assert server.service.store.list_releases() == []


def test_previews_have_limits_and_leave_releases_alone(start, monkeypatch):
    monkeypatch.setattr("uptack.server.api.MOST_WAITING", 3)
    monkeypatch.setattr("uptack.server.api.os.cpu_count", lambda: 1)
    go, plan, plans = threading.Event(), Service.plan, "/api/datasets/clinic/plans/median"
    monkeypatch.setattr(Service, "plan", lambda *given: go.wait(120) and plan(*given))
    queued = threading.Semaphore(0)

    class Queue(ThreadPoolExecutor):
        def submit(self, *given):
            queued.release()
            return super().submit(*given)

    monkeypatch.setattr("uptack.server.api.ThreadPoolExecutor", Queue)
    server = start(requests_at_once=2)
    people = [server.signed_in(name) for name in ("ann", "ann", "bob")]
    with ThreadPoolExecutor(3) as crowd:
        waiting = [crowd.submit(one.post, plans, json=WAIT) for one in people]
        try:
            assert all(queued.acquire(timeout=60) for _ in people), "three plans hold their places"
            assert server.signed_in("ann").post(plans, json=WAIT).status_code == 429
            assert server.signed_in("cy").post(plans, json=WAIT).status_code == 503
            full = server.signed_in("cy").get("/datasets/clinic/ask/median?column=age&epsilon=1")
            assert (full.status_code, full.headers["retry-after"]) == (503, "1")
            assert server.signed_in("cy").get("/datasets/clinic/ask/median").status_code == 200, "an empty form"
            assert server.signed_in("ann").post(MEDIAN, json=WAIT).status_code == 200, "releases do not wait for plans"
        finally:
            go.set()
        assert [one.result().status_code for one in waiting] == [200, 200, 200]
    assert wait_for(lambda: server.signed_in("cy").post(plans, json=WAIT).status_code == 200)


def wait_for(condition):
    """Whether a condition holds within 20 seconds."""
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_made_up_rows_belong_to_people_where_people_are_protected(start):
    visits = DatasetConfig("visits", str(path("visits")), 3, "1/1000000", opening={"person": ["patient_id"]})
    server = start(visits)
    made = server.service.made_up("visits")
    assert made.adjacency == server.service.datasets["visits"].session.adjacency
    assert made.source.size == 3000
    body = {"columns": ["wait_minutes"], "options": {"epsilon": 1, "by": "ward", "delta": "1/10000000"}}
    reply = server.signed_in().post("/api/datasets/visits/examples/median", json=body)
    assert reply.status_code == 200
    assert "people are not listed" in reply.text


def test_a_report_is_one_release(server):
    http = server.signed_in()
    body = {"options": {"epsilon": 2, "delta": 1e-7}}
    made = http.post("/api/datasets/clinic/releases/report", json=body).json()
    assert made["state"] == "answered"
    page = answers.decode(made["answer"])
    assert page.to_html().startswith("<!doctype html>")
    assert page.to_dict()["columns"]
    assert 0 < server.ledger.spent().epsilon <= 2


def test_a_released_function_answers_any_number_of_questions(server):
    http = server.signed_in()
    body = {"columns": ["age"], "options": {"epsilon": 1, "delta": 1e-7}}
    made = http.post("/api/datasets/clinic/releases/kde", json=body).json()
    spent = server.ledger.spent()
    values = http.get(f"/api/releases/{made['id']}/at", params={"x": [30, 50]}).json()["value"]
    assert len(values) == 2
    assert server.ledger.spent() == spent
    assert http.get(f"/api/releases/{made['id']}/at", params={"x": "nan"}).status_code == 422
    assert http.get(f"/api/releases/{made['id']}/at").status_code == 422
    median = http.post(MEDIAN, json=WAIT).json()
    assert http.get(f"/api/releases/{median['id']}/at?x=1").status_code == 409


def test_conditions_and_groups(server):
    http = server.signed_in()
    body = {"columns": ["age"], "where": ["ward == 'Surgery'", {"age": [">=", 18]}], "options": {"epsilon": 1}}
    assert http.post(MEDIAN, json=body).json()["state"] == "answered"
    assert "ward" in server.ledger.history()[0].what
    body = {"columns": ["age"], "options": {"epsilon": 1, "by": "ward", "groups": ["Surgery", "Medicine"]}}
    assert len(http.post(MEDIAN, json=body).json()["result"]["value"]) == 2


def test_a_request_above_the_threshold_waits_for_the_curator(start, clinic):
    server = start(DatasetConfig("clinic", clinic, 3, approve_above="0.4"))
    ann, curator = server.signed_in(), server.signed_in("dr", "curator")
    first = ann.post(MEDIAN, json=WAIT, headers={"Idempotency-Key": "a"}).json()
    second = ann.post(MEDIAN, json=WAIT, headers={"Idempotency-Key": "b"}).json()
    assert (first["state"], second["state"]) == ("waiting", "waiting")
    assert server.ledger.history() == []
    assert ann.post(f"/api/releases/{first['id']}/decision", json={"approve": True}).status_code == 403
    assert server.signed_in("bob").get(f"/releases/{first['id']}").status_code == 404
    curator.post(f"/api/releases/{first['id']}/decision", json={"approve": True})
    curator.post(f"/api/releases/{second['id']}/decision", json={"approve": False})
    for _ in range(200):
        if ann.get(f"/api/releases/{first['id']}").json()["state"] == "answered":
            break
        time.sleep(0.05)
    assert ann.post(MEDIAN, json=WAIT, headers={"Idempotency-Key": "a"}).json()["state"] == "answered"
    assert ann.get(f"/api/releases/{second['id']}").json()["state"] == "refused"
    assert curator.post(f"/api/releases/{second['id']}/decision", json={"approve": True}).status_code == 409
    assert len(server.ledger.history()) == 1


def test_two_approvals_at_once_are_one_debit(start, clinic, monkeypatch):
    server = start(DatasetConfig("clinic", clinic, 3, approve_above="0.4"))
    made, curator = server.signed_in().post(MEDIAN, json=WAIT).json()["id"], Caller("dr", "curator")
    both, job = threading.Barrier(2, timeout=30), server.service._job
    monkeypatch.setattr(server.service, "_job", lambda *given: (both.wait(), job(*given))[1])
    with ThreadPoolExecutor(2) as crowd:
        list(crowd.map(lambda _: server.service.decide(curator, made, True), range(2)))
    assert wait_for(lambda: server.service.release(curator, made).state == "answered")
    server.service.close()
    assert len(server.ledger.history()) == 1


def test_every_section_of_a_report_is_debited(start, clinic):
    server = start(DatasetConfig("clinic", clinic, 100, "1/1000"))
    body = {"options": {"epsilon": 50, "delta": 1e-7, "correlations": True}}
    made = server.signed_in().post("/api/datasets/clinic/releases/report", json=body).json()
    assert len(server.ledger.history()) > 1
    assert answers.decode(made["answer"]).spent == server.ledger.spent()


def test_allowances_and_pause(server):
    curator, ann, bob = server.signed_in("dr", "curator"), server.signed_in(), server.signed_in("bob")
    grant = {"analyst": "ann", "epsilon": 0.6}
    assert ann.post("/api/datasets/clinic/allowances", json=grant).status_code == 403
    assert curator.post("/api/datasets/clinic/allowances", json=grant).status_code == 200
    assert ann.get("/api/datasets/clinic").json()["remaining"]["epsilon"] == 0.6
    assert bob.post(MEDIAN, json=WAIT).status_code == 409
    assert ann.post(MEDIAN, json=WAIT).status_code == 200
    assert ann.post(MEDIAN, json=WAIT).status_code == 409
    assert curator.post("/api/datasets/clinic/pause", json={"paused": True}).json() == {"paused": True}
    assert curator.post(MEDIAN, json=WAIT).status_code == 423
    assert server.ledger.verify()


def test_a_curator_of_one_data_set_changes_no_other(start, clinic):
    """For her the other one is not there, whatever she sends."""
    server = start(*(DatasetConfig(name, clinic, 3) for name in ("mine", "theirs")))
    curator = server.signed_in("dr", "curator", datasets=("mine",))
    for end, body in (("pause", {"paused": True}), ("allowances", {"analyst": "ann", "epsilon": 1})):
        other, none = (curator.post(f"/api/datasets/{name}/{end}", json=body) for name in ("theirs", "nothing"))
        assert other.status_code == none.status_code == 404
        assert other.text.replace("theirs", "nothing") == none.text
        assert curator.post(f"/api/datasets/mine/{end}", json=body).status_code == 200
    assert [server.service.paused(name) for name in ("mine", "theirs")] == [True, False]
    assert not server.service.datasets["theirs"].ledger.history()


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 50, b"null", b"[]", b"[[1]]", b"7", b""])
def test_nobody_learns_from_a_broken_body_whether_a_data_set_is_there(start, clinic, body):
    server = start(*(DatasetConfig(name, clinic, 3) for name in ("mine", "theirs")))
    ann, json_ = server.signed_in(datasets=("mine",)), {"content-type": "application/json"}
    for end in ("releases/median", "examples/median", "plans/median"):
        seen = [ann.post(f"/api/datasets/{name}/{end}", content=body, headers=json_) for name in ("theirs", "nothing")]
        assert seen[0].status_code == seen[1].status_code in (400, 404, 422), (end, seen[0].text)
        assert seen[0].text.replace("theirs", "nothing") == seen[1].text
        own = ann.post(f"/api/datasets/mine/{end}", content=body, headers=json_)
        assert own.status_code in (400, 422), (end, own.text)
        unknown = server.http.post(f"/api/datasets/mine/{end}", content=body, headers=json_)
        assert unknown.status_code == 401
    assert not server.service.datasets["mine"].ledger.history()


@pytest.mark.parametrize("end", ["answered", "withheld"])
def test_what_came_of_a_release_is_not_seen_before_its_slot_ends(start, clinic, monkeypatch, end):
    if end == "withheld":
        monkeypatch.setattr("uptack.server.service.storable", lambda made: 1 / 0)  # something that depends on rows
    server = start(DatasetConfig("clinic", clinic, 3, seconds=1.5), slots=True)
    http, other, states = server.signed_in(), server.signed_in(), []
    asking = threading.Thread(target=lambda: states.append(http.post(MEDIAN, json=WAIT).json()["state"]))
    asking.start()
    while asking.is_alive():
        seen = other.get("/api/releases").json()
        if asking.is_alive():
            states += [one["state"] for one in seen if time.time() < one["made"] + 1.4]
        time.sleep(0.1)
    assert states[-1] == end
    assert set(states[:-1]) <= {"running"}


def test_a_reply_without_an_answer_does_not_tell_when_it_was_done(start, clinic, monkeypatch):
    monkeypatch.setattr("uptack.server.api.PATIENCE", 1.0)
    server = start(DatasetConfig("clinic", clinic, 3, seconds=3), slots=True)
    began = time.monotonic()
    assert server.signed_in().post(MEDIAN, json=WAIT).json()["state"] == "running"
    assert time.monotonic() - began >= 0.9, "the reply came when the release was done"


def test_the_time_of_a_debit_does_not_tell_when_others_were_done(start, clinic, monkeypatch):
    monkeypatch.setattr("uptack.server.service.os.cpu_count", lambda: 1)
    monkeypatch.setattr("uptack.server.service.PLACES", 1)
    server = start(DatasetConfig("clinic", clinic, 3, seconds=1), slots=True)
    asking = [threading.Thread(target=lambda: server.signed_in().post(MEDIAN, json=WAIT)) for _ in range(2)]
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    first, second = (dt.datetime.fromisoformat(one.time) for one in server.ledger.history())
    assert abs((second - first).total_seconds()) >= 0.8


@pytest.mark.parametrize("ago", [1e6, 300])  # after the last slot, and within it: it ends after 524 s
def test_a_release_that_gets_a_place_too_late_is_not_debited(server, ago):
    caller = Caller("ann", "analyst")
    job = server.service._job(server.service.datasets["clinic"], caller, "median", WAIT)
    made = server.service.ask(caller, "clinic", "median", WAIT, "one")
    late = replace(made, id="late", key="two", state="running", made=time.time() - ago, due=time.time() - 1)
    server.service._compute(server.service.store.add(late), job)
    assert server.service.store.release("late").state == "withheld"
    server.service.close()
    assert len(server.ledger.history()) == 1


def test_a_release_that_nobody_finishes_is_withheld(server):
    http = server.signed_in()
    made = http.post(MEDIAN, json=WAIT, headers={"Idempotency-Key": "a"}).json()
    store = server.service.store
    record = store.release(made["id"])
    lost = type(record)(
        **{**vars(record), "id": "lost", "key": "b", "state": "running", "answer": "", "due": time.time()}
    )
    store.add(lost)
    assert http.post(MEDIAN, json=WAIT, headers={"Idempotency-Key": "b"}).json()["state"] == "withheld"
    assert not store.move("lost", "running", "answered", answer="{}"), "a second answer from one debit"
    store.add(replace(lost, id="late", key="c"))
    assert not store.move("late", "running", "answered", answer="{}"), "nobody has looked at it yet"


@pytest.mark.usefixtures("every_statistic")
def test_every_declared_function_is_in_the_document(server):
    document = server.http.get("/api/openapi.json").json()
    for name in server.service.statistics():
        operation = document["paths"][f"/api/datasets/{{dataset}}/releases/{name}"]["post"]
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert "epsilon" in schema["properties"]["options"]["properties"]
        assert "entropy" not in schema["properties"]["options"]["properties"]
    assert len(json.dumps(document)) > 1000


def test_health_readiness_and_metrics(server):
    assert server.http.get("/health").text == "ok"
    assert server.http.get("/ready").text == "ok"
    assert server.signed_in().get("/metrics").status_code == 403
    server.signed_in().post(MEDIAN, json=WAIT)
    text = server.signed_in("dr", "curator").get("/metrics").text
    assert 'uptack_releases{state="answered"} 1' in text
    assert 'uptack_epsilon_left{dataset="clinic"} 2.5' in text


def test_a_server_that_shuts_down_finishes_and_refuses(server):
    http = server.signed_in()
    assert http.post(MEDIAN, json=WAIT).status_code == 200
    server.service.close()
    reply = http.post(MEDIAN, json=WAIT)
    assert reply.status_code == 503
    assert server.http.get("/ready").status_code == 503
    assert len(server.ledger.history()) == 1


@pytest.mark.parametrize("other", [{"epsilon": 4}, {"delta": "1/1000"}])
def test_a_budget_never_changes(start, clinic, other):
    start(DatasetConfig("clinic", clinic, 3, "1/1000000"))
    with pytest.raises(Exception, match="A budget never changes"):
        start(DatasetConfig("clinic", clinic, **{"epsilon": 3, "delta": "1/1000000", **other}))
    start(DatasetConfig("clinic", clinic))


@pytest.mark.parametrize("stated", [("1", "0"), ("10", "1/1000"), ("10", "0"), (None, "0")])
def test_a_budget_is_that_of_the_ledger_that_the_schema_names(start, tmp_path, stated):
    (tmp_path / "visits.csv").write_text("age\n" + "30\n40\n" * 50)
    (tmp_path / "visits.csv.uptack.toml").write_text('ledger = "spent.db"\n[columns.age]\nkind = "integer"\n')
    Ledger(tmp_path / "spent.db", epsilon=10)
    configured = DatasetConfig("visits", str(tmp_path / "visits.csv"), *stated)
    if stated in (("10", "0"), (None, "0")):
        assert start(configured).ledger.budget.epsilon == 10
    else:
        with pytest.raises(InvalidArgument, match="the budget of visits must be left out"):
            start(configured)


def test_small_requests_do_not_take_gigabytes_or_minutes(server):
    http, began = server.signed_in(), time.monotonic()
    rows = {"columns": ["age", "ward"], "options": {"epsilon": 1, "delta": 1e-6, "rows": 100_000_000}}
    formula = "cost ~ " + " + ".join(f"I(age**{i})" for i in range(1, 4000))
    terms = {"columns": [], "options": {"epsilon": 1, "formula": formula}}
    for kind in ("plans", "examples", "releases"):
        assert http.post(f"/api/datasets/clinic/{kind}/synthetic", json=rows).status_code == 422
        assert http.post(f"/api/datasets/clinic/{kind}/linear_regression", json=terms).status_code == 422
    rows["options"]["rows"] = 1_000_000
    made = http.post("/api/datasets/clinic/examples/synthetic", json=rows)
    assert made.status_code == 200
    assert len(made.content) < 1_000_000
    assert time.monotonic() - began < 20
    assert server.ledger.history() == []


def test_synthetic_rows_have_a_public_number_of_cells(start, clinic, monkeypatch):
    monkeypatch.setattr("uptack.server.service.MOST_CELLS", 4000)
    secret = DatasetConfig("secret", clinic, 3, "1/1000", opening={"adjacency": ADD_REMOVE})
    server = start(DatasetConfig("clinic", clinic, 3, "1/1000"), secret)
    http = server.signed_in()
    for name in ("clinic", "secret"):
        for rows, status in ({}, 422), ({"rows": 2001}, 422), ({"rows": 2000}, 200):
            body = {"columns": ["age", "ward"], "options": {"epsilon": 1, "delta": 1e-6, **rows}}
            assert http.post(f"/api/datasets/{name}/plans/synthetic", json=body).status_code == status
        few = {"columns": ["ward"], "options": {"epsilon": 1, "delta": 1e-6}}
        reply = http.post(f"/api/datasets/{name}/plans/synthetic", json=few)
        assert reply.status_code == (200 if name == "clinic" else 422), "2,400 rows, or a secret number"


def test_lists_hold_nothing_that_may_be_long(server):
    http, long = server.signed_in(), {**WAIT, "where": [{"ward": ["in", [f"ward {i}" for i in range(900)]]}]}
    made = http.post(MEDIAN, json=long).json()
    assert made["request"] == long
    assert http.get(f"/api/releases/{made['id']}").json()["request"] == long
    assert len(http.get("/api/releases").content) < 1_000
    assert {(one.answer, one.request) for one in server.service.store.list_releases()} == {("", "")}


def test_a_request_that_meets_the_shutdown_is_refused_and_not_debited(server, monkeypatch):
    monkeypatch.setattr(server.service, "_admit", lambda name: server.service.close())
    reply = server.signed_in().post(MEDIAN, json=WAIT)
    assert reply.status_code == 503
    assert [one.state for one in server.service.store.list_releases()] == ["refused"]
    assert server.ledger.history() == []


def test_a_release_keeps_its_place_after_the_reply(start, clinic, monkeypatch):
    monkeypatch.setattr("uptack.server.api.PATIENCE", 0.2)
    go, ready = threading.Event(), Service._compute
    monkeypatch.setattr(Service, "_compute", lambda *given: go.wait(20) and ready(*given))
    server = start(requests_at_once=2)
    http = server.signed_in()
    assert [http.post(MEDIAN, json=WAIT).status_code for _ in range(3)] == [202, 202, 429]
    assert server.signed_in("bob").post(MEDIAN, json=WAIT).status_code == 202
    go.set()
    server.service._threads.submit(time.sleep, 0).result()
    while server.service._running:
        time.sleep(0.05)
    assert http.post(MEDIAN, json=WAIT).status_code in (200, 202)


def test_a_busy_server_refuses_what_would_wait_too_long(start, monkeypatch):
    monkeypatch.setattr("uptack.server.api.PATIENCE", 0.01)
    monkeypatch.setattr("uptack.server.service.PLACES", 1)
    monkeypatch.setattr("uptack.server.service.os.cpu_count", lambda: 2)
    go, ready = threading.Event(), Service._compute
    monkeypatch.setattr(Service, "_compute", lambda *given: go.wait(20) and ready(*given))
    server = start(requests_at_once=9)
    http = server.signed_in()
    replies = [http.post(MEDIAN, json=WAIT, headers={"Idempotency-Key": str(i)}) for i in range(5)]
    assert [one.status_code for one in replies] == [202, 202, 202, 202, 503]
    assert replies[4].headers["retry-after"] == "1"
    assert http.post(MEDIAN, json=WAIT, headers={"Idempotency-Key": "3"}).status_code == 202, "it is known"
    go.set()
    assert wait_for(lambda: http.post(MEDIAN, json=WAIT, headers={"Idempotency-Key": "4"}).status_code == 200)


def test_a_place_is_free_when_the_slot_ends_and_not_before(start, clinic, monkeypatch):
    monkeypatch.setattr("uptack.server.api.PATIENCE", 0.2)
    server = start(DatasetConfig("clinic", clinic, 3, seconds=3), slots=True, requests_at_once=1)
    http, began = server.signed_in(), time.monotonic()
    assert http.post(MEDIAN, json=WAIT).status_code == 202
    while http.post(MEDIAN, json=WAIT).status_code == 429:
        time.sleep(0.1)
    assert time.monotonic() - began >= 2.8


def test_a_release_beyond_its_last_slot_keeps_its_place_until_a_slot_ends(server, monkeypatch):
    caller, service = Caller("ann", "analyst"), server.service
    job = replace(service._job(service.datasets["clinic"], caller, "median", WAIT), slots=TimeSlots(0.4, 1))
    made = service.ask(caller, "clinic", "median", WAIT, "one")
    began = time.time()
    long = service.store.add(replace(made, id="long", key="two", state="running", made=began, due=began + 60))
    monkeypatch.setattr(Service, "_make", lambda *_: (time.sleep(0.5), ("answered", "{}"))[1])
    service._compute(long, job)
    assert time.time() >= began + 0.8
    assert service.store.release("long").state == "running", "there is no answer after the last slot"


def test_the_curator_sees_how_often_a_first_slot_is_missed(start, clinic, monkeypatch):
    server = start(DatasetConfig("clinic", clinic, 3, seconds=1), slots=True)
    http, curator, make = server.signed_in(), server.signed_in("dr", "curator"), Service._make
    counted = 'uptack_first_slots_missed_total{dataset="clinic"} '
    assert http.post(MEDIAN, json=WAIT).json()["state"] == "answered"
    before = int(curator.get("/metrics").text.partition(counted)[2].split()[0])
    monkeypatch.setattr(Service, "_make", lambda *given: (time.sleep(1.1), make(*given))[1])
    assert http.post(MEDIAN, json=WAIT).json()["state"] == "answered"
    assert counted + str(before + 1) in curator.get("/metrics").text


def test_a_curve_of_several_columns_is_refused_for_free(server):
    body = {"columns": ["age", "cost"], "options": {"epsilon": 1, "delta": 1e-7}}
    for kind in ("plans", "examples", "releases"):
        reply = server.signed_in().post(f"/api/datasets/clinic/{kind}/kde", json=body)
        assert (reply.status_code, "one column" in reply.text) == (422, True)
    assert server.ledger.history() == []


@pytest.mark.parametrize("number", ["NaN", "1e999", '["in", [-Infinity]]'])
def test_what_is_no_json_is_not_stored(server, number):
    """Python reads it, and the curator's browser would not."""
    body = '{"columns": ["age"], "where": [{"age": number}], "options": {"epsilon": 1}}'.replace("number", number)
    assert server.signed_in().post(MEDIAN, content=body).status_code == 422
    assert server.service.store.list_releases() == []


def test_a_number_that_is_too_long_is_refused(server):
    body = {**WAIT, "where": [f"age > {'9' * 5000}"]}
    assert server.signed_in().post(MEDIAN, json=body).status_code == 422


def test_a_pause_also_stops_what_waits_for_a_place(start, clinic, monkeypatch):
    monkeypatch.setattr("uptack.server.api.PATIENCE", 0.01)
    monkeypatch.setattr("uptack.server.service.PLACES", 1)
    monkeypatch.setattr("uptack.server.service.os.cpu_count", lambda: 1)
    go, ready = threading.Event(), Service._compute
    monkeypatch.setattr(Service, "_compute", lambda *given: go.wait(20) and ready(*given))
    server = start()
    http = server.signed_in()
    made = [http.post(MEDIAN, json=WAIT).json()["id"] for _ in range(2)]
    server.service.pause("clinic", True)
    go.set()
    assert wait_for(lambda: {http.get(f"/api/releases/{one}").json()["state"] for one in made} == {"refused"})
    assert server.ledger.history() == []


def test_an_approval_that_meets_the_shutdown_waits_on(start, clinic, monkeypatch):
    server = start(DatasetConfig("clinic", clinic, 3, approve_above="0.4"))
    made = server.signed_in().post(MEDIAN, json=WAIT).json()
    monkeypatch.setattr(server.service, "_admit", lambda name: server.service.close())
    decision = server.signed_in("dr", "curator").post(f"/api/releases/{made['id']}/decision", json={"approve": True})
    assert (decision.status_code, server.service.store.release(made["id"]).state) == (503, "waiting")
    assert server.ledger.history() == []


def test_a_data_set_that_is_not_served_any_more_keeps_its_answers(start, clinic):
    server = start(DatasetConfig("clinic", clinic, 3), DatasetConfig("other", clinic, 3, approve_above="0.4"))
    ann, other = server.signed_in(), MEDIAN.replace("clinic", "other")
    made, waits = ann.post(MEDIAN, json=WAIT).json()["id"], ann.post(other, json=WAIT).json()["id"]
    later = start(DatasetConfig("third", clinic, 3))
    for page in (f"/api/releases/{made}", f"/releases/{made}", f"/releases/{made}/answer.csv", f"/releases/{waits}"):
        assert later.signed_in().get(page).status_code == 200
    decision = later.signed_in("dr", "curator").post(f"/api/releases/{waits}/decision", json={"approve": True})
    assert decision.status_code == 404


def test_long_answers_are_read_a_few_at_once_and_hold_nothing_up(start, monkeypatch):
    monkeypatch.setattr("uptack.server.api.LONG", 10)
    server = start(requests_at_once=1)
    made = server.signed_in().post(MEDIAN, json=WAIT).json()["id"]
    reading, done = threading.Event(), threading.Event()
    monkeypatch.setattr("uptack.server.api.outcome", lambda record: (reading.set(), done.wait(30), {})[2])
    with server.http as http, ThreadPoolExecutor(1) as crowd:  # all requests in one loop
        http.headers["Authorization"] = server.signed_in().headers["Authorization"]
        first = crowd.submit(http.get, f"/api/releases/{made}")
        try:
            assert reading.wait(30)
            assert http.get("/health").status_code == 200
            assert http.get(f"/api/releases/{made}").status_code == 429
            assert http.get(f"/releases/{made}/answer.csv").status_code == 429
        finally:
            done.set()
        assert first.result().status_code == 200


def test_an_analyst_can_not_fill_the_curators_list(start, clinic, monkeypatch):
    monkeypatch.setattr("uptack.server.service.MOST_UNDECIDED", 2)
    server = start(DatasetConfig("clinic", clinic, 3, approve_above="0.4"))
    ann, curator = server.signed_in(), server.signed_in("dr", "curator")
    made = [ann.post(MEDIAN, json=WAIT) for _ in range(3)]
    assert [one.status_code for one in made] == [202, 202, 429]
    assert server.signed_in("bob").post(MEDIAN, json=WAIT).status_code == 202
    curator.post(f"/api/releases/{made[0].json()['id']}/decision", json={"approve": False})
    assert ann.post(MEDIAN, json=WAIT).status_code == 202
