"""Failures that no file is the cause of: missing libraries, full disks, little memory, Ctrl-C."""

import os
import sys
from contextlib import nullcontext

import pytest

from commandline import EMBED, SDP, check, snapshot
from elliptope import InsufficientMemoryError, MultiscaleEmbedding, SDPEmbedding


def run(cli, folder, code, message, command=EMBED):
    before = snapshot(folder)
    check(cli(*command.split()), code, message)
    assert snapshot(folder) == before


@pytest.mark.parametrize("module", ["pyarrow", "pyarrow.parquet"])
def test_parquet_without_pyarrow(cli, folder, monkeypatch, module):
    (folder / "t.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, module, None)
    run(cli, folder, 1, f"Parquet files need {module}, of the extra `cli`: pip install 'elliptope[cli]'", "embed t.parquet")


def test_parquet_that_could_not_be_written(cli, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr(MultiscaleEmbedding, "fit", None)
    command = "embed t.csv --label kind -o z.parquet"
    run(cli, folder, 1, "Parquet files need pyarrow, of the extra `cli`: pip install", command)


@pytest.mark.parametrize("command", [EMBED, f"{EMBED} --save-model new"])
@pytest.mark.parametrize(
    ("error", "code", "message"),
    [(OSError(28, "No space left on device"), 1, "No space left on device"), (KeyboardInterrupt(), 130, "interrupted")],
)
def test_while_writing(cli, folder, monkeypatch, command, error, code, message):
    def fail(*_):
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    run(cli, folder, code, message, command)


def test_file_that_appears_meanwhile(cli, folder, monkeypatch):
    original = MultiscaleEmbedding.fit

    def slow(self, *args, **kwargs):
        (folder / "out.csv").write_text("somebody else's")
        return original(self, *args, **kwargs)

    monkeypatch.setattr(MultiscaleEmbedding, "fit", slow)
    check(cli(*EMBED.split()), 1, "out.csv: exists; use --force to replace it")
    assert (folder / "out.csv").read_text() == "somebody else's"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (
            MemoryError("Unable to allocate 3 TiB"),
            1,
            "t.csv: not enough memory; fit a part of the rows, and embed the others with `transform`",
        ),
        (InsufficientMemoryError("Not enough memory. It needs 5 GB."), 1, "t.csv: Not enough memory. It needs 5 GB."),
        (TypeError("two\nlines"), 1, "unexpected TypeError: two lines (run again with --debug, and report it)"),
        (SystemExit(143), 143, None),
    ],
)
def test_while_fitting(cli, folder, monkeypatch, error, code, message):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(MultiscaleEmbedding, "fit", fail)
    before = snapshot(folder)
    outcome = cli(*EMBED.split())
    assert outcome.code == code
    if message is not None:
        check(outcome, code, message)
    assert snapshot(folder) == before


def test_memory_for_kernels(cli, folder, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(SDPEmbedding, "fit", fail)
    dense = "the kernel of 30 rows alone takes 6.71e-06 GiB; --method multiscale takes far less"
    check(cli(*EMBED.split(), *SDP), 1, f"t.csv: not enough memory: {dense}")


def test_interrupted_fit_is_not_kept(cli, folder, monkeypatch):
    """The solver catches Ctrl-C and gives what it has; the command line wants all or nothing."""

    def press(progress):
        raise KeyboardInterrupt

    monkeypatch.setattr("elliptope.estimators.certified.progress_callback", lambda estimator, verbose: nullcontext(press))
    run(cli, folder, 130, "interrupted")


def test_traceback_on_request(cli, folder):
    outcome = cli(*EMBED.split(), "--columns", "x", "--debug")
    assert outcome.code == 1
    assert "Traceback (most recent call last)" in outcome.err
    assert outcome.err.splitlines()[-1].startswith("elliptope: error: t.csv: --columns")
