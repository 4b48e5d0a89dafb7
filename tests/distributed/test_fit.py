"""Fits and new rows on a cluster, beside the same without one."""

import warnings

import numpy as np
import pandas
import pytest

import dask_cluster
from elliptope import DiffusionMap, MultiscaleEmbedding, SDPEmbedding
from elliptope.distributed import ClusterError

da = pytest.importorskip("dask.array", reason=dask_cluster.REASON)
dd = pytest.importorskip("dask.dataframe", reason=dask_cluster.REASON)

N = 400


def groups(n=N, p=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) + rng.choice([0.0, 4.0], (n, 1))


def weights(n=N):
    """Positive but for one row."""
    w = np.random.default_rng(1).uniform(0.5, 2, n)
    w[7] = 0
    return w


@pytest.fixture(autouse=True)
def client():
    with dask_cluster.in_this_process().client.as_current():
        yield


def gram(est):
    return est.embedding_ @ est.embedding_.T


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "matern"])
def test_same_embedding_and_certificate(kernel):
    """Chunks of one row, empty ones and such of unknown sizes; weights that are chunked otherwise; twice the same row."""
    X, w = groups(), weights()
    X[10] = X[11]
    options = {"kernel": kernel, "bandwidth": 2.0, "random_state": 0}
    here = SDPEmbedding(operator="tiled", **options).fit(X, sample_weight=w)
    odd = da.from_array(X, chunks=((1, 0, N - 101, 100), (2, 1)))
    unknown = da.concatenate([odd[:150][odd[:150, 0] < np.inf], odd[150:]])
    assert np.isnan(unknown.shape[0])
    for given, weighted in ((odd, da.from_array(w, chunks=77)), (unknown, w)):
        there = SDPEmbedding(**options).fit(given, sample_weight=weighted)
        np.testing.assert_allclose(gram(there), gram(here), atol=1e-9)
        assert there.certificate_.grade == here.certificate_.grade
        assert there.certificate_.relative_gap == pytest.approx(here.certificate_.relative_gap, abs=1e-9)


def test_data_frames():
    """Names of columns are kept, mixed types are numbers, and what new rows become has their index."""
    X = groups()
    table = pandas.DataFrame(X, columns=["a", "b", "c"], index=np.arange(N) * 2 + 1).astype({"b": np.float32})
    frame = dd.from_pandas(table, npartitions=3)
    here = SDPEmbedding(bandwidth=2.0, operator="tiled", random_state=0).fit(table)
    there = SDPEmbedding(bandwidth=2.0, random_state=0).fit(frame)
    np.testing.assert_allclose(gram(there), gram(here), atol=1e-9)
    assert list(there.feature_names_in_) == ["a", "b", "c"]
    Z, scores = there.transform(frame), there.score_samples(frame)
    assert list(Z.columns) == list(there.get_feature_names_out())
    np.testing.assert_array_equal(Z.compute().index, table.index)
    np.testing.assert_allclose(Z.compute().to_numpy(), there.transform(table), rtol=1e-12)
    lazy = there.set_output(transform="pandas").transform(frame)  # which is of no effect: it would be computed here
    np.testing.assert_array_equal(lazy.compute(), Z.compute())
    there.set_output(transform="default")
    np.testing.assert_allclose(scores.compute(), there.score_samples(table), rtol=1e-12)
    empty = frame[frame["a"] > 1e9]
    assert there.transform(empty).compute().shape == (0, there.n_components_)
    with pytest.raises(ValueError, match="feature names"):
        there.transform(frame.rename(columns={"a": "z"}))


def test_progress(capsys):
    """A line per iteration, as without a cluster."""
    est = SDPEmbedding(bandwidth=2.0, random_state=0, tol=1e-4, verbose=True).fit(da.from_array(groups(), chunks=90))
    *lines, last = capsys.readouterr().out.splitlines()
    assert len(lines) == est.n_iter_ > 1
    assert all("objective" in line for line in lines)
    assert last.startswith("optimal: relative gap")


def test_new_rows_are_computed_when_they_are_asked_for():
    X, new = groups(), groups(300, seed=5)
    for est in (SDPEmbedding(bandwidth=2.0, random_state=0), DiffusionMap(2, bandwidth=2.0)):
        est.fit(X)
        given = da.from_array(new, chunks=((0, 1, 199, 100), (1, 2)))
        Z, scores = est.transform(given), est.score_samples(given)
        assert (Z.shape, Z.chunks[0], scores.chunks) == ((300, est.n_components_), given.chunks[0], (given.chunks[0],))
        np.testing.assert_allclose(Z.compute(), est.transform(new), rtol=1e-12)
        np.testing.assert_allclose(scores.compute(), est.score_samples(new), rtol=1e-12)
        unknown = given[given[:, 0] > 0]
        np.testing.assert_allclose(est.transform(unknown).compute(), est.transform(new[new[:, 0] > 0]), rtol=1e-9)


def fails_on_tiles(X, Y):
    """A kernel that fits are made with, until a worker computes a tile of it."""
    if len(X) == 128:
        raise ZeroDivisionError("in a tile")
    return np.ones((len(X), len(Y)))


def test_errors_are_those_of_a_fit_here():
    X, est = groups(), SDPEmbedding(bandwidth=2.0, random_state=0)
    X[333, 2] = np.nan
    bad = da.from_array(X, chunks=100)
    with pytest.raises(ValueError, match=r"NaN at row 333, column 2"):
        est.fit(bad)
    assert not hasattr(est, "training_")
    est.fit(groups())
    with pytest.raises(ValueError, match="X has 2 features, but SDPEmbedding is expecting 3"):
        est.transform(bad[:, :2])
    with pytest.raises(ValueError, match=r"NaN at row 333, column 2"):
        est.transform(bad).compute()
    unknown = bad[bad[:, 0] < np.inf]
    with pytest.raises(ValueError, match=r"row 33, column 2.*In chunk 3 of `X`"):
        est.transform(unknown).compute()
    for kernel, given in (("precomputed", X @ X.T), (lambda X, Y: np.full((len(X), len(Y)), np.nan), groups())):
        with pytest.raises(ValueError, match="kernel"):
            SDPEmbedding(kernel=kernel, operator="dask").fit(given)
    with pytest.raises(ZeroDivisionError, match="in a tile"):
        SDPEmbedding(kernel=fails_on_tiles, operator="dask").fit(groups())
    with pytest.raises(ValueError, match="`device` must be None, 'cpu' or 'auto' for kernel='overlap' on a cluster"):
        MultiscaleEmbedding(device="cuda").fit(bad)


def test_diffusion_map_and_spread():
    X, w = groups(), weights()
    here = DiffusionMap(3, bandwidth=2.0).fit(X, sample_weight=w)
    there = DiffusionMap(3, bandwidth=2.0).fit(da.from_array(X, chunks=90), sample_weight=w)
    np.testing.assert_allclose(there.embedding_, here.embedding_, atol=1e-9)
    options = {"bandwidth": 2.0, "spread": 0.3, "random_state": 0, "tol": 1e-9}
    here = SDPEmbedding(operator="tiled", **options).fit(X, sample_weight=w)
    there = SDPEmbedding(operator="dask", **options).fit(X, sample_weight=w)
    np.testing.assert_allclose(gram(there), gram(here), atol=1e-9)
    asked = SDPEmbedding(operator="dense", **options).fit(da.from_array(X, chunks=90), sample_weight=w)
    np.testing.assert_allclose(gram(asked), gram(here), atol=1e-6)


def test_without_a_cluster(monkeypatch):
    """Rows of Dask are embedded by its threads, and a fit says what is missing."""
    from dask import distributed

    est, X = SDPEmbedding(bandwidth=2.0, random_state=0).fit(groups()), da.from_array(groups(), chunks=90)
    monkeypatch.setattr(distributed, "get_client", lambda: (_ for _ in ()).throw(ValueError("none")))
    with pytest.raises(ClusterError, match="Connect to one first"):
        SDPEmbedding(operator="dask").fit(groups())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Z = est.transform(X)
    np.testing.assert_allclose(Z.compute(scheduler="threads"), est.transform(groups()), rtol=1e-12)
