"""Report pages in a browser.

Pictures are kept in the folder named by ELLIPTOPE_PICTURES, if it is set. Those in docs/ were made by
``ELLIPTOPE_PICTURES=docs pytest tests/report -k looks``.
"""

import os
from pathlib import Path

import pytest

from elliptope.report.render import render


@pytest.fixture(scope="session")
def browser():
    chromium = pytest.importorskip("browser", reason="selenium is not installed", exc_type=ImportError)
    if chromium.find_browser() is None:
        pytest.skip(f"no browser: none of {', '.join(chromium.BROWSERS)} is installed")
    try:
        made = chromium.Browser()
    except chromium.NoDriver as error:
        pytest.skip(f"no driver for {chromium.find_browser()}: {error}")
    yield made
    made.close()


@pytest.fixture(scope="session")
def open_report(browser, tmp_path_factory):
    """Opens a report as a page; the same report is written once."""
    folder = tmp_path_factory.mktemp("pages")
    written = []  # kept alive, so that no two reports are the same object

    def open_page(report, **window):
        known = next((k for k, other in enumerate(written) if other is report), len(written))
        path = folder / f"{known}.html"
        if known == len(written):
            written.append(report)
            path.write_text(render(report), encoding="utf-8")
        browser.open(path, **window)
        return browser

    return open_page


@pytest.fixture
def pictures(tmp_path):
    return Path(os.environ.get("ELLIPTOPE_PICTURES", tmp_path))
