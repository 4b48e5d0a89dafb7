"""Kernels of neighbours that workers search for, beside the matrix and the fits without a cluster."""

import warnings

import numpy as np
import pytest

import dask_cluster
from elliptope import DiffusionMap, MultiscaleEmbedding, Neighbors, Overlap, SDPEmbedding

da = pytest.importorskip("dask.array", reason=dask_cluster.REASON)

N = 300


def groups(n=N, p=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) + rng.choice([0.0, 3.0], (n, 1))


@pytest.fixture(autouse=True)
def cluster():
    found = dask_cluster.in_this_process()
    with found.client.as_current():
        yield found


@pytest.mark.parametrize("rule", [Neighbors(), Overlap(), Overlap(metric="cosine"), Neighbors(metric="canberra")], ids=repr)
def test_same_kernel(rule, cluster, monkeypatch):
    """To the last bit; with ties, many and few columns, and where no worker has room for all points."""
    from elliptope.distributed.neighbors import fit_neighbors
    from elliptope.distributed.rows import RowBlocks

    grid = np.stack(np.meshgrid(np.arange(17.0), np.arange(17.0)), axis=-1).reshape(-1, 2)
    for X in (groups(), groups(p=20), grid if rule.metric is None else groups(p=2)):
        here = rule.fit(X, n_neighbors=9)
        for memory in (None, 40 * X.size):
            monkeypatch.setattr(cluster, "memory", lambda memory=memory: memory)
            there = fit_neighbors(rule, X, RowBlocks.of_array(X), 9, 1, cluster)
            assert abs(there.matrix() - here.matrix()).max() == 0
            np.testing.assert_array_equal(there.scales, here.scales)
            new = X[:5] + 0.01
            assert abs(there.log_rows(new) - here.log_rows(new)).max() == 0


def test_fits_are_those_without_a_cluster():
    """Weights, a row that occurs twice, one of weight zero, and several groups."""
    X, w = groups(), np.random.default_rng(1).uniform(0.5, 2, N)
    X[:100] += 100
    X[10], w[20] = X[11], 0
    given = da.from_array(X, chunks=((1, 0, 150, N - 151), 3))
    options = {"n_neighbors": 9}
    for est in (
        SDPEmbedding(kernel="neighbors", spread=1.0, tol=1e-3, random_state=0, **options),
        MultiscaleEmbedding(diffusion_times=(4,), spreads=(1.0,), weights=(1.0,), tol=1e-3, random_state=0, **options),
        DiffusionMap(3, kernel="overlap", **options),
    ):
        (here, said), (there, said_there) = (fitted(est, one, w) for one in (X, given))
        assert said == said_there
        np.testing.assert_array_equal(there, here)
        np.testing.assert_allclose(est.transform(given).compute(), est.transform(X), rtol=1e-9, atol=1e-12)
    for one in (X, given):  # without a spread the optimum is not unique
        _, said = fitted(SDPEmbedding(kernel="neighbors", max_iter=1, random_state=0, **options), one, w)
        assert any("2 separate groups" in text for text in said)


def fitted(est, X, w):
    """The embedding, and what was warned of."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        est.fit(X, sample_weight=w)
    return est.embedding_, [str(one.message) for one in warned if one.category is not ResourceWarning]


def test_bad_parameters():
    X = groups()
    with pytest.raises(ValueError, match="n_neighbors"):
        SDPEmbedding(kernel="overlap", operator="dask", n_neighbors=1).fit(X)
    with pytest.raises(ValueError, match="at least 2 distinct points, got 1"):
        SDPEmbedding(kernel="overlap", operator="dask").fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="Scale it up"):
        SDPEmbedding(kernel="neighbors", operator="dask").fit(1e-200 * X)
    est = SDPEmbedding(kernel="neighbors", metric="cosine", operator="dask", spread=1.0, tol=0.1, random_state=0).fit(X)
    X[250] = 0
    with pytest.raises(ValueError, match=r"without a direction.* 250"):
        est.fit(X)
    with pytest.raises(ValueError, match=r"without a direction.* 250"):
        est.transform(da.from_array(X, chunks=100)).compute()
