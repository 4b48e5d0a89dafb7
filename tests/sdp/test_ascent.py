"""Ascent methods: every one of them climbs, and all reach the same summit."""

import itertools
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from common import MOONS, WINE
from elliptope import SDPEmbedding
from elliptope.kernels import Gaussian
from elliptope.operators import DenseOperator, as_operator, dense, kernel_matrix
from elliptope.sdp import solve
from elliptope.sdp.ascent import METHODS, schedule
from elliptope.sdp.ascent import newton as newton_module
from elliptope.sdp.ascent.dense_newton import dense_newton
from elliptope.sdp.ascent.interior_point import interior_point
from elliptope.sdp.ascent.newton import newton
from elliptope.sdp.ascent.quasi_newton import quasi_newton
from elliptope.sdp.ascent.schedule import _compress
from elliptope.sdp.problem import Problem, drop_columns, drop_light_columns, random_start
from elliptope.sdp.steps import normalize_rows


def operator(X, sigma):
    J = DenseOperator(kernel_matrix(Gaussian(sigma), X))
    J.set_row_scale(np.sqrt(J.abar_diagonal()))
    return J


def indefinite(n=60):
    G = np.random.default_rng(0).standard_normal((n, n))
    return G + G.T


COSTS = {
    "wine 3": lambda: operator(WINE, 3.0),
    "wine 1.5": lambda: operator(WINE, 1.5),
    "moons 0.5": lambda: operator(MOONS, 0.5),
    "indefinite": indefinite,
}

# Phases of "auto", each able to reach the optimum by itself from a start of the given rank.
PHASES = {
    "quasi-Newton": lambda p, H, rng: quasi_newton(p, p.evaluate(H), rng),
    "interior point": interior_point,
}


@pytest.fixture(params=COSTS)
def cost(request):
    return COSTS[request.param]()


@pytest.mark.parametrize("phase", PHASES)
def test_phases_reach_the_optimum(cost, phase):
    reference = solve(cost, rng=1, tol=1e-8)
    problem = Problem(as_operator(cost))
    rng = np.random.default_rng(0)
    best = 0.0
    for k, iterate in enumerate(PHASES[phase](problem, random_start(problem.n, 16, rng), rng)):
        best = max(best, iterate.objective)
        np.testing.assert_allclose(np.linalg.norm(iterate.H, axis=1), 1.0, rtol=1e-12)
        if iterate.defect < 1e-7 or k > 1500:
            break
    gain = reference.certificate.gain
    assert reference.certificate.objective - best < 1e-6 * gain
    assert best <= reference.certificate.upper_bound + 1e-12 * gain




@pytest.mark.parametrize("polish", [newton, dense_newton])
@pytest.mark.parametrize("sigma", [1.5, 3.0])
def test_newton_methods_converge_quadratically(polish, sigma):
    J = operator(WINE, sigma)
    rough = solve(J, rng=0, tol=1e-3)
    problem = Problem(J)
    start = problem.evaluate(rough.factor)
    defects = [start.defect]
    for _, iterate in zip(range(12), polish(problem, start, np.random.default_rng(0)), strict=False):
        defects.append(iterate.defect)
    assert min(defects) < 1e-9
    # Once below 1e-3, every step squares the defect up to a factor, until rounding ends it.
    steps = [(before, after) for before, after in itertools.pairwise(defects) if 1e-9 < before < 1e-3]
    assert steps
    assert all(after < 50 * before**1.5 for before, after in steps)


@pytest.mark.parametrize(("sigma", "steps", "crawls"), [(1.0, 15, False), (1.0, 0, True), (0.6, 15, True)])
def test_small_problems_go_on_by_factorisations(sigma, steps, crawls, monkeypatch):
    """Where quasi-Newton steps crawl, Newton steps take over, and the interior-point method if they do not arrive."""
    called = []

    def spy(*args):
        called.append(True)
        return interior_point(*args)

    J = operator(WINE, sigma)
    expected = solve(J, rng=1).certificate
    monkeypatch.setattr(schedule, "interior_point", spy)
    monkeypatch.setattr(schedule, "_SMALL_STEPS", steps)
    found = solve(J, rng=0).certificate
    assert bool(called) == crawls
    assert found.grade == "proved"
    assert found.objective == pytest.approx(expected.objective, abs=2e-6 * found.gain)


def test_patience_has_an_end(monkeypatch):
    """Before the iterations that a solve may make have an end."""
    called = []

    def spy(problem, *args):
        called.append(problem.n_products)
        return interior_point(problem, *args)

    monkeypatch.setattr(schedule, "interior_point", spy)
    monkeypatch.setattr(schedule, "_MOST_PATIENCE", 40)
    solution = solve(operator(load_digits().data[:300] / 16, 0.7), rng=0)
    assert solution.status == "optimal"
    assert 40 < called[0] < 60


def test_interior_point_does_not_mind_the_conditioning():
    """Wine at σ = 0.6: first-order methods take thousands of products, this one a few dozen steps."""
    problem = Problem(operator(WINE, 0.6))
    rng = np.random.default_rng(0)
    steps = list(interior_point(problem, random_start(problem.n, 5, rng), rng))
    assert len(steps) < 40
    reference = solve(operator(WINE, 0.6), rng=3, tol=1e-8)
    assert reference.certificate.objective - steps[-1].objective < 1e-5 * reference.certificate.gain


def test_power_is_the_papers_algorithm():
    J = operator(WINE, 6.0)
    H = random_start(J.n, 4, np.random.default_rng(0))
    iterates = METHODS["power"](Problem(J), H, np.random.default_rng(0))
    matrix = J @ np.eye(J.n)
    for _, iterate in zip(range(5), iterates, strict=False):
        np.testing.assert_allclose(iterate.H, H, atol=1e-12)
        H = matrix @ H
        H /= np.linalg.norm(H, axis=1, keepdims=True)


def test_power_refuses_a_cost_that_is_not_psd():
    with pytest.raises(ValueError, match="must be positive semi-definite for the power method"):
        solve(indefinite(), method="power", rng=0)


def test_too_few_iterations_are_not_called_degenerate():
    solution = solve(operator(WINE, 1.5), method="power", polish=True, tol=1e-3, max_iter=60, rng=0)
    assert solution.status == "max_iter"


class TestCompression:
    @pytest.fixture
    def optimum(self):
        problem = Problem(operator(WINE, 3.0))
        return problem, solve(problem.operator, tol=1e-10, polish=True, rng=0).factor

    def test_light_columns_go(self, optimum):
        """Some rows use it, so that no bound on the entries would drop it; but the objective does not need it."""
        problem, H = optimum
        extra = np.zeros((len(H), 1))
        extra[:3] = 5e-3
        rng = np.random.default_rng(0)
        wide = problem.evaluate(normalize_rows(np.hstack([H, extra]), rng))
        assert drop_columns(wide.H, 1e-3, rng).shape[1] == H.shape[1] + 1
        assert drop_light_columns(wide.H, wide.pull, 1e-6, rng).shape[1] == H.shape[1]
        compressed = _compress(problem, wide, rng)
        assert compressed.H.shape[1] == H.shape[1]
        assert compressed.gain >= wide.gain

    def test_columns_that_are_needed_stay(self, optimum):
        problem, H = optimum
        iterate = problem.evaluate(H)
        assert _compress(problem, iterate, np.random.default_rng(0)) is iterate

    def test_not_at_the_expense_of_the_objective(self, optimum, monkeypatch):
        """Where a column looks light and is not, it stays."""
        problem, H = optimum
        monkeypatch.setattr(schedule, "_LIGHT", 0.5)
        iterate, rng = problem.evaluate(H), np.random.default_rng(0)
        assert drop_light_columns(H, iterate.pull, 0.5, rng).shape[1] < H.shape[1]
        assert _compress(problem, iterate, rng) is iterate


def test_forcing_follows_what_the_last_step_gained(monkeypatch):
    """Systems are solved no better than the last step was worth, and well enough for quadratic convergence."""
    forcing, direction, defects = [], newton_module._direction, []

    def watched(problem, iterate, accuracy, max_cg):
        forcing.append(accuracy)
        defects.append(iterate.defect)
        return direction(problem, iterate, accuracy, max_cg)

    monkeypatch.setattr(newton_module, "_direction", watched)
    problem, rng = Problem(operator(WINE, 3.0)), np.random.default_rng(0)
    start = itertools.islice(quasi_newton(problem, problem.evaluate(random_start(problem.n, 3, rng)), rng), 12, 13)
    for iterate in newton(problem, next(start), rng):
        if iterate.defect < 1e-9:
            break
    assert forcing[0] == 0.01
    gained = np.array(defects[1:]) / np.array(defects[:-1])
    np.testing.assert_allclose(forcing[1:], np.minimum(0.1, gained**2))
    assert min(forcing) < 1e-3


class TestPrecision:
    """Single precision for early products only; the last steps and the proof are in double precision."""

    @pytest.fixture
    def always_single(self, monkeypatch):
        monkeypatch.setattr(dense, "_SINGLE_SIZE", 1)
        monkeypatch.setattr(dense.DenseStorage, "single_after", 0)

    def test_products_to_single_precision(self, always_single):
        J = operator(MOONS, 0.5)
        V = np.random.default_rng(0).standard_normal((J.n, 3))
        exact, single = J.core_matmat(V), J.single().core_matmat(V)
        error = np.abs(single - exact).max() / np.abs(exact).max()
        assert 1e-9 < error < 1e-5
        assert single.dtype == np.float64

    def test_small_operators_have_none(self):
        assert operator(MOONS, 0.5).single() is None

    def test_optimum_and_proof_are_in_double_precision(self, always_single):
        with_single = SDPEmbedding(bandwidth=0.5, random_state=0).fit(MOONS)
        assert with_single.certificate_.grade == "proved"
        assert with_single.certificate_.stationarity < 1e-8
        dense._SINGLE_SIZE = 10**9
        without = SDPEmbedding(bandwidth=0.5, random_state=0).fit(MOONS)
        B, reference = (e.embedding_ @ e.embedding_.T for e in (with_single, without))
        np.testing.assert_allclose(B, reference, atol=1e-6 * reference.max())

    def test_products_switch_to_double_before_newton(self, always_single):
        """The copy in single precision is given up as soon as the defect is small."""
        problem = Problem(operator(MOONS, 0.5))
        rng = np.random.default_rng(0)
        seen = []
        for iterate in METHODS["auto"](problem, random_start(problem.n, 5, rng), rng):
            seen.append((iterate.defect, problem._single is not None))
            if iterate.defect < 1e-9:
                break
        assert any(single for _, single in seen)
        assert not any(single for defect, single in seen if defect < 1e-4)

    def test_interrupted_in_single_precision_is_certified_in_double(self, always_single):
        solution = solve(operator(MOONS, 0.5), rng=0, callback=lambda progress: progress.iteration == 9)
        assert solution.status == "interrupted"
        J = operator(MOONS, 0.5)
        y = np.einsum("ij,ij->i", solution.factor, J @ solution.factor)
        np.testing.assert_allclose(solution.dual, y, rtol=1e-12, atol=1e-14)


class TestInterruption:
    def interrupt(self, monkeypatch, *after):
        count = iter(range(10**6))
        plain = DenseOperator.core_matmat

        def product(self, V):
            if next(count) in after:
                raise KeyboardInterrupt
            return plain(self, V)

        monkeypatch.setattr(DenseOperator, "core_matmat", product)

    @pytest.mark.parametrize("after", [2, 7, 15])
    def test_ctrl_c_keeps_the_best_iterate(self, monkeypatch, after):
        self.interrupt(monkeypatch, after)
        est = SDPEmbedding(bandwidth=1.5, random_state=0)
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            est.fit(WINE)
        assert est.status_ == "interrupted"
        assert np.isfinite(est.embedding_).all()
        assert np.isfinite(est.transform(WINE[:3] + 0.1)).all()
        full = SDPEmbedding(bandwidth=1.5, random_state=0).fit(WINE)
        assert est.certificate_.objective <= full.certificate_.objective <= est.certificate_.upper_bound
        assert est.certificate_.grade == "probabilistic"

    def test_a_second_ctrl_c_ends_the_certificate_too(self, monkeypatch):
        self.interrupt(monkeypatch, 7, 20)
        est = SDPEmbedding(bandwidth=1.5, random_state=0)
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            est.fit(WINE)
        assert est.status_ == "interrupted"
        assert (est.certificate_.grade, est.certificate_.upper_bound) == ("estimate", np.inf)
        assert np.isfinite(est.transform(WINE[:3] + 0.1)).all()

    def test_the_best_iterate_is_kept_and_not_the_last(self):
        """Steps of the warm-up may descend, here because rows that repel each other all jump at once."""
        seen = []
        repelling = np.eye(40) - np.ones((40, 40))
        solution = solve(repelling, rng=0, callback=lambda p: seen.append(p.objective) or len(seen) == 4)
        assert seen[-1] < max(seen)
        assert solution.certificate.objective == pytest.approx(max(seen))

    def test_before_the_first_iterate_there_is_nothing_to_keep(self, monkeypatch):
        self.interrupt(monkeypatch, 0)
        with pytest.raises(KeyboardInterrupt):
            SDPEmbedding(bandwidth=1.5, random_state=0).fit(WINE)


@pytest.mark.skipif(find_spec("sklearn.callback") is None, reason="callbacks came with scikit-learn 1.9")
class TestCallbacks:
    class Recorder:
        def __init__(self, stop_after=10**9):
            self.seen, self.events, self.stop_after = [], [], stop_after

        def setup(self, estimator, context):
            self.events.append("setup")

        def teardown(self, estimator, context):
            self.events.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, metadata=None):
            self.seen.append(metadata["progress"])
            return len(self.seen) >= self.stop_after

    def test_every_iteration_is_seen(self):
        recorder = self.Recorder()
        est = SDPEmbedding(bandwidth=3.0, random_state=0).set_callbacks(recorder).fit(WINE)
        assert [p.iteration for p in recorder.seen] == list(range(1, est.n_iter_ + 1))
        assert recorder.events == ["setup", "teardown"]
        assert est.status_ == "optimal"

    def test_a_callback_can_stop_the_fit(self):
        recorder = self.Recorder(stop_after=4)
        est = SDPEmbedding(bandwidth=3.0, random_state=0).set_callbacks(recorder)
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            est.fit(WINE)
        assert (est.status_, est.n_iter_) == ("interrupted", 4)
        assert np.isfinite(est.transform(WINE)).all()


@pytest.mark.parametrize("angle", [1e-5, 1e-4])
def test_newton_returns_from_soft_directions(angle):
    """There a full step errs, to second order, in stiff directions, and is farther from LH = 0 than where it began."""
    rng, J = np.random.default_rng(0), operator(WINE, 0.55)
    problem = Problem(J)
    H = drop_columns(solve(J, rng=0, polish=True).factor, 1e-3, rng)
    assert H.shape[1] == 2
    *_, optimum = dense_newton(problem, problem.evaluate(H), rng)
    H, root = optimum.H, np.sqrt(optimum.scale)
    # In the plane rows move by angles, and the Hessian is -J ∘ HHᵀ but for its diagonal.
    hessian = -problem.core_matrix() * (H @ H.T)
    np.fill_diagonal(hessian, optimum.slack)
    values, U = np.linalg.eigh(hessian / root[:, None] / root)
    assert values[1] < 1e-5
    softest = U[:, 1] / root
    turned = H + angle * (softest / abs(softest).max())[:, None] * np.column_stack([-H[:, 1], H[:, 0]])
    *_, back = dense_newton(problem, problem.evaluate(normalize_rows(turned, rng)), rng)
    assert back.stationarity < 1e-12
