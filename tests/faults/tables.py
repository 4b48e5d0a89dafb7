"""Tables that cannot be read: one line says what is wrong, where, and what to do; no file is left behind."""

from __future__ import annotations

import gzip

import numpy as np

from commandline import EMBED, GOOD, ROWS, X, changed, huge_npy, npy, npz
from faults.case import Case, csv_case, refused

MANY = ",".join(f"c{j}" for j in range(100_000)) + "\n"
TABLES = {
    "missing file": refused("embed nowhere.csv -o out.csv", "nowhere.csv: No such file or directory"),
    "folder": refused("embed folder.csv -o out.csv", "folder.csv: a folder; name a file, or a folder of Parquet files"),
    "empty": csv_case("", "t.csv: the file is empty"),
    "blank lines": csv_case("\n\n\n", "t.csv: the file is empty"),
    "header alone": csv_case("a,b,c,kind\n", "t.csv: there is a header, but no row of data"),
    "one row": csv_case("a,b,c,kind\n1,2,3,u\n", "t.csv: 1 row; an embedding takes 2 or more"),
    "identical rows": csv_case("a,kind\n" + "1,u\n" * 20, "`X` must have at least 2 distinct points, got 1"),
    "short row": csv_case(GOOD + "1,2,3\n", "t.csv: row 31 (line 32): 3 cells where the header has 4"),
    "long row": csv_case(
        GOOD + "1,2,3,4,5\n",
        "t.csv: row 31 (line 32): 5 cells where the header has 4 (a cell with a comma, decimal or other, needs quotes)",
    ),
    "text": csv_case(
        changed(17, 2, "abc"),
        "column 2 ('b'): 1 cell of text among 29 numbers, the first 'abc' in row 17 (line 18)",
    ),
    "text column that was asked for": csv_case(
        GOOD,
        "t.csv: column 4 .'kind'.: text, 2 values, the first 'u' in row 1 .line 2.; .*--drop kind leaves out the column",
        "embed t.csv --columns 1-4 -o out.csv",
    ),
    "text alone": csv_case(
        "a,b\nu,x\nv,y\n",
        "t.csv: no column of numbers ('a: text, 2 values', 'b: text, 2 values')",
        "embed t.csv -o out.csv",
    ),
    "several columns": csv_case(
        "a,b,c\n1,x,3\n,2,4\n3,3,5\n",
        "t.csv: 2 columns cannot be used as they are; .*--drop a,b leaves out the columns",
        "embed t.csv -o out.csv",
    ),
    "missing weight": csv_case(
        "a,w\n1,1\n2,\n3,1\n", "column 2 ('w'): 1 missing value, the first in row 2 (line 3)", "embed t.csv --weight w"
    ),
    "text for a weight": csv_case(
        "a,w\n1,1\n2,x\n3,1\n", "column 2 ('w'): 1 cell of text, not weights, the first 'x'", "embed t.csv --weight w"
    ),
    "underscores": csv_case(
        changed(9, 1, "1_000"), "column 1 ('a'): 1 cell of text among 29 numbers, the first '1_000' in row 9 (line 10)"
    ),
    "empty cell": csv_case(
        changed(4, 3, ""),
        "t.csv: column 3 .'c'.: 1 missing value, the first in row 4 .line 5.; .*--drop c leaves out the column",
    ),
    "NaN": csv_case(changed(5, 1, "nan"), "t.csv: column 1 ('a'): 1 missing value, the first in row 5 (line 6)"),
    "infinite": csv_case(changed(5, 1, "-inf"), "t.csv: column 1 ('a'): 1 infinite number, the first in row 5 (line 6)"),
    "decimal comma": csv_case(
        GOOD.replace(",", ";").replace(".", ","),
        "t.csv: 3 columns cannot be used as they are",
    ),
    "decimal comma, same delimiter": csv_case(
        GOOD.replace(".", ","), "t.csv: row 1 (line 2): 7 cells where the header has 4 (a cell with a comma, decimal"
    ),
    "wrong delimiter": csv_case(GOOD.replace(",", " "), "t.csv: line 1: only one column when split at ','"),
    "title": csv_case("Flowers\n" + GOOD, "t.csv: line 1: one cell, where line 2 has more; if it is a title"),
    "two names alike": csv_case(
        GOOD.replace("a,b,c", "a,b,a", 1),
        "t.csv: columns 1 and 3 are both named 'a'; rename one, or leave one out with --drop 3",
    ),
    "column without a name": csv_case(
        GOOD.replace("a,b,c", "a,,c", 1),
        "t.csv: column 2 has no name (row numbers, written by another program?); use --id 2",
    ),
    "latin-1": csv_case(
        GOOD.replace("30", "30").encode() + b"1,2,3,caf\xe9\n",
        "t.csv: line 32: byte 0xe9 is not utf-8",
    ),
    "utf-16": csv_case(GOOD.encode("utf-16"), "t.csv: line 1: NUL bytes: not a text file, or UTF-16"),
    "binary": csv_case(b"\x7fELF\x02\x01\x01\x00\x00\n\x00", "t.csv: line 1: NUL bytes"),
    "open quote": csv_case(changed(3, 4, '"u'), "t.csv: line 4: unexpected end of data (are quotes closed"),
    "huge header": csv_case("a" * 2**20 + "," + GOOD, "t.csv: line 1: field larger than field limit (131072)"),
    "many names, none right": csv_case(MANY + "1,2\n", "there is no column 'kind'; its columns are 'c0', .* and 99992 more"),
    "long name": csv_case(
        GOOD.replace("b", "b" * 100_000, 1).replace(ROWS[0], "1,x,3,u"), "the first 'x' in row 1 (line 2)"
    ),
    "unknown suffix": refused("embed t.dat -o out.csv", "t.dat: the suffix '.dat' tells no format", 2, {"t.dat": GOOD}),
    "spreadsheet": refused(
        "embed t.xlsx -o out.csv", "t.xlsx: a spreadsheet is neither read nor written; save it as CSV", 2
    ),
    "unknown column": refused(
        EMBED + " --columns a,x", "t.csv: --columns: there is no column 'x'; its columns are 'a', 'b', 'c'"
    ),
    "column too far": refused(EMBED + " --columns 2-9", "t.csv: --columns 2-9: columns are counted from 1 to 4"),
    "no label": refused("embed t.csv --label kin -o out.csv", "t.csv: --label: there is no column 'kin'"),
    "nothing left": refused(EMBED + " --drop 1-3", "t.csv: no column is left to embed"),
    "negative weight": refused(EMBED + " --weight a", "column 1 ('a'): a weight must not be negative, got"),
    "weights of zero": csv_case(
        "a,w\n1,0\n2,0\n3,1\n", "fewer than 2 rows have a positive weight", "embed t.csv --weight w"
    ),
    "gzip cut short": refused(
        "embed t.csv.gz -o out.csv",
        "t.csv.gz: compressed by gzip, and damaged",
        1,
        {"t.csv.gz": gzip.compress(GOOD.encode())[:-9]},
    ),
    "npy with gzip": refused(EMBED.replace("out.csv", "out.npy.gz"), "out.npy.gz: npy is not written with gzip", 2),
    "output has that name": csv_case(
        GOOD.replace("kind", "z1", 1),
        "two columns of the output would be called 'z1'",
        "embed t.csv --method sdp --label z1 -o out.csv",
    ),
}
BINARY = {
    "npy cut short": refused("embed t.npy -o out.csv", "t.npy: not NPY data, or damaged", 1, {"t.npy": npy(X)[:-9]}),
    "npy of a huge shape": refused(
        "embed t.npy -o out.csv", "(t.npy: not NPY data|not enough memory)", 1, {"t.npy": huge_npy()}
    ),
    "npy with one dimension": refused(
        "embed t.npy -o out.csv",
        "t.npy: the array must have 2 dimensions, rows and columns, got shape (3,)",
        1,
        {"t.npy": npy(np.ones(3))},
    ),
    "npy without rows": refused("embed t.npy -o out.csv", "t.npy: the array is empty", 1, {"t.npy": npy(np.ones((0, 3)))}),
    "npy of complex numbers": refused(
        "embed t.npy -o out.csv",
        "t.npy: column 1: values of type complex128 where numbers are expected",
        1,
        {"t.npy": npy(X * 1j)},
    ),
    "structured npy": refused(
        "embed t.npy -o out.csv",
        "structured array with fields a, b",
        1,
        {"t.npy": npy(np.ones(3, dtype="f8,f8").astype([("a", "f8"), ("b", "f8")]))},
    ),
    "NaN in npy": refused(
        "embed t.npy -o out.csv",
        "t.npy: column 2: 1 missing value, the first in row 3",
        1,
        {"t.npy": npy(np.where(np.arange(90).reshape(30, 3) == 7, np.nan, X))},
    ),
    "npz with two matrices": refused(
        "embed t.npz -o out.csv", "t.npz: several matrices, 'A', 'B': choose one", 1, {"t.npz": npz(A=X, B=X)}
    ),
    "npz cut short": refused("embed t.npz -o out.csv", "t.npz: not NPZ data, or", 1, {"t.npz": npz(A=X)[:-50]}),
    "npz that is npy": refused("embed t.npz -o out.csv", "t.npz: a single array, not an archive", 1, {"t.npz": npy(X)}),
    "npy that is npz": refused(
        "embed t.npy -o out.csv", "t.npy: an archive of arrays, not a single one", 1, {"t.npy": npz(A=X)}
    ),
    "parquet that is text": refused("embed t.parquet -o out.csv", "t.parquet: not Parquet data", 1, {"t.parquet": GOOD}),
}
CASES = [Case("command line", f"table: {name}", *pair) for name, pair in (TABLES | BINARY).items()]
