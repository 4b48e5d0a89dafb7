"""Proofs repeated from what a model holds: they agree with those of the fit, and tampering shows."""

import dataclasses
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsTransformer

import elliptope
from common import MOONS, RANK_4, WINE, Naive, fit, gram, weights
from elliptope import DiffusionMap, RKHSEmbedding, SDPEmbedding, operators
from elliptope.estimators.recertify import InconsistentModelError, recertify
from elliptope.kernels import Gaussian
from neighborhoods import NaiveNeighbors

DOUBLE = np.vstack([RANK_4, RANK_4[:5]])
GRAPH = KNeighborsTransformer(n_neighbors=25, mode="distance").fit_transform(RANK_4)
MODELS = {
    "gaussian": (SDPEmbedding(bandwidth=1.5), WINE, None),
    "rough": (SDPEmbedding(bandwidth=0.7), WINE, None),
    "weighted": (SDPEmbedding(2, bandwidth=2.0, normalize="unit"), RANK_4, weights(40, zeros=4)),
    "constant diagonal": (SDPEmbedding(bandwidth=2.0, diagonal="constant"), RANK_4, None),
    "array diagonal": (SDPEmbedding(bandwidth=2.0, diagonal=np.linspace(1, 2, 40)), RANK_4, weights(40, zeros=4)),
    "one column": (SDPEmbedding(bandwidth=9.0), MOONS, None),
    "neighbors": (SDPEmbedding(kernel="neighbors"), WINE, None),
    "neighbors, weighted": (SDPEmbedding(2, kernel="neighbors", normalize="unit"), DOUBLE, weights(45, zeros=4)),
    "graph": (SDPEmbedding(kernel="neighbors", n_neighbors=10), GRAPH, weights(40, zeros=4)),
    "rkhs": (RKHSEmbedding(), WINE, None),
    "rkhs, equal rows": (RKHSEmbedding(2, jitter=1e-6, diagonal="constant"), DOUBLE, weights(45, zeros=4)),
    "rkhs, unit": (RKHSEmbedding(2, normalize="unit", diagonal=np.linspace(1, 2, 40)), RANK_4, weights(40)),
}


@pytest.fixture(params=MODELS)
def est(request, tmp_path):
    """A model that has been through a file."""
    est, X, w = MODELS[request.param]
    est.set_params(random_state=0).fit(X, sample_weight=w).save(tmp_path / "model")
    return elliptope.load(tmp_path / "model")


def sdp_model():
    return fit(RANK_4, bandwidth=2.0)


def rkhs_model():
    return RKHSEmbedding(random_state=0).fit(RANK_4)


def change_training(est, **changes):
    """Put other values into what a model has kept: of its extension, of the kernel in that, or beside both."""
    training = est.training_
    extension, kernel = training.extension, training.extension.kernel

    def taken(part):
        names = {field.name for field in dataclasses.fields(part)} & changes.keys()
        return {name: changes.pop(name) for name in names}

    kernel = dataclasses.replace(kernel, **taken(kernel))
    extension = dataclasses.replace(extension, kernel=kernel, **taken(extension))
    est.training_ = dataclasses.replace(training, extension=extension, **changes)


def test_the_bounds_are_proved_again(est):
    again, before = recertify(est), est.certificate_
    assert est.status_ == "optimal"
    assert again.grade == "proved"
    assert again.objective == pytest.approx(before.objective, rel=1e-9)
    assert again.gain == pytest.approx(before.gain, rel=1e-9)
    assert again.relative_gap <= est.tol
    assert again.upper_bound >= before.objective * (1 - 1e-12)


def test_the_model_is_left_as_it_was(est):
    arrays = [est.embedding_, *(v for v in vars(est.training_.extension).values() if isinstance(v, np.ndarray))]
    copies = [a.copy() for a in arrays]
    recertify(est)
    assert all((a == b).all() for a, b in zip(arrays, copies, strict=True))


def test_nothing_is_taken_from_the_stored_certificate():
    est = sdp_model()
    honest = recertify(est)
    est.certificate_ = dataclasses.replace(est.certificate_, objective=1.0, upper_bound=1.0, gap=0.0, gain=1.0)
    assert recertify(est) == honest
    naive = Naive(RANK_4, 2.0)
    assert honest.objective == pytest.approx(np.sum(naive.Abar * (est.embedding_ @ est.embedding_.T)), rel=1e-10)


class TestTampering:
    @pytest.mark.parametrize("make", [sdp_model, rkhs_model])
    def test_a_row_of_the_embedding(self, make):
        est = make()
        est.embedding_[3] *= 1 + 1e-6
        with pytest.raises(InconsistentModelError, match="`embedding_`"):
            recertify(est)

    @pytest.mark.parametrize(("make", "name"), [(sdp_model, "F"), (rkhs_model, "alpha")])
    def test_length_of_rows(self, make, name):
        est = make()
        getattr(est.training_.extension, name)[3] *= 1 + 1e-6
        est.embedding_ = est.transform(RANK_4)
        with pytest.raises(InconsistentModelError, match="not feasible" if name == "alpha" else "components, as held"):
            recertify(est)

    def test_directions(self):
        est = sdp_model()
        F = est.training_.extension.F
        F[3, [0, 1]] = F[3, [1, 0]]
        with pytest.raises(InconsistentModelError, match="components, as held"):
            recertify(est)

    def test_an_embedding_that_is_feasible_and_arbitrary(self):
        """Exchanging the embeddings of all points: what is proved is far from the optimum, and the bound still holds."""
        est = rkhs_model()
        honest = recertify(est)
        Xi = np.random.default_rng(0).permutation(est.embedding_)
        K = est.training_.extension.kernel.formula(RANK_4)
        K[np.diag_indices(40)] += est.training_.jitter
        change_training(est, alpha=np.linalg.solve(K, Xi))
        est.embedding_ = Xi
        found = recertify(est)
        assert found.relative_gap > 1e3 * est.tol
        assert found.objective < honest.objective <= found.upper_bound

    @pytest.mark.parametrize(
        "change", [{"points": RANK_4 + 0.01 * np.eye(40, 12)}, {"w": np.full(40, 1.001)}, {"formula": Gaussian(2.01)}]
    )
    def test_data_that_do_not_give_the_degrees(self, change):
        est = sdp_model()
        change_training(est, **change)
        with pytest.raises(InconsistentModelError, match="degrees m"):
            recertify(est)

    def test_mass(self):
        est = sdp_model()
        change_training(est, M=est.training_.extension.M * 1.001)
        with pytest.raises(InconsistentModelError, match="total masses M"):
            recertify(est)

    def test_data_of_the_second_problem(self):
        est = rkhs_model()
        honest = recertify(est)
        change_training(est, points=RANK_4 + 0.01 * np.eye(40, 12))
        with pytest.raises(InconsistentModelError):
            recertify(est)
        est = rkhs_model()
        change_training(est, d=np.full(40, 1.1))
        with pytest.raises(InconsistentModelError, match="not feasible"):
            recertify(est)
        est = rkhs_model()
        change_training(est, u=est.training_.u[::-1].copy())
        assert recertify(est).objective != pytest.approx(honest.objective, rel=1e-6)
        est = rkhs_model()
        change_training(est, points=np.repeat(RANK_4[:20], 2, axis=0))
        with pytest.raises(InconsistentModelError, match="singular"):
            recertify(est)


class TestPrecomputed:
    K = rbf_kernel(RANK_4, gamma=0.25)

    def model(self):
        return fit(self.K, weights(40, zeros=4), kernel="precomputed")

    def test_with_the_matrix(self):
        est = self.model()
        found = recertify(est, self.K)
        assert found.objective == pytest.approx(est.certificate_.objective, rel=1e-9)
        assert found.relative_gap <= est.tol

    def test_without_it(self):
        with pytest.raises(ValueError, match="`K` must be the kernel matrix given to `fit`, got None"):
            recertify(self.model())

    def test_with_another(self):
        with pytest.raises(InconsistentModelError, match="degrees"):
            recertify(self.model(), rbf_kernel(RANK_4, gamma=0.26))
        with pytest.raises(ValueError, match=r"of shape \(40, 40\), got shape \(39, 39\)"):
            recertify(self.model(), self.K[1:, 1:])
        with pytest.raises(ValueError, match="`K` must be symmetric"):
            recertify(self.model(), np.triu(self.K))


class TestNeighbors:
    def model(self):
        return fit(RANK_4, kernel="neighbors", n_neighbors=8)

    def test_the_objective_is_that_of_the_formula(self):
        est, naive = self.model(), NaiveNeighbors(RANK_4, 8)
        assert recertify(est).objective == pytest.approx(np.sum(naive.Abar * gram(est)), rel=1e-10)

    @pytest.mark.parametrize("data", [RANK_4, GRAPH], ids=["points", "graph"])
    def test_where_nothing_can_be_factorised(self, data, monkeypatch):
        """The same bound but for a risk, from the file alone."""
        est = fit(data, kernel="neighbors", n_neighbors=8)
        proved = recertify(est)
        assert proved.grade == "proved"
        monkeypatch.setattr(operators.sparse, "_LARGEST_DENSE", 10)
        monkeypatch.setattr("elliptope.estimators.recertify._MOST_FACTORED", 10)
        found = recertify(est)
        assert found.grade == "probabilistic"
        assert 0 < found.failure_probability <= 1e-6
        assert found.objective == pytest.approx(proved.objective, rel=1e-12)
        assert found.relative_gap <= est.tol

    @pytest.mark.parametrize(
        ("change", "what"),
        [
            ({"points": RANK_4 + 0.01 * np.eye(40, 12)}, "scales s"),
            ({"scales": np.full(40, 3.0)}, "scales s"),
            ({"n_neighbors": 9}, "scales s"),
        ],
    )
    def test_another_kernel(self, change, what):
        est = self.model()
        change_training(est, **change)
        with pytest.raises(InconsistentModelError, match=what):
            recertify(est)

    def test_another_graph(self):
        est = fit(GRAPH, kernel="neighbors", n_neighbors=8)
        change_training(est, graph=1.1 * est.training_.extension.kernel.graph)
        with pytest.raises(InconsistentModelError, match="degrees m"):
            recertify(est)

    def test_a_matrix_is_not_wanted(self):
        with pytest.raises(ValueError, match="`K` must be None"):
            recertify(self.model(), np.eye(40))

    def test_a_function_of_rows(self):
        est = fit(RANK_4, kernel="neighbors", n_neighbors=8, diagonal=lambda X: 1 + X[:, 0] ** 2)
        assert recertify(est).objective == pytest.approx(est.certificate_.objective, rel=1e-9)
        est = fit(GRAPH, kernel="neighbors", n_neighbors=8, diagonal=lambda X: np.ones(X.shape[0]))
        with pytest.raises(ValueError, match="`est` must have kept the rows"):
            recertify(est)


class TestArguments:
    def test_a_matrix_where_none_is_wanted(self):
        for est in (sdp_model(), rkhs_model()):
            with pytest.raises(ValueError, match="`K` must be None"):
                recertify(est, np.eye(40))

    def test_other_estimators(self):
        with pytest.raises(TypeError, match="got DiffusionMap"):
            recertify(DiffusionMap().fit(RANK_4))
        with pytest.raises(NotFittedError):
            recertify(SDPEmbedding())

    def test_a_callable_kernel_and_diagonal(self):
        """Models that cannot be stored can be certified all the same."""
        est = fit(RANK_4, kernel=lambda X, Y: rbf_kernel(X, Y, gamma=0.25), diagonal=lambda X: 1 + X[:, 0] ** 2)
        assert recertify(est).objective == pytest.approx(est.certificate_.objective, rel=1e-9)

    def test_a_constant_kernel_and_an_unfinished_solve(self):
        constant = fit(RANK_4, bandwidth=1e9)
        assert not constant.embedding_.any()
        assert recertify(constant).objective == 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            unfinished = SDPEmbedding(bandwidth=1.0, max_iter=1, random_state=0).fit(WINE)
        found = recertify(unfinished)
        assert found.relative_gap == pytest.approx(unfinished.certificate_.relative_gap, rel=0.1)
        assert found.relative_gap > 1e-3
