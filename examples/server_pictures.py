"""The pictures of the server's pages in the docs: docs/images/server-*.png.

    python examples/server_pictures.py

It serves the sample "clinic" on this machine, asks as an analyst and looks as the curator, in Chromium.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import uvicorn
from playwright.sync_api import sync_playwright

from uptack.samples import load
from uptack.server.app import create_app
from uptack.server.config import DatasetConfig, ServerConfig
from uptack.server.service import Service

IMAGES = Path(__file__).parents[1] / "docs" / "images"
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def start(folder: Path) -> tuple[Service, uvicorn.Server, str]:
    """A server in a thread, and its address."""
    rows = load("clinic")
    pq.write_table(pa.table({name: rows[name] for name in rows}), folder / "clinic.parquet")
    source = str(folder / "clinic.parquet")
    dataset = DatasetConfig(
        "clinic", source, Fraction(3), Fraction(1, 10**6), "Clinic visits", approve_above=Fraction(1, 2), seconds=0.2
    )
    service = Service(ServerConfig((dataset,), str(folder / "server.db")))
    server = uvicorn.Server(uvicorn.Config(create_app(service), port=0, log_level="warning", access_log=False))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    return service, server, f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"


def shoot(page: Any, name: str) -> None:
    """Save a picture of the window, in few colours: they compress well."""
    from PIL import Image

    path = IMAGES / f"server-{name}.png"
    page.evaluate("window.scrollTo(0, 0)")
    page.screenshot(path=path, full_page=name.startswith("answer"))
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(64).save(path, optimize=True)


def ask(page: Any, address: str, statistic: str, column: str, epsilon: str, **fields: str) -> None:
    page.goto(f"{address}/datasets/clinic/ask/{statistic}")
    page.get_by_label("Column", exact=True).select_option(column)
    for label, value in fields.items():
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_label("ε, the privacy budget to spend").fill(epsilon)
    page.get_by_role("button", name="Plan it").click()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        service, server, address = start(Path(folder))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=QUIET)
        analyst = browser.new_page(viewport={"width": 1280, "height": 1000})
        analyst.goto(f"{address}/enter?token={service.store.issue('ann', 'analyst')}")
        analyst.get_by_role("button", name="Continue").click()
        ask(analyst, address, "median", "wait_minutes", "0.4")
        shoot(analyst, "ask")
        ask(analyst, address, "histogram", "age", "0.3", Edges="0, 15, 30, 45, 60, 75, 90, 105")
        analyst.get_by_role("button", name="Release").click()
        analyst.wait_for_selector(".answer")
        shoot(analyst, "answer")
        phone = browser.new_page(viewport={"width": 390, "height": 844})
        phone.context.add_cookies(analyst.context.cookies())
        phone.goto(analyst.url)
        shoot(phone, "answer-phone")
        ask(analyst, address, "mean", "cost", "0.8")
        analyst.get_by_role("button", name="Ask the curator").click()
        curator = browser.new_page(viewport={"width": 1280, "height": 1000})
        link = service.store.issue("chen", "curator", purpose="link")
        curator.goto(f"{address}/enter?token={link}")
        curator.get_by_role("button", name="Continue").click()
        shoot(curator, "curator")
        browser.close()
        server.should_exit = True


if __name__ == "__main__":
    main()
