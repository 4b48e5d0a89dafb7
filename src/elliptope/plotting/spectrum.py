"""Eigenvalues of an embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._utils.arrays import Array
from ._axes import check_matplotlib, heading, open_axes
from ._source import open_estimator
from ._style import BLUE

# Bars that have room for a number above them.
_WITH_NUMBERS = 10


class SpectrumDisplay:
    r"""Eigenvalues as bars: their shares :math:`\lambda_\ell / \sum_k \lambda_k`, or their values where not all are known.

    It is recommended to use :meth:`from_estimator`. All parameters are stored as attributes.

    Parameters
    ----------
    eigenvalues : (k,) array
        Non-negative, in descending order.
    complete : bool
        Whether they are all there are. Shares of a sum that lacks some would mislead.
    n_components : int, optional
        How many coordinates the embedding has; the bars of the others are hollow.
    name, verdict : str, optional
        First and second line of the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer
    """

    def __init__(
        self,
        eigenvalues: Array,
        *,
        complete: bool = True,
        n_components: int | None = None,
        name: str | None = None,
        verdict: str | None = None,
    ) -> None:
        self.eigenvalues = eigenvalues
        self.complete = complete
        self.n_components = n_components
        self.name = name
        self.verdict = verdict

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str | None = None, ax: Any = None, **kwargs: Any) -> SpectrumDisplay:
        """Draw ``eigenvalues_`` of a fitted estimator, or of the last step of a pipeline.

        Shares for the solutions of semi-definite programs, whose eigenvalues are all known; values for diffusion maps.
        Keyword arguments are those of :meth:`plot`.
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        source = open_estimator(estimator)
        if source.eigenvalues is None:
            raise TypeError(f"`estimator` must have `eigenvalues_`, got {source.step!r}.")
        display = cls(
            source.eigenvalues,
            complete=source.complete,
            n_components=getattr(source.step, "n_components_", None),
            name=source.name if name is None else name,
            verdict=source.verdict,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, title: str | None = None, **kwargs: Any) -> SpectrumDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        title : str, optional
            Instead of name, status and gap.
        **kwargs
            Passed to ``bar``.

        Returns
        -------
        SpectrumDisplay
        """
        values = np.asarray(self.eigenvalues, dtype=np.float64)
        if values.ndim != 1 or not len(values) or not (np.isfinite(values) & (values >= 0)).all():
            raise ValueError(f"`eigenvalues` must be a vector of non-negative numbers, got {self.eigenvalues!r}.")
        total = float(values.sum())
        if self.complete and total > 0:
            values = values / total
        ax = open_axes(ax, f"{type(self).__name__}.plot")
        k = np.arange(1, len(values) + 1)
        kept = k <= (len(values) if self.n_components is None else self.n_components)
        style = {"color": [BLUE if keep else "none" for keep in kept], "edgecolor": BLUE}
        self.bars_ = ax.bar(k, values, **{**style, **kwargs})
        if len(values) <= _WITH_NUMBERS:
            form = "{:.3g}" if not self.complete else "{:.1%}"
            ax.bar_label(self.bars_, [form.format(value) for value in values], padding=2)
            ax.margins(y=0.1)
            ax.set_xticks(k)
        else:
            ax.locator_params(axis="x", integer=True)
        ax.set_xlabel("component" if kept.all() else "component (hollow: not among the coordinates)")
        ax.set_ylabel("share of the sum of eigenvalues" if self.complete else "eigenvalue")
        ax.set_title(heading(self.name, self.verdict) if title is None else title)
        self.ax_, self.figure_ = ax, ax.figure
        return self
