"""Options, outputs and models on the command line that are wrong: one line says what; no file is left behind."""

from __future__ import annotations

import argparse
import io
import os
import pickle
import resource
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from commandline import EMBED, GOOD, X, npy, npz
from elliptope.cli.commands.path import bandwidths
from faults.case import Case, Error, Right, refused, run_command
from faults.processes import forked, python, shell

OUTPUTS = {
    "existing output": refused("embed t.csv --label kind -o old.csv", "old.csv: exists; use --force to replace it"),
    "existing model": refused("fit t.csv --label kind -o m", "m: exists; use --force to replace it"),
    "existing second output": refused(EMBED + " --save-model m", "m: exists; use --force"),
    "existing page": refused("report t.csv --label kind -o m", "m: exists; use --force"),
    "page that is no page": refused(
        "report t.csv --label kind -o r.pdf", "r.pdf: a page is HTML, not .pdf; name it .html", 2
    ),
    "output is a folder": refused("embed t.csv --label kind -o folder.csv --force", "folder.csv: a folder; name a file"),
    "no such folder": refused("embed t.csv --label kind -o no/out.csv", r"no/out.csv: there is no folder '.*/no'"),
    "folder is a file": refused("embed t.csv --label kind -o t.csv/out.csv", "t.csv/out.csv: there is no folder"),
    "unwritable": refused("embed t.csv --label kind -o /proc/out.csv", "/proc/out.csv"),
    "unknown output": refused("embed t.csv --label kind -o out.dat", "out.dat: the suffix '.dat' tells no format", 2),
    "label in npy": refused("embed t.csv --label kind -o out.npy", "out.npy: npy holds numbers only, without 'kind'"),
    "path in npy": refused(
        "path t.csv --label kind -o out.npy", "out.npy: npy holds numbers only, without 'status', 'grade'"
    ),
    "model to standard output": refused(
        "fit t.csv --label kind -o -", "a model is written to a file, not to standard output"
    ),
    "page to standard output": refused(
        "report t.csv --label kind -o -", "a page is written to a file, not to standard output"
    ),
    "embeddings to standard output": refused("path t.csv --label kind --embeddings -", "--embeddings takes a file"),
    "checkpoint of other work": refused(
        "path t.csv --label kind --checkpoint old.csv --bandwidths 2",
        "`checkpoint` must be a file that an earlier call wrote",
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
    "model is npz": refused("certify bad", "'bad' cannot be loaded: it is a zip archive", 1, {"bad": npz(A=X)}),
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
    "option for another command": refused("transform m t.csv --bandwidth 3", "unrecognized arguments: --bandwidth 3", 2),
}
USAGE = {
    "more components than rows": refused(
        EMBED + " --n-components 1000000000000", "t.csv: --n-components must be .*got 1000000000000"
    ),
    "no command": refused("", "the following arguments are required: COMMAND (see elliptope --help)", 2),
    "unknown command": refused("embedd t.csv", "invalid choice: 'embedd'", 2),
    "no input": refused("embed", "the following arguments are required: INPUT (see elliptope embed --help)", 2),
    "unknown option": refused(EMBED + " --bandwith 3", "unrecognized arguments: --bandwith 3", 2),
    "shortened option": refused(EMBED + " --band 3", "unrecognized arguments: --band 3", 2),
    "negative bandwidth": refused(
        EMBED + " --bandwidth -3", "--bandwidth: must be a positive number or one of auto, knn, median, got '-3'", 2
    ),
    "bandwidth NaN": refused(EMBED + " --bandwidth nan", "--bandwidth: must be a positive number or one of", 2),
    "no components": refused(
        EMBED + " --n-components 0", "--n-components: must be a whole number of at least 1, got '0'", 2
    ),
    "no jobs": refused(EMBED + " --jobs 0", "--jobs: must be a whole number other than 0 (-1: all cores), got '0'", 2),
    "neighbors of another kernel": refused(
        EMBED + " --method sdp --neighbors 5",
        "--neighbors applies to --kernel neighbors and overlap only, not to gaussian (--method sdp)",
        2,
    ),
    "neighbors of a named kernel": refused(
        EMBED + " --kernel laplacian --neighbors 5", "--neighbors applies to --kernel neighbors and overlap only", 2
    ),
    "one neighbor": refused(
        EMBED + " --kernel neighbors --neighbors 1", "--neighbors: must be a whole number of at least 2, got '1'", 2
    ),
    "neighbors and a bandwidth": refused(
        EMBED + " --method sdp --kernel neighbors --bandwidth 2",
        "--bandwidth does not apply to --kernel neighbors, which takes --neighbors instead",
        2,
    ),
    "neighbors and a slider": refused(
        "report t.csv --method sdp --label kind -o out.html --kernel neighbors --bandwidths 1,2",
        "--bandwidths does not apply to --kernel neighbors",
        2,
    ),
    "metric of another kernel": refused(
        EMBED + " --method sdp --metric cosine", "--metric applies to --kernel neighbors and overlap only", 2
    ),
    "unknown metric": refused(EMBED + " --kernel overlap --metric cubic", "--metric: invalid choice: 'cubic'", 2),
    "neighbors on a path": refused("path t.csv --drop kind --kernel neighbors", "--kernel neighbors has no bandwidth", 2),
    "unknown kernel": refused(EMBED + " --kernel cubic", "--kernel: invalid choice: 'cubic'", 2),
    "option of another method": refused(
        EMBED + " --method diffusion --tol 1e-3",
        "--tol does not apply to --method diffusion, only to multiscale, sdp, rkhs",
        2,
    ),
    "bandwidth of the default method": refused(
        EMBED + " --bandwidth 3",
        "--bandwidth does not apply to --method multiscale, the default, only to sdp, diffusion",
        2,
    ),
    "slider of the default method": refused(
        "report t.csv --label kind -o out.html --bandwidths 1,2",
        "--bandwidths does not apply to --method multiscale, the default, only to sdp",
        2,
    ),
    "density of another method": refused(
        EMBED + " --method sdp --density 0.5", "--density does not apply to --method sdp, only to multiscale", 2
    ),
    "scale weights of another method": refused(
        EMBED + " --method rkhs --scale-weights 1,1", "--scale-weights does not apply to --method rkhs, only to multi", 2
    ),
    "spread of another method": refused(
        EMBED + " --method diffusion --spread 1", "--spread does not apply to --method diffusion, only to multiscale, sdp", 2
    ),
    "two spreads for one program": refused(
        EMBED + " --method sdp --spread 0.1,1", "--spread takes one number for --method sdp, got 2", 2
    ),
    "two diffusion times for one program": refused(
        EMBED + " --method diffusion --diffusion-time 32,1", "--diffusion-time takes one number for --method diffusion", 2
    ),
    "negative spread": refused(
        EMBED + " --spread 0.1,-1", "--spread: must be a number that is not negative, or inf, or several of them, as 32,1", 2
    ),
    "diffusion time NaN": refused(
        EMBED + " --diffusion-time nan", "--diffusion-time: must be a number that is not negative, or several", 2
    ),
    "scale weight of zero": refused(EMBED + " --scale-weights 1,0", "--scale-weights: must be a positive number, or", 2),
    "density without end": refused(EMBED + " --density inf", "--density: must be a finite number, got 'inf'", 2),
    "large density": refused(EMBED + " --density 9", "--density must be a number between -4 and 4, got 9.0"),
    "diffusion time that is not whole": refused(
        EMBED + " --diffusion-time 2.5,1", "`diffusion_times` must be an integer of at least 1, got 2.5"
    ),
    "scales of different numbers": refused(
        EMBED + " --diffusion-time 8,2,1", "must have the same length, got 3 diffusion_times, 2 weights"
    ),
    "unknown method": refused(EMBED + " --method umap", "--method: invalid choice: 'umap'", 2),
    "long delimiter": refused(EMBED + " --delimiter ;;", "--delimiter: must be one character, got ';;'", 2),
    "empty selection": refused(EMBED + " --columns a,,b", "--columns: must be names or positions of columns", 2),
    "bandwidths": refused(
        "path t.csv --bandwidths 1:2", "--bandwidths: must be positive numbers, as 1,2,3, or their range", 2
    ),
    "bandwidths of zero": refused("path t.csv --bandwidths 0,1", "--bandwidths: must be positive numbers", 2),
    "too many components": refused(
        EMBED + " --method diffusion --n-components 30", "--n-components must be at most n - 1 = 29"
    ),
    "not smooth enough": refused(EMBED + " --method rkhs --smoothness 1", "--smoothness must be larger than p/2 = 1.5"),
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
    "path and embeddings in one file": refused(
        "path t.csv --drop kind --bandwidths 2 -o p.csv --embeddings p.csv -f",
        "p.csv: -o and --embeddings are the same file",
        2,
    ),
    "path and checkpoint in one file": refused(
        "path t.csv --drop kind --bandwidths 2 -o p.csv --checkpoint p.csv",
        "p.csv: -o and --checkpoint are the same file",
        2,
    ),
    "page and model in one file": refused(
        "report t.csv --label kind --no-path -o r.html --save-model r.html -f",
        "r.html: -o and --save-model are the same file",
        2,
    ),
    "coordinates in place of their table": refused(
        "embed t.csv --label kind -o t.csv -f", "t.csv: INPUT and -o are the same file; write to another one", 2
    ),
    "model in place of its table": refused("fit t.csv --label kind -o t.csv -f", "t.csv: INPUT and -o are the same file", 2),
    "coordinates in place of their model": refused(
        "transform m t.csv --format csv -o ./m -f", "./m: MODEL and -o are the same file", 2
    ),
}
PARQUET = {
    "Parquet with a column of dates that was asked for": refused(
        "embed t.parquet --columns 1-4 -o out.csv",
        "t.parquet: column 4 ('d'): dates, the first '2020-01-01 00:00:00' in row 1; --dates makes numbers of dates",
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
    "Parquet cut short": refused(
        "embed t.parquet -o out.csv", "t.parquet: not Parquet data", 1, {"t.parquet": parquet(FRAME)[:-9]}
    ),
}


def command(*argv: str, files: Mapping[str, str] | None = None) -> Any:
    for name, content in {"t.csv": GOOD, **(files or {})}.items():
        Path(name).write_text(content)
    return run_command(*argv)


def processes(script: str, **environment: str) -> Any:
    Path("t.csv").write_text(GOOD)
    Path("comma.csv").write_text(GOOD.replace(",", ";").replace(".", ","))
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
        "process: standard error full",
        lambda: processes(f"{LINE} 2>/dev/full"),
        Right("the result, and exit code 0", same_table),
    ),
    case(
        "process: standard error and input closed",
        lambda: processes(f"{LINE} -o out.csv 2>&- <&-; cat out.csv"),
        Right("the result, and exit code 0", same_table),
    ),
    case(
        "process: a full disk",
        # One block, not none: SciPy 1.13 writes a small temporary file when it is imported.
        lambda: processes(f"ulimit -f 1; {LINE} -q -o new.csv; code=$?; test ! -e new.csv && exit $code"),
        Right("exit code 1, the reason, and no file", lambda done: "File too large" in done.stderr and done.returncode == 1),
    ),
    case("process: standard output full", lambda: processes(f"{LINE} -q >/dev/full"), says("No space left on device", 1)),
    case(
        "process: a locale with decimal comma",
        lambda: processes(
            "elliptope embed comma.csv --delimiter ';' --decimal , --label kind -q | tr ';' ,", LC_ALL="de_DE.UTF-8"
        ),
        Right("the coordinates of the table with points", same_table),
    ),
]
NAMELESS = Right("that a file must be named", lambda errors: all("must be the name of a file, got ''" in e for e in errors))
SINGLE = [
    case(
        "usage: --bandwidths 1:6:1000000000",
        lambda: forked(lambda: (resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32)), bandwidths("1:6:1000000000"))),
        Error("must be at most 10000 bandwidths, got 1000000000", argparse.ArgumentTypeError),
    ),
    case(
        "usage: an output of ''",
        lambda: [
            command(*line.split(), "").err
            for line in (
                "embed t.csv --label kind -o",
                "embed t.csv --label kind --save-model",
                "path t.csv --drop kind --embeddings",
                "path t.csv --drop kind --checkpoint",
            )
        ],
        NAMELESS,
    ),
    case("usage: an input of ''", lambda: [command("embed", "").err, command("certify", "").err], NAMELESS),
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
            command("fit", "t.csv", "--method", "sdp", "--label", "kind", "-o", "m", "-q"),
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
