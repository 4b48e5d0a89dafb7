"""Kernels of neighbours whose rows are on the workers, beside the matrix and the fits without a cluster."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import dask_cluster
from elliptope import DiffusionMap, MultiscaleEmbedding, Neighbors, Overlap, SDPEmbedding, operators
from elliptope.operators.polynomial import power

da = pytest.importorskip("dask.array", reason=dask_cluster.REASON)

N = 300


def groups(n=N, p=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) + rng.choice([0.0, 3.0], (n, 1))


@pytest.fixture(autouse=True)
def cluster(monkeypatch):
    """Rows stay on the workers for few of them, too."""
    monkeypatch.setattr(operators.sparse, "_LARGEST_DENSE", 50)
    found = dask_cluster.in_this_process()
    with found.client.as_current():
        yield found


def kernel_matrix(rows):
    """The matrix that workers have the rows of."""
    columns = [own for run, own in zip(rows.runs, rows.columns, strict=True) for _ in run]
    whole = [
        sparse.csr_array((K.data, own[K.indices], K.indptr), shape=(K.shape[0], rows.n))
        for K, own in zip(rows.cluster.collect(rows.rows), columns, strict=True)
    ]
    return sparse.csr_array(sparse.vstack(whole) + sparse.eye_array(rows.n))


@pytest.mark.parametrize("rule", [Neighbors(), Overlap(), Overlap(metric="cosine"), Neighbors(metric="canberra")], ids=repr)
def test_rows_are_those_of_the_matrix(rule, cluster, monkeypatch):
    """To the last bit; with ties, many and few columns, and where no worker has room for all points."""
    from elliptope.distributed.neighbors import fit_neighbors
    from elliptope.distributed.rows import RowBlocks

    grid = np.stack(np.meshgrid(np.arange(17.0), np.arange(17.0)), axis=-1).reshape(-1, 2)
    for X in (groups(), groups(p=20), grid if rule.metric is None else groups(p=2)):
        here = rule.fit(X, n_neighbors=9)
        for memory in (None, 40 * X.size):
            monkeypatch.setattr(cluster, "memory", lambda memory=memory: memory)
            there, rows = fit_neighbors(rule, X, RowBlocks.of_array(X), 9, cluster)
            assert len(rows.groups) > 1
            K = kernel_matrix(rows)
            assert abs(K - here.matrix()).max() == 0
            np.testing.assert_array_equal(there.scales, here.scales)
            new = X[:5] + 0.01
            assert abs(there.log_rows(new) - here.log_rows(new)).max() == 0


def test_threads_of_a_worker_share_what_is_sent(cluster, monkeypatch):
    """Products are the same bits however many groups a worker has; it is sent what any of them needs."""
    from elliptope.distributed.neighbors import fit_neighbors
    from elliptope.distributed.rows import RowBlocks
    from elliptope.distributed.sparse import DistributedSparseOperator

    X, V = groups(), np.random.default_rng(0).standard_normal((N, 3))
    X[:100] += 100
    order = np.argsort(X[:, 0])  # near points have near numbers
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(cluster, "threads", lambda threads=threads: dict.fromkeys(cluster.client.nthreads(), threads))
        rows = fit_neighbors(Neighbors(), X[order], RowBlocks.of_array(X[order]), 9, cluster)[1]
        assert [len(run) for run in rows.runs] == [threads, threads]
        assert N < sum(map(len, rows.columns)) < 1.5 * N
        J = DistributedSparseOperator(rows)
        single = J.float32()
        found.append([J @ V, J.core_matmat(V), single @ V.astype(np.float32), J.n_connected()])
        for q in (power(2), power(9), power(40), power(9).divided()):  # by workers, and product by product
            G = q.apply(J.matmat, V)
            found[-1] += [J.polynomial(q, V), single.polynomial(q, V.astype(np.float32))]
            np.testing.assert_allclose(found[-1][-2], G, atol=1e-13)
            np.testing.assert_allclose(found[-1][-1], G, atol=1e-4)
            assert found[-1][-1].dtype == np.float32
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert found[0][3] == 2


def test_fits_are_those_without_a_cluster():
    """Weights, a row that occurs twice, one of weight zero, and several groups."""
    X, w = groups(), np.random.default_rng(1).uniform(0.5, 2, N)
    X[:100] += 100
    X[10], w[20] = X[11], 0
    given = da.from_array(X, chunks=((1, 0, 150, N - 151), 3))
    options = {"n_neighbors": 9}
    for est in (
        SDPEmbedding(kernel="neighbors", spread=1.0, tol=1e-3, random_state=0, **options),
        MultiscaleEmbedding(diffusion_times=(3,), spreads=(1.0,), weights=(1.0,), tol=1e-3, random_state=0, **options),
        DiffusionMap(3, kernel="overlap", **options),
    ):
        (here, said), (there, said_there) = (fitted(est, one, w) for one in (X, given))
        assert said == said_there
        np.testing.assert_allclose(there @ there.T, here @ here.T, atol=1e-9)
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


def test_approximate_search_by_segments(cluster, monkeypatch):
    """Nearly the exact kernel; the same for any number of workers; and rows of training points are those of the graph."""
    pytest.importorskip("pynndescent", reason="pynndescent is not installed")
    from elliptope.distributed import neighbors
    from elliptope.distributed.rows import RowBlocks

    monkeypatch.setattr(neighbors, "_APPROXIMATE_ROWS", 120)
    X, found = groups(), []
    exact = Overlap().fit(X, n_neighbors=9).matrix()
    for workers in (1, 3):
        monkeypatch.setattr(cluster, "threads", lambda workers=workers: dict.fromkeys(cluster.client.nthreads(), workers))
        kernel, rows = neighbors.fit_neighbors(Overlap(search="approximate"), X, RowBlocks.of_array(X), 9, cluster)
        K = kernel_matrix(rows)
        found.append(K)
        assert abs(K - exact).sum() < 0.02 * exact.sum()
        rows = kernel.log_rows(X[:20])
        rows.data = np.exp(rows.data)
        assert abs(rows - K.tocsr()[:20]).max() < 1e-15
    assert abs(found[0] - found[1]).max() == 0


def test_bad_parameters():
    X = groups()
    for parameters, text in (({"n_neighbors": 1}, "n_neighbors"), ({"n_neighbors": N + 1}, "between 2 and")):
        with pytest.raises(ValueError, match=text):
            SDPEmbedding(kernel="overlap", operator="dask", **parameters).fit(X)
    with pytest.raises(ValueError, match="Scale it up"):
        SDPEmbedding(kernel="neighbors", operator="dask").fit(1e-200 * X)
    est = SDPEmbedding(kernel="neighbors", metric="cosine", operator="dask", spread=1.0, tol=0.1, random_state=0).fit(X)
    X[250] = 0
    with pytest.raises(ValueError, match=r"without a direction.* 250"):
        est.fit(X)
    with pytest.raises(ValueError, match=r"without a direction.* 250"):
        est.transform(da.from_array(X, chunks=100)).compute()
