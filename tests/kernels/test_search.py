"""Searches for neighbours against plain sorting, where rounding, ties and distance try to mislead them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elliptope._utils import blocks
from elliptope.kernels import search
from elliptope.kernels.metrics import Euclidean
from elliptope.kernels.pairs import find_rows, reaches
from elliptope.kernels.search import ScanSearch, TreeSearch, make_search
from neighborhoods import POINTS, RIM, distances

CASES = pytest.mark.parametrize("name", POINTS)


def near(name):
    """Points beside those of a case, and some of them."""
    X = POINTS[name]
    rng = np.random.default_rng(1)
    between = 0.5 * (X[rng.integers(len(X), size=30)] + X[rng.integers(len(X), size=30)])
    return np.vstack([between, X[::3]])


def pair_distances(X, Y, i, j):
    return Euclidean().between(X, Y, i, j)


def pairs_within_scales(X, training, scales):
    """By the tree or by comparing all, whichever suits the rows."""
    return make_search(training, 2, 1).within(X, scales, np.zeros(len(X)))


def same_distances(X, Y):
    """All distances, in the rounding of the package."""
    i, j = np.divmod(np.arange(len(X) * len(Y)), len(Y))
    return pair_distances(X, Y, i, j).reshape(len(X), len(Y))


def found_sets(pairs, n):
    i, j, d = pairs
    sets = [{} for _ in range(n)]
    for row, point, distance in zip(i.tolist(), j.tolist(), d.tolist(), strict=True):
        assert point not in sets[row]
        sets[row][point] = distance
    return sets


class TestExactSearch:
    @CASES
    @pytest.mark.parametrize("kind", [TreeSearch, ScanSearch])
    @pytest.mark.parametrize("k", [1, 2, 5, 17, None])
    def test_the_k_nearest_and_all_that_tie(self, name, kind, k):
        X = POINTS[name]
        k = len(X) if k is None else k
        for Y in (X, near(name)):
            D = distances(Y, X)
            kth = np.sort(D, axis=1)[:, k - 1]
            sets = found_sets(kind(X, k, 1).nearest(Y), len(Y))
            for row, found in enumerate(sets):
                wanted = set(np.flatnonzero(kth[row] >= D[row]).tolist())
                # Distances may differ in their last bits from those of the test.
                almost = (np.abs(D[row] - kth[row]) <= 1e-14 * kth[row]) & (D[row] != kth[row])
                unsure = set(np.flatnonzero(almost).tolist())
                assert wanted - set(found) <= unsure
                np.testing.assert_allclose(list(found.values()), D[row, list(found)], rtol=1e-14)

    @CASES
    @pytest.mark.parametrize("kind", [TreeSearch, ScanSearch])
    def test_scales_are_the_same_bits_in_any_company(self, name, kind):
        X, Y = POINTS[name], near(name)
        index = kind(X, 5, 1)

        def scales(rows):
            i, _, d = index.nearest(rows)
            return reaches(i, d, len(rows), 5)

        together, order = scales(Y), np.random.default_rng(2).permutation(len(Y))
        np.testing.assert_array_equal(scales(Y[order]), together[order])
        np.testing.assert_array_equal(np.concatenate([scales(row[None]) for row in Y]), together)

    def test_threads_change_nothing(self):
        X = POINTS["far lattices"]
        for kind in (TreeSearch, ScanSearch):
            for one, two in zip(kind(X, 4, 1).nearest(X), kind(X, 4, 2).nearest(X), strict=True):
                np.testing.assert_array_equal(one, two)

    def test_the_kind_follows_the_columns(self):
        assert type(make_search(np.eye(15), 2, 1)) is TreeSearch
        assert type(make_search(np.eye(16), 2, 1)) is ScanSearch

    def test_no_more_threads_than_cores(self):
        """A file may ask for any number."""
        assert make_search(np.eye(3), 2, 2**60)._n_jobs <= 1024


class TestSeenBy:
    @CASES
    @pytest.mark.parametrize("few", [0, 10**6], ids=["tree", "scan"])
    def test_all_pairs_within_the_radius_of_the_training_point(self, name, few, monkeypatch):
        if few == 0:
            monkeypatch.setattr(search, "_TREE_DIMENSION", 10**6)
        monkeypatch.setattr(search, "_FEW", few)
        X, Y = POINTS[name], near(name)
        # Radii that are distances themselves, to the last bit: whether the rim belongs to a ball is not left to rounding.
        radii, D = np.sort(same_distances(X, X), axis=1)[:, 4], same_distances(Y, X)
        for row, found in enumerate(found_sets(pairs_within_scales(Y, X, radii), len(Y))):
            assert set(found) == set(np.flatnonzero(RIM * radii >= D[row]).tolist())

    def test_blocks_of_rows(self, monkeypatch):
        X, Y = POINTS["31 columns"], near("31 columns")
        radii = np.sort(distances(X, X), axis=1)[:, 4]
        whole = found_sets(pairs_within_scales(Y, X, radii), len(Y))
        monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 3 * len(X))
        assert found_sets(pairs_within_scales(Y, X, radii), len(Y)) == whole

    def test_blocks_of_rows_in_the_second_look(self, monkeypatch):
        X = POINTS["binary, many columns"]
        whole = found_sets(ScanSearch(X, 5, 1).nearest(X), len(X))
        monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 3 * len(X))
        assert found_sets(ScanSearch(X, 5, 1).nearest(X), len(X)) == whole


class TestParts:
    @settings(max_examples=50, deadline=None)
    @given(p=st.integers(1, 70), seed=st.integers(0, 2**20))
    def test_distances_of_pairs_do_not_depend_on_their_company(self, p, seed):
        rng = np.random.default_rng(seed)
        X, Y = rng.standard_normal((20, p)), rng.standard_normal((30, p))
        i, j = rng.integers(20, size=50), rng.integers(30, size=50)
        d = pair_distances(X, Y, i, j)
        np.testing.assert_allclose(d, distances(X, Y)[i, j], rtol=1e-14)
        np.testing.assert_array_equal(pair_distances(Y, X, j, i), d)
        alone = [pair_distances(X, Y, i[[k]], j[[k]])[0] for k in range(50)]
        np.testing.assert_array_equal(alone, d)
        np.testing.assert_array_equal(pair_distances(X, Y, i[7:], j[7:]), d[7:])

    def test_pairs_come_in_chunks(self, monkeypatch):
        X = POINTS["7 columns"]
        i, j = np.divmod(np.arange(60 * 60), 60)
        whole = pair_distances(X, X, i, j)
        monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 7 * 11)
        np.testing.assert_array_equal(pair_distances(X, X, i, j), whole)

    def test_reaches(self):
        i = np.array([2, 0, 0, 2, 2, 0, 3])
        d = np.array([5.0, 1.0, 0.0, 4.0, 6.0, 2.0, 9.0])
        np.testing.assert_array_equal(reaches(i, d, 4, 1), [0, 0, 4, 9])
        np.testing.assert_array_equal(reaches(i, d, 4, 2), [1, 0, 5, 9])
        np.testing.assert_array_equal(reaches(i, d, 4, 9), [2, 0, 6, 9])
        np.testing.assert_array_equal(reaches(i[:0], d[:0], 2, 1), [0, 0])

    def test_find_rows(self):
        X = np.array([[0.0, 1.0], [2.0, 3.0], [0.0, 1.0]])
        Y = np.array([[2.0, 3.0], [-0.0, 1.0], [0.0, 1.0 + 1e-15], [3.0, 2.0]])
        np.testing.assert_array_equal(find_rows(X, Y), [1, 0, -1, -1])
        assert find_rows(X, Y[:0]).shape == (0,)
