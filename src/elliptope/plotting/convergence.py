"""Convergence of a solve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .._utils.checks import check_positive
from ..sdp import Progress
from ..sdp.verdict import one_line
from . import _style
from ._axes import check_matplotlib, open_axes


class ConvergenceDisplay:
    """Relative gap, and defect of LH = 0, against the products with the cost.

    It is recommended to use :meth:`from_solution`. All parameters are stored as attributes.

    Gaps are dots where the bound is certified. Estimates, which may err on the optimistic side, are a dashed line; there are
    none unless the solve had a callback, and they are refreshed at every doubling of the iterations.

    Parameters
    ----------
    history : sequence of Progress
    verdict : str, optional
        Title.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    defect_, estimate_, gap_ : Line2D
        Defects, estimated gaps and certified gaps; empty where the history has none.
    tol_ : Line2D or None
    legend_ : matplotlib Legend
    """

    def __init__(self, history: Sequence[Progress], *, verdict: str | None = None) -> None:
        self.history = history
        self.verdict = verdict

    @classmethod
    def from_solution(cls, solution: Any, *, ax: Any = None, **kwargs: Any) -> ConvergenceDisplay:
        """Draw the history of a :class:`~elliptope.sdp.Solution`, or a list of :class:`~elliptope.sdp.Progress`.

        Keyword arguments are those of :meth:`plot`.
        """
        check_matplotlib(f"{cls.__name__}.from_solution")
        if hasattr(solution, "history"):
            display = cls(solution.history, verdict=one_line(solution.status, solution.certificate))
        else:
            display = cls(solution)
        return display.plot(ax, **kwargs)

    def plot(
        self, ax: Any = None, *, tol: float | None = None, title: str | None = None, **kwargs: Any
    ) -> ConvergenceDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        tol : float, optional
            Relative gap that was asked for; drawn as a horizontal line.
        title : str, optional
            Instead of status and gap.
        **kwargs
            Passed to ``plot`` for the line of the defect.

        Returns
        -------
        ConvergenceDisplay
        """
        products, defect, gap, certified = self._columns()
        ax = open_axes(ax, f"{type(self).__name__}.plot")
        style: dict[str, Any] = {"color": _style.BLUE, "linewidth": 1.2, "label": "defect of LH = 0"}
        self.defect_ = ax.plot(products, _positive(defect), **{**style, **kwargs})[0]
        gap = np.where(np.isfinite(gap), gap, np.nan)
        style = {"color": _style.ORANGE, "linestyle": "--", "marker": ".", "markersize": 3, "label": "estimated gap"}
        self.estimate_ = ax.plot(products[~certified], _positive(gap[~certified]), **style)[0]
        style = {"color": _style.VERMILION, "linestyle": "", "marker": "o", "label": "certified gap"}
        self.gap_ = ax.plot(products[certified], _positive(gap[certified]), **style)[0]
        self.tol_ = None
        if tol is not None:
            level = check_positive("tol", tol)
            self.tol_ = ax.axhline(level, color=_style.GREY, linestyle="--", linewidth=1.0, label=f"tol = {level:g}")
        ax.set_yscale("log")
        ax.set_xlabel("products with J")
        ax.set_ylabel("relative gap and defect")
        ax.set_title((self.verdict or "") if title is None else title)
        lines = [self.defect_, self.estimate_, self.gap_]
        shown = [line for line in lines if np.isfinite(line.get_ydata()).any()]
        self.legend_ = ax.legend(handles=shown if self.tol_ is None else [*shown, self.tol_])
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _columns(self) -> tuple[Array, Array, Array, Array]:
        history = list(self.history) if isinstance(self.history, Sequence) else []
        if not history or not all(isinstance(entry, Progress) for entry in history):
            raise ValueError(f"`history` must be a Solution or a non-empty list of Progress, got {self.history!r}.")
        columns = [[getattr(e, name) for e in history] for name in ("n_products", "defect", "relative_gap", "certified")]
        products, defect, gap, certified = map(np.asarray, columns)
        return products, defect, gap, certified


def _positive(values: Array) -> Array:
    """What a logarithmic axis can show; NaN otherwise."""
    return np.where(values > 0, values, np.nan)
