"""How a solve has ended, in a word and a sentence."""

from dataclasses import replace

import pytest

from elliptope.sdp import NullSpace, solve
from elliptope.sdp.verdict import Ended, verdict
from sdp.costs import indefinite

FREE = Ended(None, "", "", 7)
TOL = 1e-6


@pytest.fixture(scope="module")
def certificate():
    """Proved, within the tolerance, of a unique optimum."""
    found = solve(indefinite(20), rng=0, polish=True).certificate
    assert found.null_space.unique
    return found


def status(certificate, ended=FREE, polish=True):
    return verdict(certificate, ended, TOL, polish)


def test_a_unique_optimum(certificate):
    said, message = status(certificate)
    assert said == "optimal"
    assert message.endswith("(proved), tol=1.00e-06")
    assert "B itself may be less accurate" in status(certificate, polish=False)[1]


def test_a_gap_that_is_not_closed(certificate):
    wide = replace(certificate, gap=2 * TOL * certificate.gain)
    assert status(wide) == (
        "max_iter",
        "no further progress after 7 iterations (relative gap 2.00e-06 (proved), tol=1.00e-06); increase tol",
    )
    spent = Ended("max_iter", "9 products", "max_products", 7)
    assert status(wide, spent)[1].startswith("9 products were not enough (relative gap 2.00e-06")
    assert status(wide, spent)[1].endswith("increase max_products or tol")
    tested = replace(wide, grade="probabilistic")
    assert status(tested)[0] == "max_iter"
    assert "tests with random vectors bound no tighter" in status(tested)[1]


def test_grades(certificate):
    """An estimate is no bound; a probabilistic one is."""
    assert status(replace(certificate, grade="estimate"))[0] == "max_iter"
    assert status(replace(certificate, grade="probabilistic"))[0] == "optimal"
    assert status(replace(certificate, grade="probabilistic", null_space=None))[0] == "unconfirmed"
    assert status(replace(certificate, grade="probabilistic", null_space=None), polish=False)[0] == "optimal"


def test_the_user_has_stopped_it(certificate):
    assert status(certificate, Ended("interrupted", "", "", 7))[0] == "interrupted"
    assert status(certificate, Ended("max_iter", "", "", 7))[0] == "optimal"
    said, message = status(replace(certificate, stationarity=1e-5), Ended("max_iter", "9 products", "max_products", 7))
    assert said == "max_iter"
    assert "9 products were not enough for an accurate factor" in message


def test_where_nothing_is_known_of_the_null_space_the_rows_decide(certificate):
    for stationarity, expected in ((1e-8, "unconfirmed"), (1e-5, "degenerate")):
        found = replace(certificate, null_space=None, stationarity=stationarity)
        assert status(found)[0] == expected
        assert status(found, polish=False)[0] == "optimal"
    assert "depends so little on some rows" in status(replace(certificate, null_space=None, weights="additive"))[1]


@pytest.mark.parametrize(
    ("null", "message"),
    [
        (NullSpace(3, 0.1, 3, False, 0.0), "B has rank 3, and other matrices of the same range are as good"),
        (NullSpace(4, 0.1, 3, False, 0.0), "L has nullity 4 or more, B has rank 3, and nothing shows"),
        (NullSpace(4, 0.1, 3, True, 1.0), "strict complementarity fails to working precision"),
        (NullSpace(3, 1e-9, 3, True, 1.0), "L has a spectral gap of 1.0e-09"),
        (NullSpace(3, 1.0, 3, True, 1e-5), "the curvature within its null space is 1.0e-05"),
    ],
)
def test_undetermined_optima(certificate, null, message):
    found = replace(certificate, null_space=null, stationarity=1e-10)
    assert status(found)[0] == "degenerate"
    assert message in status(found)[1]
    assert status(found, polish=False)[0] == ("optimal" if null.unique else "degenerate")


def test_rows_are_settled_where_b_is_accurate(certificate):
    """B moves by the stationarity over the spectral gap, or the curvature: 1e-8 / 1e-3 is ten times the tolerance."""
    spent = Ended("max_iter", "9 products", "max_products", 7)
    for stationarity, statuses in ((1e-8, ("degenerate", "max_iter")), (1e-10, ("optimal", "optimal"))):
        for gap, curvature in ((1e-3, 1.0), (1.0, 1e-3)):
            found = replace(certificate, null_space=NullSpace(3, gap, 3, True, curvature), stationarity=stationarity)
            assert (status(found)[0], status(found, spent)[0]) == statuses
            assert status(found, polish=False)[0] == "optimal"
