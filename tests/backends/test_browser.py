"""The report in a real browser."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import uptack as ut
from uptack.report import profile, write

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.xdist_group("browser"),  # it starts once
    pytest.mark.skipif(CHROMIUM is None and "CI" not in os.environ, reason="no Chromium on this machine"),
]
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
RNG = np.random.default_rng(4)
N = 20_000
TABLE = {
    "age": RNG.integers(18, 90, N),
    "a rather long name of a column that has to be wrapped somewhere": RNG.lognormal(3, 1, N),
    "smoker": RNG.random(N) < 0.3,
    'ward "north" <&>': RNG.choice(["one", "two", "<script>alert(1)</script>"], N),
    "few": RNG.normal(size=N),
}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    session = ut.open(TABLE, entropy=ut.SeededEntropy(5))
    made = profile(session, 3, 1e-6, title="patients.csv", target="age", shares={"few": 1e-3})
    return write(made, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield opened
        opened.close()


@pytest.fixture
def page(browser, report, request):
    width, scheme = getattr(request, "param", (1100, "light"))
    opened = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    opened.complaints = []
    opened.on("console", lambda message: opened.complaints.append(message.text))
    opened.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.on("requestfailed", lambda failed: opened.complaints.append(failed.url))
    opened.route("http*://**", lambda route: route.abort())  # a page that needs the network would complain
    opened.goto(report.as_uri())
    yield opened
    opened.close()


def test_nothing_complains_and_every_column_is_there(page):
    assert page.complaints == []
    names = page.eval_on_selector_all("[data-column]", "found => found.map(e => e.dataset.column)")
    assert names == list(TABLE)
    headings = page.eval_on_selector_all("[data-column] h3", "found => found.map(e => e.textContent)")
    assert headings == list(TABLE)[:-1]  # the last one has no answer
    assert page.locator("[data-regression='age'] table tr").count() == 4


def test_pictures_are_drawn(page):
    for name in ("age", "a rather long name of a column that has to be wrapped somewhere"):
        curve = page.locator("[data-column]").filter(has_text=name).locator("svg .curve").first
        box = curve.bounding_box()
        assert box["width"] > 150
        assert box["height"] > 50
    bars = page.locator(".bars .fill")
    widths = [bars.nth(i).bounding_box()["width"] for i in range(bars.count())]
    assert len(widths) == 5
    assert max(widths) > 100


def test_no_reply_is_shown_as_what_it_is(page):
    few = page.locator("p", has=page.locator("[data-column='few']"))
    assert few.locator(".bottom").count() == 1
    assert "a reply needs at least" in few.inner_text()


@pytest.mark.parametrize("page", [(360, "light"), (360, "dark")], indirect=True)
def test_it_can_be_read_on_a_phone(page):
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert float(page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")) >= 14
    label = page.locator("svg .label").first.bounding_box()
    assert label["height"] >= 9


def test_dark_and_light_differ(browser, report):
    colours = set()
    for scheme in ("light", "dark"):
        opened = browser.new_page(color_scheme=scheme)
        opened.goto(report.as_uri())
        colours.add(opened.evaluate("getComputedStyle(document.body).backgroundColor"))
        opened.close()
    assert len(colours) == 2


def test_it_prints(page, tmp_path):
    page.emulate_media(media="print")
    printed = page.pdf(path=str(tmp_path / "report.pdf"))
    assert printed.startswith(b"%PDF")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


# ------------------------------------------------------------------------------------------------ tables of all shapes


def _odd():
    return {
        "": RNG.normal(size=N),
        "\u202eabc": RNG.lognormal(20, 1, N),
        "w" * 90: RNG.choice(["x" * 60, "a text of many words that goes on and on", "", None], N).tolist(),
        "year": RNG.integers(1990, 2021, N),
        "tiny": RNG.normal(1e-12, 1e-14, N),
        "huge": RNG.normal(1e15, 1e3, N),
        "<b>": RNG.integers(-3, 4, N) * 10**6,
    }


def _real():
    hours = np.datetime64("2013-01-01T00:00", "us") + RNG.integers(0, 365 * 24, N) * np.timedelta64(3600, "s")
    return {
        "dep_time": RNG.integers(0, 24, N),
        "sched_arrival_hour_of_day": RNG.integers(1, 32, N),
        "when": hours,
        "near": 1e9 + RNG.normal(0, 1e-3, N),
        "steps": RNG.integers(-3, 9, N) * 5_000_000,
        "money": RNG.lognormal(10, 1.5, N),
        "delay": RNG.normal(0, 20, N),
        "delay at the destination": RNG.normal(0, 30, N),
        "distance_in_miles": RNG.gamma(2, 500, N),
        "ward": RNG.choice(
            [f"Ward {i}: a department with a long name" for i in range(20)], N, p=RNG.dirichlet([2] * 20)
        ),
        "country": RNG.choice(["A", "B", "C"], N, p=[0.93, 0.04, 0.03]),
    }


SHAPES = {
    "wide": lambda: {f"column {i}": RNG.normal(i, 1, 200) for i in range(200)},
    "one row": lambda: {"x": [1.0], "town": ["a"], "yes": [True]},
    "all missing": lambda: {"x": [None] * 2000, "y": np.full(2000, np.nan)},
    "odd names": _odd,
    "ordinary": lambda: TABLE,
    "real": _real,
}
SCRIPT = (Path(__file__).parent / "boxes.js").read_text("utf-8")


@pytest.fixture(scope="module", params=SHAPES)
def shaped(request, tmp_path_factory):
    session = ut.open(SHAPES[request.param](), entropy=ut.SeededEntropy(6), missing="drop")
    target = {"ordinary": "age", "real": "delay"}.get(request.param)
    more = {} if target is None else {"target": target, "correlations": True}
    made = profile(session, 8 if request.param == "real" else 3, 1e-6, title=f"{request.param}.csv", **more)
    return write(made, tmp_path_factory.mktemp("shape") / "report.html")


def test_no_text_is_clipped_or_overlaps_at_any_width(browser, shaped):
    for width in (1280, 768, 390):
        opened = browser.new_page(viewport={"width": width, "height": 900})
        opened.goto(shaped.as_uri())
        opened.eval_on_selector_all("details", "all => all.forEach(e => { e.open = true; })")
        assert opened.evaluate(f"{SCRIPT}; faults()") == {"outside": [], "clipped": [], "overlapping": []}, width
        assert opened.evaluate(f"{SCRIPT}; [uneven(), broken()]") == [[], []], width
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        pictures = opened.locator("svg")
        assert all(pictures.nth(i).locator(".label").count() >= 2 for i in range(min(pictures.count(), 5)))
        opened.close()


@pytest.mark.parametrize("page", [(1100, "light"), (1100, "dark")], indirect=True)
def test_text_has_contrast_and_the_keyboard_opens_what_is_folded(page):
    assert page.evaluate(f"{SCRIPT}; contrast()") >= 4.5
    page.locator("summary").last.focus()
    page.keyboard.press("Enter")
    assert page.locator("details").last.get_attribute("open") is not None
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")


def test_a_wide_table_has_a_list_of_contents_whose_links_lead_somewhere(browser, tmp_path):
    table = {f"column {i}": RNG.normal(i, 1, 3000) for i in range(9)}
    made = profile(ut.open(table, entropy=ut.SeededEntropy(6)), 3, 1e-6)
    opened = browser.new_page()
    opened.goto(write(made, tmp_path / "report.html").as_uri())
    links = opened.eval_on_selector_all("nav a", "all => all.map(e => e.getAttribute('href'))")
    assert len(links) == 9
    assert all(opened.locator(link).count() == 1 for link in links)
    opened.close()
