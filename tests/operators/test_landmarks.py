"""Partial Cholesky factors from landmarks, against the textbook's algorithm and plain matrices."""

import numpy as np
import pytest
from scipy.stats import chi2

from elliptope.kernels import CallableKernel, Gaussian, Laplacian, Matern
from elliptope.operators import kernel_matrix
from elliptope.operators.nystroem import landmarks, tall
from elliptope.operators.nystroem.landmarks import RULES, accept, jitter_and_deficit, partial_cholesky

UNIT = np.finfo(float).eps / 2
# Rank 10 on three columns, with a diagonal that varies by orders of magnitude.
POLYNOMIAL = CallableKernel(lambda X, Y: (1 + X @ Y.T) ** 2)


def points(n=80, p=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p))


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
    """K[:, S] K_SS⁻¹ K[S, :]."""
    return K[:, S] @ np.linalg.solve(K[np.ix_(S, S)], K[S])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several chunks, blocks of rows and rounds of proposals for a few dozen points."""
    monkeypatch.setattr(tall, "_CHUNK", 24)
    monkeypatch.setattr(landmarks, "_ROWS", 7)
    monkeypatch.setattr(landmarks, "_BLOCK", 8)


KERNELS = {
    "gaussian": (Gaussian(1.0), points()),
    "gaussian-wide": (Gaussian(30.0), points()),
    "gaussian-narrow": (Gaussian(0.05), points()),
    "laplacian": (Laplacian(0.7), points()),
    "matern": (Matern(2.0, 2.5), points()),
    "polynomial": (POLYNOMIAL, points() * np.geomspace(0.1, 30, 80)[:, None]),
    "duplicates": (Gaussian(1.0), np.repeat(points(20), 4, axis=0)),
    "high-dimension": (Gaussian(10.0), points(80, 50)),
    "clusters": (Gaussian(1.0), unequal_clusters()),
}


@pytest.fixture(params=KERNELS)
def case(request):
    kernel, X = KERNELS[request.param]
    return kernel, X, kernel_matrix(kernel, X)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("k", [1, 13, 60])
class TestFactor:
    def test_stays_below_the_kernel(self, case, rule, k):
        """K - FFᵀ + θ Diag(K) is psd, up to the rounding of its eigenvalues."""
        kernel, X, K = case
        found = partial_cholesky(kernel, X, k, np.random.default_rng(1), rule)
        assert 0 < found.deficit < 1e-9
        scale = 1 / np.sqrt(K.diagonal())
        E = scale[:, None] * (K - found.F @ found.F.T) * scale
        assert np.linalg.eigvalsh(E)[0] >= -found.deficit - 4 * UNIT * np.linalg.norm(scale[:, None] * K * scale)

    def test_residual_is_the_diagonal_that_is_left(self, case, rule, k):
        """To rounding, and never less."""
        kernel, X, K = case
        found = partial_cholesky(kernel, X, k, np.random.default_rng(1), rule)
        F = found.F.astype(np.longdouble)
        exact = K.diagonal() - np.einsum("ij,ij->i", F, F)
        assert (found.residual >= exact).all()
        assert (found.residual <= np.maximum(exact, 0) + 1e-13 * K.diagonal()).all()

    def test_columns_of_the_landmarks_are_reproduced(self, case, rule, k):
        kernel, X, K = case
        found = partial_cholesky(kernel, X, k, np.random.default_rng(1), rule)
        S = found.landmarks
        assert len(set(S)) == len(S) == found.F.shape[1] <= k
        size = np.sqrt(np.outer(K.diagonal(), K.diagonal()))[:, S]
        # The jitter τ moves k_is by no more than √(τ K_ii K_ss).
        assert (abs(K[:, S] - found.F @ found.F[S].T) <= 1.1 * np.sqrt(jitter_and_deficit(len(X), k)[0]) * size).all()


@pytest.mark.parametrize("rule", RULES)
def test_is_the_projection_onto_the_landmarks(rule):
    X = points()
    K = kernel_matrix(Laplacian(0.7), X)
    found = partial_cholesky(Laplacian(0.7), X, 30, np.random.default_rng(0), rule)
    assert found.F.shape == (80, 30)
    np.testing.assert_allclose(found.F @ found.F.T, projection(K, found.landmarks), atol=1e-8)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n_landmarks", [80, 1000])
def test_exact_with_all_landmarks(rule, n_landmarks):
    X = points()
    found = partial_cholesky(Laplacian(0.7), X, n_landmarks, np.random.default_rng(0), rule)
    assert sorted(found.landmarks) == list(range(80))
    np.testing.assert_allclose(found.F @ found.F.T, kernel_matrix(Laplacian(0.7), X), atol=1e-8)


def test_exact_at_the_rank_and_then_it_ends():
    X = points()
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
    trace = {rule: [] for rule in (*RULES, "textbook")}
    for seed in range(20):
        for rule in RULES:
            trace[rule].append(partial_cholesky(kernel, X, 30, np.random.default_rng(seed), rule).residual.sum())
        F, _ = textbook(K, 30, np.random.default_rng(seed))
        trace["textbook"].append(K.trace() - (F**2).sum())
    mean = {rule: np.mean(values) for rule, values in trace.items()}
    assert mean["pivoted"] < 0.5 * mean["uniform"]
    assert mean["pivoted"] == pytest.approx(mean["textbook"], rel=0.15)


@pytest.mark.parametrize("rule", RULES)
def test_threads_change_nothing(rule):
    one, two = (partial_cholesky(Gaussian(1.0), points(200), 50, np.random.default_rng(3), rule, n_jobs=j) for j in (1, 3))
    np.testing.assert_array_equal(one.landmarks, two.landmarks)
    np.testing.assert_array_equal(one.F, two.F)
    np.testing.assert_array_equal(one.residual, two.residual)


@pytest.mark.parametrize("n_landmarks", [7, 40])
def test_single_precision_is_the_rounded_factor(n_landmarks):
    """In the same memory, half of which is given back; with 40 of the polynomial's, columns are left unused."""
    args = (POLYNOMIAL, points(), n_landmarks)
    double = partial_cholesky(*args, np.random.default_rng(0), dtype="float64")
    single = partial_cholesky(*args, np.random.default_rng(0), dtype="float32")
    assert single.F.dtype == np.float32
    assert single.F.flags.c_contiguous
    np.testing.assert_array_equal(single.F, double.F.astype(np.float32))
    np.testing.assert_array_equal(single.residual, double.residual)
    owner = single.F
    while owner.base is not None:
        owner = owner.base
    assert owner.nbytes <= single.F.nbytes + 4


def box(X, Y):
    """1 up to distance 1, else 0: symmetric and non-negative, but not psd."""
    return (abs(X[:, None] - Y).max(axis=-1) <= 1).astype(float)


@pytest.mark.parametrize("rule", RULES)
def test_a_kernel_must_be_psd(rule):
    X = np.linspace(0, 6, 50)[:, None]
    with pytest.raises(ValueError, match="`kernel` must be positive semi-definite, got"):
        partial_cholesky(CallableKernel(box), X, 20, np.random.default_rng(0), rule)


def test_unknown_rule():
    with pytest.raises(ValueError, match="`landmarks` must be one of 'pivoted', 'uniform', got 'best'"):
        partial_cholesky(Gaussian(1.0), points(), 5, np.random.default_rng(0), "best")
