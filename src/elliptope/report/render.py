"""A report as HTML. Text from the data or the user is escaped, or quoted as JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from .._utils.arrays import Array
from ..plotting.targets import Classes, Target, Values
from .content import Report
from .fields import single_precision
from .numbers import count_text, date_text, fixed_text, number_text, percent
from .words import PICTURES, explain_scales, headline_of_scales, read_picture

# Rows in the table of outliers, columns in that of the data, and eigenvalues that are written out.
_OUTLIERS = 12
_MAX_COLUMNS = 200
_MAX_SHARES = 4
# Share of an eigenvalue below which its component is invisible in the picture.
_NEGLIGIBLE = 1e-3
# Difference of scores below which they are equal.
_EQUAL = 1e-3
# In the order in which they run.
_SCRIPTS = ("data", "view", "colours", "points", "frame", "pointer", "differences", "selection", "export", "page")


def render(report: Report) -> str:
    """The page."""
    parts = {
        "title": escape(report.title),
        "version": escape(report.versions["elliptope"]),
        "style": page_file("page.css"),
        "script": "\n".join(page_file(f"{name}.js") for name in _SCRIPTS),
        "data": _quote(page_data(report)),
        "lede": escape(_lede(report)),
        "reading": escape(_reading(report)),
        "if_picture": "" if report.picture else "hidden",
        "if_coordinates": "hidden" if report.picture else "",
        "picture": "" if report.picture is None else PICTURES[report.picture.view],
        "picture_reading": "" if report.picture is None else escape(read_picture(report.picture)),
        "if_columns": "" if report.table else "hidden",
        "status": escape(report.status),
        "verdict": escape(headline_of_scales(report.fits)),
        "words": _words(report),
        "limits": escape(_limits(report)),
        "first_row": str(report.first_row),
        "outliers": _outliers(report),
        "columns": _columns(report),
        "columns_note": escape(_columns_note(report)),
        "parameters": _definitions(report.parameters),
        "versions": _definitions(report.versions),
    }
    return Template(page_file("page.html")).substitute(parts)


def page_data(report: Report) -> dict[str, Any]:
    """The data of the page's script; arrays as the base64 of little-endian numbers."""
    fields = [_field(name, column) for name, column in report.fields]
    if report.target is not None:
        fields.insert(0, _field("Label" if report.target_name is None else report.target_name, report.target))
    return {
        "rows": _base64(report.rows, "<i4"),
        "names": report.row_names,
        "labels": report.labels,
        "fields": fields,
        "target": None if report.target is None else 0,
        "scores": _base64(report.scores, "<f4"),
        "coordinates": _base64(report.coordinates.T, "<f4"),  # one axis after the other
        "axes": report.axes,
        # The axis after the components is the outlier score.
        "up": report.up if _why_score(report) is None else report.coordinates.shape[1],
        "picture": _picture(report),
    }


def _field(name: str, column: Target) -> dict[str, Any]:
    """A column by which rows are coloured, compared and described."""
    if isinstance(column, Classes):
        others = {} if column.others is None else {"others": _field(name, column.others)}
        field = {"name": name, "names": list(column.names), "codes": _base64(column.codes, "<i4"), "rest": column.rest}
        return {**field, **others}
    return {"name": name, "values": _base64(single_precision(column.values), "<f4"), "dates": column.dates}


def _picture(report: Report) -> dict[str, Any] | None:
    """The picture beside the coordinates; its axes have titles where they have a meaning."""
    drawn = report.picture
    if drawn is None:
        return None
    return {
        "view": drawn.view,
        "columns": drawn.columns,
        "note": drawn.note,
        "positions": _base64(drawn.positions.T, "<f4"),
        "circles": [{"radius": circle.radius, "label": circle.label} for circle in drawn.circles],
    }


def page_file(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _base64(values: Array, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode("ascii")


def _quote(data: Any) -> str:
    """JSON without characters that are special in HTML."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _lede(report: Report) -> str:
    table = "" if report.columns is None else f" and {count_text(len(report.columns), 'column')}"
    scale = "" if report.symbol is None else f", {report.symbol} = {number_text(report.scale) or 'none'}"
    dimensions = count_text(report.n_dimensions, "dimension")
    scales = f" at {count_text(len(report.fits), 'scale')}" if _has_scales(report) else ""
    rows = count_text(len(report.rows), "row")
    return f"{rows}{table}, embedded in {dimensions} by {report.estimator}{scales}{scale}."


def _has_scales(report: Report) -> bool:
    return report.fits[0].title is not None


def _words(report: Report) -> str:
    """The certificate in plain words, of every scale where there are scales, with rank and spectrum."""
    parts = []
    for fit, (claim, *rest) in zip(report.fits, explain_scales(report.fits, report.n_points, report.tol), strict=True):
        title = "" if fit.title is None else f"<h3>{escape(fit.title)}</h3>"
        paragraphs = "".join(f"<p>{escape(text)}</p>" for text in rest)
        spectrum = {"Rank": str(len(fit.eigenvalues)), "Eigenvalues (share)": _share_list(fit.eigenvalues)}
        parts.append(f'{title}<p class="claim">{escape(claim)}</p>{paragraphs}<dl>{_definitions(spectrum)}</dl>')
    return "\n".join(parts)


def _share_list(eigenvalues: Array) -> str:
    """The largest eigenvalues as parts of their sum."""
    shares = [percent(value / eigenvalues.sum()) for value in eigenvalues.tolist() if value > 0]
    return ", ".join(shares[:_MAX_SHARES]) + (", …" if len(shares) > _MAX_SHARES else "") if shares else "none"


def _definitions(pairs: dict[str, str]) -> str:
    return "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs.items())


def _why_score(report: Report) -> str | None:
    """Why two components do not make a plot, if they do not: the outlier score then is the vertical axis."""
    if report.coordinates.shape[1] < 2:
        return "there is no second component"
    if len(report.shares) < 2 or report.shares[1] < _NEGLIGIBLE:
        return "the second component carries next to nothing"
    if report.picture is not None and report.picture.view == "ring":
        return "two components would make a circle"
    return None


def _reading(report: Report) -> str:
    text = "Every point is a row of the data. Rows that are alike point the same way from the centre"
    if len(report.fits) > 1:
        text = "Every point is a row of the data. Within a scale, rows that are alike point the same way from the centre"
    if report.parameters.get("diagonal") == "'kernel'" and report.parameters["normalize"] == "None":
        text += "; the farther out a row, the fewer neighbours it has"
    why = _why_score(report)
    return f"{text}." if why is None else f"{text}. Up is the outlier score, because {why}."


def _limits(report: Report) -> str:
    kernel = "kernel and its bandwidth suit" if report.symbol in ("σ", "ℓ") else "kernel suits"
    text = (
        f"The certificate is about the optimisation, not about the world. It does not say that the {kernel} the data, or "
        "that groups in the picture mean anything."
    )
    if report.picture is not None and report.picture.view == "layout":
        text = f"The map is a layout by t-SNE of the coordinates, and it is these that the certificate is about. {text}"
    return text


def _outliers(report: Report) -> str:
    """What the scores are, and the table of the highest."""
    order = np.argsort(-report.scores, kind="stable")[:_OUTLIERS]
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
        rows.append([*cells, fixed_text(report.scores[i])])
    about = _scores(report, order)
    hint = f"{about} Press a number to see the row in the map. Rows are counted from {report.first_row}."
    scroll = '<div class="scroll" tabindex="0" role="region" aria-label="Table of outlying rows">'
    return f'<p class="hint">{hint}</p>{scroll}{_table(head, rows, figures=1)}</div>'


def _scores(report: Report, order: Array) -> str:
    measure = (
        "their distance to their neighbours, and how many rows share these"
        if _of_neighbors(report)
        else "the density around them, on a logarithmic scale"
    )
    text = f"By {measure}; the median row scores 0."
    # Rows without neighbours have equal scores, and the table holds an arbitrary choice of them.
    last = float(report.scores[order[-1]])
    count = int((report.scores >= last - _EQUAL).sum())
    if count > _OUTLIERS:
        text += f" These are some of the {count_text(count, 'row')} that score {fixed_text(last)} or more."
    return text


def _has_labels(report: Report) -> bool:
    return report.labels is not None or report.target is not None


def _label(report: Report, i: int) -> str:
    if report.labels is not None:
        return report.labels[i]
    if isinstance(report.target, Values):
        value = report.target.values[i]
        return number_text(value)
    assert isinstance(report.target, Classes)
    return report.target.names[report.target.codes[i]] if report.target.codes[i] >= 0 else ""


def _columns(report: Report) -> str:
    rows = []
    for c in report.table[:_MAX_COLUMNS]:
        low, median, high = map(date_text if c.dates else number_text, (c.low, c.median, c.high))
        rows.append([escape(c.name), low, count_text(c.n_classes, "value") if c.n_classes else median, high])
    return _table(["Column", "Lowest", "Median", "Highest"], rows, figures=3)


def _columns_note(report: Report) -> str:
    if report.columns is None:
        return "The rows were given by their similarities (a kernel matrix) or distances (a graph), without columns."
    sentences = [equal_rows(report), report.preparation]
    if report.n_left_out:
        sentences.insert(1, f"{count_text(report.n_left_out, 'row')} of weight zero left out.")
    if len(report.table) > _MAX_COLUMNS:
        sentences.append(f"The first {_MAX_COLUMNS} columns:")
    return " ".join(filter(None, sentences))


def equal_rows(report: Report) -> str | None:
    """A sentence on rows that lie at the place of another, if there are any."""
    rows = count_text(report.n_equal, "row")
    return f"{rows} at the place of an earlier one, equal in all embedded columns." if report.n_equal else None


def _of_neighbors(report: Report) -> bool:
    """Whether the kernel is one of neighbours."""
    kernel = report.parameters.get("kernel", "").lower()
    return "neighbors" in kernel or "overlap" in kernel


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
