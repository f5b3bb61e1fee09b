"""The web pages of a server, asked as browsers without scripts ask."""

import asyncio
import html
import json
import re
import time
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import select
from starlette.testclient import TestClient

import uptack as ut
from uptack.registry.options import PEOPLE
from uptack.samples import load
from uptack.server.answer_views import as_csv, in_python, view
from uptack.server.api import as_json
from uptack.server.app import create_app
from uptack.server.config import DatasetConfig, ServerConfig
from uptack.server.forms import FormQuestion, questions
from uptack.server.release_store import Record, releases
from uptack.server.service import Caller, Service, half_width

pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx`")

EVIL = '"><script>alert(1)</script>'
HOSTILE = {
    EVIL: np.arange(3000) % 80,
    "' onfocus=alert(1) x='": np.array([EVIL, "=cmd()", "a&b"])[np.arange(3000) % 3],
}
FIRST = "/datasets/clinic/ask/median?column=wait_minutes&epsilon=0.5&interval=0.95"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder, rows = tmp_path_factory.mktemp("served"), load("clinic")
    pq.write_table(pa.table({name: rows[name] for name in rows}), folder / "clinic.parquet")
    pq.write_table(pa.table(HOSTILE), folder / "hostile.parquet")
    budget = {"epsilon": Fraction(100), "delta": Fraction(1, 10**4), "seconds": 0.3}
    made = Service(
        ServerConfig(
            (
                DatasetConfig("clinic", str(folder / "clinic.parquet"), approve_above=Fraction(5), **budget),
                DatasetConfig("hostile", str(folder / "hostile.parquet"), title=EVIL, **budget),
                DatasetConfig("slow", str(folder / "clinic.parquet"), **{**budget, "seconds": 4.0}),
            ),
            str(folder / "server.db"),
            requests_per_second=10_000,
        )
    )
    yield made
    made.close()


@pytest.fixture(scope="module")
def app(service):
    return create_app(service)


def browser(app, service, name, role="analyst", datasets=("*",)):
    """A browser in which somebody has signed in."""
    opened = TestClient(app, follow_redirects=False)
    sent = opened.post("/sign-in", data={"token": service.store.issue(name, role, datasets)})
    assert sent.status_code == 303
    return opened


@pytest.fixture
def ann(app, service):
    return browser(app, service, "ann")


@pytest.fixture
def chen(app, service):
    return browser(app, service, "chen", "curator")


def fields_of(text, action):
    """The fields of the POST form with this action."""
    form = re.search(rf'<form method="post" action="{re.escape(action)}".*?</form>', text, re.S)[0]
    made = {}
    for name, value in re.findall(r'name="([^"]*)" value="([^"]*)"', form):
        made.setdefault(html.unescape(name), []).append(html.unescape(value))
    return made


def released(opened, page):
    """Plan and release: the page of the release."""
    action = page.partition("?")[0]
    planned = opened.get(page)
    sent = opened.post(action, data=fields_of(planned.text, action))
    assert sent.status_code == 303, sent.text
    return sent.headers["location"]


def framed(text):
    """The page inside the frame of a report, and the frame's other attributes."""
    content, rest = re.search(r'<iframe srcdoc="([^"]*)"([^>]*)>', text).groups()
    return html.unescape(content), rest


def alert(reply):
    return html.unescape(re.search(r'role="alert">(.*?)</p>', reply.text, re.S)[1])


# ----------------------------------------------------------------------------------------------------------- signing in


@pytest.mark.parametrize(
    "path",
    ["/", "/datasets", "/datasets/clinic", FIRST, "/releases", "/releases/x", "/releases/x/answer.csv", "/curator",
     "/curator/ledger/clinic"],
)  # fmt: skip
def test_strangers_are_sent_to_sign_in(app, path):
    reply = TestClient(app, follow_redirects=False).get(path)
    assert (reply.status_code, reply.headers["location"]) == (303, "/sign-in")


def test_a_link_is_used_up_by_its_button_and_not_by_looking_at_it(app, service):
    link, opened = service.store.issue("dora", "curator", purpose="link"), TestClient(app, follow_redirects=False)
    for _ in range(2):
        assert "Continue" in opened.get("/enter", params={"token": link}).text
    entered = opened.post("/enter", data={"token": link})
    assert (entered.status_code, entered.headers["location"]) == (303, "/curator")
    assert {"HttpOnly", "SameSite=strict"} <= set(entered.headers["set-cookie"].split("; "))
    again = TestClient(app).post("/enter", data={"token": link})
    assert again.status_code == 401
    assert "used up" in alert(again)
    token = fields_of(opened.get("/datasets").text, "/sign-out")
    kept = opened.cookies["uptack"]
    assert opened.post("/sign-out", data=token).status_code == 303
    opened.cookies.set("uptack", kept)  # the server has revoked it
    assert opened.get("/datasets").headers["location"] == "/sign-in"


def test_another_site_can_sign_nobody_in(app, service):
    data = {"token": service.store.issue("mallory", "analyst")}
    reply = TestClient(app).post("/sign-in", data=data, headers={"Sec-Fetch-Site": "cross-site"})
    assert reply.status_code == 403
    assert "set-cookie" not in reply.headers


def test_attempts_to_sign_in_are_limited(start):
    opened = TestClient(start(requests_per_second=1).app)
    statuses = [opened.post("/sign-in", data={"token": "a guess"}).status_code for _ in range(20)]
    assert set(statuses) == {401, 429}
    assert statuses[0] == 401


@pytest.mark.parametrize(
    "path",
    ["/sign-out", "/datasets/clinic/ask/median", "/curator/decisions/x", "/curator/pause/clinic", "/curator/tokens",
     "/curator/allowances/clinic", "/curator/tokens/x/revoke", "/curator/ledger/clinic"],
)  # fmt: skip
@pytest.mark.parametrize("token", [None, "", "0" * 64])
def test_forms_of_other_sites_change_nothing(chen, service, path, token):
    before = service.datasets["clinic"].ledger.head(), len(service.store.tokens())
    data = {
        "paused": "yes",
        "name": "x",
        "role": "curator",
        "column": "age",
        "epsilon": "1",
        "key": "k",
        "analyst": "x",
    }
    reply = chen.post(path, data=data | ({} if token is None else {"form_token": token}))
    assert reply.status_code == 403
    assert (service.datasets["clinic"].ledger.head(), len(service.store.tokens())) == before
    assert not service.paused("clinic")
    assert chen.get("/datasets").status_code == 200


@pytest.mark.parametrize(
    "path",
    ["decisions/x", "pause/clinic", "tokens", "allowances/clinic", "tokens/x/revoke", "ledger/clinic"],
)
def test_forms_of_the_curator_are_for_no_analyst(ann, service, path):
    """Also not with a form token of her own, from a page that is hers."""
    before = service.datasets["clinic"].ledger.head(), len(service.store.tokens())
    data = {"paused": "yes", "name": "x", "role": "curator", "epsilon": "1", "analyst": "ann", "approve": "yes"}
    assert ann.post(f"/curator/{path}", data=token_of(ann) | data).status_code == 403
    assert (service.datasets["clinic"].ledger.head(), len(service.store.tokens())) == before
    assert not service.paused("clinic")


def test_a_bearer_token_sends_no_forms(app, service):
    opened = TestClient(app, headers={"Authorization": f"Bearer {service.store.issue('prog', 'curator')}"})
    assert opened.post("/curator/pause/clinic", data={"paused": "yes", "form_token": ""}).status_code == 403


# --------------------------------------------------------------------------------------------------------------- asking


def test_every_statistic_has_a_form(ann, service):
    listed = ann.get("/datasets/clinic").text
    for name, question in questions(service.statistics()).items():
        assert f"/datasets/clinic/ask/{name}" in listed
        page = ann.get(f"/datasets/clinic/ask/{name}")
        assert page.status_code == 200
        ids = re.findall(r' id="([^"]*)"', page.text)
        assert len(ids) == len(set(ids)), name
        for option in question.options:  # rows are protected here, so options about people would not help
            about_people = option.name in (*PEOPLE, "groups_per_person")
            assert (f'name="{option.name}"' in page.text) != about_people, (name, option.name)
        for label in re.findall(r'label for="([^"]*)"', page.text):
            assert label in ids
    assert ann.get("/datasets/clinic/ask/nothing").status_code == 404
    assert ann.get("/datasets/nothing").status_code == 404


def test_a_plan_and_an_example_cost_nothing_and_a_release_is_charged_once(ann, service):
    ledger = service.datasets["clinic"].ledger
    before = ledger.head()
    plan = ann.get(FIRST)
    assert "ε = 0.5" in plan.text
    assert "ranks" in plan.text
    assert "<svg" in plan.text
    assert "made-up rows" in plan.text
    example = ann.get(f"{FIRST}&example=yes")
    assert "These numbers are invented" in example.text
    assert ledger.head() == before
    form = fields_of(plan.text, "/datasets/clinic/ask/median")
    places = {ann.post("/datasets/clinic/ask/median", data=form).headers["location"] for _ in range(3)}
    assert len(places) == 1
    assert ledger.head().number == before.number + 1
    answer = ann.get(places.pop())
    assert "95% interval" in answer.text
    assert "What the guarantee means" in answer.text
    assert "session.median(&#39;wait_minutes&#39;" in answer.text
    assert fields_of(ann.get(FIRST).text, "/datasets/clinic/ask/median")["key"] != form["key"]


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("column=wait&epsilon=1", 422, "No column named 'wait'. Did you mean"),
        ("column=age&epsilon=much", 422, "epsilon must be a number, got 'much'"),
        ("column=age&epsilon=", 422, "epsilon"),
        ("column=age&epsilon=1e400", 422, "epsilon must be"),
        ("column=age&epsilon=1e9999", 422, "at most 600 digits"),
        ("column=age&epsilon=1&granularity=1e-9999", 422, "at most 600 digits"),
        ("column=age&epsilon=1&where=agee>3", 422, "Did you mean 'age'"),
        ("column=age&epsilon=1&plausible=x", 422, "LOW:HIGH"),
        ("column=age&epsilon=1&missing=odd", 422, "missing"),
    ],
)
def test_what_is_wrong_is_said_beside_what_was_typed(ann, query, status, said):
    reply = ann.get(f"/datasets/clinic/ask/median?{query}")
    assert reply.status_code == status
    assert said.lower() in alert(reply).lower()
    typed = re.search(r"epsilon=([^&]*)", query)[1]
    assert f'name="epsilon" value="{typed}"' in reply.text
    assert 'action="/sign-out"' in reply.text
    assert "Release</button>" not in reply.text


def test_too_dear_a_question_can_not_be_released(ann, service):
    page = ann.get("/datasets/clinic/ask/median?column=age&epsilon=900")
    assert "The budget does not cover this question" in page.text
    form = fields_of(ann.get(FIRST).text, "/datasets/clinic/ask/median") | {"epsilon": ["900"]}
    before = service.datasets["clinic"].ledger.head()
    sent = ann.post("/datasets/clinic/ask/median", data=form)
    assert sent.status_code == 409
    assert "exceeds what is left" in alert(sent)
    assert 'value="900"' in sent.text
    assert service.datasets["clinic"].ledger.head() == before


def test_groups_to_compare_are_not_looked_for(ann, service):
    page = ann.get("/datasets/clinic/ask/mean_difference").text
    assert "The groups to compare, the first one first" in page
    assert "only groups with many rows are shown" not in page
    assert "only groups with many rows are shown" in ann.get("/datasets/clinic/ask/median").text


def test_groups_that_nobody_listed_have_delta_filled_in(ann, service):
    page = "/datasets/clinic/ask/median?column=age&by=ward&epsilon=0.01"
    planned = ann.get(page)
    assert planned.status_code == 200
    assert "δ was filled in" in planned.text
    share = float(service.datasets["clinic"].ledger.budget.delta) / 10
    assert float(fields_of(planned.text, "/datasets/clinic/ask/median")["delta"][0]) == pytest.approx(share)
    example = html.unescape(ann.get(f"{page}&example=yes").text)
    assert "No group or category had enough rows." in example  # not an empty table
    silent = ann.get("/datasets/clinic/ask/median?column=age&by=ward&groups=a%0Ab&epsilon=0.01&example=yes")
    assert "Made-up rows" in silent.text
    assert "<svg" not in silent.text.partition('id="example"')[2]  # no picture of nothing


def test_a_plan_has_no_error_where_no_made_up_category_has_enough_rows(ann):
    page = ann.get("/datasets/clinic/ask/histogram?column=cost&epsilon=0.5&delta=1e-7")
    assert page.status_code == 200
    assert "Price" in page.text
    assert half_width(ut.histogram(np.arange(3000), epsilon=1, delta=1e-7)) is None  # no category, so no widths
    assert half_width(ut.mean(np.random.default_rng(1).standard_cauchy(3000), epsilon=1)) is None  # infinite


def test_a_certain_refusal_is_free_and_says_so(ann, service):
    page = ann.get("/datasets/clinic/ask/median?column=age&epsilon=0.0001")
    assert "There would be no reply" in page.text
    assert "A reply needs" in page.text
    before = service.datasets["clinic"].ledger.head()
    form = fields_of(ann.get(FIRST).text, "/datasets/clinic/ask/median") | {"epsilon": ["0.0001"]}
    sent = ann.post("/datasets/clinic/ask/median", data=form)
    assert sent.status_code == 303
    assert "epsilon=0.0001" in sent.headers["location"]
    assert service.datasets["clinic"].ledger.head() == before


READ = {
    "quantile": ({"column": ["age"], "p": ["0.25, 0.75"]}, {"p": [0.25, 0.75]}),
    "iqr": ({"column": ["age"], "plausible": ["0:120"], "granularity": ["0.5"]},
            {"plausible": [0.0, 120.0], "granularity": 0.5}),
    "histogram": ({"column": ["age"], "edges": ["0 20;40"], "nonnegative": ["yes"]},
                  {"edges": [0, 20, 40], "nonnegative": True}),
    "count": ({"by": ["ward", "readmitted"], "groups": ["Surgery,0\r\nHeart,1"]},
              {"by": ["ward", "readmitted"], "groups": [["Surgery", 0], ["Heart", 1]]}),
    "proportion": ({"column": ["ward"], "equals": ["Surgery"]}, {"equals": ["Surgery"]}),
    "mann_whitney": ({"column": ["cost", "ward"], "groups": ["Surgery\nHeart"]}, {"groups": ["Surgery", "Heart"]}),
    "linear_regression": ({"formula": ["cost ~ age + ward"], "levels": ["ward=Surgery,Heart"], "fit_intercept": ["no"]},
                          {"formula": "cost ~ age + ward", "levels": {"ward": ["Surgery", "Heart"]},
                           "fit_intercept": False}),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_texts_are_read_as_the_command_line_reads_them(service, name):
    typed, options = READ[name]
    session = service.datasets["clinic"].session
    body = questions(service.statistics())[name].read(session, {**typed, "epsilon": ["0.3"], "where": ["age=18..65"]})
    assert body["options"] == {**options, "epsilon": 0.3}
    assert body["where"] == [{"age": ["between", [18, 65]]}]
    assert body["columns"] == typed.get("column", [])
    service.plan(Caller("ann", "analyst"), "clinic", name, json.loads(json.dumps(body)))


def test_the_same_in_python_is_the_request():
    body = {"columns": ["age"], "where": [{"age": [">=", 18]}], "options": {"epsilon": 0.3, "groups": [["a", 1]]}}
    lines = in_python("https://stats.example", "clinic", "median", body).splitlines()
    assert lines[2] == "session = ut.connect('https://stats.example', token='...', dataset='clinic')"
    assert lines[3] == "session = session.where({'age': ('>=', 18)})"
    assert lines[4] == "session.median('age', epsilon=0.3, groups=[('a', 1)])"


# -------------------------------------------------------------------------------------------------------------- answers

PICTURES = [
    "histogram?column=ward&epsilon=1&delta=1e-7",
    "histogram?column=age&epsilon=1&edges=0,20,40,60,80",
    "median?column=age&epsilon=1&by=ward&groups=Surgery%0AHeart",
    "quantile?column=age&epsilon=1&p=0.25,0.5,0.75",
    "ecdf?column=age&epsilon=1",
    "fourier_density?column=age&epsilon=1",
]


@pytest.mark.parametrize("question", PICTURES)
def test_answers_with_a_picture_and_files(ann, question):
    place = released(ann, f"/datasets/clinic/ask/{question}")
    page = ann.get(place)
    assert "<svg" in page.text
    assert "<table>" in page.text
    rows = ann.get(f"{place}/answer.csv")
    assert rows.headers["content-type"].startswith("text/csv")
    assert len(rows.text.splitlines()) > 2
    assert ann.get(f"{place}/answer.json").json()["reply"] is True
    assert ann.get(f"{place}/report.html").status_code == 404


def test_an_answer_without_a_picture_has_a_page(ann):
    place = released(ann, "/datasets/clinic/ask/fourier_density?column=age&column=cost&epsilon=5")
    for file in ("", "/answer.csv", "/answer.json"):
        assert ann.get(place + file).status_code == 200


@pytest.mark.parametrize("values", [(1e77, 1e77), (1e308, -1e308), (0.0, 5e-324)])
def test_numbers_that_no_axis_shows_have_no_picture(values):
    made = ut.quantile(np.arange(1000.0), [0.25, 0.75], epsilon=5)
    assert view(made, "").picture is not None
    assert view(replace(made, value=np.array(values)), "").picture is None


def test_a_report_is_framed_where_it_can_do_nothing(ann):
    place = released(ann, "/datasets/clinic/ask/report?epsilon=2&delta=1e-7")
    page = ann.get(place).text
    content, rest = framed(page)
    assert page.partition("</iframe>")[2].lstrip().startswith('<p class="buttons">'), "notes are in the report"
    file = ann.get(f"{place}/report.html")
    assert content == file.text.replace("\r", "")
    assert rest == ' sandbox title="Report" class="report"'
    assert "attachment" in file.headers["content-disposition"]
    assert "sandbox" in file.headers["content-security-policy"]
    assert "script-src" not in file.headers["content-security-policy"]
    assert ann.get(place).headers["x-frame-options"] == "DENY"


def test_a_report_can_be_tried_on_made_up_rows(ann, service):
    before = len(service.datasets["clinic"].ledger.history()), len(service.store.list_releases())
    page = ann.get("/datasets/clinic/ask/report?epsilon=2&delta=1e-7&columns=wait_minutes&title=Waits&example=yes").text
    content, rest = framed(page)
    assert rest == ' sandbox title="Report" class="report"'
    assert "These numbers are invented" in page
    assert "<h1>Made-up data: Waits</h1>" in content
    assert (len(service.datasets["clinic"].ledger.history()), len(service.store.list_releases())) == before


def test_synthetic_rows_are_a_file_of_rows(ann):
    place = released(ann, "/datasets/clinic/ask/synthetic?epsilon=3&delta=1e-7&column=age&column=ward&rows=50")
    assert "synthetic rows" in ann.get(place).text
    lines = ann.get(f"{place}/answer.csv").text.splitlines()
    assert lines[0] == "age,ward"
    assert len(lines) == 51


def test_other_analysts_see_nothing_and_the_curator_everything(app, service, ann, chen):
    place, bob = released(ann, FIRST), browser(app, service, "bob")
    for path in (place, f"{place}/answer.csv", f"{place}/answer.json", f"{place}/page"):
        assert bob.get(path).status_code == 404
    assert place not in bob.get("/releases").text
    assert place in ann.get("/releases").text
    assert place in chen.get("/curator").text
    assert chen.get(place).status_code == 200
    narrow = browser(app, service, "eve", datasets=("hostile",))
    assert "/datasets/clinic" not in narrow.get("/datasets").text
    assert narrow.get("/datasets/clinic").status_code == narrow.get(FIRST).status_code == 404


def test_nothing_is_seen_before_the_time_slot(ann, service, monkeypatch):
    monkeypatch.setattr("uptack.server.api.PATIENCE", 0.1)
    place = released(ann, "/datasets/slow/ask/median?column=age&epsilon=1")
    id = place.rpartition("/")[2]
    stored = select(releases.c.state, releases.c.answer, releases.c.made).where(releases.c.id == id)
    seen = set()
    while True:
        page, files = (
            ann.get(place).text,
            [ann.get(f"{place}/{file}") for file in ("answer.csv", "answer.json", "page")],
        )
        with service.store._store.reading() as connection:
            state, answer, made = connection.execute(stored).one()
        if time.time() > made + 3.8:
            break
        seen.add((state, answer))
        assert '<meta http-equiv="refresh"' in page
        assert "guarantee" not in page
        assert {one.status_code for one in files} == {409}
        time.sleep(0.1)
    assert seen == {("running", "")}, "the store itself has nothing before"


def test_what_happens_to_a_release_is_said_in_words(ann, service):
    said = {"waiting": "the curator decides", "refused": "Nothing was spent", "withheld": "there will be none"}
    for state, text in said.items():
        line = ("median", '{"options": {}}', "median of age", "1", "0")
        made = Record(f"r-{state}", "clinic", "ann", f"k-{state}", *line, state, 0.0, 1.0)
        service.store.add(made)
        page = ann.get(f"/releases/r-{state}").text
        assert text in page
        assert "refresh" not in page


# -------------------------------------------------------------------------------------------------------- hostile names


class Elements(HTMLParser):
    """What a browser would make of a page: its elements with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_names_and_values_are_text_wherever_they_are(app, service):
    ann, chen = browser(app, service, EVIL[:40]), browser(app, service, "chen", "curator")
    ask = "/datasets/hostile/ask"
    form = {"form_token": fields_of(chen.get("/curator").text, "/sign-out")["form_token"]}
    chen.post("/curator/allowances/hostile", data=form | {"analyst": EVIL[:40], "epsilon": "2"})
    params = {"column": list(HOSTILE)[1], "epsilon": "1", "keys": f"{EVIL}\n=cmd()", "where": f"{EVIL}>=1"}
    planned = ann.get(f"{ask}/histogram", params=params)
    sent = ann.post(f"{ask}/histogram", data=fields_of(planned.text, f"{ask}/histogram"))
    place = sent.headers["location"]
    wrong = ann.get(f"{ask}/median", params={"column": EVIL, "epsilon": EVIL, "where": EVIL})
    assert wrong.status_code == 422
    pages = [
        ann.get("/datasets"), ann.get("/datasets/hostile"), planned, wrong, ann.get(place), ann.get("/releases"),
        ann.get("/enter", params={"token": EVIL}), chen.get("/curator"), chen.get("/curator/ledger/hostile"),
        chen.post("/curator/tokens", data=form | {"name": EVIL, "role": "analyst"}),
        chen.post("/curator/allowances/hostile", data=form | {"analyst": EVIL, "epsilon": EVIL}),
    ]  # fmt: skip
    for page in pages:
        assert "alert" in page.text
        for tag, attributes in Elements(page.text).found:
            assert tag != "script" or attributes == {"src": "/static/uptack.js", "defer": None}
            assert not [name for name in attributes if name.startswith("on")]
            places = [attributes[name] for name in ("src", "href", "action", "formaction") if name in attributes]
            assert all(re.match(r"/(?!/)|#|data:,$", one) for one in places), "from another place"
        assert "script-src 'self';" in page.headers["content-security-policy"]
    assert "'=cmd()" in ann.get(f"{place}/answer.csv").text


def test_a_spreadsheet_runs_nothing():
    class Lines:
        def records(self):
            return [{"cell": text, "value": -1.5} for text in ("=1+1", "+1", "-1", "@x", "plain", "a;=1+1")]

    safe = ["'=1+1,-1.5", "'+1,-1.5", "'-1,-1.5", "'@x,-1.5", "plain,-1.5", "a;'=1+1,-1.5"]
    assert as_csv(Lines()).splitlines()[1:] == safe


# ---------------------------------------------------------------------------------------------------------- the curator


def token_of(opened):
    return {"form_token": fields_of(opened.get("/datasets").text, "/sign-out")["form_token"]}


@pytest.mark.parametrize(("word", "state"), [("yes", "answered"), ("no", "refused")])
def test_a_request_above_the_threshold_waits_for_a_decision(ann, chen, service, word, state):
    before = service.datasets["clinic"].ledger.head()
    page = "/datasets/clinic/ask/mean?column=cost&epsilon=6"
    assert "Ask the curator" in ann.get(page).text
    place = released(ann, page)
    id = place.rpartition("/")[2]
    assert "waits for the curator" in ann.get(place).text
    assert service.datasets["clinic"].ledger.head() == before
    refused = ann.post(f"/curator/decisions/{id}", data=token_of(ann) | {"approve": "yes"})
    assert refused.status_code == 403
    form = fields_of(chen.get("/curator").text, f"/curator/decisions/{id}") | {"approve": [word]}
    assert chen.post(f"/curator/decisions/{id}", data=form).headers["location"] == "/curator"
    limit = time.time() + 60
    while service.store.release(id).state == "running":
        assert time.time() < limit
        time.sleep(0.05)
    assert service.store.release(id).state == state
    assert chen.post(f"/curator/decisions/{id}", data=form).status_code == 409
    assert service.datasets["clinic"].ledger.head().number == before.number + (word == "yes")


def test_a_paused_data_set_plans_and_releases_nothing(ann, chen):
    form = fields_of(ann.get(FIRST).text, "/datasets/clinic/ask/median")
    assert chen.post("/curator/pause/clinic", data=token_of(chen) | {"paused": "yes"}).status_code == 303
    assert "has paused" in ann.get(FIRST).text
    assert ann.post("/datasets/clinic/ask/median", data=form).status_code == 423
    assert chen.post("/curator/pause/clinic", data=token_of(chen) | {"paused": "no"}).status_code == 303
    assert ann.post("/datasets/clinic/ask/median", data=form).status_code == 303


def test_a_token_is_shown_once_with_a_link_and_can_be_revoked(app, chen, service):
    form = token_of(chen) | {"name": "fay", "role": "analyst", "days": "3", "dataset": "hostile"}
    page = chen.post("/curator/tokens", data=form).text
    link, secret = (re.search(rf'id="{id}"[^>]*>([^<]*)<', page)[1] for id in ("link", "token"))
    assert secret not in chen.get("/curator").text
    fay = TestClient(app, follow_redirects=False)
    assert fay.post("/enter", data={"token": link.partition("token=")[2]}).status_code == 303
    assert "clinic" not in fay.get("/datasets").text
    held = service.store.token(secret)
    assert (held.name, held.datasets) == ("fay", ("hostile",))
    assert chen.post(f"/curator/tokens/{held.hash}/revoke", data=token_of(chen)).status_code == 303
    assert service.store.token(secret) is None
    assert chen.post("/curator/tokens", data=form | {"days": "9" * 5000}).status_code == 422
    wrong = chen.post("/curator/tokens", data=form | {"days": "many"})
    assert wrong.status_code == 422
    assert 'value="fay"' in wrong.text


def test_allowances_and_the_ledger(app, chen, service):
    gus = browser(app, service, "gus", datasets=("hostile",))
    assert chen.post("/curator/allowances/hostile", data=token_of(chen) | {"analyst": "gus", "epsilon": "1/2"})
    assert service.datasets["hostile"].ledger.remaining("gus").exact_epsilon == Fraction(1, 2)
    assert "ε = 0.5 of 100 left" in gus.get("/datasets").text
    assert "gus" in chen.get("/curator/ledger/hostile").text
    checked = chen.post("/curator/ledger/hostile", data=token_of(chen))
    assert "The chain is intact" in checked.text
    for path in ("/curator", "/curator/ledger/hostile"):
        assert gus.get(path).status_code == 403


def test_static_files_are_those_that_there_are(app):
    opened = TestClient(app)
    assert opened.get("/static/uptack.css").headers["content-type"].startswith("text/css")
    for name in ("..%2Fpages.py", "nothing.css", "%2Fetc%2Fpasswd"):
        assert opened.get(f"/static/{name}").status_code == 404


def test_a_condition_with_many_blanks_is_read_at_once(server):
    http, began = server.signed_in(), time.monotonic()
    blanks = {"column": "age", "epsilon": "1", "where": "a" + " " * 30_000 + "b"}
    assert http.get("/datasets/clinic/ask/median", params=blanks).status_code == 422
    assert time.monotonic() - began < 5


def test_messages_speak_of_the_fields_of_a_form(ann):
    said = alert(ann.get("/datasets/clinic/ask/proportion?column=ward&epsilon=1"))
    assert said.startswith("Column 'ward' must be a column of truth values unless “equals” or “above” is given")
    assert "=" not in said


def test_other_requests_wait_neither_for_a_form_nor_for_an_example(ann, monkeypatch):
    """A long formula is read in a second, and 5,000 made-up rows are written in a tenth of one."""
    places = []

    def noting(function):
        def called(*given):
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                places.append("thread")
            else:
                places.append("loop")
            return function(*given)

        return called

    form = fields_of(ann.get(FIRST).text, "/datasets/clinic/ask/median")
    monkeypatch.setattr(FormQuestion, "read", noting(FormQuestion.read))
    assert ann.post("/datasets/clinic/ask/median", data=form).status_code == 303
    monkeypatch.setattr("uptack.server.api.as_json", noting(as_json))
    body = {"columns": ["age"], "options": {"epsilon": 1}}
    assert ann.post("/api/datasets/clinic/examples/median", json=body).status_code == 200
    assert places == ["thread", "thread"]


def test_a_form_has_no_more_conditions_than_a_session(ann):
    form = fields_of(ann.get(FIRST).text, "/datasets/clinic/ask/median") | {"where": ["age=1\n" * 101]}
    sent = ann.post("/datasets/clinic/ask/median", data=form)
    assert (sent.status_code, alert(sent)) == (422, "Where must be at most 100 conditions, got 101.")
