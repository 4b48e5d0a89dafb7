"""Write a report to a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from .._utils.files import atomic_write
from .content import Report, collect, earlier_steps, fitted
from .render import render


def write_report(
    X_or_estimator: Any,
    output: str | os.PathLike,
    *,
    y: Any = None,
    y_name: str | None = None,
    labels: Mapping | Sequence | None = None,
    feature_names: Sequence[str] | None = None,
    row_names: Sequence | None = None,
    first_row: int = 0,
    columns: Any = None,
    title: str | None = None,
    preparation: str | None = None,
    overwrite: bool = False,
    random_state: Any = 0,
) -> Path:
    """Write an embedding and its certificate to one HTML file that needs no network.

    The page has a picture with zoom, hover and lasso, coloured by label, outlier score or any column; what distinguishes
    selected rows from all others, column by column; files of picture, coordinates and selected rows to save; the
    certificate in plain words, with the rank and the spectrum, of every scale where there are several; the most outlying
    rows; and a summary of data, parameters and versions. The picture is the one that
    :class:`~elliptope.plotting.EmbeddingDisplay` chooses, with a layout in place of a sphere; where it is not that of two
    coordinates, these are a click away. The same input gives the same file.

    Parameters
    ----------
    X_or_estimator : (n, p) array or data frame, or fitted estimator
        A table is embedded by ``MultiscaleEmbedding(random_state=random_state)``; scale its columns first. A fitted
        :class:`~elliptope.MultiscaleEmbedding`, :class:`~elliptope.SDPEmbedding` or :class:`~elliptope.RKHSEmbedding`, or a
        pipeline that ends in one, is shown as it is. Rows of weight zero, which have no influence, are left out.
    output : path
    y : (n,) array, optional
        Colours: classes, where it holds text, truth values or few distinct whole numbers, and values otherwise.
    y_name : str, optional
        What ``y`` is, for the colour bar. Default: the name of a pandas series.
    labels : mapping or (n,) array, optional
        Names for the classes in ``y``; or a label for every row, shown when the pointer is on it. Without ``y``, labels
        are the classes.
    feature_names : sequence of str, optional
        Names of the p columns. Default: those that the estimator has seen in a data frame.
    row_names : sequence, optional
        A name for every row. Rows are also known by their number.
    first_row : int
        The number of the first row: 0 as in Python, 1 as in a spreadsheet.
    columns : data frame or mapping of names to (n,) arrays, optional
        By which rows are coloured, compared and described on the page: numbers or text, such as the table before it was
        scaled, with columns that were not embedded. Default: the columns that were embedded.
    title : str, optional
    preparation : str, optional
        A sentence on what was done to the columns before. Default: the earlier steps of a pipeline.
    overwrite : bool
        Replace an existing file.
    random_state : int, RandomState or None
        For the fit to a table.

    Returns
    -------
    Path
        Where the page was written. As the last value of a notebook's cell, it shows the page.

    Examples
    --------
    >>> import numpy as np
    >>> from elliptope.report import write_report
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> write_report(X, "report.html")  # doctest: +SKIP
    """
    if not isinstance(output, str | os.PathLike):
        raise TypeError(f"`output` must be a path, got {output!r}.")
    with atomic_write(output, overwrite=overwrite) as file:  # opened first: nothing is computed that cannot be written
        report = collect(
            fitted(X_or_estimator, random_state),
            y=y,
            y_name=y_name,
            labels=labels,
            feature_names=feature_names,
            row_names=row_names,
            first_row=first_row,
            columns=columns,
            title=title,
            preparation=earlier_steps(X_or_estimator) if preparation is None else preparation,
        )
        file.write(page_bytes(report))
    return ReportPath(output)


class ReportPath(type(Path())):  # type: ignore[misc]
    """The path of a report, which notebooks show as the page itself: the notebook then holds a copy of it."""

    def _repr_html_(self) -> str:
        page = escape(self.read_text(encoding="utf-8"))
        return f'<iframe srcdoc="{page}" title="{escape(self.name)}" style="width: 100%; height: 45em; border: 0"></iframe>'


def page_bytes(report: Report) -> bytes:
    """The page in UTF-8. Text may contain lone surrogates, which are replaced."""
    return render(report).encode("utf-8", "replace")
