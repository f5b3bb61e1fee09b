"""The pages of a server in a real browser: an analyst and the curator, from the link to the answer."""

import os
import shutil
import threading
import time
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uvicorn

from uptack.samples import load
from uptack.server.app import create_app
from uptack.server.config import DatasetConfig, ServerConfig
from uptack.server.service import Service

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.xdist_group("server browser"),
    pytest.mark.skipif(CHROMIUM is None and "CI" not in os.environ, reason="no Chromium on this machine"),
]
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
CASES = {"wide": (1280, True, "light"), "phone": (390, True, "dark"), "without scripts": (390, False, "light")}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service, and its address."""
    folder, rows = tmp_path_factory.mktemp("served"), load("clinic")
    pq.write_table(pa.table({name: rows[name] for name in rows}), folder / "clinic.parquet")
    dataset = DatasetConfig("clinic", str(folder / "clinic.parquet"), Fraction(60), Fraction(1, 10**5),
                            approve_above=Fraction(2), seconds=0.2)  # fmt: skip
    service = Service(ServerConfig((dataset,), str(folder / "server.db"), requests_per_second=1000))
    server = uvicorn.Server(uvicorn.Config(create_app(service), port=0, log_level="warning", access_log=False))
    running = threading.Thread(target=server.run, daemon=True)
    running.start()
    while not server.started:
        time.sleep(0.02)
    yield service, f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    running.join(30)


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield opened
        opened.close()


def window(chromium, width, scripts, scheme, complaints):
    """A browser of its own, which says what it complains of: nothing is loaded from elsewhere, no script is blocked."""
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, java_script_enabled=scripts, color_scheme=scheme
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return page


def fits(page, width, scripts):
    """Whether nothing sticks out sideways. Without scripts the page can't say."""
    page.wait_for_load_state("domcontentloaded")
    return not scripts or page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("case", CASES)
def test_from_the_link_to_the_answer(chromium, served, case):
    (service, address), (width, scripts, scheme), complaints = served, CASES[case], []
    curator, analyst = (window(chromium, width, scripts, scheme, complaints) for _ in range(2))
    curator.goto(f"{address}/enter?token={service.store.issue('chen', 'curator', purpose='link')}")
    curator.get_by_role("button", name="Continue").click()
    assert fits(curator, width, scripts)
    curator.get_by_label("Name", exact=True).fill(f"ann {case}")
    curator.get_by_role("button", name="Issue a token").click()
    link = curator.locator("#link").inner_text()

    analyst.goto(link)
    analyst.get_by_role("button", name="Continue").click()
    analyst.get_by_role("link", name="clinic").click()
    assert fits(analyst, width, scripts)
    analyst.get_by_role("link", name="Median", exact=True).click()
    analyst.get_by_label("Column", exact=True).select_option("wait_minutes")
    analyst.get_by_label("ε, the privacy budget to spend").fill("1")
    analyst.get_by_role("button", name="Plan it").click()
    assert "ranks" in analyst.locator("#plan").inner_text()
    assert fits(analyst, width, scripts)
    analyst.get_by_role("button", name="Try it on made-up data").click()
    assert "invented" in analyst.locator("#example").inner_text()
    before = service.datasets["clinic"].ledger.head().number
    analyst.get_by_role("button", name="Release").click()
    analyst.locator(".answer").wait_for()
    assert "95% interval" in analyst.locator("table").first.inner_text()
    assert service.datasets["clinic"].ledger.head().number == before + 1
    assert fits(analyst, width, scripts)

    analyst.goto(f"{address}/datasets/clinic/ask/mean?column=cost&epsilon=3")
    analyst.get_by_role("button", name="Ask the curator").click()
    assert "waits for the curator" in analyst.locator("main").inner_text()
    curator.goto(f"{address}/curator")
    curator.get_by_role("button", name="Approve").click()
    curator.goto(analyst.url)
    curator.locator(".answer").wait_for()  # it reloads itself until then
    analyst.reload()
    analyst.locator(".answer").wait_for()
    curator.goto(f"{address}/curator/ledger/clinic")
    curator.get_by_role("button", name="Verify the chain").click()
    assert "The chain is intact" in curator.locator("main").inner_text()
    assert fits(curator, width, scripts)
    assert complaints == []
    for page in (curator, analyst):
        page.context.close()


def test_the_slider_plans_again_and_the_keyboard_is_enough(chromium, served):
    (service, address), complaints = served, []
    page = window(chromium, 1280, True, "light", complaints)
    page.goto(f"{address}/enter?token={service.store.issue('bob', 'analyst')}")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.get_by_role("button", name="Continue").press("Enter")
    page.wait_for_url(f"{address}/datasets")
    page.goto(f"{address}/datasets/clinic/ask/median?column=age&epsilon=1&interval=0.95")
    assert page.locator("#plan svg .curve").bounding_box()["width"] > 100
    page.locator("#slider").focus()
    with page.expect_navigation():
        page.keyboard.press("ArrowRight")
    assert "ε = 1.04" in page.locator("#plan .figures").inner_text()
    assert page.get_by_label("ε, the privacy budget to spend").input_value() == "1.04"
    assert complaints == []
    page.context.close()


def test_a_report_is_shown_in_its_frame(chromium, served):
    (service, address), complaints = served, []
    page = window(chromium, 1280, True, "light", complaints)
    page.goto(f"{address}/enter?token={service.store.issue('cy', 'curator', purpose='link')}")
    page.get_by_role("button", name="Continue").click()
    page.goto(f"{address}/datasets/clinic/ask/report?epsilon=3&delta=1e-7")
    page.get_by_role("button", name="Try it on made-up data").click()
    page.frame_locator("iframe.report").get_by_role("heading", name="Made-up data: clinic").wait_for()
    page.get_by_role("button", name="Release").click()
    page.locator(".answer").wait_for()
    assert page.frame_locator("iframe.report").get_by_role("heading", name="wait_minutes").count() == 1
    assert complaints == []
    page.context.close()
