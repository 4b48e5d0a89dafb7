"""Write the transcript of the quick start: from an empty environment to a report, in two commands.

Run ``python docs/make_transcript.py``. The commands run in a new virtual environment in a temporary folder, and what
they print replaces the transcript in ``docs/quickstart.md``. Left out are pip's lines about single packages, which
differ from machine to machine, and names of folders and hosts. pip needs a package index; the rest needs no network.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from sklearn.datasets import load_wine

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "quickstart.md"
COMMANDS = [
    'python3 -m pip install ".[cli]"',
    "elliptope report wine.csv -o report.html --label class",
]
BEGIN = "<!-- transcript: written by docs/make_transcript.py -->\n"
END = "<!-- end of transcript -->\n"
# pip's lines that speak of this project or of the outcome; the rest is about single packages, hosts and folders.
KEPT = re.compile(r"Successfully installed|ERROR")
WIDTH = 110


def write_wine(path: Path) -> None:
    """The Wine data with names in the first line, and its class in the last column."""
    wine = load_wine()
    lines = [",".join([*wine.feature_names, "class"])]
    lines += [
        ",".join([*(repr(float(value)) for value in row), wine.target_names[target]])
        for row, target in zip(wine.data, wine.target, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")


def run(command: str, folder: Path, environment: Path) -> str:
    """What a shell command prints, on both streams, with the environment's programs first in the path."""
    path = os.pathsep.join([str(environment / "bin"), os.environ["PATH"]])
    variables = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")} | {"PATH": path}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        sys.exit(f"{command} failed:\n{done.stdout}")
    return done.stdout


def tidy(command: str, output: str, folders: list[Path]) -> str:
    """Output without what belongs to this machine, in lines that fit a page."""
    lines = output.rstrip().splitlines()
    if "pip install" in command:
        lines = ["[...]", *(line for line in lines if KEPT.match(line))]
    for folder in folders:
        lines = [line.replace(f"{folder}{os.sep}", "").replace(str(folder), ".") for line in lines]
    return "\n".join(part for line in lines for part in fold(line))


def fold(line: str) -> list[str]:
    """A long line, broken at spaces, with its later parts indented."""
    if len(line) <= WIDTH:
        return [line]
    cut = line.rfind(" ", 1, WIDTH)
    return [line] if cut < 0 else [line[:cut], *fold("  " + line[cut:].lstrip())]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = folder / "env"
        venv.create(environment, with_pip=True)
        write_wine(folder / "wine.csv")
        parts = []
        for command, where in zip(COMMANDS, [ROOT, folder], strict=True):
            output = run(command, where, environment)
            parts.append(f"$ {command}\n{tidy(command, output, [folder, ROOT])}\n")
        size = (folder / "report.html").stat().st_size
    print(f"report.html has {size} bytes")
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n```console\n{''.join(parts)}```\n\n{END}{after}")


if __name__ == "__main__":
    main()
