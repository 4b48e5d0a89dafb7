"""Output to the user: notes, warnings and progress on standard error, results on standard output."""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .._utils.progress import ProgressBar, say
from .errors import one_line
from .streams import standard_output

if TYPE_CHECKING:
    from ..sdp import Progress

# Seconds between two drawings of a progress bar, on a terminal.
_REDRAW = 0.1


class Console:
    """All output to the user. ``quiet`` leaves warnings, errors and results; ``json`` prints results as JSON.

    Where standard error is no terminal, progress is a line every ``interval`` seconds. ``name_row`` says where in the table
    a row is that the estimators count from 0.
    """

    def __init__(self, *, quiet: bool = False, json: bool = False, interval: float = 5.0) -> None:
        self.quiet, self.json, self.interval = quiet, json, interval
        self.name_row: Callable[[int], str] = lambda i: f"row {i + 1}"

    def note(self, text: str) -> None:
        if not self.quiet:
            say(text)

    def warn(self, text: str) -> None:
        say(f"elliptope: warning: {self._with_rows(' '.join(text.split()))}")

    def error(self, text: str) -> None:
        say(f"elliptope: error: {self._with_rows(text)}")

    def _with_rows(self, text: str) -> str:
        from .._utils.checks import rename_rows  # here, for `elliptope --help` does without NumPy

        return rename_rows(text, self.name_row)

    def result(self, facts: dict[str, Any], text: str | None = None) -> None:
        """The outcome: ``facts`` as JSON on standard output if asked for, ``text`` for people otherwise."""
        if self.json:
            text = json.dumps(_plain(facts), indent=1, allow_nan=False)
        if text is not None:
            print(text, file=standard_output(), flush=True)

    @contextmanager
    def warnings(self) -> Iterator[None]:
        """Python's warnings, in one line each."""

        def show(message: Warning | str, *_: Any, **__: Any) -> None:
            self.warn(one_line(message) if isinstance(message, Warning) else message)

        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)  # ConvergenceWarning among them
            warnings.showwarning = show
            yield

    @contextmanager
    def watching(self, estimator: Any) -> Iterator[None]:
        """Progress while ``estimator`` is fitted, if it and its scikit-learn (1.9 or later) have callbacks."""
        if self.quiet or not hasattr(estimator, "set_callbacks"):
            yield
            return
        scales = len(getattr(estimator, "diffusion_times", (1,)))
        watcher = _FitWatcher(estimator.tol, scales, self.interval)
        estimator.set_callbacks(watcher)
        try:
            yield
        finally:
            estimator.set_callbacks()
            watcher.close()


class _FitWatcher:
    """A callback for scikit-learn. The bar counts the digits of the residual of LH = 0, up to those of ``tol``, at all
    ``scales``, which are solved one after the other."""

    def __init__(self, tol: float, scales: int, interval: float) -> None:
        self.digits = max(1, math.ceil(-math.log10(tol)))
        self.bar = ProgressBar(scales * self.digits, True)
        self.iteration, self.finished = -1, -1  # the last iteration, and the scales before that one
        self.interval = _REDRAW if self.bar.drawn else interval
        self.last = time.monotonic()
        self.shown = False

    def close(self) -> None:
        if self.shown:  # most fits end before there is anything to show
            self.bar.close()

    def setup(self, estimator: Any, context: Any) -> None: ...

    def teardown(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_end(self, estimator: Any, context: Any, *, metadata: Any = None) -> bool:
        progress: Progress | None = (metadata or {}).get("progress")
        if progress is None:
            return False
        digits = -math.log10(progress.defect) if progress.defect > 0 else self.digits
        if progress.iteration <= self.iteration or self.finished < 0:  # another scale
            self.finished += 1
        done = self.finished * self.digits + min(max(digits, 0), self.digits)
        self.iteration = progress.iteration
        if time.monotonic() - self.last >= self.interval:
            self.last, self.shown = time.monotonic(), True
            # No bound: before the end there are only estimates of it.
            text = f"iteration {progress.iteration}, products {progress.n_products}, objective {progress.objective:.10g}"
            self.bar.update(done, f"digits  {text}")
        return False


def _plain(value: Any) -> Any:
    """Values that JSON has: NaN and infinities become null."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
