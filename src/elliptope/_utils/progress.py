"""Messages on standard error, and a progress bar."""

from __future__ import annotations

import contextlib
import math
import shutil
import sys
import time
from collections.abc import Callable

# Characters of a progress bar.
_BAR_WIDTH = 20
# Seconds before the time left is estimated.
_SETTLED = 2.0


def say(text: str, end: str = "\n") -> None:
    """Write to standard error, if that is possible: where it is closed or full, a message is lost, and not the work."""
    if sys.stderr is not None:  # or else `print` would write to standard output
        with contextlib.suppress(OSError, ValueError):
            print(text, end=end, file=sys.stderr, flush=True)


class ProgressBar:
    """A line on standard error for every task done; on a terminal, a bar that is drawn over.

    Such a bar estimates the time left: what is not done takes as long as what was done since ``start``.
    """

    def __init__(self, total: int, shown: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self.total, self.shown, self.clock = total, shown, clock
        self.drawn = shown and sys.stderr is not None and sys.stderr.isatty()
        self.start(0)

    def start(self, done: float) -> None:
        """Estimate times from now on, when ``done`` tasks are done already."""
        self._origin = done, self.clock()

    def update(self, done: float, text: str) -> None:
        """Show that ``done`` tasks are done, a part of one included."""
        if not self.shown:
            return
        left = self._left(done) if self.drawn else ""
        line = f"{int(done)}/{self.total}{left}  {text}"
        if self.drawn:
            full = int(_BAR_WIDTH * done / self.total)
            columns = shutil.get_terminal_size().columns - 1  # a full line would wrap, and could not be drawn over
            line = f"[{'#' * full}{'.' * (_BAR_WIDTH - full)}] {line}"[:columns].ljust(columns)
        say("\r" + line if self.drawn else line, end="" if self.drawn else "\n")

    def _left(self, done: float) -> str:
        before, begin = self._origin
        spent = self.clock() - begin
        if spent < _SETTLED or done <= before or done >= self.total:
            return ""
        return f", about {duration(spent * (self.total - done) / (done - before))} left"

    def close(self) -> None:
        if self.drawn:
            say("")


def duration(seconds: float) -> str:
    """A time in one unit, rounded up."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds > 2 * size:
            return f"{math.ceil(seconds / size)} {unit}"
    return f"{math.ceil(seconds)} s"
