"""An embedding as a figure of plotly: zoom, hover and lasso, in notebooks and browsers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .._utils.versions import missing_module
from . import _style
from ._axes import heading
from ._gather import of_estimator
from ._positions import bands
from .embedding import EmbeddingDisplay
from .targets import Classes, Target, Values
from .view import Picture

# Names of matplotlib's markers in plotly.
_SYMBOLS = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "*": "star",
    "D": "diamond",
    "v": "triangle-down",
    "P": "cross",
}
# Those that a picture in three dimensions has.
_SYMBOLS_3D = ("circle", "square", "diamond", "cross")
# Symbols of components in labels for matplotlib, and what they are without it.
_MATHEMATICS = re.compile(r"\$\\(chi|psi)_\{(\d+)\}\$")
_GREEK = {"chi": "χ", "psi": "ψ"}
# Digits of a number under the pointer.
_FORMAT = "{:.4g}"


def interactive(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    hover: Sequence[str] = (),
    y_name: str | None = None,
    categorical: bool | None = None,
    labels: Mapping | None = None,
    view: str = "auto",
    components: Sequence[int] | None = None,
    name: str | None = None,
) -> Any:
    """The picture of :class:`EmbeddingDisplay` as a figure of plotly. Needs the extra ``notebook``.

    Parameters
    ----------
    estimator, X, y, y_name, categorical, name
        As in :meth:`EmbeddingDisplay.from_estimator`.
    hover : sequence of str
        Columns of the data frame ``X`` that are shown when the pointer is on a point. The name of the row, which is that of
        the frame or its number, and ``y`` always are.
    labels, view, components
        As in :meth:`EmbeddingDisplay.plot`. Three components are drawn in three dimensions.

    Returns
    -------
    plotly.graph_objects.Figure
        Notebooks show it; ``write_html`` makes a page of it. The row of every point is its ``customdata``.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from elliptope import MultiscaleEmbedding
    >>> from elliptope.plotting import interactive
    >>> frame = load_wine(as_frame=True).frame
    >>> est = MultiscaleEmbedding(random_state=0).fit(frame.drop(columns="target"))
    >>> figure = interactive(est, frame, "target", hover=["alcohol", "ash"])
    """
    try:
        from plotly import graph_objects
    except ImportError as error:
        raise missing_module("`interactive`", "notebook", error) from None
    content = of_estimator(estimator, X, y, y_name=y_name, categorical=categorical, name=name)
    display = EmbeddingDisplay(**content)
    target, title = display._target(labels), display._y_title()
    drawn = display._picture(view, components, "auto", "auto")
    P, n = drawn.positions, len(drawn.positions)
    if P.shape[1] == 1:
        P = np.hstack([P, bands(target, n, 0)[:, None]])
    texts = _texts(X, hover, n, target, title)
    kind = _kind(graph_objects, P)
    figure = graph_objects.Figure()
    for rows, style in _groups(target, n, title, P.shape[1]):
        where = dict(zip("xyz", P[rows].T, strict=False))
        text = [texts[row] for row in rows]
        figure.add_trace(kind(**where, mode="markers", text=text, hoverinfo="text", customdata=rows, **style))
    _frame(figure, drawn, display._axis_labels(), heading(display.name, display.verdict), title)
    return figure


def _kind(graph_objects: Any, P: Array) -> Any:
    if P.shape[1] == 3:
        return graph_objects.Scatter3d
    return graph_objects.Scattergl if len(P) > _style.MANY else graph_objects.Scatter


def _groups(target: Target | None, n: int, title: str | None, dimension: int) -> list[tuple[Array, dict[str, Any]]]:
    """Rows of every trace, with its name and its markers."""
    # Plotly's sizes are diameters in pixels; matplotlib's are areas.
    size = 1.2 * np.sqrt(_style.area(n))
    if isinstance(target, Values):
        bar = {"color": target.values, "colorscale": "Viridis", "showscale": True, "colorbar": {"title": {"text": title}}}
        return [(np.arange(n), {"marker": {"size": size, **bar}, "showlegend": False})]
    if target is None:
        return [(np.arange(n), {"marker": {"size": size, "color": _style.BLUE}, "showlegend": False})]
    groups = []
    for k, name in [*enumerate(target.names), (-1, "no label")]:
        symbol = "circle" if k < 0 or n > _style.MANY else _SYMBOLS[_style.marker(k)]
        marker = {
            "size": size,
            "color": _style.GREY if k < 0 else "rgb({:.0f}, {:.0f}, {:.0f})".format(*(255 * c for c in _style.colour(k))),
            "symbol": symbol if dimension == 2 or symbol in _SYMBOLS_3D else "circle",
        }
        rows = np.flatnonzero(target.codes == k)
        if len(rows):
            groups.append((rows, {"name": name, "marker": marker}))
    return groups


def _texts(X: Any, hover: Sequence[str], n: int, target: Target | None, title: str | None) -> list[str]:
    """What is said of every row under the pointer."""
    columns = list(getattr(X, "columns", ()))
    for name in hover:
        if name not in columns:
            raise ValueError(f"`hover` must name columns of a data frame `X`, which are {columns}, got {name!r}.")
    index = list(getattr(X, "index", range(n)))
    lines = [[f"row {index[row]}"] for row in range(n)]
    told = {} if target is None else {title or "y": _entries(target)}
    for name, values in {**told, **{name: np.asarray(X[name]).tolist() for name in hover}}.items():
        for row, value in enumerate(values):
            lines[row].append(f"{name}: {_FORMAT.format(value) if isinstance(value, float) else value}")
    return ["<br>".join(map(escape, line)) for line in lines]


def _entries(target: Target) -> list[Any]:
    if isinstance(target, Classes):
        return [target.names[code] if code >= 0 else "no label" for code in target.codes]
    return target.values.tolist()


def _frame(figure: Any, drawn: Picture, names: Sequence[str], title: str, legend: str | None) -> None:
    """Axes, circles and titles."""
    titles = {"title": {"text": title.replace("\n", "<br>")}, "legend": {"title": {"text": legend}}}
    figure.update_layout(template="plotly_white", dragmode="pan", **titles)
    names = [_MATHEMATICS.sub(lambda found: f"{_GREEK[found[1]]}<sub>{found[2]}</sub>", names[k]) for k in drawn.columns]
    if drawn.positions.shape[1] == 3:
        axes = {f"{axis}axis": {"title": {"text": name}} for axis, name in zip("xyz", names, strict=True)}
        figure.update_layout(scene=axes)
        return
    plain = drawn.note is None
    if drawn.positions.shape[1] == 1:
        figure.update_xaxes(title_text=names[0] if plain else f"{names[0]}, {drawn.note}")
        figure.update_yaxes(showticklabels=False)
        return
    figure.update_xaxes(title_text=names[0] if plain else drawn.note, showticklabels=plain, showgrid=plain, zeroline=plain)
    figure.update_yaxes(title_text=names[1] if plain else None, showticklabels=plain, showgrid=plain, zeroline=plain)
    figure.update_yaxes(scaleanchor="x", scaleratio=1)
    for circle in [*drawn.circles, *([] if drawn.beyond is None else [drawn.beyond])]:
        (x, y), r = circle.centre, circle.radius
        line = {"color": _style.GREY, "width": 1}
        figure.add_shape(type="circle", x0=x - r, x1=x + r, y0=y - r, y1=y + r, line=line, layer="below")
        if circle.label is not None:
            figure.add_annotation(x=x, y=y + r, text=circle.label, showarrow=False)
