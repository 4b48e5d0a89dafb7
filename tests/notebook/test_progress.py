"""Progress bars in notebooks."""

import re

import pytest

from common import WINE
from elliptope import MultiscaleEmbedding, SDPEmbedding, bandwidth_path


def shares(updates):
    return [float(re.search(r'<progress value="([\d.]+)"', html)[1]) for html in updates if html]


def test_a_fit_draws_one_bar_and_no_lines(cell, capsys):
    est = SDPEmbedding(bandwidth=3.0, random_state=0, verbose=True).fit(WINE)
    (updates,) = cell.shown
    assert shares(updates)[-1] == pytest.approx(1, abs=0.2)
    assert f"iteration {est.n_iter_:5d}" in updates[-1]
    assert "iteration" not in capsys.readouterr().out


def test_a_bar_per_scale(cell):
    MultiscaleEmbedding(random_state=0, verbose=True).fit(WINE)
    assert len(cell.shown) == 2


def test_nothing_is_drawn_unless_asked_for(cell):
    SDPEmbedding(bandwidth=3.0, random_state=0).fit(WINE)
    assert cell.shown == []


def test_a_path_draws_one_bar(cell, capsys):
    bandwidth_path(WINE, [3.0, 4.0, 5.0], random_state=0, verbose=True)
    (updates,) = cell.shown
    assert shares(updates)[-1] == 1
    assert "3/3  σ = 3" in updates[-1]
    assert capsys.readouterr().err == ""


def test_ipython_in_a_terminal_has_lines(cell, capsys):
    cell.shell.kernel = None
    SDPEmbedding(bandwidth=3.0, random_state=0, verbose=True).fit(WINE)
    assert cell.shown == []
    assert capsys.readouterr().out.count("iteration") > 3
