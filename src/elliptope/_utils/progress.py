"""A progress bar on standard error."""

from __future__ import annotations

import shutil
import sys

# Characters of the bar.
_BAR_WIDTH = 20


class ProgressBar:
    """A line on standard error for every task done; on a terminal, one line with a bar that is drawn over."""

    def __init__(self, total: int, shown: bool) -> None:
        self.total, self.shown = total, shown
        self.drawn = shown and sys.stderr.isatty()

    def update(self, done: int, text: str) -> None:
        if not self.shown:
            return
        line = f"{done}/{self.total}  {text}"
        if self.drawn:
            full = _BAR_WIDTH * done // self.total
            columns = shutil.get_terminal_size().columns - 1  # a full line would wrap, and could not be drawn over
            line = f"[{'#' * full}{'.' * (_BAR_WIDTH - full)}] {line}"[:columns].ljust(columns)
        print("\r" + line if self.drawn else line, end="" if self.drawn else "\n", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.drawn:
            print(file=sys.stderr)
