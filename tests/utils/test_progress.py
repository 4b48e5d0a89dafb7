"""The progress bar is drawn over on a terminal, and has a line for every task elsewhere."""

import sys

import pytest

from elliptope._utils.progress import ProgressBar


@pytest.mark.parametrize(
    ("terminal", "expected"),
    [
        (True, ["[#####...............] 2/10  text", "[####################] 10/10  text"]),
        (False, ["2/10  text", "10/10  text"]),
    ],
)
def test_bar(monkeypatch, capsys, terminal, expected):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    bar = ProgressBar(10, True)
    for done in (2.5, 10):
        bar.update(done, "text")
    assert [line.rstrip() for line in capsys.readouterr().err.replace("\r", "\n").split("\n") if line] == expected
