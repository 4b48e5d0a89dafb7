"""Tables of hardly more distinct rows than neighbours are asked for."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from elliptope import DiffusionMap, MultiscaleEmbedding, SDPEmbedding

X = np.random.default_rng(0).standard_normal((16, 3))
ESTIMATORS = [MultiscaleEmbedding(random_state=0), SDPEmbedding(random_state=0), DiffusionMap(1)]

estimators = pytest.mark.parametrize("est", ESTIMATORS, ids=lambda est: type(est).__name__)
kernels = pytest.mark.parametrize("kernel", ["neighbors", "overlap"])


@estimators
@kernels
@pytest.mark.parametrize(("n", "k"), [(2, 2), (3, 2), (4, 2), (6, 2), (7, 3), (12, 4), (15, 5), (16, 15)])
def test_a_third_of_the_rows_are_neighbours(est, kernel, n, k):
    rows, same = np.repeat(X[:n], 2, axis=0), np.arange(2 * n) // 2  # distinct rows count
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        est.set_params(kernel=kernel, n_neighbors=15).fit(rows)
        Z = est.transform(rows)
    few = [str(warning.message) for warning in noted if "n_neighbors` is" in str(warning.message)]
    assert few == ([] if n > 15 else [f"`n_neighbors` is {k} in place of 15: `X` has no more than {n} distinct rows."])
    assert est.n_neighbors_ == k
    assert est.n_neighbors == 15
    np.testing.assert_allclose(Z, est.embedding_, atol=1e-4)
    np.testing.assert_allclose(Z, Z[2 * same], atol=1e-12)
    if (kernel, n) == ("overlap", 2):  # both rows have both as neighbours
        np.testing.assert_array_equal(Z, 0)
        return
    assert getattr(est, "status_", "optimal") == "optimal"
    assert len(np.unique(Z.round(6), axis=0)) > 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of separate groups
        np.testing.assert_allclose(est.set_params(n_neighbors=k).fit(rows).embedding_, est.embedding_)


@kernels
def test_distances(kernel):
    D = np.linalg.norm(X[:9, None] - X[:9], axis=-1)
    with pytest.warns(UserWarning, match="`n_neighbors` is 3 in place of 15"):
        est = SDPEmbedding(kernel=kernel, metric="precomputed", random_state=0).fit(D)
    own = SDPEmbedding(kernel=kernel, n_neighbors=3, random_state=0).fit(X[:9])
    np.testing.assert_allclose(est.embedding_, own.embedding_, atol=1e-6)


def test_other_kernels_have_no_neighbours():
    assert SDPEmbedding(random_state=0).fit(X).n_neighbors_ is None


@estimators
def test_rows_that_are_all_alike(est):
    """Every two rows are equally far from each other: with any number of neighbours all are neighbours."""
    est.set_params(kernel="overlap", n_neighbors=2)
    with pytest.warns(ConvergenceWarning, match="all rows are equally similar|close to constant"):
        est.fit(np.eye(5))
    np.testing.assert_array_equal(est.embedding_, 0)
    np.testing.assert_array_equal(est.transform(np.eye(5)), 0)
