"""SDPEmbedding against plain matrices: the optimum, its extension to new points, and life among other estimators."""

import pickle
import re
import warnings
from io import BytesIO

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from common import CLUSTERS, MOONS, RANK_4, WINE, WINE_CLASS, Naive, fit, gram, row_error, weights
from elliptope import SDPEmbedding
from elliptope.datasets import two_moons
from elliptope.kernels import Gaussian, Matern
from elliptope.sdp.loop import Loop

SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
RANDOM = np.random.default_rng(0).standard_normal((40, 3))
# Clusters that do not see each other at a narrow bandwidth, and no symmetry.
CORNERS = np.repeat(SQUARE * (20, 23), 25, axis=0) + np.random.default_rng(0).standard_normal((100, 2))


class TestOptimum:
    @pytest.fixture(params=[None, weights(178)], ids=["uniform", "weighted"])
    def case(self, request):
        w = request.param
        return Naive(WINE, 1.5, w), fit(WINE, w, bandwidth=1.5)

    def test_diagonal_is_the_papers(self, case):
        naive, est = case
        assert est.status_ == "optimal"
        np.testing.assert_allclose(gram(est).diagonal(), naive.d, rtol=1e-10)
        np.testing.assert_allclose(naive.d, naive.Abar.diagonal(), rtol=1e-10)

    def test_objective_is_the_trace(self, case):
        naive, est = case
        objective = np.sum(naive.w[:, None] * naive.w * naive.Abar * gram(est))
        np.testing.assert_allclose(est.certificate_.objective, objective, rtol=1e-10)

    def test_columns_are_eigenvectors_on_weighted_l2(self, case):
        naive, est = case
        products = (est.embedding_ * naive.w[:, None]).T @ est.embedding_
        np.testing.assert_allclose(products, np.diag(est.eigenvalues_), rtol=1e-10, atol=1e-10 * est.eigenvalues_[0])
        assert (np.diff(est.eigenvalues_) < 0).all()
        assert (est.eigenvalues_ > 0).all()
        np.testing.assert_allclose(est.eigenvalues_.sum(), (naive.w * naive.d).sum(), rtol=1e-10)

    def test_dual_certificate_holds_for_the_plain_matrix(self, case):
        """L = Diag(y) - J is psd and annihilates H, with J formed entry by entry."""
        naive, est = case
        t = naive.w * np.sqrt(naive.d)
        J = t[:, None] * naive.Abar * t
        H = est.embedding_ / np.sqrt(naive.d)[:, None]
        L = np.diag(np.einsum("ij,ij->i", J @ H, H)) - J
        scale = np.abs(L).max()
        assert np.linalg.eigvalsh(L)[0] > -1e-7 * scale
        assert np.abs(L @ H).max() < 1e-7 * scale

    @pytest.mark.slow
    def test_a_bandwidth_below_the_spacing_of_the_points(self):
        """Two moons at σ = 0.05: many directions are almost free, and the proof needs more columns than the ascent had."""
        est = fit(two_moons(random_state=1)[0], bandwidth=0.05)
        assert est.certificate_.grade == "proved"
        assert est.certificate_.relative_gap <= 1e-6
        assert est.status_ == "degenerate"

    @pytest.mark.parametrize(
        ("X", "bandwidth", "reason", "advice"),
        [
            # Two pairs of opposite rows, at whatever angle.
            (SQUARE, 1.0, "B has rank 2, and other matrices of the same range are as good", "lie symmetrically"),
            (SQUARE, 30.0, "B has rank 2, and other matrices of the same range are as good", "lie symmetrically"),
            (CORNERS, 2.0, "B has rank 3, and other matrices of the same range are as good", "far from each other"),
            (RANK_4, 0.01, "L has nullity 11 or more, B has rank [4-9], and nothing shows", "No point has a neighbour"),
            (RANDOM, 0.1, "L has nullity 11 or more, B has rank [4-9], and nothing shows", "usually makes"),
        ],
        ids=["square", "square, wide", "four clusters", "identity", "narrow"],
    )
    def test_degeneracy_is_explained(self, X, bandwidth, reason, advice):
        with pytest.warns(ConvergenceWarning, match=f"'degenerate'.*{reason}.*{advice}") as record:
            SDPEmbedding(bandwidth=bandwidth, random_state=0).fit(X)
        assert ("usually" in str(record[0].message)) == ("usually" in advice)

    @pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5])
    def test_a_loose_tolerance_is_no_degeneracy(self, tol):
        est = fit(WINE, bandwidth=2.0, tol=tol)
        assert est.status_ == "optimal"
        assert est.certificate_.relative_gap <= tol

    def test_certificate_fields(self, case):
        naive, est = case
        c = est.certificate_
        gain = c.objective - np.sum(naive.w**2 * naive.d**2)
        assert c.grade == "proved"
        assert c.failure_probability == 0
        assert 0 <= c.upper_bound - c.objective == pytest.approx(c.gap, rel=1e-6)
        assert c.relative_gap == pytest.approx(c.gap / gain, rel=1e-6)
        assert c.relative_gap <= est.tol
        assert c.min_eigenvalue <= 0
        assert c.stationarity < 1e-6
        assert "proved" in repr(c)
        assert f"{c.objective:.6g}" in repr(c)

    def test_other_fitted_attributes(self, case):
        _, est = case
        assert est.bandwidth_ == 1.5
        assert est.n_components_ == est.embedding_.shape[1] == len(est.eigenvalues_) == 2
        assert est.n_features_in_ == 13
        assert est.n_iter_ > 0
        assert est.n_iter_ <= est.n_products_

    @pytest.mark.parametrize("sigma", [1.0, 2.0, 6.0])
    def test_agrees_with_an_interior_point_solver(self, sigma):
        cvxpy = pytest.importorskip("cvxpy")
        rows = np.random.default_rng(0).choice(len(WINE), 25, replace=False)
        naive, est = Naive(WINE[rows], sigma), fit(WINE[rows], bandwidth=sigma)
        assert est.status_ == "optimal"
        root = np.sqrt(naive.d)
        J = root[:, None] * naive.Abar * root
        # The diagonal of J adds a constant only; without it the solver sees what there is to gain.
        gain = J - np.diag(J.diagonal())
        Z = cvxpy.Variable((25, 25), PSD=True)
        problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.trace(gain / np.abs(gain).max() @ Z)), [cvxpy.diag(Z) == 1])
        # The error of Z is the square root of the gap, so ask for more than the default 1e-8.
        problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
        np.testing.assert_allclose(gram(est) / (root[:, None] * root), Z.value, atol=1e-4)
        optimum = problem.value * np.abs(gain).max() + J.trace()
        np.testing.assert_allclose(est.certificate_.objective, optimum, rtol=1e-8)
        assert est.certificate_.upper_bound >= optimum * (1 - 1e-10)

    @pytest.mark.parametrize(
        ("diagonal", "d"),
        [
            ("constant", np.ones(len(MOONS))),
            (np.linspace(0.5, 2, len(MOONS)), np.linspace(0.5, 2, len(MOONS))),
            (lambda X: 1 + X[:, 0] ** 2, 1 + MOONS[:, 0] ** 2),
        ],
        ids=["constant", "array", "callable"],
    )
    def test_row_norms_follow_the_chosen_diagonal(self, diagonal, d):
        est = fit(MOONS, bandwidth=1.0, diagonal=diagonal)
        assert est.status_ == "optimal"
        np.testing.assert_allclose(np.linalg.norm(est.embedding_, axis=1), np.sqrt(d), rtol=1e-10)
        np.testing.assert_allclose(np.linalg.norm(est.transform(MOONS), axis=1), np.sqrt(d), rtol=1e-10)

    def test_small_eigenvalues_are_part_of_the_optimum(self):
        X = np.random.default_rng(2).standard_normal((40, 8))
        naive, est = Naive(X, 2.0), fit(X, bandwidth=2.0)
        assert est.status_ == "optimal"
        assert 1e-3 < est.eigenvalues_[-1] / est.eigenvalues_[0] < 1e-2
        np.testing.assert_allclose(gram(est).diagonal(), naive.d, rtol=1e-8)

    @pytest.mark.parametrize("X", [WINE, CLUSTERS], ids=["wine", "clusters"])
    def test_the_largest_entry_of_a_column_is_positive(self, X):
        Xi = fit(X, bandwidth=1.5).embedding_
        assert (Xi[np.abs(Xi).argmax(axis=0), range(Xi.shape[1])] > 0).all()

    def test_two_points_sit_opposite_each_other(self):
        est = fit([[0.0], [1.0]], bandwidth=1.0)
        k = np.exp(-1.0)
        d = 1 / (1 + k) - 1 / 2
        np.testing.assert_allclose(gram(est), d * np.array([[1, -1], [-1, 1]]), rtol=1e-9)


class TestStart:
    @pytest.mark.parametrize("w", [None, weights(178, zeros=9)], ids=["uniform", "zeros"])
    def test_ends_at_the_same_optimum_sooner(self, w):
        cold = fit(WINE, w, bandwidth=2.0)
        warm = SDPEmbedding(bandwidth=2.0, random_state=1).fit(WINE, sample_weight=w, start=7 * cold.embedding_)
        assert warm.status_ == "optimal"
        assert warm.n_products_ < 0.5 * cold.n_products_
        np.testing.assert_allclose(gram(warm), gram(cold), atol=1e-6)

    @pytest.mark.parametrize(
        ("start", "message"),
        [
            (np.ones((177, 2)), r"`start` must be an array of shape \(178, r\), got shape \(177, 2\)"),
            (np.full((178, 2), np.inf), "`start` must be finite, got inf at row 0"),
        ],
    )
    def test_refused(self, start, message):
        with pytest.raises(ValueError, match=message):
            SDPEmbedding(bandwidth=2.0).fit(WINE, sample_weight=weights(178, zeros=9), start=start)


class TestPrecomputed:
    @pytest.mark.parametrize("w", [None, weights(200), weights(200, zeros=11)], ids=["uniform", "weights", "zeros"])
    @pytest.mark.parametrize("diagonal", ["kernel", "constant", np.linspace(1, 2, 200)], ids=["kernel", "constant", "array"])
    def test_equals_the_gaussian_route(self, w, diagonal):
        naive, Y = Naive(MOONS, 0.8), MOONS[::9] + 0.2
        block = naive.kernel(Y)
        direct = fit(MOONS, w, bandwidth=0.8, diagonal=diagonal)
        given_kernel = fit(naive.K, w, kernel="precomputed", diagonal=diagonal)
        assert direct.status_ == given_kernel.status_ == "optimal"
        assert given_kernel.bandwidth_ is None
        assert row_error(given_kernel.embedding_, direct.embedding_) < 1e-8
        assert row_error(given_kernel.transform(block), direct.transform(Y)) < 1e-8
        np.testing.assert_allclose(given_kernel.score_samples(block), direct.score_samples(Y), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            given_kernel.learned_kernel(block, naive.K), direct.learned_kernel(Y, MOONS), rtol=1e-7, atol=1e-9
        )

    def test_input_is_left_alone(self):
        K = Naive(RANK_4, 2.0).K
        before = K.copy()
        fit(K, kernel="precomputed")
        np.testing.assert_array_equal(K, before)

    def test_scaling_the_kernel_changes_nothing(self):
        K = Naive(RANK_4, 2.0).K
        one, two = fit(K, kernel="precomputed"), fit(7.0 * K, kernel="precomputed")
        np.testing.assert_allclose(gram(one), gram(two), atol=1e-8)
        np.testing.assert_allclose(one.transform(K[:3]), two.transform(7.0 * K[:3]), atol=1e-8)

    def test_cross_validation_cuts_rows_and_columns(self):
        K = Naive(WINE, 3.0).K
        model = make_pipeline(SDPEmbedding(kernel="precomputed", random_state=0), KNeighborsClassifier())
        search = GridSearchCV(model, {"sdpembedding__n_components": [1, 2]}, cv=3, error_score="raise")
        assert search.fit(K, WINE_CLASS).best_score_ > 0.9


class TestScikitLearn:
    def test_grid_search_over_bandwidths(self):
        model = make_pipeline(StandardScaler(), SDPEmbedding(random_state=0), KNeighborsClassifier())
        grid = {"sdpembedding__bandwidth": [2.0, 4.0, "auto"]}
        search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(load_wine().data[::2], WINE_CLASS[::2])
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert search.score(load_wine().data[1::2], WINE_CLASS[1::2]) > 0.9

    def test_data_frames(self):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(WINE, columns=load_wine().feature_names, index=np.arange(178) + 1000)
        est = SDPEmbedding(bandwidth=3.0, random_state=0).set_output(transform="pandas")
        out = est.fit_transform(frame)
        assert list(out.columns) == list(est.get_feature_names_out()) == ["sdpembedding0", "sdpembedding1"]
        assert list(out.index) == list(frame.index)
        assert list(est.feature_names_in_) == load_wine().feature_names
        np.testing.assert_array_equal(out.to_numpy(), fit(WINE, bandwidth=3.0).embedding_)
        assert row_error(est.transform(frame).to_numpy(), out.to_numpy()) < 1e-6

    @pytest.mark.parametrize(
        "parameters",
        [{"bandwidth": 1.0}, {"kernel": Matern(bandwidth=1.0, nu=2.5)}, {"kernel": rbf_kernel}, {"diagonal": np.ones(40)}],
        ids=["gaussian", "kernel instance", "callable", "array diagonal"],
    )
    def test_copies_behave_alike(self, parameters):
        est = fit(RANK_4, **parameters)
        Y = RANK_4 + 0.1
        buffer = BytesIO()
        joblib.dump(est, buffer)
        buffer.seek(0)
        for copy in (pickle.loads(pickle.dumps(est)), joblib.load(buffer), clone(est).fit(RANK_4)):
            np.testing.assert_array_equal(copy.transform(Y), est.transform(Y))
            np.testing.assert_array_equal(copy.score_samples(Y), est.score_samples(Y))
        assert not hasattr(clone(est), "embedding_")

    def test_a_kernel_instance_brings_its_bandwidth(self):
        named, instance = fit(MOONS, bandwidth=0.7), fit(MOONS, kernel=Gaussian(0.7), bandwidth=55.0)
        assert instance.bandwidth_ == 0.7
        np.testing.assert_array_equal(named.embedding_, instance.embedding_)

    def test_parameters_are_not_rewritten(self):
        est = SDPEmbedding(bandwidth="auto", diagonal=np.linspace(1, 2, 40))
        before = est.get_params()
        est.fit(RANK_4)
        assert all(est.get_params()[name] is value for name, value in before.items())

    def test_float32_and_lists(self):
        est = fit(RANK_4.astype(np.float32), bandwidth=2.0)
        assert est.embedding_.dtype == np.float32
        np.testing.assert_allclose(gram(est), gram(fit(RANK_4.tolist(), bandwidth=2.0)), atol=1e-4)

    def test_verbose_prints_a_line_per_iteration(self, capsys):
        est = fit(MOONS, bandwidth=1.0, verbose=True)
        plan, *lines = capsys.readouterr().out.splitlines()
        assert plan.startswith("operator='dense' for 200 rows of 2 features")
        assert lines.pop().startswith("optimal: relative gap")
        assert len(lines) == est.n_iter_
        assert all("objective" in line and "defect" in line for line in lines)
        fit(MOONS, bandwidth=1.0)
        assert capsys.readouterr().out == ""

    def test_running_out_of_iterations_is_said(self):
        with pytest.warns(ConvergenceWarning, match="status 'max_iter'.*increase max_iter"):
            est = SDPEmbedding(bandwidth=1.0, max_iter=1, random_state=0).fit(WINE)
        assert est.status_ == "max_iter"
        assert est.n_iter_ == 1
        assert est.certificate_.relative_gap > est.tol

    def test_the_gap_in_a_warning_is_rounded_up_as_that_of_the_certificate(self):
        with pytest.warns(ConvergenceWarning, match="relative gap ") as record:
            est = SDPEmbedding(bandwidth=1.0, random_state=0).fit(SQUARE)
        shown = re.search(r"relative gap (\S+)", str(record[0].message))[1]
        assert f"relative_gap={shown}," in repr(est.certificate_)
        assert est.certificate_.relative_gap <= float(shown) <= 1.02 * est.certificate_.relative_gap

    def test_no_further_progress_has_the_status_max_iter_and_says_so(self):
        with pytest.warns(ConvergenceWarning, match=r"status 'max_iter': no further progress after \d+ iterations"):
            est = SDPEmbedding(bandwidth=2.0, tol=1e-14, random_state=0).fit(WINE)
        assert est.n_iter_ < est.max_iter

    @pytest.mark.parametrize("message", ["", ".*'interrupted'"], ids=["any status", "interrupted"])
    def test_what_ctrl_c_does_to_a_search(self, message, monkeypatch):
        """It ends one fit, and the search goes on; with such warnings turned into errors the search ends."""
        report, pending = Loop._report, ["Ctrl-C"]

        def interrupt(loop, iterate):
            report(loop, iterate)
            if pending and len(loop.history) == 3:
                pending.clear()
                raise KeyboardInterrupt

        monkeypatch.setattr(Loop, "_report", interrupt)
        model = make_pipeline(SDPEmbedding(random_state=0), KNeighborsClassifier())
        search = GridSearchCV(model, {"sdpembedding__bandwidth": [3.0, 4.0]}, cv=2, error_score="raise")
        with pytest.warns(ConvergenceWarning, match="'interrupted': stopped by the user") as record:
            search.fit(WINE, WINE_CLASS)
        assert len(record) == 1
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        pending.append("Ctrl-C")
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message, ConvergenceWarning)
            with pytest.raises(ConvergenceWarning, match="'interrupted'"):
                search.fit(WINE, WINE_CLASS)


class TestUnitRows:
    def test_far_rows_lose_nothing_and_there_is_no_warning(self):
        est, lengths = fit(MOONS, bandwidth=0.5, normalize="unit"), fit(MOONS, bandwidth=0.5)
        far = np.vstack([MOONS[:2], MOONS[:3] + 1e3, [[1e100, 0.0]]])
        with pytest.warns(UserWarning, match="overflows: rows 2, 3, 4, 5"):
            Z = lengths.transform(far)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = est.transform(far)
            np.testing.assert_array_equal(np.vstack(list(est.transform_blocks(far))), found)
            w = np.r_[np.ones(len(MOONS)), np.zeros(4)]
            without_weight = fit(np.vstack([MOONS, far[2:]]), w, bandwidth=0.5, normalize="unit").embedding_[-4:]
        np.testing.assert_allclose(found, Z / np.linalg.norm(Z, axis=1, keepdims=True), rtol=1e-12)
        np.testing.assert_allclose(without_weight, found[2:], rtol=1e-12)

    def test_the_learned_kernel_has_lengths_and_warns(self):
        est, lengths = fit(MOONS, bandwidth=0.5, normalize="unit"), fit(MOONS, bandwidth=0.5)
        far = MOONS[:2] + 1e3
        with pytest.warns(UserWarning, match="overflows: rows 0, 1"):
            B = est.learned_kernel(far)
        with pytest.warns(UserWarning, match="overflows"):
            np.testing.assert_array_equal(B, lengths.learned_kernel(far))


def test_an_unknown_kernel_is_told_all_names():
    names = "'gaussian', 'laplacian', 'matern', 'neighbors', 'overlap', 'precomputed', or a callable"
    for kernel in ("rbf", 3, ["gaussian"]):
        with pytest.raises(ValueError, match=f"`kernel` must be one of {names}"):
            SDPEmbedding(kernel=kernel).fit(MOONS)
