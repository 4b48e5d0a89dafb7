"""Two fits to the same rows, side by side on one page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from .._utils.files import atomic_write
from .content import Report, collect, earlier_steps, fitted
from .render import page_file, render


def write_comparison(
    first: Any,
    second: Any,
    output: str | os.PathLike,
    *,
    titles: Sequence[str] | None = None,
    title: str | None = None,
    overwrite: bool = False,
    random_state: Any = 0,
    **options: Any,
) -> Path:
    """Write the reports of two fits to the same rows to one HTML file, side by side.

    Rows that are selected in one picture are selected in the other, too.

    Parameters
    ----------
    first, second : fitted estimators
        As for :func:`~elliptope.report.write_report`.
    output : path
    titles : sequence of two str, optional
        Of the two reports. Default: the names of the estimators.
    title : str, optional
        Of the whole.
    overwrite : bool
        Replace an existing file.
    random_state : int, RandomState or None
        For the fits that are made here.
    **options
        Other parameters of :func:`~elliptope.report.write_report`, for both.

    Returns
    -------
    Path
        Where the page was written.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from elliptope import MultiscaleEmbedding, SDPEmbedding
    >>> from elliptope.report import write_comparison
    >>> X = load_iris().data
    >>> one, two = MultiscaleEmbedding(random_state=0).fit(X), SDPEmbedding(random_state=0).fit(X)
    >>> write_comparison(one, two, "comparison.html", y=load_iris().target)  # doctest: +SKIP
    """
    if not isinstance(output, str | os.PathLike):
        raise TypeError(f"`output` must be a path, got {output!r}.")
    estimators = [fitted(given, random_state) for given in (first, second)]
    check_same_rows(*estimators)
    titles = [type(estimator).__name__ for estimator in estimators] if titles is None else titles
    if len(titles) != 2:
        raise ValueError(f"`titles` must hold 2 titles, got {len(titles)}.")
    with atomic_write(output, overwrite=overwrite) as file:
        reports = [
            collect(
                estimator,
                title=of_one,
                random_state=random_state,
                **{"preparation": earlier_steps(given), **options},
            )
            for estimator, given, of_one in zip(estimators, (first, second), titles, strict=True)
        ]
        file.write(comparison_bytes(reports[0], reports[1], " and ".join(titles) if title is None else title))
    return Path(output)


def check_same_rows(first: Any, second: Any) -> None:
    """Raise unless both estimators were fitted to as many rows."""
    n, m = len(first.embedding_), len(second.embedding_)
    if n != m:
        raise ValueError(f"`first` and `second` must be fitted to the same rows, got {n} and {m} rows.")


def comparison_bytes(first: Report, second: Report, title: str) -> bytes:
    """The page in UTF-8."""
    parts = {
        "title": escape(title),
        "version": escape(first.versions["elliptope"]),
        "first_title": escape(first.title),
        "second_title": escape(second.title),
        "first": escape(render(first)),
        "second": escape(render(second)),
    }
    return Template(page_file("comparison.html")).substitute(parts).encode("utf-8", "replace")
