"""Spectra along a path of bandwidths, or of spreads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .._utils.checks import check_integer
from . import _style
from ._axes import check_matplotlib, open_axes

# Ratio of the largest to the smallest bandwidth from which the axis is logarithmic.
_WIDE = 10.0
# Share below which a line cannot be told from the axis.
_VISIBLE = 1e-3
# Markers of the statuses that are not "optimal".
_STATUS_MARKERS = {"degenerate": "D", "unconfirmed": "s", "max_iter": "X", "interrupted": "P"}


class PathDisplay:
    r"""Leading shares of the spectrum, :math:`\lambda_\ell / \sum_k \lambda_k`, against the bandwidth σ, or the spread η.

    It is recommended to use :meth:`from_path`. All parameters are stored as attributes.

    Parameters
    ----------
    bandwidths : (m,) array
        In any order.
    spectra : (m, k) array
        Eigenvalues divided by their sum, descending, a row per bandwidth.
    statuses : sequence of m str, optional
        Bandwidths at which the solver did not end with ``"optimal"`` are marked.
    label : str
        Of the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of Line2D
        One per component, by ascending bandwidth.
    marks_ : dict of str to Line2D
        By status, what marks the bandwidths that have it.
    legend_ : matplotlib Legend
    """

    def __init__(
        self, bandwidths: Array, spectra: Array, *, statuses: Sequence[str] | None = None, label: str = "bandwidth σ"
    ) -> None:
        self.bandwidths = bandwidths
        self.spectra = spectra
        self.statuses = statuses
        self.label = label

    @classmethod
    def from_path(cls, path: Any, *, ax: Any = None, **kwargs: Any) -> PathDisplay:
        """Draw what :func:`~elliptope.bandwidth_path` or :func:`~elliptope.spread_path` returns.

        Any object will do that has ``bandwidths`` or ``spreads``, ``spectra`` and ``records``, with a ``status`` each, or
        ``statuses``. Spreads of 0 and infinity have no place on the axis and are left out.

        Keyword arguments are those of :meth:`plot`.
        """
        check_matplotlib(f"{cls.__name__}.from_path")
        spreads = getattr(path, "spreads", None)
        if not ((hasattr(path, "bandwidths") or spreads is not None) and hasattr(path, "spectra")):
            raise TypeError(f"`path` must have the attributes bandwidths (or spreads) and spectra, got {path!r}.")
        statuses = getattr(path, "statuses", None)
        if statuses is None and hasattr(path, "records"):
            statuses = [record.status for record in path.records]
        if spreads is None:
            return cls(path.bandwidths, path.spectra, statuses=statuses).plot(ax, **kwargs)
        shown = np.flatnonzero((spreads > 0) & np.isfinite(spreads))
        if not len(shown):
            raise ValueError(f"`path` must have at least 1 spread that is positive and finite, got {spreads.tolist()}.")
        statuses = None if statuses is None else [statuses[i] for i in shown]
        return cls(spreads[shown], path.spectra[shown], statuses=statuses, label="spread η").plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, n_components: int = 5, title: str | None = None, **kwargs: Any) -> PathDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        n_components : int
            Lines to draw, at most; there are none for components whose share is nowhere more than 0.1 %.
        title : str, optional
        **kwargs
            Passed to ``plot`` for every line.

        Returns
        -------
        PathDisplay
        """
        sigma, shares, statuses = self._checked()
        visible = int(np.count_nonzero(shares.max(axis=0) > _VISIBLE))
        k = min(check_integer("n_components", n_components, 1), max(visible, 1))
        ax = open_axes(ax, f"{type(self).__name__}.plot")
        self.lines_ = []
        for component in range(k):
            style = {"color": _style.colour(component), "marker": _style.marker(component), "markersize": 4}
            label = rf"$\lambda_{{{component + 1}}}$"
            self.lines_ += ax.plot(sigma, shares[:, component], **{"label": label, **style, **kwargs})
        self.marks_ = {}
        for status in sorted(set(statuses) - {"optimal"}):
            rows = np.flatnonzero(statuses == status)
            # The mark surrounds the points of all components, which stay visible.
            style = {"marker": _STATUS_MARKERS.get(status, "s"), "markersize": 9, "markerfacecolor": "none", "linestyle": ""}
            x, y = np.repeat(sigma[rows], k), shares[rows, :k].ravel()
            self.marks_[status] = ax.plot(x, y, label=f"status {status}", markeredgecolor="black", **style)[0]
        if sigma[-1] >= _WIDE * sigma[0]:
            _label_in_full(ax)
        ax.set_xlabel(self.label)
        ax.set_ylabel("share of the sum of eigenvalues")
        ax.set_ylim(-0.03, 1.03)
        if title is not None:
            ax.set_title(title)
        self.legend_ = ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _checked(self) -> tuple[Array, Array, Array]:
        """Bandwidths, ascending, with their spectra and statuses."""
        sigma = np.asarray(self.bandwidths, dtype=np.float64)
        shares = np.asarray(self.spectra, dtype=np.float64)
        if sigma.ndim != 1 or not len(sigma):
            raise ValueError(f"`bandwidths` must be a vector of at least 1 number, got shape {sigma.shape}.")
        if shares.ndim != 2 or len(shares) != len(sigma):
            raise ValueError(f"`spectra` must have one row per bandwidth, ({len(sigma)}, k), got shape {shares.shape}.")
        statuses = np.asarray(["optimal"] * len(sigma) if self.statuses is None else list(self.statuses))
        if statuses.shape != sigma.shape:
            raise ValueError(f"`statuses` must have one entry per bandwidth, {len(sigma)}, got {len(statuses)}.")
        order = np.argsort(sigma, kind="stable")
        return sigma[order], shares[order], statuses[order]


def _label_in_full(ax: Any) -> None:
    """A logarithmic axis, with 0.5 rather than 5 × 10⁻¹."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
