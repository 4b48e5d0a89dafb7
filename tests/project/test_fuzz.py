"""Damaged models, checkpoints and tables: each is refused, or read as other readers read it."""

import importlib
from pathlib import Path

import pytest


@pytest.fixture
def fuzz(monkeypatch):
    """The benchmarks are scripts: they import each other by plain names."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("fuzz")


@pytest.mark.parametrize("subject", ["models", "checkpoints", "tables"])
def test_nothing_crashes_and_nothing_is_misread(fuzz, subject, tmp_path):
    counts, _ = fuzz.run(getattr(fuzz, subject)(tmp_path), 300, tmp_path, seed=1)
    assert counts.keys() == {"refused", "same"}
    # Some damage is harmless, or has the right checksum, so that what is accepted is compared with something.
    assert counts["same"] > 3


def test_what_must_be_noticed_is_noticed(fuzz, tmp_path):
    """A reader that takes too much memory, one that crashes, and one that reads something else."""
    found = []
    for read in (lambda path: bytes(2**27), lambda path: 1 / 0, lambda path: "other"):
        sample = fuzz.Sample(b"some text, long enough", read, lambda text: text, lambda data: [data])
        subject = fuzz.Subject("text", [sample], fuzz.TABLES[:1], ValueError, checksum=False)
        (counted,) = fuzz.run(subject, 5, tmp_path, seed=0)[0]
        found.append(counted.split()[0:2])
    assert found == [["crashed:", "MemoryError"], ["crashed:", "ZeroDivisionError"], ["other:", "flipped"]]


def test_a_hang_ends(fuzz, monkeypatch):
    monkeypatch.setattr(fuzz, "PATIENCE", 1)
    with pytest.raises(fuzz.Hang):
        fuzz.limited(lambda: all(True for _ in iter(int, 1)), 2**30)
