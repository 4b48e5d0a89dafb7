"""Progress of a fit: lines of text, and scikit-learn's callbacks where its version has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from itertools import islice
from typing import Any

from ..sdp import Progress

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as tears_down
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Used where scikit-learn has no callbacks."""

    def tears_down(method: Callable) -> Callable:
        return method


__all__ = ["CallbackSupportMixin", "begin_callbacks", "progress_callback", "with_callbacks"]

# Parts of a program that callbacks count.
_STEPS = 100


def with_callbacks(fit: Callable) -> Callable:
    """End the tasks of callbacks with a ``fit`` that returns, and tear callbacks down after any."""

    @tears_down
    @wraps(fit)
    def watched(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        fitted = fit(estimator, *args, **kwargs)
        if hasattr(estimator, "_callback_fit_ctx"):
            for task in reversed(list(islice(estimator._callback_fit_ctx, 2))):
                task.call_on_fit_task_end(estimator=estimator)
        return fitted

    return watched


def begin_callbacks(estimator: Any, programs: int = 1) -> None:
    """Set up the callbacks of ``estimator``, if it has any, for a fit that solves this number of programs.

    Their task is the fit. It has a subtask for all iterations, whose number is unknown, and one for every step of every
    program, which bars count.
    """
    if getattr(estimator, "_skl_callbacks", None):
        context = estimator._init_callback_context(max_subtasks=1 + _STEPS * programs)
        context.call_on_fit_task_begin(estimator=estimator)
        context.subcontext("iterations", max_subtasks=None).call_on_fit_task_begin(estimator=estimator)


@contextmanager
def progress_callback(estimator: Any, verbose: bool) -> Iterator[Callable[[Progress], bool] | None]:
    """What the solver should call after every iteration of ``estimator``'s fit; None when there is nothing to call.

    Callbacks that :func:`begin_callbacks` has set up get a task "iteration" for each, with its :class:`Progress` as
    ``metadata["progress"]``. One that returns True stops the solve.
    """
    context = getattr(estimator, "_callback_fit_ctx", None)
    if context is None and not verbose:
        yield None
        return
    done = 0

    def count(share: float) -> bool:
        nonlocal done
        stop = False
        while done < int(_STEPS * share):
            done += 1
            stop |= _run_task(estimator, context, "step")
        return stop

    def report(progress: Progress) -> bool:
        if verbose:
            print(progress)
        if context is None:
            return False
        _, iterations = islice(context, 2)
        stop = _run_task(estimator, iterations, "iteration", {"progress": progress})
        return count(_share(progress, estimator.tol)) or stop

    yield report
    if context is not None:
        count(1.0)


def _run_task(estimator: Any, context: Any, name: str, metadata: Any = None) -> bool:
    """A task without subtasks, which begins and ends here; whether a callback stops the fit."""
    task = context.subcontext(name)
    task.call_on_fit_task_begin(estimator=estimator, metadata=metadata)
    return bool(task.call_on_fit_task_end(estimator=estimator, metadata=metadata))


def _share(progress: Progress, tol: float) -> float:
    """Digits gained of those asked for, by the residual of LH = 0, which is of the size of the gap."""
    if progress.defect <= 0 or (progress.certified and progress.relative_gap <= tol):
        return 1.0
    return min(max(math.log(progress.defect) / math.log(tol), 0.0), 1.0)
