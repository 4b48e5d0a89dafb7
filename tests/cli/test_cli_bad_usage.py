"""Options, outputs and models that are wrong: one line says what is wrong; no file is left behind."""

import os
import pickle

import pytest

from commandline import EMBED, Case, X, check, check_case, npy, npz, snapshot
from common import fit
from elliptope.persistence import save

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
CASES = OUTPUTS | MODELS | USAGE


@pytest.mark.parametrize("name", CASES)
def test_one_line_says_what_is_wrong(cli, folder, name):
    if name == "unwritable" and not os.path.isdir("/proc"):
        pytest.skip("needs a folder that nobody can write to")
    check_case(cli, folder, CASES[name])


class TestModelFiles:
    @pytest.mark.parametrize(
        "command", ["transform bad t.csv -o out.csv", "certify bad", "info bad", "report bad -o out.html"]
    )
    @pytest.mark.parametrize("damage", ["cut", "flipped", "appended"])
    def test_damage(self, cli, folder, small_model, damage, command):
        flipped = bytearray(small_model)
        flipped[len(small_model) // 2] ^= 1
        content = {"cut": small_model[:1000], "flipped": bytes(flipped), "appended": small_model + b"x"}[damage]
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
        save(fit(X, bandwidth=2.0), folder / "bad", metadata={"table": table})
        check(cli("transform", "bad", "t.csv", "--drop", "kind"), 1, "bad: the description of its table is not valid")

    def test_metadata_that_is_no_table(self, cli, folder):
        save(fit(X, bandwidth=2.0), folder / "bad", metadata={"table": [1]})
        check(cli("info", "bad"), 1, "bad: the description of its table is not valid")
