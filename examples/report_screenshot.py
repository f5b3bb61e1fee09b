"""The picture of a report that the docs show. Needs Playwright and Chromium.

python examples/report_screenshot.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import uptack
from uptack.report import profile, write
from uptack.samples import path

TARGET = Path(__file__).parents[1] / "docs" / "images" / "report.png"


def main() -> None:
    session = uptack.open(path("health"), types="guess")
    made = profile(session, 2, 1e-6, title="health.csv", target="visits")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        page_file = write(made, Path(folder) / "report.html")
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 1240})
        page.goto(page_file.as_uri())
        page.screenshot(path=TARGET)
        browser.close()
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
