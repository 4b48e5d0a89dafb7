"""Options, outputs and models on the command line that are wrong: one line says what; no file is left behind."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from commandline import EMBED, GOOD, X, npy
from faults.case import Case, Right, refused, run_command
from faults.processes import python, shell

OUTPUTS = {
    "existing output": refused("embed t.csv --label kind -o old.csv", "old.csv: exists; use --force to replace it"),
    "existing second output": refused(EMBED + " --save-model m", "m: exists; use --force"),
    "existing page": refused("report t.csv --label kind -o m", "m: exists; use --force"),
    "page that is no page": refused(
        "report t.csv --label kind -o r.pdf", "r.pdf: a page is HTML, not .pdf; name it .html", 2
    ),
    "output is a folder": refused("embed t.csv --label kind -o folder.csv --force", "folder.csv: a folder; name a file"),
    "no such folder": refused("embed t.csv --label kind -o no/out.csv", r"no/out.csv: there is no folder '.*/no'"),
    "unknown output": refused("embed t.csv --label kind -o out.dat", "out.dat: the suffix '.dat' tells no format", 2),
    "label in npy": refused("embed t.csv --label kind -o out.npy", "out.npy: npy holds numbers only, without 'kind'"),
    "page to standard output": refused(
        "report t.csv --label kind -o -", "a page is written to a file, not to standard output"
    ),
}
MODELS = {
    "no model": refused("transform nowhere t.csv", "nowhere: No such file or directory"),
    "model is a folder": refused("transform folder.csv t.csv", "folder.csv: Is a directory"),
    "model is empty": refused("transform bad t.csv", "'bad' cannot be loaded: it is empty", 1, {"bad": ""}),
    "model is a table": refused("transform t.csv t.csv", "t.csv: a table by its suffix, .*; the order is MODEL INPUT"),
    "model is a pickle": refused(
        "transform bad t.csv",
        "'bad' cannot be loaded: it is a pickle. Unpickling runs whatever code",
        1,
        {"bad": pickle.dumps({"anything": 1})},
    ),
    "model of another number of columns": refused(
        "transform m t.npy -o out.csv",
        "t.npy: 2 columns, but the model takes 3 ('a', 'b', 'c'); choose with --columns or --drop",
        1,
        {"t.npy": npy(X[:, :2])},
    ),
    "columns missing": refused(
        "transform m new.csv -o out.csv",
        "new.csv: the model needs 'b', 'c', which the table lacks; its columns are 'a', 'd'",
        1,
        {"new.csv": "a,d\n1,2\n3,4\n"},
    ),
    "report of a diffusion map": refused(
        "report t.csv --method diffusion -o out.html", "--method: invalid choice: 'diffusion'", 2
    ),
    "report of no model": refused("report bad -o out.html", "'bad' cannot be loaded", 1, {"bad": "something else"}),
    "report of a model with options": refused("report m --label kind -o out.html", "m: --label is for tables", 2),
    "option for another command": refused("transform m t.csv --title T", "unrecognized arguments: --title T", 2),
}
USAGE = {
    "more components than rows": refused(
        EMBED + " --n-components 1000000000000", "t.csv: --n-components must be .*got 1000000000000"
    ),
    "no command": refused("", "the following arguments are required: COMMAND (see elliptope --help)", 2),
    "unknown command": refused("embedd t.csv", "invalid choice: 'embedd'", 2),
    "no input": refused("embed", "the following arguments are required: INPUT (see elliptope embed --help)", 2),
    "unknown option": refused(EMBED + " --bandwith 3", "unrecognized arguments: --bandwith 3", 2),
    "no components": refused(
        EMBED + " --n-components 0", "--n-components: must be a whole number of at least 1, got '0'", 2
    ),
    "no jobs": refused(EMBED + " --jobs 0", "--jobs: must be a whole number other than 0 (-1: all cores), got '0'", 2),
    "neighbors of another kernel": refused(
        EMBED + " --method sdp --neighbors 5",
        "--neighbors",
        2,
    ),
    "one neighbor": refused(EMBED + " --neighbors 1", "--neighbors: must be a whole number of at least 2, got '1'", 2),
    "unknown method": refused(EMBED + " --method umap", "--method: invalid choice: 'umap'", 2),
    "empty selection": refused(EMBED + " --columns a,,b", "--columns: must be names or positions of columns", 2),
}


def parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


FRAME = pd.DataFrame(X, columns=list("abc"))
SAME_FILE = {
    "coordinates and model in one file": refused(
        "embed t.csv --label kind -o a.csv --save-model a.csv -f", "a.csv: -o and --save-model are the same file", 2
    ),
    "coordinates and model in one file, by two names": refused(
        "embed t.csv --label kind -o a.csv --save-model folder.csv/../a.csv -f",
        "folder.csv/../a.csv: -o and --save-model are the same file",
        2,
    ),
    "page and model in one file": refused(
        "report t.csv --label kind -o r.html --save-model r.html -f",
        "r.html: -o and --save-model are the same file",
        2,
    ),
    "coordinates in place of their table": refused(
        "embed t.csv --label kind -o t.csv -f", "t.csv: INPUT and -o are the same file; write to another one", 2
    ),
    "coordinates in place of their model": refused("transform m t.csv -o ./m -f", "./m: MODEL and -o are the same file", 2),
}
PARQUET = {
    "Parquet with a column of dates that was asked for": refused(
        "embed t.parquet --columns 1-4 -o out.csv",
        "t.parquet: column 4 ('d'): dates, the first '2020-01-01 00:00:00' in row 1",
        1,
        {"t.parquet": parquet(FRAME.assign(d=pd.date_range("2020", periods=30)))},
    ),
    "Parquet with a column of text that was asked for": refused(
        "embed t.parquet --columns 1-4 -o out.csv",
        "t.parquet: column 4 ('kind'): text, 1 value, the first 'u' in row 1",
        1,
        {"t.parquet": parquet(FRAME.assign(kind="u"))},
    ),
    "Parquet with missing values": refused(
        "embed t.parquet -o out.csv",
        "t.parquet: column 2 ('b'): 1 missing value, the first in row 3",
        1,
        {"t.parquet": parquet(FRAME.mask(X[2, 1] == X))},
    ),
    "Parquet with an index of two columns": refused(
        "embed t.parquet -o out.csv",
        "t.parquet: an index of several columns, 'a', 'b'; use --drop, and --id for one of them",
        1,
        {"t.parquet": parquet(FRAME.set_index(["a", "b"]))},
    ),
}


def command(*argv: str, files: Mapping[str, str] | None = None) -> Any:
    for name, content in {"t.csv": GOOD, **(files or {})}.items():
        Path(name).write_text(content)
    return run_command(*argv)


def processes(script: str, **environment: str) -> Any:
    Path("t.csv").write_text(GOOD)
    return shell(script, **environment)


def reference() -> str:
    return command("embed", "t.csv", "--label", "kind", "-q").out.decode()


def with_link(link: Callable[[str, str], Any]) -> Any:
    """Write coordinates over another name of their table."""
    Path("t.csv").write_text(GOOD)
    link("t.csv", "linked.csv")
    outcome = run_command("embed", "t.csv", "--label", "kind", "-o", "linked.csv", "-f")
    assert Path("t.csv").read_text() == GOOD
    return outcome.code, outcome.err


# Counts the threads of a new process that has read a table with an error in it, as `elliptope embed` does.
THREADS = """
import os
from elliptope.cli import main
from elliptope.cli.commands import embed  # which brings the threads of BLAS
before = len(os.listdir("/proc/self/task"))
code = main(["embed", "t.parquet", "-o", "out.csv", *{options}])
print(code, len(os.listdir("/proc/self/task")) - before)
"""


def threads_of_parquet() -> list[str]:
    """Exit codes of two commands that read Parquet, and the threads that they have left."""
    frame = FRAME.assign(date=pd.date_range("2020", periods=30), missing=np.where(np.arange(30) == 7, np.nan, 1))
    Path("t.parquet").write_bytes(parquet(frame))
    codes = []
    for options in ([], ["--id", "date"]):
        codes += python("-c", THREADS.replace("{options}", repr(options))).stdout.split()
    return codes


def says(message: str, code: int) -> Right:
    """One line of error from a process, and nothing on standard output."""

    def check(done: Any) -> None:
        assert done.returncode == code, done
        assert done.stdout == ""
        assert [line for line in done.stderr.splitlines() if "rror" in line] == [f"elliptope: error: {message}"]

    return Right(f"exit code {code}: {message}", check)


def same_table(done: Any) -> None:
    assert done.returncode == 0, done
    assert done.stdout == reference()


case = partial(Case, "command line")
LINE = "elliptope embed t.csv --label kind"
PROCESSES = [
    case(
        "process: standard error closed",
        lambda: processes(f"{LINE} 2>&-"),
        Right("the result, and exit code 0", same_table),
    ),
    case(
        "process: standard error and input closed",
        lambda: processes(f"{LINE} -o out.csv 2>&- <&-; cat out.csv"),
        Right("the result, and exit code 0", same_table),
    ),
    case("process: standard output full", lambda: processes(f"{LINE} -q >/dev/full"), says("No space left on device", 1)),
    case(
        "process: a locale with decimal comma",
        lambda: processes("elliptope embed t.csv --label kind -q", LC_ALL="de_DE.UTF-8"),
        Right("the coordinates of the table with points", same_table),
    ),
]
NAMELESS = Right("that a file must be named", lambda errors: all("must be the name of a file, got ''" in e for e in errors))
SINGLE = [
    case(
        "usage: an output of ''",
        lambda: [
            command(*line.split(), "").err
            for line in (
                "embed t.csv --label kind -o",
                "embed t.csv --label kind --save-model",
            )
        ],
        NAMELESS,
    ),
    case("usage: an input of ''", lambda: [command("embed", "").err, command("info", "").err], NAMELESS),
    *(
        case(
            f"usage: coordinates in place of their table, through a {name}",
            lambda link=link: with_link(link),
            Right("that both are the same file", lambda seen: seen[0] == 2 and "INPUT and -o are the same file" in seen[1]),
        )
        for name, link in {"symbolic link": os.symlink, "hard link": os.link}.items()
    ),
    case(
        "process: an output on a full disk",
        lambda: processes(f"ulimit -f 1; {LINE} -q -o out.csv"),
        says("out.csv: File too large", 1),
    ),
    case(
        "process: threads that pyarrow would leave running",
        threads_of_parquet,
        Right("none, so that none can end the process at its exit", lambda seen: seen == ["1", "0", "1", "0"]),
    ),
    case(
        "model: transform of rows far away",
        lambda: (
            command("embed", "t.csv", "--method", "sdp", "--label", "kind", "-o", "z.csv", "--save-model", "m", "-q"),
            command("transform", "m", "far.csv", files={"far.csv": "a,b,c\n0,0,0\n\n1e4,0,0\n"}).err,
        )[1],
        Right("row 2 (line 4), counted from 1 as in the table", lambda err: "row 2 (line 4)" in err and "row 1" not in err),
    ),
]
CASES = [
    *(
        case(f"{group}: {name}", *pair)
        for group, pairs in {
            "output": {**OUTPUTS, **SAME_FILE},
            "model": MODELS,
            "usage": USAGE,
            "table": PARQUET,
        }.items()
        for name, pair in pairs.items()
    ),
    *PROCESSES,
    *SINGLE,
]
