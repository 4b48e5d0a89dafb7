"""The numbers of every fit and the words of its certificate, as HTML."""

from __future__ import annotations

import math
from html import escape

import numpy as np

from .._utils.arrays import Array
from ..estimators.path.records import PathRecord
from .content import Report
from .numbers import number_text, percent
from .words import explain, explain_scales, headline, headline_of_scales, outward, share_text, stands_for_another

# Eigenvalues that are written out.
_MAX_SHARES = 4
# What the symbols stand for.
PARAMETERS = {"σ": "Bandwidth σ", "ℓ": "Length scale ℓ", "k": "Neighbours k"}


def scale_text(report: Report, k: int) -> str:
    """Bandwidth, length scale or number of neighbours of fit k."""
    return number_text(report.values[k]) or "none"


def fit_facts(report: Report, k: int) -> str:
    """The verdict on fit k, and its numbers: those of every scale where there are scales."""
    fit, scales = report.fits[k], report.scales[k]
    verdict = f'<p class="verdict" data-status="{escape(fit.status)}">{escape(verdict_text(report, k))}</p>'
    of_kernel = {} if report.symbol is None else {PARAMETERS[report.symbol]: scale_text(report, k)}
    if scales:
        parts = [f"<h3>{escape(scale.title)}</h3><dl>{definitions(_numbers(scale.record))}</dl>" for scale in scales]
        own = f"<dl>{definitions(of_kernel)}</dl>" if of_kernel else ""
        return of_fit(report, k, verdict + own + "".join(parts))
    return of_fit(report, k, f"{verdict}<dl>{definitions({**of_kernel, **_numbers(fit)})}</dl>")


def verdict_text(report: Report, k: int) -> str:
    """Status and grade of fit k in a few words."""
    scales = report.scales[k]
    return headline_of_scales([scale.record for scale in scales]) if scales else headline(report.fits[k])


def _numbers(fit: PathRecord) -> dict[str, str]:
    c = fit.certificate
    low, high = outward(c.objective, c.upper_bound)
    total = fit.eigenvalues.sum()
    facts = {
        "Rank": str(len(fit.eigenvalues)),
        "Gap, at most": share_text(c.relative_gap),
        "Objective reached": low,
        "Bound on any": high,
        "Eigenvalues (share)": share_list(fit.eigenvalues / (total if total > 0 else 1.0)),
    }
    if math.isfinite(c.distance_bound):
        facts["Distance to the optimum, at most"] = share_text(c.distance_bound)
    if stands_for_another(c):
        facts["Exact kernel, optimum"] = " to ".join(outward(*c.exact_interval))
    return facts


def share_list(spectrum: Array) -> str:
    """The largest shares. Columns of several scales are in another order."""
    shares = [percent(share) for share in np.sort(spectrum)[::-1].tolist() if share > 0]
    return ", ".join(shares[:_MAX_SHARES]) + (", …" if len(shares) > _MAX_SHARES else "") if shares else "none"


def fit_words(report: Report, k: int) -> str:
    n = len(report.fits[k].embedding)
    scales = report.scales[k]
    if not scales:
        return of_fit(report, k, _paragraphs(explain(report.fits[k], n, report.tol)))
    texts = explain_scales([scale.record for scale in scales], n, report.tol)
    titles = [f"<h3>{escape(scale.title)}</h3>" for scale in scales]
    return of_fit(report, k, "".join(title + _paragraphs(text) for title, text in zip(titles, texts, strict=True)))


def _paragraphs(texts: list[str]) -> str:
    """The first is the claim."""
    claim, *rest = (escape(text) for text in texts)
    return f'<p class="claim">{claim}</p>' + "".join(f"<p>{text}</p>" for text in rest)


def of_fit(report: Report, k: int, content: str) -> str:
    """Content that is shown while the slider is at fit k."""
    return f'<div data-fit="{k}"{"" if k == report.chosen else " hidden"}>{content}</div>'


def definitions(pairs: dict[str, str]) -> str:
    return "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs.items())
