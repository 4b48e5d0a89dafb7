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
from ..plotting.targets import Classes, Target, Values
from .content import Report
from .fields import single_precision
from .numbers import count_text, date_text, fixed_text, number_text
from .verdicts import PARAMETERS, definitions, fit_facts, fit_words, of_fit, scale_text, share_list, verdict_text
from .words import PICTURES, read_picture, share_text

# Rows in the table of outliers, and columns in that of the data.
_OUTLIERS = 12
_MAX_COLUMNS = 200
# Share of an eigenvalue below which its component is invisible in the picture.
_NEGLIGIBLE = 1e-3
# Difference of scores below which they are equal.
_EQUAL = 1e-3
# In the order in which they run.
_SCRIPTS = (
    *("data", "view", "sphere", "colours", "points", "frame", "pointer"),  # the map
    *("differences", "selection", "export", "spectrum", "page"),
)


def render(report: Report) -> str:
    """The page."""
    several = len(report.fits) > 1
    parts = {
        "title": escape(report.title),
        "version": escape(report.versions["elliptope"]),
        "style": page_file("page.css"),
        "script": "\n".join(page_file(f"{name}.js") for name in _SCRIPTS),
        "data": _quote(page_data(report)),
        "lede": "".join(of_fit(report, k, _lede(report, k)) for k in range(len(report.fits))),
        "reading": escape(_reading(report)),
        "if_picture": "" if report.picture else "hidden",
        "if_coordinates": "hidden" if report.picture else "",
        "picture": "" if report.picture is None else PICTURES[report.picture.view],
        "picture_reading": "" if report.picture is None else escape(read_picture(report.picture)),
        "if_path": "" if several else "hidden",
        "slider_name": escape(_parameter(report)),
        "note": escape(report.note or ""),
        "if_note": "" if report.note else "hidden",
        "if_columns": "" if report.table else "hidden",
        "steps": str(len(report.fits) - 1),
        "chosen": str(report.chosen),
        "least": escape(scale_text(report, 0)),
        "largest": escape(scale_text(report, -1)),
        "facts": "\n".join(fit_facts(report, k) for k in range(len(report.fits))),
        "words": "\n".join(fit_words(report, k) for k in range(len(report.fits))),
        "limits": escape(_limits(report)),
        "first_row": str(report.first_row),
        "outliers": "".join(of_fit(report, k, _outliers(report, k)) for k in range(len(report.fits))),
        "path": _path(report),
        "columns": _columns(report),
        "columns_note": escape(_columns_note(report)),
        "parameters": definitions(report.parameters),
        "versions": definitions(report.versions),
    }
    return Template(page_file("page.html")).substitute(parts)


def page_data(report: Report) -> dict[str, Any]:
    """The data of the page's script; arrays as the base64 of little-endian numbers."""
    m, n, k = report.frames.shape
    fields = [_field(name, column) for name, column in report.fields]
    if report.target is not None:
        fields.insert(0, _field("Label" if report.target_name is None else report.target_name, report.target))
    return {
        "size": {"frames": m, "rows": n, "axes": k},
        "rows": _base64(report.rows, "<i4"),
        "names": report.row_names,
        "labels": report.labels,
        "fields": fields,
        "target": None if report.target is None else 0,
        "scores": _base64(report.scores, "<f4"),
        "frames": _base64(report.frames.transpose(0, 2, 1), "<f4"),  # one axis after the other
        "chosen": report.chosen,
        "axes": report.axes,
        "up": report.up if _why_score(report) is None else k,  # the axis after the components is the outlier score
        "picture": _picture(report),
        "parameter": _parameter(report),
        "fits": [
            {"scale": _number(value), "text": scale_text(report, i), "summary": _summary(report, i), "shares": row}
            for i, (value, row) in enumerate(zip(report.values.tolist(), report.spectra.tolist(), strict=True))
        ],
    }


def _field(name: str, column: Target) -> dict[str, Any]:
    """A column by which rows are coloured, compared and described."""
    if isinstance(column, Classes):
        others = {} if column.others is None else {"others": _field(name, column.others)}
        field = {"name": name, "names": list(column.names), "codes": _base64(column.codes, "<i4"), "rest": column.rest}
        return {**field, **others}
    return {"name": name, "values": _base64(single_precision(column.values), "<f4"), "dates": column.dates}


def _parameter(report: Report) -> str:
    """What the slider varies."""
    return PARAMETERS.get(report.symbol or "", "")


def _picture(report: Report) -> dict[str, Any] | None:
    """The picture beside the coordinates; its axes have titles where they have a meaning."""
    drawn = report.picture
    if drawn is None:
        return None
    return {
        "view": drawn.view,
        "columns": drawn.columns,
        "note": drawn.note,
        "still": drawn.frames is not None and len(drawn.frames) < len(report.fits),  # of the chosen fit alone
        "frames": None if drawn.frames is None else _base64(drawn.frames.transpose(0, 2, 1), "<f4"),
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


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _summary(report: Report, k: int) -> str:
    rank, text = len(report.fits[k].eigenvalues), verdict_text(report, k)
    return f"{report.symbol} = {scale_text(report, k)}, rank {rank}, {text[0].lower()}{text[1:]}"


def _lede(report: Report, k: int) -> str:
    table = "" if report.columns is None else f" and {count_text(len(report.columns), 'column')}"
    scale = "" if report.symbol is None else f", {report.symbol} = {scale_text(report, k)}"
    dimensions = count_text(report.fits[k].embedding.shape[1], "dimension")
    scales = f" at {count_text(len(report.scales[k]), 'scale')}" if report.scales[k] else ""
    rows = count_text(len(report.rows), "row")
    text = f"{rows}{table}, embedded in {dimensions} by {report.estimator}{scales}{scale}."
    return f'<p class="lede">{escape(text)}</p>'


def _why_score(report: Report) -> str | None:
    """Why two components do not make a plot, if they do not: the outlier score then is the vertical axis."""
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
    if len(report.scales[report.chosen]) > 1:
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
    several = " Move the slider: what stays put over many of its values deserves more trust."
    return f"{text}{several}" if len(report.fits) > 1 else text


def _outliers(report: Report, k: int) -> str:
    """What the scores are, and the table of the highest, at fit k."""
    scores = report.scores[k]
    order = np.argsort(-scores, kind="stable")[:_OUTLIERS]
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
        rows.append([*cells, fixed_text(scores[i])])
    about = _scores(report, scores, order)
    hint = f"{about} Press a number to see the row in the map. Rows are counted from {report.first_row}."
    scroll = '<div class="scroll" tabindex="0" role="region" aria-label="Table of outlying rows">'
    return f'<p class="hint">{hint}</p>{scroll}{_table(head, rows, figures=1)}</div>'


def _scores(report: Report, scores: Array, order: Array) -> str:
    measure = (
        "their distance to their neighbours, and how many rows share these"
        if _of_neighbors(report)
        else "the density around them, on a logarithmic scale"
    )
    text = f"By {measure}; the median row scores 0."
    # Rows without neighbours have equal scores, and the table holds an arbitrary choice of them.
    last = float(scores[order[-1]])
    count = int((scores >= last - _EQUAL).sum())
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


def _path(report: Report) -> str:
    head = [report.symbol or "", "Rank", "Eigenvalues", "Gap, at most", "Verdict"]
    rows = [
        [
            scale_text(report, k),
            str(len(fit.eigenvalues)),
            share_list(report.spectra[k]),
            share_text(fit.certificate.relative_gap),
            escape(verdict_text(report, k)),
        ]
        for k, fit in enumerate(report.fits)
    ]
    return _table(head, rows)


def _columns(report: Report) -> str:
    rows = []
    for c in report.table[:_MAX_COLUMNS]:
        low, median, high = map(date_text if c.dates else number_text, (c.low, c.median, c.high))
        rows.append([escape(c.name), low, count_text(c.n_classes, "value") if c.n_classes else median, high])
    return _table(["Column", "Lowest", "Median", "Highest"], rows, figures=3)


def _columns_note(report: Report) -> str:
    if report.columns is None:
        return "The rows were given by their similarities (a kernel matrix) or distances (a graph), without columns."
    text = f"{count_text(len(report.rows), 'row')} and {count_text(len(report.columns), 'column')} were embedded."
    if equal := equal_rows(report):
        text += f" {equal}"
    if report.n_left_out:
        text += f" {count_text(report.n_left_out, 'row')} of weight zero left out."
    if report.preparation:
        text += f" {report.preparation}"
    if len(report.table) > _MAX_COLUMNS:
        text += f" The first {_MAX_COLUMNS} columns:"
    return text


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
