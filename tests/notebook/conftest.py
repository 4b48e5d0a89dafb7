import sys
from types import ModuleType, SimpleNamespace

import pytest


class Cell:
    """The output of a notebook cell: what is displayed, and what has taken its place since."""

    def __init__(self):
        self.shown = []

    def display(self, html, display_id=False):
        place = len(self.shown)
        self.shown.append([html])
        return SimpleNamespace(update=lambda new: self.shown[place].append(new))


@pytest.fixture
def cell(monkeypatch):
    """IPython as it is in a notebook, as far as this package asks."""
    found = Cell()
    shell = SimpleNamespace(kernel=object())
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: shell
    display.HTML, display.display = str, found.display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    found.shell = shell
    return found
