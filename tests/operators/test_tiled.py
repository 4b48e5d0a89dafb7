"""Tiles against plain matrices in extended precision; error bounds against true errors; threads against one thread."""

import threading
import time
import tracemalloc
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
import threadpoolctl

from elliptope.kernels import CallableKernel, Gaussian, Laplacian, Matern, Precomputed
from elliptope.operators import DenseOperator, TiledOperator, kernel_matrix
from elliptope.operators.tiled import tiles
from elliptope.operators.tiled.gaussian import GaussianTiles, gaussian_coordinates
from elliptope.sdp import solve
from elliptope.sdp.tuning import TUNING

DTYPES = ("float32", "float64")
# Relative errors seen when nothing is wrong: far below the worst case, and far above rounding of the other precision.
USUAL = {"float32": 2e-6, "float64": 2e-14}


def long(a):
    return np.asarray(a, dtype=np.longdouble)


def exact_kernel(X, sigma):
    """exp(-‖x-y‖²/σ²) in extended precision, (n, n)."""
    difference = long(X)[:, None, :] - long(X)
    return np.exp(-(difference**2).sum(axis=-1) / long(sigma) ** 2)


def exact_cost(K, w, t):
    """Diag(t) (K / √(m mᵀ) - √(m mᵀ)/M) Diag(t) in extended precision, (n, n)."""
    w, t = long(w), long(t)
    m = (K * w).sum(axis=1)
    root = np.sqrt(m[:, None] * m)
    return t[:, None] * (K / root - root / (w * m).sum()) * t


def hollow(K):
    return K - np.diag(K.diagonal())


def points(n, p, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p))


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


def random_factor(n, r, rng):
    H = rng.standard_normal((n, r))
    return H / np.linalg.norm(H, axis=1, keepdims=True)


@pytest.fixture
def small_tiles(monkeypatch):
    """Tiles of 16 and blocks of 2 or more of them, so that 100 points need several."""
    monkeypatch.setattr(tiles, "SIDES", (16,))
    monkeypatch.setattr(tiles, "_FEWEST_BLOCKS", 3)


@pytest.mark.usefixtures("small_tiles")
class TestProducts:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("p", [1, 2, 10, 50])
    @pytest.mark.parametrize(("n", "r"), [(2, 1), (16, 3), (100, 1), (100, 20)])
    def test_equal_the_plain_matrix(self, n, p, r, dtype):
        X, V = points(n, p), np.random.default_rng(1).standard_normal((n, r))
        operator = TiledOperator(Gaussian(np.sqrt(p)), X, dtype=dtype)
        K = hollow(exact_kernel(X, np.sqrt(p)))
        error = abs(operator.hollow_kernel_matmat(V) - K @ V)
        assert (error <= operator.relative_error * (K @ abs(V))).all()
        assert (error <= USUAL[dtype] * (K @ abs(V))).all()

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_with_weights_and_row_scale(self, dtype):
        X, sigma, w, t = random_instance(3)
        n = len(X)
        operator = TiledOperator(Gaussian(sigma), X, w, dtype=dtype, n_jobs=2)
        operator.set_row_scale(t)
        K = exact_kernel(X, sigma)
        J, m = exact_cost(K, w, t), (K * w).sum(axis=1)
        size = t[:, None] * (K / np.sqrt(m[:, None] * m)) * t
        size = size + abs(size - J)
        V = np.random.default_rng(2).standard_normal((n, 4))
        assert (abs(operator @ V - J @ V) <= USUAL[dtype] * (size @ abs(V))).all()
        core = J - np.diag(J.diagonal())
        assert (abs(operator.core_matmat(V) - core @ V) <= USUAL[dtype] * (size @ abs(V))).all()
        # Degrees, and all that comes from them alone, are in float64 whatever the tiles are.
        np.testing.assert_allclose(operator.m, m.astype(float), rtol=1e-13)
        np.testing.assert_allclose(operator.offset(), J.diagonal().astype(float), rtol=1e-11)

    @pytest.mark.parametrize(
        "kernel",
        [Laplacian(2.0), Matern(2.0, 2.5), CallableKernel(lambda X, Y: (4 + X @ Y.T) ** 2)],
        ids=lambda kernel: type(kernel).__name__,
    )
    def test_other_kernels(self, kernel):
        X, V = points(100, 3), np.random.default_rng(1).standard_normal((100, 5))
        operator = TiledOperator(kernel, X, np.linspace(1, 2, 100))
        dense = DenseOperator(kernel_matrix(kernel, X), np.linspace(1, 2, 100))
        np.testing.assert_allclose(operator @ V, dense @ V, atol=1e-13)
        np.testing.assert_allclose(operator.offset(), dense.offset(), atol=1e-14)
        assert operator.dtype == "float64"
        assert operator.single() is None
        assert operator.error_bounds == (0.0, 0.0)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_is_symmetric_and_hollow_to_the_last_bit(self, dtype):
        X = np.vstack([points(50, 3), points(50, 3)])  # every point twice, in different tiles
        K = TiledOperator(Gaussian(1.0), X, dtype=dtype).hollow_kernel_matmat(np.eye(100))
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_array_equal(K.diagonal(), 0)
        np.testing.assert_allclose(K[np.arange(50), np.arange(50, 100)], 1, atol=USUAL[dtype])

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_columns_of_any_size(self, dtype):
        operator = TiledOperator(Gaussian(1.0), points(40, 3), dtype=dtype)
        v = np.random.default_rng(1).standard_normal((40, 1))
        V = v * [1.0, 2.0**600, 2.0**-600, 0.0]
        G = operator.hollow_kernel_matmat(V)
        g = operator.hollow_kernel_matmat(v)
        np.testing.assert_allclose(G, g * [1.0, 2.0**600, 2.0**-600, 0.0], rtol=10 * USUAL[dtype])

    def test_either_order_and_no_side_effects(self):
        operator = TiledOperator(Gaussian(1.0), points(40, 3))
        V = np.random.default_rng(1).standard_normal((40, 5))
        before = V.copy()
        G = operator.hollow_kernel_matmat(V)
        np.testing.assert_array_equal(operator.hollow_kernel_matmat(np.asfortranarray(V)), G)
        np.testing.assert_array_equal(V, before)
        assert G.flags.f_contiguous
        assert operator.hollow_kernel_matmat(V[:, :0]).shape == (40, 0)


class TestFullSize:
    """Tiles as they are used."""

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("r", [1, 20, 40, 70])
    def test_products(self, r, dtype):
        X, V = points(700, 4), np.random.default_rng(1).standard_normal((700, r))
        K = hollow(np.exp(-((X[:, None] - X) ** 2).sum(axis=-1) / 4))
        found = TiledOperator(Gaussian(2.0), X, dtype=dtype).hollow_kernel_matmat(V)
        assert (abs(found - K @ V) <= USUAL[dtype] * (K @ abs(V))).all()

    @pytest.mark.parametrize("inner", [1, 15, 16, 27, 61, 62, 1000])
    def test_side(self, inner):
        """The largest one whose products OpenBLAS takes for small."""
        fitting = [side for side in (256, 192, 128) if side**2 * inner <= 1e6]
        assert tiles.tile_side(inner) == max(fitting, default=256)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_memory_is_bounded(self, dtype):
        n = 20_000
        X, V = points(n, 3), np.ones((n, 8))
        tracemalloc.start()
        try:
            operator = TiledOperator(Gaussian(1.0), X, dtype=dtype)
            operator @ V
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 20e6  # of 3.2e9 for the matrix


class TestThreads:
    @pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(1.0)], ids=lambda kernel: type(kernel).__name__)
    @pytest.mark.parametrize("small", [False, True])
    def test_results_do_not_depend_on_their_number(self, kernel, small, request):
        if small:
            request.getfixturevalue("small_tiles")
        n = 333 if small else 3000
        X, V = points(n, 3), np.random.default_rng(1).standard_normal((n, 7))
        for dtype in DTYPES if isinstance(kernel, Gaussian) else ("float64",):
            operators = [TiledOperator(kernel, X, dtype=dtype, n_jobs=n_jobs) for n_jobs in (1, 2, 3)]
            for other in operators[1:]:
                np.testing.assert_array_equal(operators[0].m, other.m)
                np.testing.assert_array_equal(operators[0] @ V, other @ V)
                assert operators[0].error_bounds == other.error_bounds

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
    def test_errors_in_a_tile_are_raised(self, n_jobs, small_tiles):
        values = [1.0]
        kernel = CallableKernel(lambda X, Y: np.full((len(X), len(Y)), values[-1]))
        operator = TiledOperator(kernel, points(100, 2), n_jobs=n_jobs)
        values.append(np.nan)
        with pytest.raises(ValueError, match="must give finite values"):
            operator @ np.ones((100, 1))

    @pytest.mark.parametrize("players", range(1, 9))
    def test_tournament(self, players):
        pairs = list(tiles.tournament(players))
        assert sorted(pairs) == [(a, b) for a in range(players) for b in range(a + 1)]
        size = players // 2  # of a round, once the pairs (a, a) have been
        rounds = [pairs[k : k + size] for k in range(players, len(pairs), max(size, 1))]
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
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("p", [1, 3, 10, 50])
    def test_entries(self, p, dtype):
        """Far from the centre the exponent loses digits: the bound knows, and is not far off."""
        X = points(60, p) + np.repeat([[30.0], [-30.0]], 30, axis=0)
        made = GaussianTiles(gaussian_coordinates(X, np.sqrt(p)), dtype, 1)
        found, expected = made.hollow_matmat(np.eye(60)), hollow(exact_kernel(X, np.sqrt(p)))
        bound = (made.errors.entry[:, None] + made.errors.entry) * found + np.finfo(dtype).tiny
        error = abs(found - expected)
        assert (error <= bound).all()
        assert (error / bound).max() > 1e-2
        near = found > 0.1
        assert error[near].max() > 100 * np.finfo(dtype).eps  # the error is there

    def test_entries_near_one(self):
        """Where exponents are so small that the rounding of the exponential is all there is."""
        X = points(60, 3)
        made = GaussianTiles(gaussian_coordinates(X, 1e4), np.float32, 1)
        found, expected = made.hollow_matmat(np.eye(60)), hollow(exact_kernel(X, 1e4))
        error = abs(found - expected)
        assert error.max() > 0
        assert (error <= (made.errors.entry[:, None] + made.errors.entry) * found).all()

    def test_products(self):
        X, V = points(600, 2), np.random.default_rng(0).uniform(0, 1, (600, 3))
        # Entries are all but 1: long sums in one direction.
        made = GaussianTiles(gaussian_coordinates(X, 1e3), np.float32, 1)
        K = made.hollow_matmat(np.eye(600))
        error = abs(made.hollow_matmat(V) - K @ V)
        assert (error <= made.errors.product * (K @ V)).all()
        assert error.max() > 1e-8 * (K @ V).max()

    def test_exp_is_as_good_as_is_assumed(self):
        x = np.linspace(-87, 0.01, 2_000_001).astype(np.float32)
        expected = np.exp(x.astype(np.float64))
        assert (abs(np.exp(x) - expected) / expected).max() <= 4 * np.finfo(np.float32).eps
        below = np.linspace(-200, -87, 100_001).astype(np.float32)
        assert abs(np.exp(below) - np.exp(below.astype(np.float64))).max() <= np.finfo(np.float32).tiny

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("seed", range(60))
    def test_never_below_the_true_error(self, seed, dtype):
        X, sigma, w, t = random_instance(seed)
        n, rng = len(X), np.random.default_rng(seed)
        operator = TiledOperator(Gaussian(sigma), X, w, dtype=dtype)
        operator.set_row_scale(t)
        below, above = operator.error_bounds
        exact = exact_cost(exact_kernel(X, sigma), w, t)
        difference = exact - (operator @ np.eye(n))
        difference = (difference + difference.T) / 2
        # The worst Z there is, in both directions; scaled, so that the solver's tolerances mean something.
        scale = float(abs(difference).max()) or 1.0
        for sign, bound in ((1, above), (-1, below)):
            worst = solve(sign * (difference / scale).astype(float), tol=1e-3, rng=0).certificate
            assert scale * worst.upper_bound <= bound
        for H in (random_factor(n, 1, rng), random_factor(n, 3, rng), np.ones((n, 1))):
            objective = (H * (operator @ H)).sum()
            assert -below <= (long(H) * (exact @ H)).sum() - objective <= above

    def test_degrees(self):
        X, w = points(60, 3) + np.repeat([[30.0], [-30.0]], 30, axis=0), np.linspace(1, 2, 60)
        operator, m = TiledOperator(Gaussian(1.0), X, w), (exact_kernel(X, 1.0) * w).sum(axis=1)
        error = abs(operator.m - m) / m
        assert (error <= operator.degree_error).all()
        assert error.max() > 10 * np.finfo(float).eps

    @pytest.mark.parametrize("sign", [-1, 1])
    @pytest.mark.parametrize(("sigma", "spike"), [(1e3, 1.0), (0.1, 1e3)], ids=["deflation", "kernel"])
    def test_what_errors_of_degrees_cost(self, sigma, spike, sign):
        """Degrees and their total made wrong on purpose, in the directions in which each term of the bound is needed."""
        X, t, mu = points(60, 3), np.ones(60), 1e-6
        t[0] = spike
        operator, K = TiledOperator(Gaussian(sigma), X), exact_kernel(X, sigma)
        m = K.sum(axis=1)
        operator.degree_error = np.full(60, mu)
        operator.m, operator.M = (m * (1 + sign * mu)).astype(float), float(m.sum() * (1 - sign * mu))
        operator.set_row_scale(t)
        difference = abs((exact_cost(K, np.ones(60), t) - operator @ np.eye(60)).sum())  # Z = 11ᵀ
        assert 0.5 * operator.error_bounds[0] < difference <= operator.error_bounds[0]

    @pytest.mark.parametrize(("dtype", "most"), [("float32", 1e-3), ("float64", 1e-11)])
    def test_is_small_enough_to_be_of_use(self, dtype, most):
        """Relative to Σ w d, which is what the optimum is measured by; outliers that have no neighbours do no harm."""
        X = np.vstack([points(200, 5), 40 + 10 * points(5, 5)])
        operator = TiledOperator(Gaussian(3.0), X, dtype=dtype)
        d = operator.abar_diagonal()
        operator.set_row_scale(np.sqrt(d))
        below, above = operator.error_bounds
        assert 0 < below == above < most * d.sum()

    def test_follows_the_row_scale(self):
        operator = TiledOperator(Gaussian(1.0), points(30, 2), dtype="float32")
        first = operator.error_bounds[0]
        operator.set_row_scale(np.full(30, 3.0))
        assert operator.error_bounds[0] == pytest.approx(9 * first)


class TestPrecision:
    def test_choice(self):
        X = points(50, 3)
        precise, fast = TiledOperator(Gaussian(2.0), X), TiledOperator(Gaussian(2.0), X, accuracy=1e-4)
        assert (precise.dtype, fast.dtype) == ("float64", "float32")
        assert precise.relative_error <= 1e-12
        assert 1e-5 < fast.relative_error <= 1e-4
        assert fast.single() is None
        # At a smaller bandwidth the same points are farther out.
        assert TiledOperator(Gaussian(0.1), X, accuracy=1e-4).dtype == "float64"

    def test_single_is_the_same_operator_in_float32(self):
        X, w, t = points(50, 3), np.linspace(1, 2, 50), np.linspace(2, 3, 50)
        operator = TiledOperator(Gaussian(2.0), X, w)
        operator.set_row_scale(t)
        single, V = operator.single(), np.random.default_rng(0).standard_normal((50, 4))
        error = abs(single @ V - operator @ V).max()
        assert 1e-12 < error < 1e-5
        np.testing.assert_array_equal(single.offset(), operator.offset())
        assert single.single() is None

    @pytest.mark.parametrize("far", [1e2, 1e4, 1e9, 1e160])
    def test_far_outliers(self, far):
        """Where the expansion of a square would lose everything, and beyond."""
        X = points(60, 3)
        X[0] += far
        X[1] += far
        operator, dense = TiledOperator(Gaussian(1.0), X), DenseOperator(kernel_matrix(Gaussian(1.0), X))
        assert operator.single() is None
        V = np.random.default_rng(0).standard_normal((60, 2))
        np.testing.assert_allclose(operator @ V, dense @ V, atol=1e-9)
        np.testing.assert_allclose(operator.m, dense.m, rtol=1e-9)
        with pytest.raises(ValueError, match="`dtype` must be None or 'float64' for these data, got 'float32'"):
            TiledOperator(Gaussian(1.0), X, dtype="float32")

    def test_an_offset_is_harmless(self):
        X = np.round(points(60, 3), 3)
        K = [TiledOperator(Gaussian(1.0), X + offset).hollow_kernel_matmat(np.eye(60)) for offset in (0.0, 2.0**20)]
        np.testing.assert_allclose(K[1], K[0], atol=1e-9)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_huge_bandwidth(self, dtype):
        operator = TiledOperator(Gaussian(1e200), points(60, 3), dtype=dtype)
        np.testing.assert_array_equal(operator.hollow_kernel_matmat(np.eye(60)), 1 - np.eye(60))

    @pytest.mark.parametrize("sigma", [1e-3, 1e-200, 5e-324])
    def test_tiny_bandwidth(self, sigma):
        operator = TiledOperator(Gaussian(sigma), points(60, 3), np.linspace(1, 2, 60))
        np.testing.assert_array_equal(operator.hollow_kernel_matmat(np.eye(60)), 0)
        np.testing.assert_array_equal(operator.m, np.linspace(1, 2, 60))


class TestCoreSquare:
    @pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(10.0), Laplacian(2.0), Matern(3.0)])
    def test_is_the_sum_of_squares(self, kernel):
        rng = np.random.default_rng(0)
        X, w, v = points(300, 3), rng.uniform(0.5, 2.0, 300), rng.uniform(0.1, 1.0, 300)
        operator = TiledOperator(kernel, X, w)
        operator.set_row_scale(rng.uniform(0.5, 2.0, 300))
        J = long(operator.core_matmat(np.eye(300)))
        np.fill_diagonal(J, 0)
        exact = (J**2 / long(v)[:, None] / long(v)).sum()
        terms = (np.abs(operator._s) ** 2 / v).sum() ** 2 + ((operator._Q[:, 0] ** 2) / v).sum() ** 2
        assert -1e-14 * terms <= operator.core_square(v) - exact <= 1e-10 * terms

    def test_of_float32_nothing_is_claimed(self):
        assert TiledOperator(Gaussian(2.0), points(50, 3), dtype="float32").core_square(np.ones(50)) == np.inf


@pytest.fixture(scope="module")
def dense():
    X = np.vstack([points(80, 3), points(80, 3) + 3])
    operator = DenseOperator(kernel_matrix(Gaussian(2.0), X))
    d = operator.abar_diagonal()
    operator.set_row_scale(np.sqrt(d))
    return X, d, solve(operator, tol=1e-8, polish=True, rng=0)


class TestSolve:
    @pytest.mark.parametrize("grade", ["proved", "probabilistic"])
    def test_agrees_with_the_stored_matrix(self, dense, grade):
        X, d, reference = dense
        tuning = TUNING if grade == "proved" else replace(TUNING, most_columns=-1)  # as if many eigenvalues were large
        operator = TiledOperator(Gaussian(2.0), X)
        assert not operator.can_factor
        assert not operator.has_entries
        operator.set_row_scale(np.sqrt(d))
        solution = solve(operator, tol=1e-6, rng=0, tuning=tuning)
        assert solution.status == "optimal"
        assert solution.certificate.grade == grade
        assert solution.certificate.objective == pytest.approx(reference.certificate.objective, rel=1e-9)
        H, H_reference = solution.factor, reference.factor
        np.testing.assert_allclose(H @ H.T, H_reference @ H_reference.T, atol=1e-3)

    @pytest.mark.parametrize("tol", [1e-3, 1e-6])
    def test_what_a_test_claims_is_true(self, dense, tol):
        X, d, reference = dense
        operator = TiledOperator(Gaussian(2.0), X)
        operator.set_row_scale(np.sqrt(d))
        solution = solve(operator, tol=tol, polish=True, rng=0, tuning=replace(TUNING, most_columns=-1))
        certificate = solution.certificate
        assert certificate.grade == "probabilistic"
        assert certificate.relative_gap <= tol
        assert certificate.objective <= reference.certificate.upper_bound
        assert certificate.upper_bound >= reference.certificate.objective
        J = operator @ np.eye(operator.n)
        lowest = np.linalg.eigvalsh(np.diag(solution.dual) - (J + J.T) / 2)[0]
        assert lowest >= certificate.min_eigenvalue - 1e-14

    @pytest.mark.parametrize("polish", [False, True])
    def test_few_large_eigenvalues_make_a_proof(self, dense, polish):
        X, d, reference = dense
        operator = TiledOperator(Gaussian(2.0), X)
        operator.set_row_scale(np.sqrt(d))
        solution = solve(operator, tol=1e-6, polish=polish, rng=0)
        certificate = solution.certificate
        assert certificate.grade == "proved"
        assert certificate.relative_gap <= 1e-6
        assert certificate.objective <= reference.certificate.upper_bound
        assert certificate.upper_bound >= reference.certificate.objective
        assert certificate.null_space.unique
        assert certificate.null_space.nullity == reference.certificate.null_space.nullity
        J = operator @ np.eye(operator.n)
        lowest = np.linalg.eigvalsh(np.diag(solution.dual) - (J + J.T) / 2)[0]
        assert lowest >= certificate.min_eigenvalue - 1e-14

    def test_float32_brackets_the_exact_optimum(self, dense):
        X, d, reference = dense
        operator = TiledOperator(Gaussian(2.0), X, dtype="float32")
        operator.set_row_scale(np.sqrt(d))
        certificate = solve(operator, tol=1e-3, rng=0).certificate
        low, high = certificate.exact_interval
        assert low <= reference.certificate.objective
        assert reference.certificate.upper_bound <= high
        assert certificate.error_below == operator.error_bounds[0] < 1e-4 * certificate.gain


class TestArguments:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"kernel": Precomputed()}, "`kernel` must be a function of two points, got a precomputed matrix"),
            ({"X": np.ones(5)}, r"`X` must be an array of shape \(5, r\), got shape \(5,\)"),
            ({"X": np.full((5, 2), np.nan)}, "`X` must be finite, got nan at row 0"),
            ({"sample_weight": np.ones(4)}, r"`sample_weight` must have one entry per row, shape \(5,\), got shape \(4,\)"),
            ({"sample_weight": [1, 1, 0, 1, 1]}, "`sample_weight` must be positive and finite, got 0.0 at row 2"),
            ({"dtype": "float16"}, "`dtype` must be one of None, 'float32', 'float64', got 'float16'"),
            ({"kernel": Laplacian(1.0), "dtype": "float32"}, "`dtype` must be None or 'float64' for these data"),
            ({"accuracy": 0}, "`accuracy` must be positive and finite, got 0"),
            ({"n_jobs": 0}, "`n_jobs` must be an integer of at least 1, got 0"),
        ],
    )
    def test_bad(self, changes, message):
        with pytest.raises(ValueError, match=message):
            TiledOperator(**{"kernel": Gaussian(1.0), "X": points(5, 2), **changes})
