"""Diffusion over several steps as the cost of SDPEmbedding."""

import numpy as np
import pytest

from elliptope import SDPEmbedding, load, recertify
from elliptope.operators.polynomial import power

RNG = np.random.default_rng(1)
X = np.concatenate([RNG.normal(size=(40, 2)), RNG.normal(size=(40, 2)) + 2.5])
W = RNG.uniform(0.5, 2, 80)


def fit(t, **parameters):
    return SDPEmbedding(diffusion_time=t, random_state=0, **parameters).fit(X, sample_weight=W)


@pytest.mark.parametrize("kernel", ["gaussian", "neighbors"])
@pytest.mark.parametrize("t", [2, 8, 32])
def test_the_extension_is_exact_on_the_sample(t, kernel):
    est = fit(t, kernel=kernel)
    assert est.certificate_.relative_gap <= est.tol
    np.testing.assert_allclose(est.transform(X), est.embedding_, atol=1e-6 * abs(est.embedding_).max())


def test_a_new_point_has_the_row_of_the_polynomial():
    """The direction is Σ_j w_j (a_e(x)ᵀ r(WA))_j χ_j - √m_e c, from matrices that are formed."""
    t, bandwidth = 8, 1.5
    est = SDPEmbedding(bandwidth=bandwidth, diffusion_time=t, random_state=0).fit(X, sample_weight=W)
    new = RNG.normal(size=(5, 2)) * 3
    K, k = (np.exp(-((P[:, None] - X) ** 2).sum(-1) / bandwidth**2) for P in (X, new))
    m, m_new = K @ W, k @ W
    M = W @ m
    A, a = K / np.sqrt(np.outer(m, m)), k / np.sqrt(np.outer(m_new, m))
    values, U = np.linalg.eigh(np.sqrt(W)[:, None] * A * np.sqrt(W))
    r = np.sqrt(W)[:, None] * ((U * power(t).divided()(values)) @ U.T) / np.sqrt(W)  # r(WA)
    rows = a @ r - np.sqrt(np.outer(m_new, m)) / M
    direction = rows @ (W[:, None] * est.embedding_)
    direction *= (np.sqrt(1 / m_new - m_new / M) / np.linalg.norm(direction, axis=1))[:, None]
    np.testing.assert_allclose(est.transform(new), direction, rtol=1e-7, atol=1e-9)


def test_one_step_is_the_program_as_it_was():
    np.testing.assert_array_equal(fit(1).embedding_, SDPEmbedding(random_state=0).fit(X, sample_weight=W).embedding_)


def test_stored_and_certified_again(tmp_path):
    est = fit(32, kernel="neighbors")
    est.save(tmp_path / "model.elliptope")
    loaded = load(tmp_path / "model.elliptope")
    np.testing.assert_array_equal(loaded.transform(X), est.transform(X))
    assert recertify(loaded).relative_gap == pytest.approx(est.certificate_.relative_gap, abs=1e-9)


@pytest.mark.parametrize("bad", [0, 1.5, -1, "2", True])
def test_other_times_are_refused(bad):
    with pytest.raises(ValueError, match="`diffusion_time` must be an integer of at least 1, got"):
        fit(bad)
