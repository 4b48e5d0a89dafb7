"""Paths of spreads against single fits; what they cost, and how they go on after an interruption."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from common import RANK_4, WINE, assert_same_path, fit, gram, weights
from elliptope import bandwidth_path, spread_path
from elliptope.kernels import Gaussian

SPREADS = [0.3, math.inf, 0.0, 3.0, 0.05]


def path(X=RANK_4, spreads=SPREADS, **options):
    return spread_path(X, spreads, **{"random_state": 0, **options})


@pytest.mark.parametrize(
    ("X", "w", "parameters"),
    [
        (WINE, None, {"bandwidth": 2.0}),
        (WINE, weights(178, zeros=9), {"bandwidth": 2.0}),
        (np.vstack([WINE, WINE[:20]]), None, {"kernel": "overlap"}),
        (RANK_4, weights(40), {"kernel": "neighbors", "n_neighbors": 8, "diagonal": "constant"}),
        (RANK_4, None, {"bandwidth": 3.0, "operator": "tiled", "n_components": 2, "normalize": "unit"}),
        (sparse.csr_array(np.maximum(RANK_4, 0) + 0.1), None, {"kernel": "overlap", "metric": "cosine"}),
        (np.exp(-((RANK_4[:, None] - RANK_4) ** 2).sum(-1) / 9), None, {"kernel": "precomputed"}),
    ],
    ids=["gaussian", "zero weights", "equal rows", "constant", "shown in part", "sparse X", "precomputed"],
)
def test_agrees_with_single_fits(X, w, parameters):
    found = path(X, sample_weight=w, **parameters)
    np.testing.assert_array_equal(found.spreads, SPREADS)
    for eta, record in zip(SPREADS, found.records, strict=True):
        est = fit(X, w, spread=eta, **parameters)
        assert (record.spread, record.status) == (eta, est.status_)
        assert record.embedding.shape == est.embedding_.shape
        whole = record.factor @ record.factor.T
        np.testing.assert_allclose(whole, est.learned_kernel(X), atol=1e-5 * abs(whole).max())
        np.testing.assert_allclose(record.embedding @ record.embedding.T, gram(est), atol=1e-5 * abs(gram(est)).max())
        np.testing.assert_allclose(record.eigenvalues[:2], est.eigenvalues_[:2], rtol=1e-5)
        assert math.isfinite(record.certificate.distance_bound) == (eta > 0)
    np.testing.assert_array_equal(found.distance_bounds, [r.certificate.distance_bound for r in found.records])
    assert np.isnan(found.records[0].bandwidth) == ("bandwidth" not in parameters)


def test_costs_less_than_cold_starts():
    for parameters in ({"bandwidth": 2.0}, {"kernel": "neighbors"}):
        spreads = np.geomspace(0.05, 2, 12)
        cold = sum(fit(WINE, spread=eta, **parameters).n_products_ for eta in spreads)
        assert sum(record.n_products for record in path(WINE, spreads, **parameters).records) < 0.8 * cold


def test_the_kernel_is_computed_once():
    calls = []

    def kernel(X, Y):
        calls.append(len(X))
        return Gaussian(3.0)(X, Y)

    fit(RANK_4, spread=0.3, kernel=kernel)
    single = len(calls)
    path(kernel=kernel)
    assert len(calls) == 2 * single


def test_goes_on_from_a_checkpoint(tmp_path):
    whole, solved = path(kernel="neighbors"), []
    options = {"kernel": "neighbors", "checkpoint": tmp_path / "path.npz"}
    with pytest.warns(ConvergenceWarning, match="spread_path: ended early, spreads missing: 3; call again with the same"):
        first = path(**options, callback=lambda record: record.spread == 3.0)
    assert first.missing == (0.3, 0.0, 0.05)
    again = path(**options, callback=lambda record: solved.append(record.spread))
    assert solved == [0.3, 0.05, 0.0]
    for one, two in zip(again.records, whole.records, strict=True):
        np.testing.assert_array_equal(one.factor, two.factor)
        assert (one.spread, one.certificate, one.n_products) == (two.spread, two.certificate, two.n_products)
    with pytest.raises(ValueError, match="belongs to other work: `tol` was 1e-06, is 1e-07"):
        path(**options, tol=1e-7)
    with pytest.raises(ValueError, match=r"belongs to other work: .*`X` was"):
        path(RANK_4 + 1, **options)
    with pytest.raises(ValueError, match=r"`bandwidth` was 'auto', is None; .*`spread` was None, is 0\.0"):
        bandwidth_path(RANK_4, [1.0], random_state=0, checkpoint=tmp_path / "path.npz")


def test_the_order_does_not_matter():
    one, two = path(bandwidth=3.0), path(spreads=SPREADS[::-1], bandwidth=3.0)
    assert_same_path(one, type(two)(two.records[::-1], (), two.weights))
    np.testing.assert_array_equal(one.aligned, two.aligned[::-1])
    twice = path(spreads=[0.3, 0.3], bandwidth=3.0)
    assert twice.records[0] is twice.records[1]


def test_summaries():
    found = path(spreads=[0.1, 1.0, math.inf], bandwidth=3.0)
    assert repr(found) == "SpreadPath(3 spreads from 0.1 to inf: 3 optimal)"
    assert str(found.records[2]).startswith("η = inf  optimal  gap ")
    np.testing.assert_allclose(found.spectra.sum(axis=1), 1)
    assert [row["spread"] for row in found.to_rows()] == [0.1, 1.0, math.inf]
    ranks = [record.embedding.shape[1] for record in found.records]
    assert ranks == sorted(ranks)
    # Neighbours along the path are turned onto each other.
    assert found.aligned.shape == (3, 40, ranks[-1])
    for record, Z in zip(found.records, found.aligned, strict=True):
        np.testing.assert_allclose(Z @ Z.T, record.factor @ record.factor.T, atol=1e-10)


def test_a_picture():
    pytest.importorskip("matplotlib")
    from elliptope.plotting import PathDisplay

    display = PathDisplay.from_path(path(bandwidth=3.0), n_components=3)
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), [0.05, 0.3, 3.0])  # without 0 and infinity
    assert display.ax_.get_xlabel() == "spread η"
    with pytest.raises(ValueError, match="`path` must have at least 1 spread that is positive and finite, got"):
        PathDisplay.from_path(path(spreads=[0.0, math.inf], bandwidth=3.0))


def test_bad_input():
    for spreads in (None, 2.0):
        with pytest.raises(ValueError, match="`spreads` must be a sequence of numbers from 0 to infinity, got"):
            path(spreads=spreads)
    with pytest.raises(ValueError, match="`spreads` must hold at least 1 value, got none"):
        path(spreads=[])
    for value in (-1, math.nan, -math.inf, "1", True):
        with pytest.raises(ValueError, match=r"`spreads\[1\]` must be non-negative and finite, got"):
            path(spreads=[1.0, value])
    with pytest.raises(TypeError, match="`spread` is what varies along the path"):
        path(spread=1.0)
    with pytest.raises(ValueError, match="`tol` must be positive and finite, got 0"):
        path(tol=0)
