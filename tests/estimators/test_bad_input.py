"""Checks of arguments by themselves; what users see of them is in tests/faults."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from elliptope import DiffusionMap, SDPEmbedding
from elliptope._utils import blocks
from elliptope._utils.checks import check_bool, check_callable, check_entries, check_factor, check_rng, check_vector

X = np.random.default_rng(0).standard_normal((30, 3))
K = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1))


def changed(array, *indices, value):
    array = array.copy()
    for index in indices:
        array[index] = value
    return array


class TestArrays:
    """What is no array of real numbers is refused by the name of the parameter, and nothing of it is dropped."""

    @pytest.mark.parametrize("check", [check_vector, check_factor])
    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            ("a", "an array of real numbers, got dtype <U1"),
            (["a", "b"], "an array of real numbers, got dtype <U1"),
            (["1", "2"], "an array of real numbers, got dtype <U1"),
            ([1.0, [2.0]], "an array of real numbers, got type list: .*inhomogeneous"),
            ([1, 10**400], "an array of real numbers, got type list: .*too large"),
            (np.zeros(2, "M8[s]"), r"an array of real numbers, got dtype datetime64\[s\]"),
            (np.array([1.0, 2.0 + 0j]), "an array of real numbers, got dtype complex128"),
            (np.ma.masked_array([1.0, 2.0], mask=[0, 1]), "an array without a mask, got type MaskedArray"),
        ],
        ids=["str", "strings", "digits", "ragged", "huge", "dates", "complex", "masked"],
    )
    def test_refused(self, check, bad, message):
        with pytest.raises(ValueError, match=f"`name` must be {message}"):
            check("name", bad, 2)

    def test_the_first_that_is_not_finite_is_named(self):
        with pytest.raises(ValueError, match=r"`X` must be finite, got inf at row 3, column 1\."):
            check_factor("X", changed(X, (3, 1), (7, 0), value=np.inf), 30)

    def test_sums_that_overflow(self):
        check_entries("name", np.full((2, 2), 1.5e308))
        with pytest.raises(ValueError, match=r"`name` must be finite, got nan at row 1, column 1\."):
            check_entries("name", np.array([[1.5e308, 1.5e308], [0.0, np.nan]]))


class TestSettings:
    @pytest.mark.parametrize("value", ["a", -1, 1.5, [0.5], object])
    def test_rng(self, value):
        with pytest.raises(ValueError, match="`rng` must be a Generator, a non-negative integer or None, got ") as caught:
            check_rng(value)
        assert repr(value) in str(caught.value)

    @pytest.mark.parametrize("make", [int, np.int64, np.random.SeedSequence, np.random.PCG64, np.random.default_rng])
    def test_rng_of_every_kind(self, make):
        assert check_rng(make(7)).random() == np.random.default_rng(7).random()

    def test_rng_is_not_copied(self):
        rng = np.random.default_rng(0)
        assert check_rng(rng) is rng
        assert isinstance(check_rng(None), np.random.Generator)

    @pytest.mark.parametrize("value", [3, "print", False])
    def test_callable(self, value):
        with pytest.raises(ValueError, match=f"`callback` must be a callable or None, got {value!r}"):
            check_callable("callback", value)
        check_callable("callback", print)
        check_callable("callback", None)

    @pytest.mark.parametrize("value", ["a", 1, 0.0, None])
    def test_bool(self, value):
        with pytest.raises(ValueError, match=f"`polish` must be True or False, got {value!r}"):
            check_bool("polish", value)
        assert check_bool("polish", np.True_) is True
        assert check_bool("polish", False) is False


@pytest.mark.parametrize("Estimator", [SDPEmbedding, DiffusionMap])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_vanishing_rows_are_named_whatever_the_block(Estimator, n_jobs, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 1)
    with pytest.raises(ValueError, match=r"kernel vanishes for every training point.*row 7 "):
        Estimator(kernel="precomputed", n_jobs=n_jobs).fit(K).transform(changed(K, 7, value=0.0))


@pytest.mark.parametrize("bandwidth", [1e-3, 1e-12, 1e-200, 5e-324])
@pytest.mark.parametrize("normalize", [None, "unit"])
def test_identity_kernel(bandwidth, normalize):
    est = SDPEmbedding(bandwidth=bandwidth, normalize=normalize, random_state=0)
    with pytest.warns(ConvergenceWarning, match="status 'degenerate'.*increase `bandwidth`"):
        est.fit(X)
    assert est.status_ == "degenerate"
    # B has the diagonal 1 - 1/n and rows that sum to zero; which of these B it is, nothing decides.
    B = est.learned_kernel(X)
    np.testing.assert_allclose(B.diagonal(), 1 - 1 / 30, rtol=1e-10)
    np.testing.assert_allclose(B.sum(axis=0), 0, atol=1e-6)
    assert np.isfinite(est.embedding_).all()
