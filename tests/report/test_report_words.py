"""What the report says of a certificate is true of the certificate."""

import dataclasses
import math
import re
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common import WINE, fit
from elliptope._utils.rounding import round_up
from elliptope.report.content import collect
from elliptope.report.scales import Fit
from elliptope.report.words import explain, headline, outward, share_text
from elliptope.sdp import Certificate, NullSpace


def certificate(grade="proved", upper=10.5, **fields):
    defaults = {"objective": 10.0, "upper_bound": upper, "gap": upper - 10.0, "grade": grade, "failure_probability": 1e-6}
    rest = {"min_eigenvalue": -1e-9, "stationarity": 1e-9, "gain": 5.0, "weights": "slack", "null_space": None}
    return Certificate(**{**defaults, **rest, **fields})


def outcome(status="optimal", **fields):
    return Fit(status, certificate(**fields), np.array([2.0, 1.0]), bandwidth=2.0)


@given(st.floats(-1e12, 1e12), st.floats(0, 1e6))
def test_numbers_are_rounded_to_the_safe_side(low, gap):
    high = low + gap
    down, up = outward(low, high)
    assert Decimal(down) <= Decimal(low) <= Decimal(high) <= Decimal(up)
    if gap > 1e-13 * abs(low):
        assert Decimal(up) - Decimal(down) <= Decimal("1.3") * Decimal(gap) + Decimal(abs(low)) * Decimal("1e-5")


@given(st.floats(1e-300, 1e6))
def test_gaps_are_rounded_up_to_two_digits(gap):
    text = share_text(gap).replace("\N{NO-BREAK SPACE}", "")
    if text.endswith("%"):
        shown = Decimal(text[:-1]) / 100
    else:
        plain = text.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
        mantissa, power = plain.split("×10")
        shown = Decimal(mantissa).scaleb(int(power))
    assert Decimal(gap) <= shown <= Decimal(gap) * Decimal("1.1")
    assert Decimal(round_up(gap)) == shown  # so does the command line


def test_unbounded_and_closed_gaps():
    assert share_text(math.inf) == "∞"
    assert share_text(0.0) == "0"
    assert float(round_up(math.inf)) == math.inf
    assert float(round_up(0.0)) == 0
    assert outward(3.0, math.inf) == ("3.00000", "∞")
    assert outward(0.0, 0.0) == ("0.00000", "0.00000")


def test_a_proof_is_called_a_proof():
    est = fit(WINE, bandwidth=2.0)
    c = est.certificate_
    claim, reason, room, verdict = explain(collect(est).fits[0], len(WINE), 1e-6)
    low, high = outward(c.objective, c.upper_bound)
    assert claim == f"No embedding of these data can have an objective above {high}; this one reaches {low}."
    assert "proved by computations with a matrix of 178 rows" in reason
    assert share_text(c.relative_gap) in room
    assert "only optimum" in verdict


@pytest.mark.parametrize(
    ("status", "fields", "expected", "absent"),
    [
        ("unconfirmed", {}, ["above 10.5", "proved by", "could not be established"], ["only optimum"]),
        ("optimal", {"grade": "probabilistic"}, ["with a probability of at most", "vectors drawn at random"], ["proved"]),
        ("optimal", {"error_above": 0.5}, ["the approximate kernel", "at least 10.0000, and", "above 11.0000:", "21 %"], []),
        ("optimal", {"error_below": 0.5}, ["the approximate kernel", "at least 9.5000, and", "above 10.5000:", "21 %"], []),
        (
            "degenerate",
            {"grade": "probabilistic", "error_below": 0.25, "error_above": 1.0},
            ["above 10.5000, measured by", "at least 9.7500", "above 11.5000, except with a probability", "35 %"],
            ["proved"],
        ),
        ("max_iter", {"grade": "estimate", "error_below": 1.0}, ["at least 9.0000", "is not known"], ["no embedding gets"]),
        ("degenerate", {"null_space": NullSpace(4, 0.1, 2, False, 0)}, ["not the only", "other pictures"], ["only optimum"]),
        ("degenerate", {"null_space": NullSpace(4, 0.1, 2, True, 1)}, ["not the only", "cost too small"], ["other picture"]),
        ("max_iter", {"upper": 10.6}, ["ran out of", "draft", "12 %"], ["only optimum"]),
        ("interrupted", {"grade": "estimate", "upper": math.inf}, ["not known", "by hand"], ["proved", "above", "inf"]),
        ("interrupted", {"grade": "probabilistic", "upper": math.inf}, ["not known", "by hand"], ["proved", "inf"]),
        ("max_iter", {"grade": "estimate"}, ["not proved", "was not finished"], ["No embedding", "proved by"]),
        ("optimal", {"weights": "own"}, ["of the size of the problem"], ["structureless"]),
    ],
)
def test_words_for_every_outcome(status, fields, expected, absent):
    r = outcome(status, **fields)
    text = " ".join(explain(r, 3, 1e-6)).replace("\N{NO-BREAK SPACE}", " ")
    for part in expected:
        assert part in text
    assert "1.0 × 10⁻⁶ was asked for" in text or r.certificate.gap == math.inf
    for part in absent:
        assert part not in text
    approximate = bool(r.certificate.error_below or r.certificate.error_above)
    assert ("exact kernel" in text) == approximate
    assert ("approximate kernel" in headline(r)) == (approximate and status in ("optimal", "degenerate"))
    assert ("optimal" in headline(r).lower()) == (status in ("optimal", "degenerate", "unconfirmed"))
    assert ("other pictures" in headline(r)) == (status in ("degenerate", "unconfirmed"))
    assert ("Proved" in headline(r)) == (status == "optimal" and r.certificate.grade == "proved")


def test_the_two_claims_are_those_of_the_certificate():
    """What is said of the approximate problem and what is said of the exact one, each rounded to the safe side."""
    c = certificate(upper=10.123456789, error_below=0.0123456789, error_above=0.3)
    claim, _, _, exact, _ = explain(Fit("optimal", c, np.ones(1)), 3, 1e-6)
    for text, (low, high) in ((claim, (c.objective, c.upper_bound)), (exact, c.exact_interval)):
        shown = sorted(Decimal(number) for number in re.findall(r"\d+\.\d+", text.split(": at most")[0]))
        assert shown[0] <= Decimal(low) <= Decimal(high) <= shown[-1]
        assert shown[-1] - shown[0] <= Decimal("1.3") * Decimal(high - low)
    assert share_text(c.exact_relative_gap) in exact


@pytest.mark.parametrize(("bandwidth", "remedy"), [(2.0, "another bandwidth"), (math.nan, "more neighbours")])
def test_what_to_do_about_other_optima(bandwidth, remedy):
    r = dataclasses.replace(outcome("degenerate"), bandwidth=bandwidth)
    assert remedy in explain(r, 3, 1e-6)[-1]
