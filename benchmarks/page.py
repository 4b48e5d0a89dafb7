"""How large is a report page, how fast does it open, and how fast does it answer?

    python benchmarks/page.py --output benchmarks/results

A page per number of rows, with 10 columns, one of them classes, and positions in groups, opened in a headless Chromium that
draws without a graphics card. The first is that of the Wine data; the others have random rows in place of a fit. Timed, in
seconds:

- *first picture*: from the start of the navigation until the first picture is on the screen;
- *redraw*: the whole map, as in every step of zoom, pan or slider;
- *select*: from a lasso around a third of the rows until they, and the table of what distinguishes them, are on the screen;
- *hover*: the search for the row under the pointer.

Medians of five. Writes ``page.md``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import machine
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from elliptope import MultiscaleEmbedding
from elliptope.plotting.targets import Classes, Values
from elliptope.report.content import Report, collect
from elliptope.report.render import render
from report import table

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from browser import Browser

ROWS = (178, 10_000, 20_000, 100_000)
GROUPS = 8
REPEATS = 5
# On the screen: a frame after the one in which the page was drawn.
SHOWN = """
const [done, start] = [arguments[0], performance.now()];
{action};
requestAnimationFrame(() => requestAnimationFrame(() => done((performance.now() - start) / 1000)));
"""
# The third of the map on the left, as a polygon of a hundred corners.
LASSO = """
const { left, top, width, height } = view.box;
const corner = (k) => [left + (k < 50 ? 0 : width / 3), top + (height * (k < 50 ? 49 - k : k - 50)) / 49];
window.lasso = Array.from({ length: 100 }, (_, k) => corner(k));
"""
FIRST = "return performance.getEntriesByName('map')[0]?.startTime / 1000"


def filled(report: Report, n: int) -> Report:
    """The report with n rows in groups, in place of its own."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, GROUPS, n)
    centres = rng.standard_normal((GROUPS, 2)) * 20
    positions = centres[group] + rng.standard_normal((n, 2)) * rng.uniform(1, 4, GROUPS)[group, None]
    columns = [(f"column {j}", Values(rng.standard_normal(n) + (group == j))) for j in range(9)]
    assert report.picture is not None
    return replace(
        report,
        title=f"{n} rows",
        rows=np.arange(n),
        frames=rng.standard_normal((1, n, 6)),
        scores=rng.standard_normal((1, n)),
        picture=replace(report.picture, frames=positions[None]),
        target=Classes(tuple("abcdefgh"), group),
        target_name="group",
        fields=tuple(columns),
    )


def timed(browser: Browser, path: Path) -> dict[str, float]:
    """Medians of all times of one page."""
    first, times = [], {"redraw": [], "select": [], "hover": []}
    for _ in range(REPEATS):
        browser.open(path)
        first.append(browser.until(FIRST))
    browser.run(LASSO)
    actions = {
        "redraw": "drawMap()",
        "select": "select(rowsWithin(lasso))",
        "hover": "showTip(rowAt([view.box.left + view.box.width / 2, view.box.top + view.box.height / 2]))",
    }
    for name, action in actions.items():
        for _ in range(REPEATS):
            times[name].append(browser.driver.execute_async_script(SHOWN.replace("{action}", action)))
            browser.run("select([])")
            browser.settle()
    assert browser.errors() == []
    return {"first picture": median(first), **{name: median(values) for name, values in times.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("."))
    args = parser.parse_args()
    X = scale(load_wine().data)
    wine = collect(MultiscaleEmbedding(random_state=0).fit(X), y=load_wine().target, neighbors=None)
    rows: list[list[Any]] = []
    browser = Browser()
    with tempfile.TemporaryDirectory() as folder:
        for n in ROWS:
            path = Path(folder) / f"{n}.html"
            path.write_text(render(wine if n == len(X) else filled(wine, n)), encoding="utf-8")
            times = timed(browser, path)
            rows.append([str(n), f"{path.stat().st_size / 1e6:.2f}", *(f"{value:.3f}" for value in times.values())])
            print(rows[-1], flush=True)
    version = browser.driver.capabilities["browserVersion"]
    browser.close()
    head = ["rows", "size, MB", "first picture, s", "redraw, s", "select, s", "hover, s"]
    about = [f"Chromium {version}", *machine.describe()]
    text = "\n".join(["# Report pages", "", __doc__.strip(), "", *(f"- {line}" for line in about), "", table(head, rows)])
    (args.output / "page.md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
