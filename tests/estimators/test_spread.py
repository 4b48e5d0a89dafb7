"""The strictly concave program of SDPEmbedding: its extension, its ends, its certificate."""

import math
import warnings

import numpy as np
import pytest

from elliptope import DiffusionMap, SDPEmbedding, load, recertify

RNG = np.random.default_rng(2)
X = np.concatenate([RNG.normal(size=(30, 2)), RNG.normal(size=(30, 2)) + 3])
W = RNG.uniform(0.5, 2, 60)
GIVEN = RNG.uniform(0.5, 2, 60)


def fit(spread, X=X, W=W, **parameters):
    return SDPEmbedding(spread=spread, random_state=0, **parameters).fit(X, sample_weight=W)


@pytest.mark.parametrize("spread", [0.1, 1.0, 10.0, math.inf])
@pytest.mark.parametrize(
    "parameters",
    [
        {"bandwidth": 0.5},
        {"bandwidth": 3.0, "diagonal": "constant"},
        {"kernel": "neighbors", "n_neighbors": 8, "diagonal": GIVEN},
        {"kernel": "neighbors", "n_neighbors": 8, "diffusion_time": 2},
    ],
    ids=["narrow", "wide", "given diagonal", "two steps"],
)
def test_the_extension_is_exact_on_the_sample(parameters, spread):
    est = fit(spread, **parameters)
    assert est.status_ == "optimal"
    np.testing.assert_allclose(est.transform(X), est.embedding_, atol=1e-7 * abs(est.embedding_).max())


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "matern", "neighbors", "overlap"])
def test_and_for_every_kernel(kernel):
    """With weights, some of them zero, equal rows, and kernels from narrow to almost constant."""
    rows, w = np.vstack([X, X[:7]]), np.append(W, np.ones(7))
    w[::9] = 0
    scales = [{"bandwidth": 0.2, "n_neighbors": 3}, {"bandwidth": 40.0, "n_neighbors": 30}]
    for spread in (0.05, 0.5, 3.0, math.inf):
        for scale in ({}, *scales):
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # none of hubs, nor of parts of a graph
                est = fit(spread, rows, w, kernel=kernel, **scale)
            assert est.status_ == "optimal"
            np.testing.assert_allclose(est.transform(rows), est.embedding_, atol=1e-5 * abs(est.embedding_).max())


def test_the_extension_is_exact_for_every_spread_and_number_of_steps():
    """Mixed with one step, the polynomial has J_ii of at least the weight of row i."""
    est = fit(1.0, bandwidth=0.8, diffusion_time=8)
    assert est.n_outside_ == 0
    np.testing.assert_allclose(est.transform(X), est.embedding_, atol=1e-8)


def test_groups_far_from_each_other_have_definite_positions():
    """The graph has two parts, so that all seeds, and the bound, tell the same; there is nothing to warn of."""
    rows = np.vstack([X, X + 1e3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, two = (SDPEmbedding(kernel="overlap", spread=0.05, random_state=seed).fit(rows) for seed in (0, 1))
    np.testing.assert_allclose(one.embedding_ @ one.embedding_.T, two.embedding_ @ two.embedding_.T, atol=1e-6)
    with pytest.warns(UserWarning, match="form 2 separate groups"):
        SDPEmbedding(kernel="overlap", random_state=0).fit(rows)


def test_the_scale_of_weights_does_not_matter():
    for diagonal in ("kernel", "constant"):
        one, other = fit(1.0, diagonal=diagonal), fit(1.0, W=W * 2.0**700, diagonal=diagonal)
        np.testing.assert_allclose(other.transform(X), other.embedding_, atol=1e-5 * abs(other.embedding_).max())
        ratio = np.linalg.norm(other.embedding_, axis=1) / np.linalg.norm(one.embedding_, axis=1)
        np.testing.assert_allclose(
            other.embedding_, one.embedding_ * ratio[:, None], atol=1e-5 * abs(other.embedding_).max()
        )


def test_the_other_end_is_the_diffusion_kernel():
    est = fit(math.inf, bandwidth=2.0, tol=1e-10)
    K = np.exp(-((X[:, None] - X) ** 2).sum(-1) / 4)
    m = K @ W
    Abar = K / np.sqrt(np.outer(m, m)) - np.sqrt(np.outer(m, m)) / (W @ m)
    assert est.spread_ == 1
    np.testing.assert_allclose(est.embedding_ @ est.embedding_.T, Abar, atol=1e-6 * abs(Abar).max())
    np.testing.assert_allclose(est.learned_kernel(X), Abar, atol=1e-5 * abs(Abar).max())
    # Leading columns are the diffusion map at time 1/2, as Σ_l λ_l ψ_l ψ_lᵀ = Abar.
    other = DiffusionMap(5, bandwidth=2.0, diffusion_time=0.5).fit(X, sample_weight=W)
    np.testing.assert_allclose(est.eigenvalues_[:5], other.eigenvalues_, rtol=1e-5)
    np.testing.assert_allclose(abs(est.embedding_[:, :5]), abs(other.embedding_), atol=1e-4)


def test_between_the_ends_the_rank_grows_and_the_optimum_is_unique():
    ranks = []
    for spread in (0.0, 0.3, 3.0):
        fits = [SDPEmbedding(spread=spread, bandwidth=0.3, random_state=seed).fit(X) for seed in (0, 1)]
        ranks.append(len(fits[0].eigenvalues_))
        if spread:
            first, second = (est.embedding_ @ est.embedding_.T for est in fits)
            bound = sum(est.certificate_.distance_bound for est in fits)
            assert np.linalg.norm(first - second) <= bound * np.linalg.norm(first) * 1.0001
    assert ranks == sorted(ranks)
    assert ranks[0] < ranks[2]


def test_stored_and_certified_again(tmp_path):
    est = fit(0.5, kernel="neighbors")
    est.save(tmp_path / "model.elliptope")
    loaded = load(tmp_path / "model.elliptope")
    new = RNG.normal(size=(7, 2)) * 2
    np.testing.assert_array_equal(loaded.transform(new), est.transform(new))
    again = recertify(loaded)
    assert again.distance_bound == pytest.approx(est.certificate_.distance_bound, rel=1e-3)
    assert math.isfinite(again.distance_bound)


def test_new_rows_are_finite_however_far():
    est = fit(0.5, bandwidth=1.0)
    new = np.array([[1e3, 0.0], [-1e150, 1.0], [0.0, 0.0]])
    with np.errstate(all="raise", under="ignore"):
        found = SDPEmbedding.transform(est.set_params(), new[[0, 2]])
    assert np.isfinite(found).all()
    with pytest.warns(UserWarning, match="radius √d\\(x\\) overflows"):
        assert np.isfinite(est.transform(new)).all()


@pytest.mark.parametrize("bad", [-1, "1", True, math.nan])
def test_other_spreads_are_refused(bad):
    with pytest.raises(ValueError, match="`spread` must be a number from 0 to infinity or a Spread, got"):
        fit(bad)
