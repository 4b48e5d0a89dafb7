"""Messages on standard error, and a progress bar."""

from __future__ import annotations

import contextlib
import shutil
import sys

# Characters of a progress bar.
_BAR_WIDTH = 20


def say(text: str, end: str = "\n") -> None:
    """Write to standard error, if that is possible: where it is closed or full, a message is lost, and not the work."""
    if sys.stderr is not None:  # or else `print` would write to standard output
        with contextlib.suppress(OSError, ValueError):
            print(text, end=end, file=sys.stderr, flush=True)


class ProgressBar:
    """A line on standard error for every task done; on a terminal, a bar that is drawn over."""

    def __init__(self, total: int, shown: bool) -> None:
        self.total, self.shown = total, shown
        self.drawn = shown and sys.stderr is not None and sys.stderr.isatty()

    def update(self, done: float, text: str) -> None:
        """Show that ``done`` tasks are done, a part of one included."""
        if not self.shown:
            return
        line = f"{int(done)}/{self.total}  {text}"
        if self.drawn:
            full = int(_BAR_WIDTH * done / self.total)
            columns = shutil.get_terminal_size().columns - 1  # a full line would wrap, and could not be drawn over
            line = f"[{'#' * full}{'.' * (_BAR_WIDTH - full)}] {line}"[:columns].ljust(columns)
        say("\r" + line if self.drawn else line, end="" if self.drawn else "\n")

    def close(self) -> None:
        if self.drawn:
            say("")
