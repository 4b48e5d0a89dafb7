"""Live progress: lines on the terminal, and scikit-learn's callback protocol where its version has one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from typing import Any

from ..sdp import Progress

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Callable) -> Callable:
        return method


__all__ = ["CallbackSupportMixin", "ProgressBar", "progress_callback", "with_callbacks"]

_BAR_WIDTH = 20


def progress_callback(estimator: Any, verbose: bool) -> Callable[[Progress], bool] | None:
    """What the solver should call after every iteration of ``estimator``'s fit; None when nobody looks.

    Callbacks set by ``set_callbacks`` see one task per iteration, with the :class:`Progress` as ``metadata["progress"]``;
    one that returns True stops the solve.
    """
    context = None
    if getattr(estimator, "_skl_callbacks", None):
        context = estimator._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=estimator)
    if context is None and not verbose:
        return None

    def report(progress: Progress) -> bool:
        if verbose:
            print(progress)
        if context is None:
            return False
        task = context.subcontext(task_name="iteration")
        metadata = {"progress": progress}
        task.call_on_fit_task_begin(estimator=estimator, metadata=metadata)
        return bool(task.call_on_fit_task_end(estimator=estimator, metadata=metadata))

    return report


class ProgressBar:
    """A line on standard error for every task done; on a terminal, one line that is drawn over, with a bar before it."""

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
