"""Scatter plots of embeddings in one, two or three dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_array

from .._utils.arrays import Array
from ._axes import check_matplotlib, equal_aspect, heading, open_axes
from ._positions import bands, within
from ._scatter import Scatter, draw_new, draw_training
from ._source import open_estimator
from .targets import Classes, Target, check_target, read_target, stack_targets

# Names of the axes, by coordinate.
_AXES = "xyz"
# Intervals between ticks, at most, by the number of coordinates.
_TICKS = {1: 8, 2: 6, 3: 5}


class EmbeddingDisplay:
    r"""Scatter plot of an embedding.

    It is recommended to use :meth:`from_estimator`, or :meth:`from_embedding` for coordinates alone. All parameters are
    stored as attributes.

    Classes have a colour and a marker each, which all common kinds of colour vision tell apart. Beyond 2000 points the
    markers are small circles, rasterized, and drawn in a random but fixed order, so that no class covers the others; points
    are the more transparent the more of them there are in one place.

    Parameters
    ----------
    embedding : (n, k) array
    y : (n,) array, optional
        Classes (a legend) or values (a colour bar). Text, truth values and at most 20 distinct whole numbers are classes.
    new : (m, k) array, optional
        Embedding of other points, which are drawn over the first ones with hollow markers.
    new_y : (m,) array, optional
        As ``y``, for the new points.
    categorical : bool, optional
        Whether ``y`` holds classes, where it should not be left to its looks.
    name, verdict : str, optional
        First and second line of the title.
    axis_labels : sequence of k str, optional
    reference : (q, k) array, optional
        Embedding of the training points, which decides what is far out; ``embedding`` by default.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    scatters_, new_scatters_ : list of PathCollection
        One per class that has points or, beyond 2000 points, a single one.
    rows_, new_rows_ : list of arrays
        The rows that the points of each collection belong to.
    texts_ : list of Text
        Names of classes at their medians, where there are many points and more classes than colours.
    legend_ : matplotlib Legend or None
    colorbar_ : matplotlib Colorbar or None

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from elliptope import SDPEmbedding
    >>> from elliptope.plotting import EmbeddingDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> est = SDPEmbedding(bandwidth=1.5, random_state=0).fit(scale(X))
    >>> display = EmbeddingDisplay.from_estimator(est, scale(X), y)
    """

    def __init__(
        self,
        embedding: Array,
        *,
        y: Any = None,
        new: Array | None = None,
        new_y: Any = None,
        categorical: bool | None = None,
        name: str | None = None,
        verdict: str | None = None,
        axis_labels: Sequence[str] | None = None,
        reference: Array | None = None,
    ) -> None:
        self.embedding = embedding
        self.y = y
        self.new = new
        self.new_y = new_y
        self.categorical = categorical
        self.name = name
        self.verdict = verdict
        self.axis_labels = axis_labels
        self.reference = reference

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        new: Any = None,
        new_y: Any = None,
        categorical: bool | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> EmbeddingDisplay:
        """Draw the rows of ``X`` where a fitted estimator puts them.

        Parameters
        ----------
        estimator : fitted embedding, or Pipeline that ends in one
            Any transformer will do; those of this package get a title with the certificate, and axis labels with the shares
            of the eigenvalues.
        X : (n, p) array, optional
            What ``transform`` takes. Left out, the points are ``embedding_``: the training points.
        y : (n,) array, optional
        new : (m, p) array, optional
            Other rows, drawn over the first ones with hollow markers.
        new_y : (m,) array, optional
        categorical, name
            As in the constructor.
        ax : matplotlib Axes, optional
        **kwargs
            Passed to :meth:`plot`.

        Returns
        -------
        EmbeddingDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        source = open_estimator(estimator)
        if X is None and not hasattr(source.step, "embedding_"):
            raise ValueError(f"`X` must be given: {type(source.step).__name__} does not keep its training embedding.")
        Z = np.asarray(source.step.embedding_ if X is None else estimator.transform(X))
        display = cls(
            Z,
            y=y,
            new=None if new is None else np.asarray(estimator.transform(new)),
            new_y=new_y,
            categorical=categorical,
            name=source.name if name is None else name,
            verdict=source.verdict,
            axis_labels=[source.axis_label(k) for k in range(Z.shape[1])],
            reference=getattr(source.step, "embedding_", None),
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_embedding(
        cls,
        embedding: Array,
        y: Any = None,
        *,
        new: Array | None = None,
        new_y: Any = None,
        categorical: bool | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> EmbeddingDisplay:
        """Draw given coordinates. Parameters as in the constructor and in :meth:`plot`."""
        check_matplotlib(f"{cls.__name__}.from_embedding")
        display = cls(embedding, y=y, new=new, new_y=new_y, categorical=categorical, name=name)
        return display.plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        components: Sequence[int] | None = None,
        labels: Mapping | None = None,
        max_radius: float | str | None = "auto",
        cmap: Any = "viridis",
        norm: Any = None,
        legend: bool = True,
        title: str | None = None,
        **kwargs: Any,
    ) -> EmbeddingDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            With ``projection="3d"`` for three components. A new figure by default.
        components : sequence of 1 to 3 int, optional
            Columns to draw; the first two (or the only one) by default. A single column is drawn from left to right, in
            a band per class, within which the height says nothing.
        labels : mapping, optional
            From values of ``y`` to names; classes come in its order, which decides on colours and markers.
        max_radius : float, "auto" or None
            Points farther from the origin are drawn at this distance, on a dashed circle. ``"auto"``: 1.5 times the largest
            distance of a training point. A new point that lies where there was no data may be embedded very far out.
        cmap, norm : str or Colormap, and Normalize, optional
            Colours of values.
        legend : bool
            Legend or colour bar. A legend that would cover points stands beside the axes; figures of your own should have
            ``layout="constrained"`` to make room for it.
        title : str, optional
            Instead of name, status and gap.
        **kwargs
            Passed to ``scatter`` for the points of ``embedding``.

        Returns
        -------
        EmbeddingDisplay
        """
        Z = _check_embedding("embedding", self.embedding)
        new = np.empty((0, Z.shape[1])) if self.new is None else _check_embedding("new", self.new, Z.shape[1])
        columns = _check_components(components, Z.shape[1])
        n, m = len(Z), len(new)
        target = self._target(n, m, labels)
        reference = Z if self.reference is None else _check_embedding("reference", self.reference, Z.shape[1])
        P, limit, n_beyond = within(np.vstack([Z, new])[:, columns], reference[:, columns], max_radius)
        if len(columns) == 1:
            P = np.hstack([P, bands(target, n, m)[:, None]])

        ax = open_axes(ax, f"{type(self).__name__}.plot", P.shape[1])
        scatter = Scatter(ax, P, n, target, cmap, norm)
        self.scatters_, self.rows_ = draw_training(scatter, kwargs)
        self.new_scatters_, self.new_rows_ = draw_new(scatter)
        self.texts_ = scatter.name_classes()
        if n_beyond:
            scatter.draw_limit(limit, len(columns), f"{n_beyond} beyond\nradius {limit:.3g}")
        self._label(ax, columns, target)
        self.legend_: Any = None
        self.colorbar_: Any = None
        if legend:
            self.legend_, self.colorbar_ = scatter.explain(_name(self.y))
        ax.set_title(heading(self.name, self.verdict) if title is None else title)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _target(self, n: int, m: int, labels: Mapping | None) -> Target | None:
        """Classes or values of the n points and the m new ones."""
        y = None if self.y is None else check_target("y", self.y, n)
        new_y = None if self.new_y is None else check_target("new_y", self.new_y, m)
        stacked = stack_targets(y, new_y, n, m)
        return None if stacked is None else read_target(stacked, self.categorical, labels)

    def _label(self, ax: Any, columns: list[int], target: Any) -> None:
        for axis, k in zip(_AXES, columns, strict=False):
            label = f"component {k + 1}" if self.axis_labels is None else self.axis_labels[k]
            getattr(ax, f"set_{axis}label")(label)
            # Fewer ticks than matplotlib's default, and more room in perspective, for labels not to collide.
            ax.locator_params(axis=axis, nbins=_TICKS[len(columns)])
            if len(columns) == 3:
                getattr(ax, f"{axis}axis").labelpad = 8
        if len(columns) == 2:
            equal_aspect(ax)
        elif len(columns) == 1:
            names = [*target.names, "no label"] if isinstance(target, Classes) else []
            present = [k for k in range(len(names)) if k < len(names) - 1 or (target.codes < 0).any()]
            ax.set_yticks([-k for k in present], [names[k] for k in present])


def _check_embedding(name: str, Z: Any, width: int | None = None) -> Array:
    Z = check_array(Z, dtype=np.float64, input_name=name)
    if width is not None and Z.shape[1] != width:
        raise ValueError(f"`{name}` must have {width} columns, as the embedding has, got {Z.shape[1]}.")
    return Z


def _check_components(components: Any, k: int) -> list[int]:
    if components is None:
        return list(range(min(2, k)))
    given = list(components) if isinstance(components, Sequence | np.ndarray) else [components]
    good = all(isinstance(c, Integral) and not isinstance(c, bool) and 0 <= int(c) < k for c in given)
    if not good or not 1 <= len(given) <= 3 or len(set(given)) < len(given):
        raise ValueError(
            f"`components` must be 1 to 3 distinct integers between 0 and {k - 1}, as the embedding has {k} columns, "
            f"got {components!r}."
        )
    return [int(c) for c in given]


def _name(y: Any) -> str | None:
    """Name of a column of a data frame."""
    name = getattr(y, "name", None)
    return None if name is None else str(name)
