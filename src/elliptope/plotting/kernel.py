"""The learned kernel as a heat map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from .._utils.arrays import Array
from .._utils.checks import check_choice, check_integer
from ._axes import check_matplotlib, heading, open_axes
from ._source import open_estimator, rows_of_last_step
from .targets import Classes, check_target, read_target

# Part of the entries that the colour scale covers: with those of outliers, all others would have one colour.
_COVERED = 0.9
# Classes whose names fit beside the axes.
_NAMED = 30
# Letters of a name that fit under the axes without turning it.
_SHORT = 3


class LearnedKernelDisplay:
    r"""Heat map of the learned kernel :math:`b_\star(x, x') = \Xi(x) \cdot \Xi(x')`.

    It is recommended to use :meth:`from_estimator`. All parameters are stored as attributes.

    Parameters
    ----------
    kernel : (n, n) array
        Rows and columns in the order in which they are drawn.
    rows : (n,) array, optional
        Which rows of the data they are.
    groups : list of (name, count), optional
        Classes, in the order drawn, and the number of their rows.
    label : str
        What the colours stand for.
    name, verdict, note : str, optional
        Lines of the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    image_ : matplotlib AxesImage
    colorbar_ : matplotlib Colorbar
    """

    def __init__(
        self,
        kernel: Array,
        *,
        rows: Array | None = None,
        groups: list[tuple[str, int]] | None = None,
        label: str = "learned kernel",
        name: str | None = None,
        verdict: str | None = None,
        note: str | None = None,
    ) -> None:
        self.kernel = kernel
        self.rows = rows
        self.groups = groups
        self.label = label
        self.name = name
        self.verdict = verdict
        self.note = note

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        max_rows: int = 1000,
        categorical: bool | None = None,
        labels: Mapping | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> LearnedKernelDisplay:
        """Draw the kernel between the rows of ``X``.

        Rows are ordered by ``y``, if given, and else by their direction in the plane of the two leading coordinates, so that
        points that are embedded in the same direction are neighbours. For an estimator without ``learned_kernel``, such as a
        diffusion map, the inner products of the coordinates are drawn.

        Parameters
        ----------
        estimator : fitted embedding, or Pipeline that ends in one
        X : (n, p) array or data frame
        y : (n,) array, optional
            Classes or values to order the rows by; where these are equal, rows are ordered by direction.
        max_rows : int
            Of more rows than this, as many are drawn, at regular places of the order.
        categorical, labels
            As for :class:`EmbeddingDisplay`.
        name : str, optional
            First line of the title.
        ax : matplotlib Axes, optional
        **kwargs
            Passed to :meth:`plot`.

        Returns
        -------
        LearnedKernelDisplay
        """
        check_matplotlib(f"{cls.__name__}.from_estimator")
        source = open_estimator(estimator)
        max_rows = check_integer("max_rows", max_rows, 2)
        Z = np.asarray(estimator.transform(X))
        n = len(Z)
        target = None if y is None else read_target(check_target("y", y, n), categorical, labels)
        key = np.zeros(n)
        if target is not None:
            key = target.codes if isinstance(target, Classes) else target.values
        order = np.lexsort([_direction(Z), key])
        rows = order[np.linspace(0, n - 1, min(n, max_rows)).round().astype(int)]
        learned = hasattr(source.step, "learned_kernel")
        if learned:
            kernel = source.step.learned_kernel(rows_of_last_step(estimator, _safe_indexing(X, rows)))
        else:
            kernel = Z[rows] @ Z[rows].T
        display = cls(
            kernel,
            rows=rows,
            groups=_groups(target, rows) if isinstance(target, Classes) else None,
            label="learned kernel" if learned else "inner product of coordinates",
            name=source.name if name is None else name,
            verdict=source.verdict,
            note=f"{len(rows)} of {n} rows" if len(rows) < n else None,
        )
        return display.plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        normalize: str | None = None,
        cmap: str = "RdBu_r",
        title: str | None = None,
        **kwargs: Any,
    ) -> LearnedKernelDisplay:
        r"""Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        normalize : {None, "unit"}
            ``"unit"``: the cosines :math:`b(x, x') / \sqrt{b(x, x)\, b(x', x')}`, in which outliers, whose rows are long,
            weigh no more than other points.
        cmap : str or Colormap
            A diverging one; its middle is 0.
        title : str, optional
            Instead of name, status and gap.
        **kwargs
            Passed to ``imshow``.

        Returns
        -------
        LearnedKernelDisplay
        """
        check_choice("normalize", normalize, (None, "unit"))
        B = np.asarray(self.kernel, dtype=np.float64)
        if B.ndim != 2 or B.shape[0] != B.shape[1] or not len(B):
            raise ValueError(f"`kernel` must be a square matrix, got shape {B.shape}.")
        limit = 1.0
        if normalize == "unit":
            lengths = np.sqrt(np.maximum(B.diagonal(), 0.0))
            inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
            B = inverse[:, None] * B * inverse
        else:
            limit = float(np.quantile(np.abs(B), _COVERED)) or float(np.abs(B).max()) or 1.0
        ax = open_axes(ax, f"{type(self).__name__}.plot")
        style = {"cmap": cmap, "vmin": -limit, "vmax": limit, "interpolation": "nearest"}
        self.image_ = ax.imshow(B, **{**style, **kwargs})
        beyond = bool(np.abs(B).max() > limit * (1 + 1e-9))
        label = f"{self.label}, as cosines" if normalize == "unit" else self.label
        self.colorbar_ = ax.figure.colorbar(self.image_, ax=ax, label=label, extend="both" if beyond else "neither")
        self._mark_groups(ax)
        ax.set_title(heading(self.name, self.verdict, self.note) if title is None else title)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _mark_groups(self, ax: Any) -> None:
        """Lines between classes, and their names at the middle of their rows."""
        if self.groups is None:
            ax.set(xticks=[], yticks=[], xlabel="rows, ordered", ylabel="rows, ordered")
            return
        ends = np.cumsum([count for _, count in self.groups])
        for end in ends[:-1]:
            ax.axhline(end - 0.5, color="black", linewidth=0.6)
            ax.axvline(end - 0.5, color="black", linewidth=0.6)
        middles = [end - count / 2 - 0.5 for end, (_, count) in zip(ends, self.groups, strict=True)]
        names = [name for name, _ in self.groups]
        if len(names) > _NAMED:
            middles, names = [], []
        short = max(map(len, names), default=0) <= _SHORT
        ax.set_xticks(middles, names, **({} if short else {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}))
        ax.set_yticks(middles, names)


def _direction(Z: Array) -> Array:
    """Angle in the plane of the leading coordinates, cut where no point is for longest; on a line, the coordinate."""
    if Z.shape[1] < 2:
        return Z[:, 0]
    angle = np.arctan2(Z[:, 1], Z[:, 0])
    ordered = np.sort(angle)
    gaps = np.diff(ordered, append=ordered[0] + 2 * np.pi)
    start = ordered[(int(gaps.argmax()) + 1) % len(ordered)]
    return (angle - start) % (2 * np.pi)


def _groups(target: Classes, rows: Array) -> list[tuple[str, int]]:
    codes = target.codes[rows]
    names = {-1: "no label", **dict(enumerate(target.names))}
    return [(names[int(code)], int(count)) for code, count in zip(*np.unique(codes, return_counts=True), strict=True)]
