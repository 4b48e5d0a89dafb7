"""Partial Cholesky factors from landmarks, against the textbook's algorithm and plain matrices."""

import numpy as np
import pytest
from scipy.stats import chi2

from elliptope._utils.rounding import UNIT
from elliptope.kernels import CallableKernel, Gaussian, Laplacian, Matern
from elliptope.operators import kernel_matrix
from elliptope.operators.nystroem.landmarks import accept, jitter_and_deficit, partial_cholesky
from operator_cases import POLYNOMIAL, points


def unequal_clusters(seed=0):
    """One large cluster and a dozen small ones, which a few uniform landmarks miss."""
    rng = np.random.default_rng(seed)
    centres = 10 * rng.standard_normal((13, 2))
    sizes = [260] + 12 * [5]
    return np.vstack([c + 0.3 * rng.standard_normal((size, 2)) for c, size in zip(centres, sizes, strict=True)])


def textbook(K, k, rng):
    """Randomly pivoted Cholesky, one pivot after the other (Chen, Epperly, Tropp and Webber, Algorithm 2.1)."""
    F, d, pivots = np.zeros((len(K), k)), K.diagonal().copy(), []
    for i in range(k):
        s = rng.choice(len(K), p=d / d.sum())
        g = K[:, s] - F[:, :i] @ F[s, :i]
        F[:, i] = g / np.sqrt(g[s])
        d = np.maximum(d - F[:, i] ** 2, 0.0)
        d[s] = 0.0
        pivots.append(s)
    return F, pivots


def projection(K, S):
    """K[:, S] K_SS⁺ K[S, :]."""
    return K[:, S] @ np.linalg.lstsq(K[np.ix_(S, S)], K[S], rcond=1e-12)[0]


KERNELS = {
    "gaussian": (Gaussian(1.0), points(80)),
    "gaussian-wide": (Gaussian(30.0), points(80)),
    "gaussian-narrow": (Gaussian(0.05), points(80)),
    "laplacian": (Laplacian(0.7), points(80)),
    "matern": (Matern(2.0, 2.5), points(80)),
    "polynomial": (POLYNOMIAL, points(80) * np.geomspace(0.1, 30, 80)[:, None]),
    "duplicates": (Gaussian(1.0), np.repeat(points(20), 4, axis=0)),
    "high-dimension": (Gaussian(10.0), points(80, 50)),
    "clusters": (Gaussian(1.0), unequal_clusters()),
    "many": (Laplacian(0.7), points(400)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_factor(name):
    """What is claimed of F, its landmarks and the residual, for few and for many of them."""
    kernel, X = KERNELS[name]
    K = kernel_matrix(kernel, X)
    d = K.diagonal()
    for k in (1, 13, 60, 300):
        found = partial_cholesky(kernel, X, k, np.random.default_rng(1))
        F, S = found.F, found.landmarks
        # K - FFᵀ + θ Diag(K) is psd, up to the rounding of its eigenvalues.
        assert 0 < found.deficit < 1e-9
        E = (K - F @ F.T) / np.sqrt(np.outer(d, d))
        assert np.linalg.eigvalsh(E)[0] >= -found.deficit - 4 * UNIT * np.linalg.norm(K / np.sqrt(np.outer(d, d)))
        # The residual is the diagonal that is left, to rounding, and never less.
        exact = d - (F.astype(np.longdouble) ** 2).sum(axis=1)
        assert (found.residual >= exact).all()
        assert (found.residual <= np.maximum(exact, 0) + 1e-13 * d).all()
        # Columns of landmarks are reproduced: the jitter τ moves k_is by no more than √(τ K_ii K_ss).
        assert len(set(S)) == len(S) == F.shape[1] <= k
        tau = jitter_and_deficit(len(X), min(k, len(X)))[0]
        assert (abs(K[:, S] - F @ F[S].T) <= 1.1 * np.sqrt(tau * np.outer(d, d[S]))).all()


def test_is_the_projection_onto_the_landmarks():
    X = points(80)
    K = kernel_matrix(Laplacian(0.7), X)
    found = partial_cholesky(Laplacian(0.7), X, 30, np.random.default_rng(0))
    assert found.F.shape == (80, 30)
    np.testing.assert_allclose(found.F @ found.F.T, projection(K, found.landmarks), atol=1e-8)


def test_exact_with_all_landmarks():
    X = points(80)
    for n_landmarks in (80, 1000):
        found = partial_cholesky(Laplacian(0.7), X, n_landmarks, np.random.default_rng(0))
        assert sorted(found.landmarks) == list(range(80))
        np.testing.assert_allclose(found.F @ found.F.T, kernel_matrix(Laplacian(0.7), X), atol=1e-8)


def test_exact_at_the_rank_and_then_it_ends():
    X = points(80)
    K = kernel_matrix(POLYNOMIAL, X)
    assert np.linalg.matrix_rank(K) == 10
    found = partial_cholesky(POLYNOMIAL, X, 40, np.random.default_rng(0))
    assert 10 <= len(found.landmarks) < 30  # a few more than the rank, because of the jitter
    np.testing.assert_allclose(found.F @ found.F.T, K, atol=1e-8 * K.max())


def test_landmarks_are_drawn_as_the_textbook_draws_them():
    """Frequencies of ordered pairs, against their probabilities: K_ii/Tr K, then the residual after i over its trace."""
    X = np.array([[0.0], [0.5], [1.0], [3.0]])
    kernel, n, draws = Gaussian(1.0), 4, 6000
    K = kernel_matrix(kernel, X)
    found, expected = np.zeros((n, n)), np.zeros((n, n))
    for seed in range(draws):
        i, j = partial_cholesky(kernel, X, 2, np.random.default_rng(seed)).landmarks
        found[i, j] += 1
    for i in range(n):
        residual = K.diagonal() - K[:, i] ** 2 / K[i, i]
        expected[i] = draws * K[i, i] / K.trace() * residual / residual.sum()
    pairs = ~np.eye(n, dtype=bool)
    assert found[pairs].sum() == draws
    assert ((found - expected)[pairs] ** 2 / expected[pairs]).sum() < chi2(pairs.sum() - 1).ppf(0.999)


def test_accept_keeps_a_prefix():
    A = kernel_matrix(Gaussian(1.0), points(20))
    uniforms = np.random.default_rng(0).uniform(size=20)
    every = accept(A.copy(), uniforms, np.zeros(20), 20)
    assert 5 < len(every) < 20
    assert accept(A.copy(), uniforms, np.zeros(20), 5) == every[:5]


def test_accept_refuses_what_is_explained():
    """A copy of a point has no residual left; one below the floor is of no use."""
    X = np.repeat(points(4), 2, axis=0)
    A = kernel_matrix(Gaussian(1.0), X)
    assert accept(A.copy(), np.zeros(8), np.full(8, 1e-10), 8) == [0, 2, 4, 6]
    assert accept(A.copy(), np.zeros(8), np.full(8, 2.0), 8) == []


def test_residual_trace_beside_textbook_and_uniform():
    """Blocks cost nothing, and pivots are far better than uniform landmarks where clusters are unequal."""
    kernel, X = Gaussian(1.0), unequal_clusters()
    K = kernel_matrix(kernel, X)
    trace = {"pivoted": [], "uniform": [], "textbook": []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        trace["pivoted"].append(partial_cholesky(kernel, X, 30, rng).residual.sum())
        trace["uniform"].append(K.trace() - projection(K, rng.choice(len(K), 30, replace=False)).trace())
        trace["textbook"].append(K.trace() - (textbook(K, 30, rng)[0] ** 2).sum())
    mean = {rule: np.mean(values) for rule, values in trace.items()}
    assert mean["pivoted"] < 0.5 * mean["uniform"]
    assert mean["pivoted"] == pytest.approx(mean["textbook"], rel=0.15)


def test_threads_change_nothing():
    """With several blocks of rows, and several rounds of landmarks."""
    one, two = (partial_cholesky(Gaussian(1.0), points(2500), 200, np.random.default_rng(3), n_jobs) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one.landmarks, two.landmarks)
    np.testing.assert_array_equal(one.F, two.F)
    np.testing.assert_array_equal(one.residual, two.residual)


def box(X, Y):
    """1 up to distance 1, else 0: symmetric and non-negative, but not psd."""
    return (abs(X[:, None] - Y).max(axis=-1) <= 1).astype(float)


def test_a_kernel_must_be_psd():
    X = np.linspace(0, 6, 50)[:, None]
    with pytest.raises(ValueError, match="`kernel` must be positive semi-definite, got"):
        partial_cholesky(CallableKernel(box), X, 20, np.random.default_rng(0))
