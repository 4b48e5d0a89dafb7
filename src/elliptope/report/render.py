"""A report as HTML. Text from the data or the user is escaped, or quoted as JSON."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from .._utils.arrays import Array
from ..plotting.targets import Classes, Values
from .content import Report
from .verdicts import definitions, fit_facts, fit_words, scale_text, share_list
from .words import PICTURES, headline, read_picture, share_text

# Rows in the table of outliers, and columns in that of the data.
_OUTLIERS = 12
_MAX_COLUMNS = 200
# Share of an eigenvalue below which its component is invisible in the picture.
_NEGLIGIBLE = 1e-3
# In the order in which they run.
_SCRIPTS = ("data.js", "scatter.js", "sphere.js", "colours.js", "selection.js", "page.js")


def render(report: Report, library: str) -> str:
    """The page, with the source of plotly.js (``library``) in it."""
    several = len(report.fits) > 1
    parts = {
        "title": escape(report.title),
        "version": escape(report.versions["elliptope"]),
        "style": _page_file("page.css"),
        "library": library,
        "script": "\n".join(map(_page_file, _SCRIPTS)),
        "data": _quote(page_data(report)),
        "lede": escape(_lede(report)),
        "reading": escape(_reading(report)),
        "if_picture": "" if report.picture else "hidden",
        "if_coordinates": "hidden" if report.picture else "",
        "picture": "" if report.picture is None else PICTURES[report.picture.view],
        "picture_reading": "" if report.picture is None else escape(read_picture(report.picture)),
        "if_path": "" if several else "hidden",
        "note": escape(report.note or ""),
        "if_note": "" if report.note else "hidden",
        "if_columns": "hidden" if report.columns is None else "",
        "steps": str(len(report.fits) - 1),
        "chosen": str(report.chosen),
        "least": escape(scale_text(report, 0)),
        "largest": escape(scale_text(report, -1)),
        "facts": "\n".join(fit_facts(report, k) for k in range(len(report.fits))),
        "words": "\n".join(fit_words(report, k) for k in range(len(report.fits))),
        "limits": escape(_limits(report)),
        "first_row": str(report.first_row),
        "counted": f"Rows are counted from {report.first_row}.",
        "outliers": _outliers(report),
        "scores": escape(_scores(report)),
        "path": _path(report),
        "columns": _columns(report),
        "columns_note": escape(_columns_note(report)),
        "parameters": definitions(report.parameters),
        "versions": definitions(report.versions),
    }
    return Template(_page_file("page.html")).substitute(parts)


def page_data(report: Report) -> dict[str, Any]:
    """The data of the page's script; arrays as the base64 of little-endian numbers."""
    target = report.target
    classes, values = None, None
    if isinstance(target, Classes):
        classes = {"names": list(target.names), "codes": _base64(target.codes, "<i4"), "rest": target.rest}
    elif isinstance(target, Values):
        values = _base64(target.values, "<f4")
    m, n, k = report.frames.shape
    return {
        "size": {"frames": m, "rows": n, "axes": k},
        "rows": _base64(report.rows, "<i4"),
        "names": report.row_names,
        "labels": report.labels,
        "classes": classes,
        "values": values,
        "valuesName": report.target_name,
        "scores": _base64(report.scores, "<f4"),
        "frames": _base64(report.frames.transpose(0, 2, 1), "<f4"),  # one axis after the other
        "chosen": report.chosen,
        "axes": report.axes,
        "up": report.up if _why_density(report) is None else k,  # the axis after the components is the density
        "picture": _picture(report),
        "columns": _shades(report),
        "symbol": report.symbol,
        "fits": [
            {"scale": _number(fit.bandwidth), "text": scale_text(report, i), "summary": _summary(report, i), "shares": row}
            for i, (fit, row) in enumerate(zip(report.fits, report.spectra.tolist(), strict=True))
        ],
    }


def _picture(report: Report) -> dict[str, Any] | None:
    """The picture beside the coordinates; its axes have titles where they have a meaning."""
    drawn = report.picture
    if drawn is None:
        return None
    return {
        "view": drawn.view,
        "columns": drawn.columns,
        "note": drawn.note,
        "frames": None if drawn.frames is None else _base64(drawn.frames.transpose(0, 2, 1), "<f4"),
        "circles": [{"radius": circle.radius, "label": circle.label} for circle in drawn.circles],
    }


def _shades(report: Report) -> list[dict[str, Any]]:
    """Columns that points can be coloured by."""
    given = report.shades
    if given is None or report.columns is None:
        return []
    return [
        {"name": column.name, "low": low, "high": high, "steps": _base64(steps, "u1")}
        for column, low, high, steps in zip(
            report.columns, given.low.tolist(), given.high.tolist(), given.steps, strict=False
        )
    ]


def _page_file(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _base64(values: Array, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode("ascii")


def _quote(data: Any) -> str:
    """JSON without characters that are special in HTML."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _summary(report: Report, k: int) -> str:
    rank = len(report.fits[k].eigenvalues)
    return f"{report.symbol} = {scale_text(report, k)}, rank {rank}, {headline(report.fits[k]).lower()}"


def _lede(report: Report) -> str:
    own = report.fits[report.chosen]
    table = "" if report.columns is None else f" and {_count(len(report.columns), 'column')}"
    scale = "" if report.symbol is None else f" at {report.symbol} = {scale_text(report, report.chosen)}"
    dimensions = _count(own.embedding.shape[1], "dimension")
    scales = f" at {_count(len(report.scales), 'scale')}" if report.scales else ""
    return f"{_count(len(report.rows), 'row')}{table}, embedded in {dimensions} by {report.estimator}{scale}{scales}."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _why_density(report: Report) -> str | None:
    """Why two components do not make a plot, if they do not: the density then is the vertical axis."""
    shares, axes = report.spectra[report.chosen], report.frames.shape[2]
    if axes < 2:
        return "there is no second component"
    if len(shares) < 2 or shares[1] < _NEGLIGIBLE:
        return "the second component carries next to nothing"
    if report.picture is not None and report.picture.view == "ring":
        return "two components would make a circle"
    return None


def _reading(report: Report) -> str:
    text = "Every point is a row of the data. Rows that are alike point the same way from the centre"
    if len(report.scales) > 1:
        text = "Every point is a row of the data. Within a scale, rows that are alike point the same way from the centre"
    if report.parameters.get("diagonal") == "'kernel'" and report.parameters["normalize"] == "None":
        text += "; the farther out a row, the fewer neighbours it has"
    why = _why_density(report)
    return f"{text}." if why is None else f"{text}. Up is the density, because {why}."


def _limits(report: Report) -> str:
    kernel = "kernel suits" if report.symbol is None else "kernel and its bandwidth suit"
    text = (
        f"The certificate is about the optimisation, not about the world. It does not say that the {kernel} the data, or "
        "that groups in the picture mean anything."
    )
    several = " Move the slider: what stays put over many bandwidths deserves more trust."
    return f"{text}{several}" if len(report.fits) > 1 else text


def _outliers(report: Report) -> str:
    order = _most_outlying(report)
    head = ["Row", *(["Name"] if report.row_names else []), *(["Label"] if _has_labels(report) else []), "Score"]
    rows = []
    for i in order.tolist():
        number = int(report.rows[i])
        button = f'<button type="button" data-row="{i}" aria-label="Show row {number} in the map">{number}</button>'
        cells = [button]
        if report.row_names:
            cells.append(escape(report.row_names[i]))
        if _has_labels(report):
            cells.append(escape(_label(report, i)))
        rows.append([*cells, _score(report.scores[i])])
    return _table(head, rows, figures=1)


def _most_outlying(report: Report) -> Array:
    return np.argsort(report.scores, kind="stable")[:_OUTLIERS]


def _scores(report: Report) -> str:
    text = f"By the logarithm of the density around them; the median row has {_score(np.median(report.scores))}."
    # Rows without neighbours have equal scores, and the table holds an arbitrary choice of them.
    last = round(float(report.scores[_most_outlying(report)[-1]]), 2)
    count = int((np.round(report.scores, 2) <= last).sum())
    if count > _OUTLIERS:
        text += f" These are some of the {_count(count, 'row')} that score {_score(last)} or less."
    return text


def _score(value: float) -> str:
    return _figure(f"{value:.2f}")


def _has_labels(report: Report) -> bool:
    return report.labels is not None or report.target is not None


def _label(report: Report, i: int) -> str:
    if report.labels is not None:
        return report.labels[i]
    if isinstance(report.target, Values):
        value = report.target.values[i]
        return "" if math.isnan(value) else f"{value:.6g}"
    assert isinstance(report.target, Classes)
    return report.target.names[report.target.codes[i]] if report.target.codes[i] >= 0 else ""


def _path(report: Report) -> str:
    head = [report.symbol or "", "Rank", "Eigenvalues, %", "Gap, at most", "Verdict"]
    rows = [
        [
            scale_text(report, k),
            str(len(fit.eigenvalues)),
            share_list(report.spectra[k], "{:.0f}", 100),
            share_text(fit.certificate.relative_gap),
            escape(headline(fit)),
        ]
        for k, fit in enumerate(report.fits)
    ]
    return _table(head, rows)


def _columns(report: Report) -> str:
    columns = (report.columns or ())[:_MAX_COLUMNS]
    rows = ([escape(c.name), *(_figure(f"{value:.4g}") for value in (c.low, c.median, c.high))] for c in columns)
    return _table(["Column", "Lowest", "Median", "Highest"], rows, figures=3)


def _columns_note(report: Report) -> str:
    if report.columns is None:
        return "The rows were given by their similarities (a kernel matrix) or distances (a graph), without columns."
    text = f"{_count(len(report.rows), 'row')}, {_count(len(report.columns), 'column')}, no missing values."
    if report.n_left_out:
        kernel = report.parameters.get("kernel", "").lower()
        equal = " or equal to another" if "neighbors" in kernel or "overlap" in kernel else ""
        text += f" {_count(report.n_left_out, 'row')} of weight zero{equal} left out."
    if report.preparation:
        text += f" {report.preparation}"
    if len(report.columns) > _MAX_COLUMNS:
        text += f" The first {_MAX_COLUMNS} columns:"
    return text


def _figure(text: str) -> str:
    """A number with a minus sign that is as wide as its digits."""
    return text.replace("-", "\N{MINUS SIGN}")


def _table(head: list[str], rows: Iterable[list[str]], figures: int = 0) -> str:
    """A table of cells in HTML; the last ``figures`` columns are aligned to the right."""
    classes = [""] * (len(head) - figures) + [' class="figure"'] * figures
    titles = "".join(f'<th scope="col"{c}>{escape(title)}</th>' for c, title in zip(classes, head, strict=True))
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(f"<td{c}>{cell}</td>" for c, cell in zip(classes[1:], row[1:], strict=True))
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
