"""Output in notebooks: HTML in place of what was shown before, bars and tables."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from html import escape

# Seconds between two updates of a cell; browsers do not keep up with a thousand of them.
_INTERVAL = 0.1


def open_output() -> Callable[[str], None] | None:
    """A function that shows HTML in the current cell, in place of what it showed before; None outside of notebooks."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(shell, "kernel", None) is None:  # IPython in a terminal has none
        return None
    from IPython.display import HTML, display

    handle = display(HTML(""), display_id=True)
    return lambda text: handle.update(HTML(text))


class NotebookBar:
    """A progress bar in a notebook, which is drawn ten times a second at most."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self.show = show
        self.html = ""
        self.last = -math.inf

    def update(self, share: float, text: str) -> None:
        """The ``share`` that is done, from 0 to 1, and a text behind the bar."""
        style = "white-space: pre; font-family: monospace"
        self.html = f'<progress value="{share:.3f}" max="1"></progress> <span style="{style}">{escape(text)}</span>'
        if time.monotonic() - self.last >= _INTERVAL:
            self.last = time.monotonic()
            self.show(self.html)

    def close(self) -> None:
        """Draw what was said last."""
        self.show(self.html)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in HTML; entries are plain text."""
    body = "".join(f"<tr>{''.join(f'<td>{escape(entry)}</td>' for entry in row)}</tr>" for row in rows)
    head = "".join(f"<th>{escape(entry)}</th>" for entry in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
