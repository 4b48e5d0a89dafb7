"""Scatter plots of embeddings of any rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_array

from .._utils.arrays import Array
from .._utils.checks import check_choice
from ._axes import check_matplotlib, draw_background, heading, open_axes
from ._positions import bands, check_max_radius
from ._scatter import Scatter, draw_new, draw_training
from ._source import of_estimator, of_frame
from .targets import Target, check_target, read_target, stack_targets
from .view import COLUMNS, Options, Picture, picture


class EmbeddingDisplay:
    r"""Picture of an embedding of any number of columns.

    It is recommended to use :meth:`from_estimator`, or :meth:`from_embedding` for coordinates alone. All parameters are
    stored as attributes. :meth:`plot` has the choice of views.

    Classes have a colour and a marker each, which all common kinds of colour vision tell apart. Beyond 2000 points the
    markers are small circles, rasterized, and drawn in a random but fixed order, so that no class covers the others; points
    are the more transparent the more of them there are in one place.

    Parameters
    ----------
    embedding : (n, k) array
    y : (n,) array, optional
        Classes (a legend) or values (a colour bar). Text, truth values and at most 20 distinct whole numbers are classes.
    y_name : str, optional
        Title of the legend or colour bar. Default: the name of a pandas series.
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
    view_ : {"plane", "ring", "layout"}
        The view that was drawn.
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
        y_name: str | None = None,
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
        self.y_name = y_name
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
        y_name: str | None = None,
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
            Any with ``transform`` or ``embedding_`` will do; those of this package get a title with the certificate, and
            axis labels with the shares of the eigenvalues.
        X : (n, p) array or data frame, optional
            What ``transform`` takes. A data frame may have other columns beside those that the estimator was fitted to. Left
            out, the points are ``embedding_``: the training points.
        y : (n,) array, "density", str or int, optional
            An array is as in the constructor. ``"density"``: ``score_samples`` of the rows, low for outliers. Another string
            or an integer: that column of ``X``, by its name or its index.
        y_name : str, optional
            As in the constructor. Default: also the name of the column, or "log density".
        new : (m, p) array or data frame, optional
            Other rows, drawn over the first ones with hollow markers.
        new_y : (m,) array, optional
            Where ``y`` names a column or the density, the same of ``new`` by default.
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
        content = of_estimator(estimator, X, y, y_name=y_name, new=new, new_y=new_y, categorical=categorical, name=name)
        display = cls(**content)
        return display.plot(ax, **kwargs)

    @classmethod
    def from_embedding(
        cls,
        embedding: Array,
        y: Any = None,
        *,
        y_name: str | None = None,
        new: Array | None = None,
        new_y: Any = None,
        categorical: bool | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> EmbeddingDisplay:
        """Draw given coordinates. Parameters as in the constructor and in :meth:`plot`.

        Where ``y`` is a string, ``embedding`` is a data frame with that column, and the others are the coordinates.
        """
        check_matplotlib(f"{cls.__name__}.from_embedding")
        embedding, y = of_frame(embedding, y)
        display = cls(embedding, y=y, y_name=y_name, new=new, new_y=new_y, categorical=categorical, name=name)
        return display.plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        view: str = "auto",
        components: Sequence[int] | None = None,
        labels: Mapping | None = None,
        max_radius: float | str | None = "auto",
        radius_scale: str = "auto",
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
            With ``projection="3d"`` for three ``components``. A new figure by default.
        view : {"auto", "plane", "ring", "layout"}
            How rows become points of the plane.

            - ``"plane"``: two columns as they are, with right distances. A single one is drawn from left to right, in a band
              per class, within which the height says nothing.
            - ``"ring"``: directions in two columns. Rows of unit length lie on a circle; here they spread outwards where
              many point the same way.
            - ``"layout"``: all columns, by t-SNE started at the two leading ones, with a fixed seed. Neighbours of a point
              are neighbours of its row; other distances say little, and no certificate is about them. Of more than 10 000
              rows, 10 000 are laid out, and the others placed by their three nearest neighbours among them.
            - ``"auto"``: the plane for one or two columns, a ring for two if all rows have one length, else a layout.
              Columns with less than a thousandth of the sum of squares do not count.
        components : sequence of int, optional
            Columns to draw: 1 to 3 in the plane (three of them on 3-D axes), 2 on a ring, 2 or more in a layout. Given
            without ``view``, they are drawn in the plane. By default those that carry something, as far as the view has room
            for them.
        labels : mapping, optional
            From values of ``y`` to names; classes come in its order, which decides on colours and markers.
        max_radius : float, "auto" or None
            Points farther from the origin are drawn at this distance, on a dashed circle. ``"auto"``: 1.5 times the largest
            distance of a training point. A new point that lies where there was no data may be embedded very far out. For
            the plane alone.
        radius_scale : {"auto", "linear", "symlog"}
            ``"symlog"``: in the plane, the distance from the origin is linear for nine tenths of the training points, up to
            the innermost circle, and logarithmic beyond; directions are kept. ``"auto"`` does so where the farthest training
            point would press those nine tenths into a tenth of the picture. The label of the axis says so.
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
        target = self._target(labels)
        drawn = self._picture(view, components, max_radius, radius_scale)
        P, n = drawn.positions, len(self.embedding)
        if P.shape[1] == 1:
            P = np.hstack([P, bands(target, n, len(P) - n)[:, None]])
        ax = open_axes(ax, f"{type(self).__name__}.plot", P.shape[1])
        scatter = Scatter(ax, P, n, target, cmap, norm)
        self.scatters_, self.rows_ = draw_training(scatter, kwargs)
        self.new_scatters_, self.new_rows_ = draw_new(scatter)
        self.texts_ = scatter.name_classes()
        if drawn.beyond is not None:
            scatter.draw_limit(drawn.beyond.radius, len(drawn.columns), str(drawn.beyond.label))
        scatter.lines += draw_background(ax, drawn, self._axis_labels(), target)
        self.legend_: Any = None
        self.colorbar_: Any = None
        if legend:
            self.legend_, self.colorbar_ = scatter.explain(self._y_title())
        ax.set_title(heading(self.name, self.verdict) if title is None else title)
        self.ax_, self.figure_, self.view_ = ax, ax.figure, drawn.view
        return self

    def _picture(self, view: str, components: Any, max_radius: float | str | None, radius_scale: str) -> Picture:
        Z = _check_embedding("embedding", self.embedding)
        k = Z.shape[1]
        new = np.empty((0, k)) if self.new is None else _check_embedding("new", self.new, k)
        reference = Z if self.reference is None else _check_embedding("reference", self.reference, k)
        check_choice("view", view, tuple(COLUMNS))
        check_choice("radius_scale", radius_scale, ("auto", "linear", "symlog"))
        check_max_radius(max_radius)
        columns = None if components is None else _check_components(components, k)
        return picture(np.vstack([Z, new]), Options(len(Z), reference, max_radius, radius_scale), view, columns)

    def _target(self, labels: Mapping | None) -> Target | None:
        """Classes or values of the points and of the new ones."""
        n, m = len(self.embedding), 0 if self.new is None else len(self.new)
        y = None if self.y is None else check_target("y", self.y, n)
        new_y = None if self.new_y is None else check_target("new_y", self.new_y, m)
        stacked = stack_targets(y, new_y, n, m)
        return None if stacked is None else read_target(stacked, self.categorical, labels)

    def _y_title(self) -> str | None:
        """Of the legend or colour bar: as given, or the name of a column of a data frame."""
        name = getattr(self.y, "name", None) if self.y_name is None else self.y_name
        return None if name is None else str(name)

    def _axis_labels(self) -> Sequence[str]:
        if self.axis_labels is not None:
            return self.axis_labels
        return [f"component {k + 1}" for k in range(np.shape(self.embedding)[1])]


def _check_embedding(name: str, Z: Any, width: int | None = None) -> Array:
    Z = check_array(Z, dtype=np.float64, input_name=name)
    if width is not None and Z.shape[1] != width:
        raise ValueError(f"`{name}` must have {width} columns, as the embedding has, got {Z.shape[1]}.")
    return Z


def _check_components(components: Any, k: int) -> list[int]:
    given = list(components) if isinstance(components, Sequence | np.ndarray) else [components]
    good = all(isinstance(c, Integral) and not isinstance(c, bool) and 0 <= int(c) < k for c in given)
    if not good or not given or len(set(given)) < len(given):
        raise ValueError(
            f"`components` must be distinct integers between 0 and {k - 1}, as the embedding has {k} columns, "
            f"got {components!r}."
        )
    return [int(c) for c in given]
