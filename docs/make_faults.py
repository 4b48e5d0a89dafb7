"""Write the page of faults: every case of ``tests/faults`` with its verdict and what a user sees.

Run ``python docs/make_faults.py``; it runs all cases, which takes about a minute.
"""

from __future__ import annotations

import contextlib
import re
import sys
import tempfile
from collections import Counter
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "faults.md"
LONGEST = 200  # characters of a message
ROW = re.compile(r"^\| ((?:[^|\\]|\\.)*) \| (clear|right|unclear|pending) \| ")
INTRODUCTION = """\
# Faults

What happens when something is wrong: with the input, the numbers, the machine, the files, the command line, or when somebody
means harm. Every line is a test in [tests/faults](../tests/faults/README.md), from which `python docs/make_faults.py` writes
this page.

- **clear**: an error or a warning that names the parameter, the allowed range and the value, or says what to do.
- **right**: the result is correct; it is compared with something independent.
- **unclear**: the result is not wrong, but a user may wonder; the reason is given.
- **pending**: not yet as it should be.

"""


def main() -> None:
    sys.path[:0] = [str(ROOT / "tests")]
    from faults.cases import CASES

    rows = []
    for case in CASES:
        # A folder in one of its own: some cases look whether anything appears beside it.
        with (
            tempfile.TemporaryDirectory() as parent,
            tempfile.TemporaryDirectory(dir=parent) as folder,
            contextlib.chdir(folder),
        ):
            seen = case.pending or case.seen().replace(str(Path.cwd()), ".")
        rows.append((case.kind, case.name, case.verdict, case.unclear or seen))
    PAGE.write_text(
        INTRODUCTION + counts(rows) + "".join(section(kind, list(of)) for kind, of in groupby(rows, key=lambda r: r[0]))
    )


def counts(rows: list[tuple[str, str, str, str]]) -> str:
    verdicts = sorted({row[2] for row in rows})
    count = Counter((row[0], row[2]) for row in rows)
    kinds = list(dict.fromkeys(row[0] for row in rows))
    lines = [f"| {kind} | " + " | ".join(str(count[kind, verdict]) for verdict in verdicts) + " |" for kind in kinds]
    total = " | ".join(f"**{sum(count[kind, verdict] for kind in kinds)}**" for verdict in verdicts)
    head = f"| kind | {' | '.join(verdicts)} |\n|---|{'--:|' * len(verdicts)}\n"
    return f"{len(rows)} cases:\n\n{head}" + "\n".join(lines) + f"\n| **all** | {total} |\n"


def section(kind: str, rows: list[tuple[str, str, str, str]]) -> str:
    lines = [f"| {escaped(name)} | {verdict} | {escaped(shortened(seen))} |" for _, name, verdict, seen in rows]
    return f"\n## {kind.capitalize()}\n\n| case | verdict | what a user sees |\n|---|---|---|\n" + "\n".join(lines) + "\n"


def listed() -> list[tuple[str, str, str]]:
    """Kind, name and verdict of every case on the page, names as they are escaped there."""
    found, kind = [], ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            kind = line[3:].lower()
        elif kind and (match := ROW.match(line)):
            found.append((kind, match[1], match[2]))
    return found


def shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def escaped(text: str) -> str:
    """Text as it is, in a cell of a Markdown table."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~])", r"\\\1", text)


if __name__ == "__main__":
    main()
