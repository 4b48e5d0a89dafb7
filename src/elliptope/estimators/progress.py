"""Progress of a fit: lines on the terminal, a bar in a notebook, and scikit-learn's callbacks where its version has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._utils.notebook import NotebookBar, open_output
from ..sdp import Progress

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Used where scikit-learn has no callbacks."""

    def with_callbacks(method: Callable) -> Callable:
        return method


__all__ = ["CallbackSupportMixin", "progress_callback", "with_callbacks"]


@contextmanager
def progress_callback(estimator: Any, verbose: bool) -> Iterator[Callable[[Progress], bool] | None]:
    """What the solver should call after every iteration of ``estimator``'s fit; None when there is nothing to call.

    Callbacks set by ``set_callbacks`` get one task per iteration, with its :class:`Progress` as ``metadata["progress"]``.
    One that returns True stops the solve.
    """
    context = None
    if getattr(estimator, "_skl_callbacks", None):
        context = estimator._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=estimator)
    if context is None and not verbose:
        yield None
        return
    output = open_output() if verbose else None
    bar = None if output is None else NotebookBar(output)

    def report(progress: Progress) -> bool:
        if bar is not None:
            bar.update(_share(progress, estimator.tol), str(progress))
        elif verbose:
            print(progress)
        if context is None:
            return False
        task = context.subcontext(task_name="iteration")
        metadata = {"progress": progress}
        task.call_on_fit_task_begin(estimator=estimator, metadata=metadata)
        return bool(task.call_on_fit_task_end(estimator=estimator, metadata=metadata))

    yield report
    if bar is not None:
        bar.close()


def _share(progress: Progress, tol: float) -> float:
    """Digits gained of those asked for, by the residual of LH = 0, which is of the size of the gap."""
    if progress.defect <= 0 or (progress.certified and progress.relative_gap <= tol):
        return 1.0
    return min(max(math.log(progress.defect) / math.log(tol), 0.0), 1.0)
