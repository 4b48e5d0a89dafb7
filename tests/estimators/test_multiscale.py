"""Several scales on one kernel."""

from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from elliptope import MultiscaleEmbedding, SDPEmbedding, load, recertify, transform_to
from elliptope.estimators import multiscale

RNG = np.random.default_rng(3)
X = np.concatenate([RNG.normal(size=(50, 3)) + shift for shift in (0, 3, 6)])
W = RNG.uniform(0.5, 2, 150)
NEW = RNG.normal(size=(20, 3)) * 3


@pytest.fixture(scope="module")
def fitted():
    return MultiscaleEmbedding(random_state=0).fit(X, sample_weight=W)


def test_every_scale_is_a_certified_embedding_of_its_own(fitted):
    """The same rows as SDPEmbedding gives, of unit length and up to a rotation; new rows likewise."""
    assert fitted.status_ == "optimal"
    assert len(fitted.certificates_) == 2
    density = np.exp(SDPEmbedding(kernel=fitted.kernel).fit(X).score_samples(X))
    own, new = np.zeros((150, 150)), np.zeros((20, 150))
    for t, spread, scale in zip(fitted.diffusion_times, (0.1, 1.0), fitted.scales_, strict=True):
        alone = SDPEmbedding(
            kernel=fitted.kernel, diffusion_time=t, spread=spread, normalize="unit", tol=fitted.tol, random_state=0
        ).fit(X, sample_weight=W * density)
        assert scale.certificate.relative_gap <= fitted.tol
        assert scale.spread == alone.spread_
        own += scale.weight**2 * alone.embedding_ @ alone.embedding_.T
        new += scale.weight**2 * alone.transform(NEW) @ alone.embedding_.T
    np.testing.assert_allclose(fitted.embedding_ @ fitted.embedding_.T, own, atol=1e-9)
    np.testing.assert_allclose(fitted.transform(NEW) @ fitted.embedding_.T, new, atol=1e-9)


def test_the_extension_is_exact_on_the_sample(fitted):
    np.testing.assert_allclose(fitted.transform(X), fitted.embedding_, atol=1e-6)


def test_lengths_of_rows_are_the_weights():
    est = MultiscaleEmbedding(diffusion_times=(8, 2, 1), spreads=(0, 0.3, 1), weights=(1, 2, 0.5), random_state=0).fit(X)
    np.testing.assert_allclose(np.linalg.norm(est.embedding_, axis=1), np.sqrt(1 + 4 + 0.25))
    np.testing.assert_allclose(np.diag(est.learned_kernel(NEW)), 5.25)
    few = MultiscaleEmbedding(4, diffusion_times=(8, 2, 1), spreads=(0, 0.3, 1), weights=(1, 2, 0.5), random_state=0).fit(X)
    np.testing.assert_allclose(few.embedding_, est.embedding_[:, :4])


def test_weights_by_density_are_those_of_another_kernel():
    """k(x, y) m(x) m(y), given as a matrix, with the weights as they are; m are the degrees without weights."""
    K = np.exp(-((X[:, None] - X) ** 2).sum(-1))
    m = K.sum(axis=1)
    one = MultiscaleEmbedding(kernel="precomputed", random_state=0, tol=1e-7).fit(K, sample_weight=W)
    other = MultiscaleEmbedding(kernel="precomputed", density=0, random_state=0, tol=1e-7)
    other.fit(K * np.outer(m, m), sample_weight=W)
    np.testing.assert_allclose(one.embedding_ @ one.embedding_.T, other.embedding_ @ other.embedding_.T, atol=1e-5)


def test_rows_of_weight_zero_and_equal_rows():
    rows = np.concatenate([X, NEW, X[:5]])
    w = np.concatenate([np.ones(150), np.zeros(20), np.ones(5)])
    est = MultiscaleEmbedding(random_state=0).fit(rows, sample_weight=w)
    np.testing.assert_allclose(est.embedding_[150:170], est.transform(NEW), atol=1e-12)
    np.testing.assert_allclose(est.embedding_[170:], est.embedding_[:5], atol=1e-6)


def test_stored_streamed_and_certified_again(fitted, tmp_path):
    fitted.save(tmp_path / "model.elliptope")
    loaded = load(tmp_path / "model.elliptope")
    assert loaded.get_params() == fitted.get_params()
    np.testing.assert_array_equal(loaded.transform(NEW), fitted.transform(NEW))
    transform_to(loaded, NEW, tmp_path / "rows.npy")
    np.testing.assert_allclose(np.load(tmp_path / "rows.npy"), fitted.transform(NEW))
    for again, before in zip(recertify(loaded), fitted.certificates_, strict=True):
        assert again.objective == pytest.approx(before.objective)
        assert again.relative_gap <= fitted.tol
    assert np.isfinite(loaded.score_samples(NEW)).all()


def test_automatic_spreads_fall_with_the_number_of_points(monkeypatch):
    monkeypatch.setattr(multiscale, "_FINE", 0.3 * len(X))  # many fewer than the points that it takes otherwise
    given = MultiscaleEmbedding(spreads=(0.1, 0.3), random_state=0).fit(X)
    auto = MultiscaleEmbedding(random_state=0).fit(X)
    assert [scale.spread for scale in auto.scales_] == [scale.spread for scale in given.scales_]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"spreads": (0.1,)}, "must have the same length, got 2 diffusion_times, 1 spreads, 2 weights"),
        ({"weights": (1, -1)}, "`weights` must be positive and finite, got -1"),
        ({"diffusion_times": 32}, "`diffusion_times` must be a sequence"),
        ({"diffusion_times": (1.5, 1)}, "`diffusion_times` must be an integer of at least 1, got 1.5"),
        ({"spreads": (0.1, -1)}, "`spreads` must be"),
        ({"spreads": "none"}, "`spreads` must be 'auto' or a sequence with an entry for every scale, got 'none'"),
        ({"n_components": 0}, "`n_components` must be"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        MultiscaleEmbedding(**parameters).fit(X)


def test_columns_are_eigenvectors_of_the_learned_kernel(fitted):
    """On L²(w) of the given weights, the largest first; fewer columns are the leading ones of all."""
    Z = fitted.embedding_
    np.testing.assert_allclose(Z.T @ (W[:, None] * Z), np.diag(fitted.eigenvalues_), atol=1e-9 * fitted.eigenvalues_[0])
    assert (np.diff(fitted.eigenvalues_) <= 0).all()
    few = MultiscaleEmbedding(3, random_state=0).fit(X, sample_weight=W)
    np.testing.assert_array_equal(few.embedding_, Z[:, :3])
    np.testing.assert_array_equal(few.transform(NEW), fitted.transform(NEW)[:, :3])
    with pytest.warns(UserWarning, match="the last 2 of"):
        wide = MultiscaleEmbedding(Z.shape[1] + 2, random_state=0).fit(X, sample_weight=W)
    assert not wide.embedding_[:, -2:].any()


@pytest.mark.parametrize("sizes", [(120, 20), (60, 30, 9), (8,) * 40])
def test_groups_that_are_not_connected(sizes, tmp_path):
    """Components as a scale of their own: angles by their masses, the same for new rows, and k-means finds them."""
    rng, y = np.random.default_rng(5), np.repeat(np.arange(len(sizes)), sizes)
    centers = 40 * rng.standard_normal((len(sizes), 5))
    rows = centers[y] + rng.standard_normal((len(y), 5))
    new = centers + rng.standard_normal((len(sizes), 5))
    est = MultiscaleEmbedding(random_state=0).fit(rows)
    assert est.n_groups_ == len(sizes)
    assert adjusted_rand_score(y, est.groups_) == 1
    np.testing.assert_array_equal(est.predict_groups(rows), est.groups_)
    np.testing.assert_array_equal(est.predict_groups(new), est.groups_[np.searchsorted(y, np.arange(len(sizes)))])
    assert (np.diff(np.bincount(est.groups_)) <= 0).all()
    assert (est.certificates_[-1].relative_gap, est.certificates_[-1].grade) == (0, "proved")
    np.testing.assert_allclose(est.transform(rows), est.embedding_, atol=1e-9)
    found = KMeans(len(sizes), n_init=10, random_state=0).fit_predict(est.embedding_)
    assert adjusted_rand_score(y, found) == 1
    est.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").transform(new), est.transform(new))
    assert recertify(est)[-1] == est.certificates_[-1]


def test_angles_of_groups_are_those_of_the_kernel_of_infinite_time():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.standard_normal((count, 2)) + shift for count, shift in ((60, 0), (30, 50), (20, -70))])
    est = MultiscaleEmbedding(random_state=0).fit(rows)
    training = est.training_
    K, w = training.extension.kernel.matrix().toarray(), training.weights
    m = K @ w
    S = np.sqrt(w / m)[:, None] * K * np.sqrt(w / m)
    values, U = np.linalg.eigh(S)
    U = U[:, values > 1 - 1e-9]
    u = np.sqrt(w * m / (w @ m))
    B = (U @ U.T - np.outer(u, u)) / np.sqrt(np.outer(w, w))
    cosines = B / np.sqrt(np.outer(B.diagonal(), B.diagonal()))
    rows = training.groups.rows[training.groups.labels]
    np.testing.assert_allclose(rows @ rows.T, cosines, atol=1e-8)


def test_the_same_bits_without_a_seed():
    one, two = MultiscaleEmbedding().fit(X), MultiscaleEmbedding().fit(X)
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


def test_an_interrupt_ends_all_scales(monkeypatch):
    """Ctrl-C in the first scale is not followed by a full solve of the second."""
    pressed = []

    def callback(estimator, verbose):
        def press(progress):
            pressed.append(progress)
            raise KeyboardInterrupt

        return nullcontext(press)

    monkeypatch.setattr("elliptope.estimators.certified.progress_callback", callback)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        est = MultiscaleEmbedding(random_state=0).fit(X)
    assert [scale.status for scale in est.scales_] == ["interrupted", "interrupted"]
    assert len(pressed) == 1
    assert est.scales_[1].n_iter <= 2


def test_the_order_of_points_does_not_matter(monkeypatch):
    """Many points are put in another order; weights of zero, equal rows and `transform` follow it."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((120, 3))
    X[100:110] = X[:10]
    weight = np.where(np.arange(len(X)) % 7 == 3, 0.0, 1.0 + np.arange(len(X)) % 3)
    plain = MultiscaleEmbedding(random_state=0, tol=1e-7).fit(X, sample_weight=weight)
    monkeypatch.setattr("elliptope.estimators.pose._BEYOND_CACHE", 10)
    ordered = MultiscaleEmbedding(random_state=0, tol=1e-7).fit(X, sample_weight=weight)
    assert np.any(np.diff(ordered.training_.rows) < 0)
    np.testing.assert_allclose(ordered.embedding_ @ ordered.embedding_.T, plain.embedding_ @ plain.embedding_.T, atol=1e-5)
    np.testing.assert_allclose(ordered.transform(X), ordered.embedding_, atol=1e-6)
    np.testing.assert_allclose(ordered.score_samples(X), plain.score_samples(X), atol=1e-9)


@pytest.mark.parametrize("density", [0.0, 1.0])
def test_weights_of_equal_rows_add_up(density):
    """And a row of weight zero has no influence."""
    rows, weights = np.concatenate([X, X[:2], X[-1:]]), np.r_[W[:-1], 0.0, 5.0, 6.0, 0.0]
    est = MultiscaleEmbedding(density=density, random_state=0).fit(rows, sample_weight=weights)
    expected = np.r_[W[:2] + [5, 6], W[2:-1]]
    assert np.allclose(est.training_.weights, expected) == (density == 0)
    once = MultiscaleEmbedding(density=density, random_state=0).fit(X[:-1], sample_weight=expected)
    np.testing.assert_allclose(est.embedding_[:149] @ est.embedding_[:149].T, once.embedding_ @ once.embedding_.T, atol=1e-6)


def test_five_rows_of_a_kernel_of_all_pairs_without_overflow():
    """Newton's method for the dual starts where its systems are nearly singular."""
    with np.errstate(all="raise"):
        est = MultiscaleEmbedding(kernel="gaussian", random_state=0).fit(np.arange(5.0)[:, None])
    assert est.status_ == "optimal"
    np.testing.assert_allclose(est.transform(np.arange(5.0)[:, None]), est.embedding_, atol=1e-6)


@pytest.mark.parametrize(
    ("est", "remedy"),
    [
        (MultiscaleEmbedding(metric="chebyshev"), "choose another `metric`, decrease `n_neighbors`"),
        (SDPEmbedding(kernel="overlap", metric="hamming", spread=0.1, n_neighbors=7), "choose another `metric`, decrease"),
        (SDPEmbedding(kernel="gaussian", bandwidth=1e9, spread=0.1), "decrease `bandwidth`"),
    ],
)
def test_rows_that_are_all_equally_similar(est, remedy):
    """All their distances are the same, or as good as none; nobody has passed a `spread` to MultiscaleEmbedding."""
    table = np.random.default_rng(0).permuted(np.tile(np.arange(40.0)[:, None], (1, 8)), axis=0)
    table = table > 19.5 if est.metric == "chebyshev" else table / 1e3
    with pytest.warns(ConvergenceWarning, match=f"all rows are equally similar.*{remedy}"):
        est.fit(table)
    assert est.status_ == "degenerate"
