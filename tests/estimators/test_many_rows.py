"""More than 10 000 points of a kernel of neighbours: near points are together, in another order than the rows."""

import numpy as np
import pytest

from elliptope import MultiscaleEmbedding, SDPEmbedding, load
from elliptope.estimators.outliers import outlier_scores, training_scores

RNG = np.random.default_rng(0)
N = 10_100
X = RNG.normal(size=(N, 3)) + 8 * np.eye(3)[RNG.integers(3, size=N)]
NEW = X[::500] + 0.1


@pytest.fixture(scope="module")
def fitted():
    return SDPEmbedding(kernel="neighbors", spread=0.5, tol=1e-2, random_state=0).fit(X)


def test_the_order_is_another_one(fitted):
    rows = fitted.training_.rows
    assert (np.diff(rows) < 0).any()
    np.testing.assert_array_equal(np.sort(rows), np.arange(N))
    np.testing.assert_array_equal(fitted.training_.points, X[rows])


def test_saved_models_are_the_same(fitted, tmp_path):
    multiscale = MultiscaleEmbedding(tol=1e-2, random_state=0).fit(X)
    for est in (fitted, multiscale):
        est.save(tmp_path / "model", overwrite=True)
        again = load(tmp_path / "model")
        np.testing.assert_array_equal(again.embedding_, est.embedding_)
        np.testing.assert_array_equal(again.transform(NEW), est.transform(NEW))


def test_scores_and_densities_are_in_the_order_of_rows(fitted):
    np.testing.assert_allclose(training_scores(fitted, X), outlier_scores(fitted, X), atol=1e-12)
    np.testing.assert_allclose(fitted.training_.in_order(fitted.training_.log_density), fitted.score_samples(X), atol=1e-12)


@pytest.mark.slow
def test_columns_that_tests_find_missing_are_added():
    """No factorisation, and curvature so small that Lanczos misses it: the test that finds it says in which direction."""
    rng = np.random.default_rng(0)
    rng.normal(size=(3000, 30))
    Y = np.vstack([rng.normal(size=(10_000, 8)) + 4 * rng.normal(size=8) for _ in range(6)])
    rng.shuffle(Y)
    est = MultiscaleEmbedding(random_state=0).fit(Y[:12_000])
    assert est.status_ == "optimal"
    assert all(certificate.relative_gap <= est.tol for certificate in est.certificates_)
