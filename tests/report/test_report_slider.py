"""Which bandwidths the slider of a report has, what they may cost, and the notes on those left out."""

import math
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from common import WINE, fit
from elliptope import RKHSEmbedding, SDPEmbedding
from elliptope.report import write_report
from elliptope.report.bandwidths import other_bandwidths
from elliptope.report.content import collect
from elliptope.report.fits import Limits
from elliptope.report.render import render
from html_page import Page

# Bandwidths of the two clusters below: at the first, and above, a few dozen products do, at the second more than a hundred.
EASY, HARD = 0.7, 0.5
# Products that are allowed for in between.
BUDGET = 80
# As if 200 rows were many: BUDGET products at 200 rows.
MANY = Limits(small=100, products=4 * BUDGET)


@pytest.fixture(scope="module")
def clusters():
    rng = np.random.default_rng(0)
    return np.vstack([rng.standard_normal((100, 4)), rng.standard_normal((100, 4)) + 6])


@pytest.fixture(scope="module")
def wine():
    return fit(WINE, bandwidth=2.0)


def quietly(function, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return function(*args, **options)


def shown(report):
    return [round(record.bandwidth, 6) for record in report.fits]


def test_large_tables_get_fewer_steps_of_the_same_size(wine):
    for n, count in [(8000, 5), (10_000, 3), (11_000, 2), (14_000, 1), (15_000, 0)]:
        steps = [step for step in range(-count, count + 1) if step]
        np.testing.assert_allclose(other_bandwidths("auto", wine, n), 2.0 * 2.0 ** (np.array(steps) / 5))


def test_few_and_no_bandwidths_are_explained(wine):
    report = collect(wine, limits=Limits(large=120))  # 178 rows are many then
    assert len(report.fits) == 1
    assert report.note.startswith("There is no slider: with 178 rows every bandwidth takes long")
    assert report.note in Page(render(report)).texts["p"]
    few = Limits(large=150)
    assert collect(wine, limits=few).note == "3 bandwidths instead of 11, because there are many rows."
    assert collect(wine, limits=few, bandwidths=[1.5, 3.0]).note is None
    assert collect(wine, limits=few, bandwidths=None).note is None


def test_automatic_bandwidths_that_cost_too_much_are_left_out(clusters):
    est = fit(clusters, bandwidth=EASY)
    assert est.n_products_ <= BUDGET
    report = collect(est, limits=MANY)
    assert all(record.status == "optimal" and record.n_products <= BUDGET for record in report.fits)
    assert len([sigma for sigma in shown(report) if sigma > EASY]) == 5
    below = [EASY * 2 ** (-step / 5) for step in range(1, 6)]
    left_out = [f"{sigma:.4g}" for sigma in below if round(sigma, 6) not in shown(report)]
    assert len(left_out) > 1
    assert f"σ = {left_out[0]} left out: not solved by {BUDGET} products." in report.note
    assert f"{', '.join(left_out[:0:-1])} left out: at σ = {left_out[0]} no unique optimum was found." in report.note


def test_what_was_asked_for_is_solved_whatever_it_costs(clusters):
    report = collect(fit(clusters, bandwidth=EASY), bandwidths=[HARD], limits=MANY)
    assert shown(report) == [HARD, EASY]
    assert report.fits[0].status == "optimal"
    assert report.fits[0].n_products > BUDGET
    assert report.note is None


def test_nothing_is_tried_below_a_bandwidth_that_is_not_settled(clusters):
    est = fit(clusters, bandwidth=EASY)
    with pytest.warns(ConvergenceWarning, match="write_report: status 'degenerate' at"):
        free = collect(est)
    degenerate = sorted(record.bandwidth for record in free.fits if record.status == "degenerate")
    assert len(free.fits) == 11
    assert len(degenerate) > 1
    careful = quietly(collect, est, limits=Limits(small=199))
    assert shown(careful)[0] == round(degenerate[-1], 6)
    assert len(careful.fits) == 12 - len(degenerate)
    listed = ", ".join(f"{sigma:.4g}" for sigma in degenerate[:-1])
    assert careful.note == f"σ = {listed} left out: at σ = {degenerate[-1]:.4g} no unique optimum was found."


@pytest.mark.parametrize("done", [0, 1])
def test_an_interrupted_page_is_written(tmp_path, wine, monkeypatch, done):
    original, fits = SDPEmbedding.fit, []

    def press(self, *args, **options):
        fits.append(self)
        if len(fits) > done:
            raise KeyboardInterrupt
        return original(self, *args, **options)

    monkeypatch.setattr(SDPEmbedding, "fit", press)
    missing = ["3", "4"][: 2 - done]
    note = f"σ = {', '.join(missing)} left out: stopped by hand."
    with pytest.warns(ConvergenceWarning, match=note) as record:
        write_report(wine, tmp_path / "page.html", bandwidths=[3.0, 4.0])
    assert record[0].filename == __file__
    assert note in (tmp_path / "page.html").read_text("utf-8")


def test_estimators_without_a_bandwidth_say_so():
    report = collect(RKHSEmbedding(random_state=0).fit(WINE))
    assert report.note == "There is no slider: this RKHSEmbedding has no bandwidth to vary."
    assert math.isfinite(report.fits[0].bandwidth)


def test_numbers_of_neighbours_that_take_long_are_left_out():
    """Unless they were asked for."""
    est = quietly(SDPEmbedding(kernel="neighbors", max_iter=1, random_state=0).fit, WINE)
    assert est.status_ == "max_iter"
    report = quietly(collect, est)
    assert [record.n_neighbors for record in report.fits] == [15]
    assert report.note == "k = 8, 11, 21, 30 left out: not solved in 1 iterations."
    asked = quietly(collect, est, neighbors=[8, 30])
    assert [record.n_neighbors for record in asked.fits] == [8, 15, 30]
    assert asked.note is None
