"""What the command line is given in error: one line says what, where and what to do; nothing is left behind."""

import io
import os
import pickle
import re
import struct
import sys
from typing import NamedTuple

import numpy as np
import pytest

from commandline import Runner, snapshot
from elliptope import InsufficientMemoryError, SDPEmbedding
from elliptope.cli.tables import text
from elliptope.persistence import save

X = np.random.default_rng(0).standard_normal((30, 3)).round(3)
ROWS = [f"{a},{b},{c},{'uv'[i % 2]}" for i, (a, b, c) in enumerate(X.tolist())]
GOOD = "\n".join(["a,b,c,kind", *ROWS]) + "\n"
MANY = ",".join(f"c{j}" for j in range(100_000)) + "\n"
EMBED = "embed t.csv --label kind -o out.csv"


def changed(row, column, cell):
    """The good table with another cell; rows and columns are counted from 1."""
    lines = GOOD.splitlines()
    cells = lines[row].split(",")
    cells[column - 1] = cell
    lines[row] = ",".join(cells)
    return "\n".join(lines) + "\n"


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def huge_npy():
    """Three numbers, declared as a million million."""
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(24)


class Case(NamedTuple):
    """A command in a folder that holds ``t.csv``, a model ``m`` fitted to it, and ``files``."""

    command: str
    message: str
    code: int = 1
    files: dict = {}


def csv_case(content, message, command=EMBED, code=1):
    return Case(command, message, code, {"t.csv": content})


TABLES = {
    "missing file": Case("embed nowhere.csv -o out.csv", "nowhere.csv: No such file or directory"),
    "folder": Case("embed folder.csv -o out.csv", "folder.csv: Is a directory"),
    "empty": csv_case("", "t.csv: the file is empty"),
    "blank lines": csv_case("\n\n\n", "t.csv: the file is empty"),
    "header alone": csv_case("a,b,c,kind\n", "t.csv: there is a header, but no row of data (--no-header if line 1 is data)"),
    "one row": csv_case("a,b,c,kind\n1,2,3,u\n", "t.csv: 1 row; an embedding takes 2 or more"),
    "identical rows": csv_case(
        "a,kind\n" + "1,u\n" * 20, "`bandwidth` cannot be chosen by a rule when all points are identical"
    ),
    "short row": csv_case(GOOD + "1,2,3\n", "t.csv: row 31 (line 32): 3 cells where the header has 4"),
    "long row": csv_case(
        GOOD + "1,2,3,4,5\n",
        "t.csv: row 31 (line 32): 5 cells where the header has 4 (a cell with a comma, decimal or other, needs quotes)",
    ),
    "long row, no header": csv_case(
        "1,2\n3,4\n5,6,7\n", "t.csv: row 3 (line 3): 3 cells where row 1 has 2", "embed t.csv -o out.csv"
    ),
    "text": csv_case(changed(17, 2, "abc"), "t.csv: row 17 (line 18), column 2 ('b'): 'abc' is not a number"),
    "text column": csv_case(
        GOOD,
        "t.csv: row 1 (line 2), column 4 ('kind'): 'u' is not a number; leave the column out with --drop kind, "
        "or keep it with --label kind",
        "embed t.csv -o out.csv",
    ),
    "underscores": csv_case(changed(9, 1, "1_000"), "t.csv: row 9 (line 10), column 1 ('a'): '1_000' is not a number"),
    "empty cell": csv_case(changed(4, 3, ""), "t.csv: row 4 (line 5), column 3 ('c'): the cell is empty"),
    "NaN": csv_case(changed(5, 1, "nan"), "t.csv: row 5 (line 6), column 1 ('a'): a value is missing (NaN)"),
    "several NaN": csv_case(
        changed(5, 1, "nan") + "1,NaN,2,u\n",
        "t.csv: row 5 (line 6), column 1 ('a'): a value is missing (NaN); 2 rows have such values",
    ),
    "NA": csv_case(changed(5, 1, "N/A"), "t.csv: row 5 (line 6), column 1 ('a'): a value is missing ('N/A')"),
    "infinite": csv_case(changed(5, 1, "-inf"), "t.csv: row 5 (line 6), column 1 ('a'): -inf is not a finite number"),
    "overflow": csv_case(changed(5, 1, "1e999"), "t.csv: row 5 (line 6), column 1 ('a'): inf is not a finite number"),
    "decimal comma": csv_case(
        GOOD.replace(",", ";").replace(".", ","),
        "column 1 ('a'): '0,126' is not a number; if that is a decimal comma, use --decimal ,",
        EMBED + " --delimiter ;",
    ),
    "decimal comma in vain": csv_case(
        changed(3, 2, "1.5"),
        "t.csv: row 1 (line 2), column 1 ('a'): '0.126' is not a number with --decimal ,",
        EMBED + " --decimal ,",
    ),
    "decimal comma, same delimiter": csv_case(
        GOOD.replace(".", ","), "t.csv: row 1 (line 2): 7 cells where the header has 4 (a cell with a comma, decimal"
    ),
    "wrong delimiter": csv_case(
        GOOD.replace(",", ";"), "t.csv: line 1: only one column when split at ','; try --delimiter ';'"
    ),
    "wrong delimiter, no header": csv_case(
        "1,5;2\n3,5;4\n", "column 2: '5;2' is not a number; is the delimiter ';'?", "embed t.csv -o out.csv --no-header"
    ),
    "comma in tsv": Case(
        "embed t.tsv -o out.csv",
        r"t.tsv: line 1: only one column when split at '\t'; try --delimiter ','",
        1,
        {"t.tsv": GOOD},
    ),
    "two names alike": csv_case(
        GOOD.replace("a,b,c", "a,b,a", 1),
        "t.csv: columns 1 and 3 are both named 'a'; rename one, or leave one out with --drop 3",
    ),
    "column without a name": csv_case(
        GOOD.replace("a,b,c", ",b,c", 1),
        "t.csv: column 1 has no name (row numbers, written by another program?); use --id 1",
    ),
    "latin-1": csv_case(
        GOOD.replace("30", "30").encode() + b"1,2,3,caf\xe9\n",
        "t.csv: line 32: byte 0xe9 is not utf-8; try --encoding latin-1",
    ),
    "utf-16": csv_case(GOOD.encode("utf-16"), "t.csv: line 1: NUL bytes: not a text file, or UTF-16 (--encoding utf-16)"),
    "utf-16 without a mark": csv_case(GOOD.encode("utf-16-le"), "t.csv: line 1: NUL bytes: not a text file, or UTF-16"),
    "not utf-16": csv_case(GOOD + "1", "t.csv: line 1: not utf-16 text", EMBED + " --encoding utf-16"),
    "binary": csv_case(b"\x7fELF\x02\x01\x01\x00\x00\n\x00", "t.csv: line 1: NUL bytes"),
    "unknown encoding": Case(EMBED + " --encoding klingon", "--encoding must name a text encoding", 2),
    "open quote": csv_case(changed(3, 4, '"u'), "t.csv: line 4: unexpected end of data (are quotes closed"),
    "text after a quote": csv_case(changed(3, 4, '"u"v'), "t.csv: line 4: ',' expected after '\"'"),
    "huge header": csv_case("a" * 2**20 + "," + GOOD, "t.csv: line 1: field larger than field limit (131072)"),
    "many names": csv_case(MANY + "1,2\n3,4\n", "2 cells where the header has 100000", "embed t.csv"),
    "many names, none right": csv_case(MANY + "1,2\n", "there is no column 'kind'; its columns are 'c0', .* and 99992 more"),
    "long name": csv_case(GOOD.replace("b", "b" * 100_000, 1).replace(ROWS[0], "1,x,3,u"), "'x' is not a number"),
    "unknown suffix": Case("embed t.dat -o out.csv", "t.dat: the suffix '.dat' tells no format", 2, {"t.dat": GOOD}),
    "spreadsheet": Case("embed t.xlsx -o out.csv", "t.xlsx: a spreadsheet is neither read nor written; save it as CSV", 2),
    "unknown column": Case(
        EMBED + " --columns a,x", "t.csv: --columns: there is no column 'x'; its columns are 'a', 'b', 'c'"
    ),
    "column too far": Case(EMBED + " --columns 2-9", "t.csv: --columns 2-9: columns are counted from 1 to 4"),
    "no label": Case("embed t.csv --label kin -o out.csv", "t.csv: --label: there is no column 'kin'"),
    "nothing left": Case(EMBED + " --drop 1-3", "t.csv: no column is left to embed"),
    "negative weight": Case(EMBED + " --weight a", "column 1 ('a'): a weight must not be negative, got"),
    "weights of zero": csv_case(
        "a,w\n1,0\n2,0\n3,1\n", "fewer than 2 rows have a positive weight", "embed t.csv --weight w"
    ),
    "too large to scale": csv_case(
        changed(5, 2, "1e200"),
        "t.csv: numbers too large or too small for a standard deviation in 'b'",
        EMBED + " --standardize",
    ),
    "too small to scale": csv_case(
        "a,kind\n1e-200,u\n2e-200,v\n3e-200,v\n", "too large or too small for a standard deviation", EMBED + " --standardize"
    ),
    "output has that name": csv_case(
        GOOD.replace("kind", "z1", 1), "two columns of the output would be called 'z1'", "embed t.csv --label z1 -o out.csv"
    ),
}
BINARY = {
    "npy of objects": Case(
        "embed t.npy -o out.csv",
        "t.npy: not NPY data, or Python objects, which are not loaded: they could run code",
        1,
        {"t.npy": npy(np.array([[{}, 1.0]], dtype=object))},
    ),
    "npy that is a pickle": Case("embed t.npy -o out.csv", "t.npy: not NPY data, or", 1, {"t.npy": pickle.dumps(X)}),
    "npy cut short": Case("embed t.npy -o out.csv", "t.npy: not NPY data, or damaged", 1, {"t.npy": npy(X)[:-9]}),
    "npy of a huge shape": Case(
        "embed t.npy -o out.csv", "(t.npy: not NPY data|not enough memory)", 1, {"t.npy": huge_npy()}
    ),
    "npy with one dimension": Case(
        "embed t.npy -o out.csv",
        "t.npy: the array must have 2 dimensions, rows and columns, got shape (3,)",
        1,
        {"t.npy": npy(np.ones(3))},
    ),
    "npy without rows": Case("embed t.npy -o out.csv", "t.npy: the array is empty", 1, {"t.npy": npy(np.ones((0, 3)))}),
    "npy of complex numbers": Case(
        "embed t.npy -o out.csv",
        "t.npy: column 1: values of type complex128 where numbers are expected",
        1,
        {"t.npy": npy(X * 1j)},
    ),
    "structured npy": Case(
        "embed t.npy -o out.csv",
        "structured array with fields a, b",
        1,
        {"t.npy": npy(np.ones(3, dtype="f8,f8").astype([("a", "f8"), ("b", "f8")]))},
    ),
    "NaN in npy": Case(
        "embed t.npy -o out.csv",
        "t.npy: row 3, column 2: a value is missing (NaN)",
        1,
        {"t.npy": npy(np.where(np.arange(90).reshape(30, 3) == 7, np.nan, X))},
    ),
    "npz with two matrices": Case(
        "embed t.npz -o out.csv", "t.npz: several matrices, 'A', 'B': choose one with --array", 1, {"t.npz": npz(A=X, B=X)}
    ),
    "npz without that matrix": Case(
        "embed t.npz --array C -o out.csv", "t.npz: there is no array 'C'; there are 'A', 'B'", 1, {"t.npz": npz(A=X, B=X)}
    ),
    "npz of objects": Case(
        "embed t.npz -o out.csv", "which are not loaded", 1, {"t.npz": npz(A=np.array([[{}]], dtype=object))}
    ),
    "npz cut short": Case("embed t.npz -o out.csv", "t.npz: not NPZ data, or", 1, {"t.npz": npz(A=X)[:-50]}),
    "npz that is npy": Case("embed t.npz -o out.csv", "t.npz: a single array, not an archive", 1, {"t.npz": npy(X)}),
    "npy that is npz": Case(
        "embed t.npy -o out.csv", "t.npy: an archive of arrays, not a single one", 1, {"t.npy": npz(A=X)}
    ),
    "parquet that is text": Case("embed t.parquet -o out.csv", "t.parquet: not Parquet data", 1, {"t.parquet": GOOD}),
}
OUTPUTS = {
    "existing output": Case("embed t.csv --label kind -o old.csv", "old.csv: exists; use --force to replace it"),
    "existing model": Case("fit t.csv --label kind -o m", "m: exists; use --force to replace it"),
    "existing second output": Case(EMBED + " --save-model m", "m: exists; use --force"),
    "existing page": Case("report t.csv --label kind -o m", "m: exists; use --force"),
    "page that is no page": Case("report t.csv --label kind -o r.pdf", "r.pdf: a page is HTML, not .pdf; name it .html", 2),
    "output is a folder": Case("embed t.csv --label kind -o folder.csv --force", "folder.csv: a folder; name a file"),
    "no such folder": Case("embed t.csv --label kind -o no/out.csv", r"no/out.csv: there is no folder '.*/no'"),
    "folder is a file": Case("embed t.csv --label kind -o t.csv/out.csv", "t.csv/out.csv: there is no folder"),
    "unwritable": Case("embed t.csv --label kind -o /proc/out.csv", "/proc/out.csv"),
    "unknown output": Case("embed t.csv --label kind -o out.dat", "out.dat: the suffix '.dat' tells no format", 2),
    "label in npy": Case("embed t.csv --label kind -o out.npy", "out.npy: npy holds numbers only, without 'kind'"),
    "path in npy": Case("path t.csv --label kind -o out.npy", "out.npy: npy holds numbers only, without 'status', 'grade'"),
    "model to standard output": Case("fit t.csv --label kind -o -", "a model is written to a file, not to standard output"),
    "page to standard output": Case("report t.csv --label kind -o -", "a page is written to a file, not to standard output"),
    "embeddings to standard output": Case("path t.csv --label kind --embeddings -", "--embeddings takes a file"),
    "checkpoint of other work": Case(
        "path t.csv --label kind --checkpoint old.csv --bandwidths 2",
        "`checkpoint` must be a file that an earlier call wrote",
    ),
}
MODELS = {
    "no model": Case("transform nowhere t.csv", "nowhere: No such file or directory"),
    "model is a folder": Case("transform folder.csv t.csv", "folder.csv: Is a directory"),
    "model is empty": Case("transform bad t.csv", "'bad' cannot be loaded: it is empty", 1, {"bad": ""}),
    "model is a table": Case("transform t.csv t.csv", "t.csv: a table by its suffix, .*; the order is MODEL INPUT"),
    "model is a pickle": Case(
        "transform bad t.csv",
        "'bad' cannot be loaded: it is a pickle. Unpickling runs whatever code",
        1,
        {"bad": pickle.dumps({"anything": 1})},
    ),
    "model is npz": Case("certify bad", "'bad' cannot be loaded: it is a zip archive", 1, {"bad": npz(A=X)}),
    "model of another number of columns": Case(
        "transform m t.npy -o out.csv",
        "t.npy: 2 columns, but the model takes 3 ('a', 'b', 'c'); choose with --columns or --drop",
        1,
        {"t.npy": npy(X[:, :2])},
    ),
    "columns missing": Case(
        "transform m new.csv -o out.csv",
        "new.csv: the model needs 'b', 'c', which the table lacks; its columns are 'a', 'd'",
        1,
        {"new.csv": "a,d\n1,2\n3,4\n"},
    ),
    "report of a diffusion map": Case(
        "report t.csv --method diffusion -o out.html", "--method: invalid choice: 'diffusion'", 2
    ),
    "report of no model": Case("report bad -o out.html", "'bad' cannot be loaded", 1, {"bad": "something else"}),
    "report of a model with options": Case("report m --label kind -o out.html", "m: --label is for tables", 2),
    "option for another command": Case("transform m t.csv --bandwidth 3", "unrecognized arguments: --bandwidth 3", 2),
}
USAGE = {
    "no command": Case("", "the following arguments are required: COMMAND (see elliptope --help)", 2),
    "unknown command": Case("embedd t.csv", "invalid choice: 'embedd'", 2),
    "no input": Case("embed", "the following arguments are required: INPUT (see elliptope embed --help)", 2),
    "unknown option": Case(EMBED + " --bandwith 3", "unrecognized arguments: --bandwith 3", 2),
    "shortened option": Case(EMBED + " --band 3", "unrecognized arguments: --band 3", 2),
    "negative bandwidth": Case(
        EMBED + " --bandwidth -3", "--bandwidth: must be a positive number or one of auto, knn, median, got '-3'", 2
    ),
    "bandwidth NaN": Case(EMBED + " --bandwidth nan", "--bandwidth: must be a positive number or one of", 2),
    "no components": Case(EMBED + " --n-components 0", "--n-components: must be a whole number of at least 1, got '0'", 2),
    "no jobs": Case(EMBED + " --jobs 0", "--jobs: must be a whole number other than 0 (-1: all cores), got '0'", 2),
    "neighbors of another kernel": Case(EMBED + " --neighbors 5", "--neighbors applies to --kernel neighbors only", 2),
    "neighbors of a named kernel": Case(
        EMBED + " --kernel laplacian --neighbors 5", "--neighbors applies to --kernel neighbors only", 2
    ),
    "one neighbor": Case(
        EMBED + " --kernel neighbors --neighbors 1", "--neighbors: must be a whole number of at least 2, got '1'", 2
    ),
    "neighbors and a bandwidth": Case(
        EMBED + " --kernel neighbors --bandwidth 2",
        "--bandwidth does not apply to --kernel neighbors, which takes --neighbors instead",
        2,
    ),
    "neighbors and a slider": Case(
        "report t.csv --label kind -o out.html --kernel neighbors --bandwidths 1,2",
        "--bandwidths does not apply to --kernel neighbors",
        2,
    ),
    "neighbors in a diffusion map": Case(
        EMBED + " --method diffusion --kernel neighbors",
        "--kernel neighbors does not apply to --method diffusion, only to sdp",
        2,
    ),
    "neighbors on a path": Case("path t.csv --drop kind --kernel neighbors", "--kernel neighbors has no bandwidth", 2),
    "more neighbors than rows": Case(
        EMBED + " --kernel neighbors --neighbors 31", "`n_neighbors` must be between 2 and the number of distinct points, 30"
    ),
    "unknown kernel": Case(EMBED + " --kernel cubic", "--kernel: invalid choice: 'cubic'", 2),
    "option of another method": Case(
        EMBED + " --method diffusion --tol 1e-3", "--tol does not apply to --method diffusion, only to sdp, rkhs", 2
    ),
    "long delimiter": Case(EMBED + " --delimiter ;;", "--delimiter: must be one character, got ';;'", 2),
    "empty selection": Case(EMBED + " --columns a,,b", "--columns: must be names or positions of columns", 2),
    "bandwidths": Case("path t.csv --bandwidths 1:2", "--bandwidths: must be positive numbers, as 1,2,3, or their range", 2),
    "bandwidths of zero": Case("path t.csv --bandwidths 0,1", "--bandwidths: must be positive numbers", 2),
    "too many components": Case(
        EMBED + " --method diffusion --n-components 30", "`n_components` must be at most n - 1 = 29"
    ),
    "not smooth enough": Case(EMBED + " --method rkhs --smoothness 1", "`smoothness` must be larger than p/2 = 1.5"),
}
CASES = TABLES | BINARY | OUTPUTS | MODELS | USAGE


@pytest.fixture
def cli(monkeypatch, capsysbinary):
    return Runner(monkeypatch, capsysbinary)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m"
    est = SDPEmbedding(bandwidth=2.0, random_state=0).fit(X)
    est.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    save(est, path)
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("elliptope.cli.commands.report.collect", None)  # never to be called
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "t.csv").write_text(GOOD)
    (tmp_path / "old.csv").write_text("old")
    (tmp_path / "m").write_bytes(model)
    return tmp_path


def check(outcome, code, message):
    assert outcome.code == code, outcome
    assert outcome.out == b""
    assert "Traceback" not in outcome.err
    lines = outcome.err.splitlines()
    errors = [line for line in lines if line.startswith("elliptope: error: ")]
    assert errors == lines[-1:], outcome.err
    # Parentheses are meant as such; a message with wildcards or alternatives is an expression.
    expression = message if ".*" in message or "|" in message else re.escape(message)
    assert re.search(expression, errors[0]), errors[0]
    assert len(errors[0]) < 700


@pytest.mark.parametrize("name", CASES)
def test_bad_input(cli, folder, name):
    case = CASES[name]
    for path, content in case.files.items():
        (folder / path).write_bytes(content.encode() if isinstance(content, str) else content)
    if name == "unwritable" and not os.path.isdir("/proc"):
        pytest.skip("needs a folder that nobody can write to")
    before = snapshot(folder)
    check(cli(*case.command.split()), case.code, case.message)
    assert snapshot(folder) == before


def test_there_are_enough_cases():
    assert len(CASES) >= 25


class TestModelFiles:
    @pytest.mark.parametrize(
        "command", ["transform bad t.csv -o out.csv", "certify bad", "info bad", "report bad -o out.html"]
    )
    @pytest.mark.parametrize("damage", ["cut", "flipped", "appended"])
    def test_damage(self, cli, folder, model, damage, command):
        flipped = bytearray(model)
        flipped[len(model) // 2] ^= 1
        content = {"cut": model[: len(model) // 2], "flipped": bytes(flipped), "appended": model + b"x"}[damage]
        (folder / "bad").write_bytes(content)
        before = snapshot(folder)
        check(cli(*command.split()), 1, "'bad' cannot be loaded: it")
        assert snapshot(folder) == before

    @pytest.mark.parametrize(
        ("entry", "value"),
        [
            ("standardize", {"mean": [0, 0], "scale": [1, 1]}),
            ("standardize", {"mean": [0, 0, 0], "scale": [1, 0, 1]}),
            ("standardize", {"mean": [0, 0, None], "scale": [1, 1, 1]}),
            ("standardize", "yes"),
            ("label", {"name": "kind", "values": ["u"]}),
            ("label", {"name": "kind", "values": [["u"]] * 30}),
            ("id", {"name": 3, "values": ["u"] * 30}),
            ("source", ["t.csv"]),
        ],
    )
    def test_metadata_is_not_believed(self, cli, folder, entry, value):
        table = {"source": "t.csv", "standardize": None, "label": None, "id": None, entry: value}
        save(SDPEmbedding(bandwidth=2.0, random_state=0).fit(X), folder / "bad", metadata={"table": table})
        check(cli("transform", "bad", "t.csv", "--drop", "kind"), 1, "bad: the description of its table is not valid")

    def test_metadata_that_is_no_table(self, cli, folder):
        save(SDPEmbedding(bandwidth=2.0, random_state=0).fit(X), folder / "bad", metadata={"table": [1]})
        check(cli("info", "bad"), 1, "bad: the description of its table is not valid")


class TestTrouble:
    """What no file is to blame for."""

    def run(self, cli, folder, code, message, command=EMBED):
        before = snapshot(folder)
        check(cli(*command.split()), code, message)
        assert snapshot(folder) == before

    def test_very_long_line(self, cli, folder, monkeypatch):
        monkeypatch.setattr(text, "_LONGEST_LINE", 20)
        self.run(cli, folder, 1, "t.csv: line 2: more than 20 characters in one line: this is not a table")

    @pytest.mark.parametrize("module", ["pyarrow", "pyarrow.parquet"])
    def test_parquet_without_pyarrow(self, cli, folder, monkeypatch, module):
        (folder / "t.parquet").write_bytes(b"PAR1")
        monkeypatch.setitem(sys.modules, module, None)
        self.run(cli, folder, 1, "Parquet files need the extra `cli`: pip install 'elliptope[cli]'", "embed t.parquet")

    def test_report_without_its_extra(self, cli, folder, monkeypatch):
        monkeypatch.setitem(sys.modules, "plotly.offline", None)
        monkeypatch.setattr(SDPEmbedding, "fit", None)  # nothing is computed that cannot be shown
        message = "report pages need the extra `report`: pip install 'elliptope[report]' (in a clone: pip install '.["
        self.run(cli, folder, 1, message, "report t.csv --label kind -o r.html")

    @pytest.mark.parametrize("command", ["embed t.csv --label kind -o z.parquet", "path t.csv --drop kind -o p.parquet"])
    def test_parquet_that_could_not_be_written(self, cli, folder, monkeypatch, command):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        monkeypatch.setattr(SDPEmbedding, "fit", None)
        self.run(cli, folder, 1, "Parquet files need the extra `cli`: pip install", command)

    @pytest.mark.parametrize("command", [EMBED, "fit t.csv --label kind -o new"])
    @pytest.mark.parametrize(
        ("error", "code", "message"),
        [(OSError(28, "No space left on device"), 1, "No space left on device"), (KeyboardInterrupt(), 130, "interrupted")],
    )
    def test_while_writing(self, cli, folder, monkeypatch, command, error, code, message):
        def fail(*_):
            raise error

        monkeypatch.setattr(os, "fsync", fail)
        self.run(cli, folder, code, message, command)

    def test_file_that_appears_meanwhile(self, cli, folder, monkeypatch):
        original = SDPEmbedding.fit

        def slow(self, *args, **kwargs):
            (folder / "out.csv").write_text("somebody else's")
            return original(self, *args, **kwargs)

        monkeypatch.setattr(SDPEmbedding, "fit", slow)
        check(cli(*EMBED.split()), 1, "out.csv: exists; use --force to replace it")
        assert (folder / "out.csv").read_text() == "somebody else's"

    @pytest.mark.parametrize(
        ("error", "code", "message"),
        [
            (KeyboardInterrupt(), 130, "interrupted"),
            (
                MemoryError("Unable to allocate 3 TiB"),
                1,
                "t.csv: not enough memory: the kernel of 30 rows alone takes 6.71e-06 GiB; --kernel neighbors takes",
            ),
            (InsufficientMemoryError("Not enough memory. It needs 5 GB."), 1, "t.csv: Not enough memory. It needs 5 GB."),
            (TypeError("two\nlines"), 1, "unexpected TypeError: two lines (run again with --debug, and report it)"),
            (SystemExit(143), 143, None),
        ],
    )
    def test_while_fitting(self, cli, folder, monkeypatch, error, code, message):
        def fail(*_, **__):
            raise error

        monkeypatch.setattr(SDPEmbedding, "fit", fail)
        before = snapshot(folder)
        outcome = cli(*EMBED.split())
        assert outcome.code == code
        if message is not None:
            check(outcome, code, message)
        assert snapshot(folder) == before

    def test_memory_for_neighbors(self, cli, folder, monkeypatch):
        def fail(*_, **__):
            raise MemoryError

        monkeypatch.setattr(SDPEmbedding, "fit", fail)
        outcome = cli(*EMBED.split(), "--kernel", "neighbors")
        check(outcome, 1, "t.csv: not enough memory; fit a part of the rows")

    def test_interrupted_fit_is_not_kept(self, cli, folder, monkeypatch):
        """The solver catches Ctrl-C and gives what it has; the command line wants all or nothing."""

        def press(progress):
            raise KeyboardInterrupt

        monkeypatch.setattr("elliptope.estimators.certified.progress_callback", lambda estimator, verbose: press)
        self.run(cli, folder, 130, "interrupted")

    def test_traceback_on_request(self, cli, folder):
        outcome = cli(*EMBED.split(), "--columns", "x", "--debug")
        assert outcome.code == 1
        assert "Traceback (most recent call last)" in outcome.err
        assert outcome.err.splitlines()[-1].startswith("elliptope: error: t.csv: --columns")
