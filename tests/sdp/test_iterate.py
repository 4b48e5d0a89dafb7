"""What follows from a factor and its product, against plain matrices."""

import math

import numpy as np
import pytest

from sdp.costs import indefinite, meter_of, moons, near_optimum, psd, unit_rows


def test_formulas():
    """With a diagonal and without, near the optimum and at random."""
    for seed, C in enumerate([psd(20), indefinite(20), indefinite(20) + 1e3 * np.eye(20)]):
        for H in (unit_rows(np.random.default_rng(seed).standard_normal((20, 3))), near_optimum(C, 1e-3)[1].H):
            iterate = meter_of(C).evaluate(H)
            y = np.einsum("ij,ij->i", H, C @ H)
            slack, P = y - C.diagonal(), C @ H - C.diagonal()[:, None] * H
            L, pull = np.diag(y) - C, np.linalg.norm(P, axis=1)
            rounding = 1e-12 * abs(C).max()
            np.testing.assert_allclose(iterate.P, P, atol=rounding)
            np.testing.assert_allclose(iterate.y, y, atol=20 * rounding)
            np.testing.assert_allclose(iterate.slack, slack, atol=20 * rounding)
            np.testing.assert_allclose(iterate.residual, L @ H, atol=20 * rounding)
            assert iterate.objective == pytest.approx(np.vdot(H, C @ H), rel=1e-12)
            assert iterate.gain == pytest.approx(slack.sum(), abs=20 * rounding)
            np.testing.assert_allclose(iterate.pull, pull, atol=rounding)
            np.testing.assert_allclose(iterate.displacement, (L @ H) / pull[:, None], atol=20 * rounding)
            assert iterate.stationarity == pytest.approx(np.linalg.norm(iterate.displacement, axis=1).max())
            size = slack.sum() if slack.sum() > 0 else abs(slack).sum()
            defect = math.sqrt(((L @ H) ** 2 / pull[:, None]).sum() / size)
            assert iterate.defect == pytest.approx(defect, rel=1e-6)


def test_defect_is_of_the_size_of_the_gap():
    """Both are of second order in the error of H relative to that of the stationarity."""
    _, optimum = near_optimum(moons(0.5), 0.0)
    for error in (1e-5, 1e-4, 1e-3):
        _, iterate = near_optimum(moons(0.5), error)
        missing = (optimum.gain - iterate.gain) / optimum.gain
        assert 0.1 * missing <= iterate.defect**2 <= 10 * missing


@pytest.mark.parametrize("bandwidth", [0.2, 0.5, 1.0])
def test_the_least_gap_is_that_of_the_range(bandwidth):
    for error in (1e-6, 1e-4, 1e-2):
        meter, iterate = near_optimum(moons(bandwidth), error)
        root = np.sqrt(iterate.pull)[:, None]
        U = np.linalg.qr(root * iterate.H)[0]
        L = np.diag(iterate.slack) - meter.problem.core_matrix
        lowest = np.linalg.eigvalsh(U.T @ (L / root / root.T) @ U)[0]
        assert iterate.least_gap == pytest.approx(-lowest * iterate.pull.sum() / iterate.gain, rel=1e-6, abs=1e-12)


def test_a_cost_that_is_small_is_not_diagonal():
    small = 1e-170 * (np.ones((3, 3)) - np.eye(3)) + np.eye(3)
    assert not meter_of(small).evaluate(np.eye(3)).isolated
    assert meter_of(np.eye(3)).evaluate(np.eye(3)).isolated
