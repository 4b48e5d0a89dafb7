"""Progress of a fit: lines on the terminal, and scikit-learn's callbacks where its version has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..sdp import Progress

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Used where scikit-learn has no callbacks."""

    def with_callbacks(method: Callable) -> Callable:
        return method


__all__ = ["CallbackSupportMixin", "progress_callback", "with_callbacks"]


def progress_callback(estimator: Any, verbose: bool) -> Callable[[Progress], bool] | None:
    """What the solver should call after every iteration of ``estimator``'s fit; None when there is nothing to call.

    Callbacks set by ``set_callbacks`` get one task per iteration, with its :class:`Progress` as ``metadata["progress"]``.
    One that returns True stops the solve.
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
