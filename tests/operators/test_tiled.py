"""Tiles against plain matrices in extended precision; error bounds against true errors; threads against one thread."""

import threading
import time
import tracemalloc
from collections import defaultdict
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import threadpoolctl

from elliptope.kernels import CallableKernel, Gaussian, Laplacian, Precomputed
from elliptope.operators import DenseOperator, TiledOperator, kernel_matrix
from elliptope.operators.tiled import tiles
from elliptope.operators.tiled.gaussian import GaussianTiles, gaussian_coordinates, gaussian_errors
from elliptope.sdp import solve
from elliptope.sdp.tuning import TUNING
from operator_cases import cost_terms, exact_kernel, long, off_diagonal, points

# Relative errors seen when nothing is wrong: far below the worst case, and far above rounding of the other precision.
USUAL = {np.float32: 2e-6, np.float64: 2e-14}


def exact_cost(K, w, t):
    """Diag(t) (K / √(m mᵀ) - √(m mᵀ)/M) Diag(t) in extended precision, (n, n)."""
    m = (K * long(w)).sum(axis=1)
    A, top = cost_terms(K, m, (w * m).sum(), t)
    return A - top


def gaussian_tiles(X, sigma, dtype):
    return GaussianTiles(gaussian_coordinates(X, sigma), 1, dtype)


def random_instance(seed):
    """Points, bandwidth, weights and row scales of all kinds: clusters, duplicates, outliers, an offset."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 60)), int(rng.integers(1, 20))
    X = rng.standard_normal((n, p)) + rng.choice([0.0, 3.0], (n, 1))
    if seed % 3 == 1:
        X[n // 2 :] = X[: n - n // 2]
    if seed % 3 == 2:
        X[-1] += 20
    X += rng.choice([0.0, 1e4])
    sigma = np.sqrt(p) * 10 ** rng.uniform(-0.4, 1)
    return X, sigma, 10 ** rng.uniform(-2, 2, n), 10 ** rng.uniform(-1, 1, n)


@pytest.mark.parametrize("dtype", USUAL)
class TestProducts:
    def test_equal_the_plain_matrix(self, dtype):
        for n, p in product((2, 128, 300), (1, 10, 50)):
            X = points(n, p)
            made, K = gaussian_tiles(X, np.sqrt(p), dtype), off_diagonal(exact_kernel(Gaussian(np.sqrt(p)), X))
            for r in (1, 20):
                V = np.random.default_rng(1).standard_normal((n, r))
                assert (abs(made.hollow_matmat(V) - K @ V) <= USUAL[dtype] * (K @ abs(V))).all()
                assert (abs(made.hollow_matmat(V, squared=True) - K**2 @ V) <= 3 * USUAL[dtype] * (K @ abs(V))).all()

    def test_is_symmetric_and_hollow_to_the_last_bit(self, dtype):
        X = np.vstack([points(150, 3), points(150, 3)])  # every point twice, in different tiles
        K = gaussian_tiles(X, 1.0, dtype).hollow_matmat(np.eye(300))
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_array_equal(K.diagonal(), 0)
        np.testing.assert_allclose(K[np.arange(150), np.arange(150, 300)], 1, atol=USUAL[dtype])

    def test_columns_of_any_size(self, dtype):
        made, v = gaussian_tiles(points(40, 3), 1.0, dtype), np.random.default_rng(1).standard_normal((40, 1))
        sizes = np.array([1.0, 2.0**600, 2.0**-600, 0.0])
        error = abs(made.hollow_matmat(v * sizes) - made.hollow_matmat(v) * sizes)
        assert (error <= 2 * USUAL[dtype] * made.hollow_matmat(abs(v)) * sizes).all()

    def test_either_order(self, dtype):
        made, V = gaussian_tiles(points(40, 3), 1.0, dtype), np.random.default_rng(1).standard_normal((40, 5))
        G = made.hollow_matmat(V)
        np.testing.assert_array_equal(made.hollow_matmat(np.asfortranarray(V)), G)
        assert G.flags.f_contiguous
        assert made.hollow_matmat(V[:, :0]).shape == (40, 0)

    def test_huge_bandwidth(self, dtype):
        made = gaussian_tiles(points(60, 3), 1e200, dtype)
        np.testing.assert_array_equal(made.hollow_matmat(np.eye(60)), 1 - np.eye(60))


def test_memory_is_bounded():
    n = 20_000
    X, V = points(n, 3), np.ones((n, 8))
    tracemalloc.start()
    try:
        operator = TiledOperator(Gaussian(1.0), X)
        operator @ V, operator.single() @ V
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20e6  # of 3.2e9 for the matrix


class TestThreads:
    @pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(1.0)], ids=lambda kernel: type(kernel).__name__)
    def test_results_do_not_depend_on_their_number(self, kernel):
        """With blocks of several tiles, and several blocks."""
        X, V = points(2500, 3), np.random.default_rng(1).standard_normal((2500, 7))
        one, *others = (TiledOperator(kernel, X, n_jobs=n_jobs) for n_jobs in (1, 2, 3))
        for other in others:
            np.testing.assert_array_equal(one.m, other.m)
            np.testing.assert_array_equal(one @ V, other @ V)
            assert one.error_bounds == other.error_bounds
            if one.single() is not None:
                np.testing.assert_array_equal(one.single() @ V, other.single() @ V)
        np.testing.assert_allclose(one @ V, DenseOperator(kernel_matrix(kernel, X)) @ V, atol=1e-11)

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_blas_has_one_thread_in_each(self, n_jobs):
        seen = set()

        def kernel(X, Y):
            seen.update(pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas")
            return np.ones((len(X), len(Y)))

        operator = TiledOperator(CallableKernel(kernel), points(40, 2), n_jobs=n_jobs)
        seen.clear()
        with threadpoolctl.threadpool_limits(2, user_api="blas"):
            before = threadpoolctl.threadpool_info()
            operator.hollow_kernel_matmat(np.ones((40, 1)))
            assert threadpoolctl.threadpool_info() == before
        assert seen == {1}

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_errors_in_a_tile_are_raised(self, n_jobs):
        values = [1.0]
        kernel = CallableKernel(lambda X, Y: np.full((len(X), len(Y)), values[-1]))
        operator = TiledOperator(kernel, points(300, 2), n_jobs=n_jobs)
        values.append(np.nan)
        with pytest.raises(ValueError, match="must give finite values"):
            operator @ np.ones((300, 1))

    def test_tournament(self):
        for count in range(1, 9):
            pairs = list(tiles.tournament(count))
            assert sorted(pairs) == [(a, b) for a in range(count) for b in range(a + 1)]
            size = count // 2  # of a round, once the pairs (a, a) have been
            rounds = [pairs[k : k + size] for k in range(count, len(pairs), max(size, 1))]
            assert all(len({*sum(r, ())}) == 2 * size for r in rounds)

    def test_tasks_overlap_and_yet_keep_their_order(self):
        running, overlap, lock, order = set(), [], threading.Lock(), defaultdict(list)

        def work(a, b):
            with lock:
                assert not running & {a, b}
                overlap.append(len(running) > 0)
                running.update((a, b))
            time.sleep(0.001 * ((3 * a + 5 * b) % 4))
            with lock:
                running.difference_update((a, b))
                for block in {a, b}:
                    order[block].append((a, b))

        pairs = list(tiles.tournament(7))
        tiles.run_in_order(pairs, work, 4)
        assert any(overlap)
        assert order == {block: [pair for pair in pairs if block in pair] for block in range(7)}


class TestErrorBounds:
    def test_entries(self):
        """Far from the centre the exponent loses digits: the bound knows, and is not far off."""
        for p in (1, 3, 10, 50):
            X = points(60, p) + np.repeat([[30.0], [-30.0]], 30, axis=0)
            found = gaussian_tiles(X, np.sqrt(p), np.float64).hollow_matmat(np.eye(60))
            entry = gaussian_errors(gaussian_coordinates(X, np.sqrt(p))).entry
            bound = (entry[:, None] + entry) * found + np.finfo(float).tiny
            error = abs(found - off_diagonal(exact_kernel(Gaussian(np.sqrt(p)), X)))
            assert (error <= bound).all()
            assert (error / bound).max() > 1e-2
            assert error[found > 0.1].max() > 100 * np.finfo(float).eps  # the error is there

    def test_entries_near_one(self):
        """Where exponents are so small that the rounding of the exponential is all there is."""
        X = points(60, 3)
        entry = gaussian_errors(gaussian_coordinates(X, 1e7)).entry
        found = gaussian_tiles(X, 1e7, np.float64).hollow_matmat(np.eye(60))
        error = abs(found - off_diagonal(exact_kernel(Gaussian(1e7), X)))
        assert error.max() > 0
        assert (error <= (entry[:, None] + entry) * found).all()

    def test_products(self):
        """Entries are all but 1: long sums in one direction."""
        X, V = points(600, 2), np.random.default_rng(0).uniform(0, 1, (600, 3))
        made = gaussian_tiles(X, 1e3, np.float64)
        K = made.hollow_matmat(np.eye(600))
        error = abs(made.hollow_matmat(V) - long(K) @ V)
        assert 0 < (error / (K @ V)).max() <= gaussian_errors(gaussian_coordinates(X, 1e3)).product

    def test_exp_is_as_good_as_is_assumed(self):
        x = np.linspace(-708, 0.01, 500_001)
        expected = np.exp(long(x))
        assert (abs(np.exp(x) - expected) / expected).max() <= 4 * np.finfo(float).eps
        below = np.linspace(-800, -708, 10_001)
        assert abs(np.exp(below) - np.exp(long(below))).max() <= np.finfo(float).tiny

    def test_never_below_the_true_error(self):
        """For the worst Z there is, in both directions; scaled, so that the solver's tolerances mean something."""
        for seed in range(60):
            X, sigma, w, t = random_instance(seed)
            n, rng = len(X), np.random.default_rng(seed)
            operator = TiledOperator(Gaussian(sigma), X, w)
            operator.set_row_scale(t)
            below, above = operator.error_bounds
            exact = exact_cost(exact_kernel(Gaussian(sigma), X), w, t)
            difference = exact - operator @ np.eye(n)
            difference = (difference + difference.T) / 2
            scale = float(abs(difference).max()) or 1.0
            for sign, bound in ((1, above), (-1, below)):
                worst = solve(sign * (difference / scale).astype(float), tol=1e-3, rng=0).certificate
                assert scale * worst.upper_bound <= bound
            for r in (1, 3):
                H = rng.standard_normal((n, r))
                H /= np.linalg.norm(H, axis=1, keepdims=True)
                assert -below <= (long(H) * (exact @ H)).sum() - (H * (operator @ H)).sum() <= above

    def test_degrees(self):
        X, w = points(60, 3) + np.repeat([[30.0], [-30.0]], 30, axis=0), np.linspace(1, 2, 60)
        operator, m = TiledOperator(Gaussian(1.0), X, w), (exact_kernel(Gaussian(1.0), X) * w).sum(axis=1)
        error = abs(operator.m - m) / m
        assert (error <= operator.degree_error).all()
        assert error.max() > 10 * np.finfo(float).eps

    @pytest.mark.parametrize("sign", [-1, 1])
    @pytest.mark.parametrize(("sigma", "spike"), [(1e3, 1.0), (0.1, 1e3)], ids=["deflation", "kernel"])
    def test_what_errors_of_degrees_cost(self, sigma, spike, sign):
        """Degrees and their total made wrong on purpose, in the directions in which each term of the bound is needed."""
        X, t, mu = points(60, 3), np.ones(60), 1e-6
        t[0] = spike
        operator, K = TiledOperator(Gaussian(sigma), X), exact_kernel(Gaussian(sigma), X)
        m = K.sum(axis=1)
        operator.degree_error = np.full(60, mu)
        operator.m, operator.M = (m * (1 + sign * mu)).astype(float), float(m.sum() * (1 - sign * mu))
        operator.set_row_scale(t)
        difference = abs((exact_cost(K, np.ones(60), t) - operator @ np.eye(60)).sum())  # Z = 11ᵀ
        assert 0.5 * operator.error_bounds[0] < difference <= operator.error_bounds[0]

    def test_is_small_enough_to_be_of_use(self):
        """Relative to Σ w d, which is what the optimum is measured by; outliers that have no neighbours do no harm."""
        X = np.vstack([points(200, 5), 40 + 10 * points(5, 5)])
        operator = TiledOperator(Gaussian(3.0), X)
        d = operator.abar_diagonal()
        operator.set_row_scale(np.sqrt(d))
        below, above = operator.error_bounds
        assert 0 < below == above < 1e-11 * d.sum()


class TestFarPoints:
    def test_where_the_expansion_of_a_square_would_lose_everything(self):
        for far in (1e2, 1e4, 1e9, 1e160):
            X = points(60, 3)
            X[:2] += far
            operator, dense = TiledOperator(Gaussian(1.0), X), DenseOperator(kernel_matrix(Gaussian(1.0), X))
            assert operator.single() is None
            V = np.random.default_rng(0).standard_normal((60, 2))
            np.testing.assert_allclose(operator @ V, dense @ V, atol=1e-9)
            np.testing.assert_allclose(operator.m, dense.m, rtol=1e-9)

    def test_single_precision_is_offered_where_it_is_good_enough(self):
        """To 1e-2 of an entry, by a bound: at a smaller bandwidth the same points are farther out."""
        X, V = points(60, 3), np.random.default_rng(0).standard_normal((60, 4))
        for sigma in (0.01, 0.03, 0.1, 2.0):
            operator = TiledOperator(Gaussian(sigma), X)
            single = operator.single()
            assert (single is None) == (sigma < 0.05)
            if single is not None:
                K = off_diagonal(exact_kernel(Gaussian(sigma), X))
                assert (abs(single.hollow_kernel_matmat(V) - K @ V) <= 1e-2 * (K @ abs(V)) + 1e-30).all()
                assert single.single() is None

    def test_an_offset_is_harmless(self):
        X = np.round(points(60, 3), 3)
        K = [TiledOperator(Gaussian(1.0), X + offset).hollow_kernel_matmat(np.eye(60)) for offset in (0.0, 2.0**20)]
        np.testing.assert_allclose(K[1], K[0], atol=1e-9)

    def test_tiny_bandwidth(self):
        for sigma in (1e-3, 1e-200, 5e-324):
            operator = TiledOperator(Gaussian(sigma), points(60, 3), np.linspace(1, 2, 60))
            np.testing.assert_array_equal(operator.hollow_kernel_matmat(np.eye(60)), 0)
            np.testing.assert_array_equal(operator.m, np.linspace(1, 2, 60))


@pytest.fixture(scope="module")
def dense():
    X = np.vstack([points(80, 3), points(80, 3) + 3])
    operator = DenseOperator(kernel_matrix(Gaussian(2.0), X))
    d = operator.abar_diagonal()
    operator.set_row_scale(np.sqrt(d))
    return X, d, solve(operator, tol=1e-8, polish=True, rng=0)


@pytest.mark.parametrize("polish", [False, True])
@pytest.mark.parametrize(("grade", "tol"), [("proved", 1e-6), ("probabilistic", 1e-6), ("probabilistic", 1e-3)])
def test_solves_agree_with_the_stored_matrix(dense, grade, tol, polish):
    """Few large eigenvalues make a proof; what a test claims otherwise is true."""
    X, d, reference = dense
    tuning = TUNING if grade == "proved" else replace(TUNING, most_columns=-1)  # as if many eigenvalues were large
    operator = TiledOperator(Gaussian(2.0), X)
    assert not operator.can_factor
    assert not operator.has_entries
    operator.set_row_scale(np.sqrt(d))
    solution = solve(operator, tol=tol, polish=polish, rng=0, tuning=tuning)
    certificate, exact = solution.certificate, reference.certificate
    assert (solution.status, certificate.grade) == ("optimal", grade)
    assert certificate.relative_gap <= tol
    assert certificate.objective <= exact.upper_bound
    assert certificate.upper_bound >= exact.objective
    J = operator @ np.eye(operator.n)
    lowest = np.linalg.eigvalsh(np.diag(solution.dual) - (J + J.T) / 2)[0]
    assert lowest >= certificate.min_eigenvalue - 1e-14
    if tol == 1e-6:
        assert certificate.objective == pytest.approx(exact.objective, rel=1e-9)
        np.testing.assert_allclose(solution.factor @ solution.factor.T, reference.factor @ reference.factor.T, atol=1e-3)
    if grade == "proved":
        assert certificate.null_space.unique
        assert certificate.null_space.nullity == exact.null_space.nullity


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": Precomputed()}, "`kernel` must be a function of two points, got a precomputed matrix"),
        ({"X": np.ones(5)}, r"`X` must be an array of shape \(5, r\), got shape \(5,\)"),
        ({"X": np.full((5, 2), np.nan)}, "`X` must be finite, got nan at row 0"),
        ({"sample_weight": np.ones(4)}, r"`sample_weight` must have one entry per row, shape \(5,\), got shape \(4,\)"),
        ({"sample_weight": [1, 1, 0, 1, 1]}, "`sample_weight` must be positive and finite, got 0.0 at row 2"),
        ({"n_jobs": 0}, "`n_jobs` must be an integer of at least 1, got 0"),
    ],
)
def test_bad_arguments(changes, message):
    with pytest.raises(ValueError, match=message):
        TiledOperator(**{"kernel": Gaussian(1.0), "X": points(5, 2), **changes})
