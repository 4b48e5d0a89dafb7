"""The progress bar estimates the time left, on a terminal."""

import sys

import pytest

from elliptope._utils.progress import ProgressBar, duration


def lines(monkeypatch, capsys, terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    now = [100.0]
    bar = ProgressBar(10, True, clock=lambda: now[0])
    bar.start(2)
    for done, seconds in ((2.5, 1), (3, 10), (6, 40), (10, 80)):
        now[0] = 100 + seconds
        bar.update(done, "text")
    return capsys.readouterr().err.replace("\r", "\n").split("\n")


def test_time_left(monkeypatch, capsys):
    shown = [line.rstrip() for line in lines(monkeypatch, capsys, terminal=True) if line]
    assert shown == [
        "[#####...............] 2/10  text",
        "[######..............] 3/10, about 70 s left  text",
        "[############........] 6/10, about 40 s left  text",
        "[####################] 10/10  text",
    ]


def test_only_on_a_terminal(monkeypatch, capsys):
    assert not any("left" in line for line in lines(monkeypatch, capsys, terminal=False))


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "1 s"), (119, "119 s"), (121, "3 min"), (7300, "3 h")])
def test_duration(seconds, text):
    assert duration(seconds) == text
