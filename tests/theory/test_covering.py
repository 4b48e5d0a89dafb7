"""Fill distances against closed forms and brute force, and their probabilistic bound against draws from balls."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from elliptope.theory import Cover, FillDistance, cover_ball, cover_box, fill_distance, fill_distance_bound

DRAWS = 500
# Spacing of the covers, fine beside the fill distances that are measured with them.
SPACING = {2: 0.05, 3: 0.2}


def ball(rng, n, p):
    """n uniform points of the unit ball."""
    Z = rng.standard_normal((n, p))
    return Z * (rng.uniform(size=n) ** (1 / p) / np.linalg.norm(Z, axis=1))[:, None]


def on_interval(x):
    """Fill distances in (-1, 1), exactly, of the rows of x: half the largest gap, or what is left at an end."""
    x = np.sort(x, axis=-1)
    return np.max([x[..., 0] + 1, 1 - x[..., -1], np.diff(x).max(axis=-1) / 2], axis=0)


@cache
def measured(n, p):
    """Fill distances of samples of the unit ball, from below and from above; exact for p = 1."""
    rng = np.random.default_rng(n)
    if p == 1:
        exact = on_interval(rng.uniform(-1, 1, (DRAWS, n)))
        return FillDistance(exact, exact)
    cover = cover_ball(p, 1.0, SPACING[p])
    lower = np.array([fill_distance(ball(rng, n, p), cover).lower for _ in range(DRAWS)])
    return FillDistance(lower, lower + cover.radius)


def mean_fill_distance(n, p, spacing, count=10):
    rng, cover = np.random.default_rng(n), cover_ball(p, 1.0, spacing)
    return np.mean([fill_distance(ball(rng, n, p), cover).lower for _ in range(count)])


class TestBound:
    @pytest.mark.parametrize(
        ("n", "r", "value"),
        [
            (10**4, None, 0.33 * math.sqrt(6 * math.log(10) + 2 * math.log(2))),
            (10**6, 0.5, 0.033 * math.sqrt(8 * math.log(10) + 2 * math.log(12))),
        ],
    )
    def test_by_hand(self, n, r, value):
        """p = 2, δ = 0.01, R = 3: for n = 10⁴, log(n/δ) = 6 log 10 and n^(-1/2) = 1/100."""
        result = fill_distance_bound(n, 2, 0.01, 3.0, r)
        assert result.value == pytest.approx(value, rel=1e-12)
        assert result.probability == 0.99
        assert result.holds

    @pytest.mark.parametrize(("R", "r"), [(1.0, None), (5.0, None), (1.0, 0.25), (3.0, 1.5)])
    @pytest.mark.parametrize("p", [1, 2, 3])
    def test_condition_is_named_where_it_fails(self, p, R, r):
        ratio = R / (r or R)
        least = 2 * (6 * ratio) ** p * (math.log(2 / 0.05) + 2 * p * math.log(4 * ratio))
        assert fill_distance_bound(math.ceil(least), p, 0.05, R, r).holds
        n = math.ceil(least) - 1
        (name,) = fill_distance_bound(n, p, 0.05, R, r).failed
        assert name == f"n ≥ 2 (6R/r)^p (log(2/δ) + 2p log(4R/r)) = {least:.6g}; got n = {n}"

    @pytest.mark.parametrize(("n", "p"), [(100, 1), (1000, 1), (20_000, 1), (800, 2), (3000, 2), (6000, 3)])
    @pytest.mark.parametrize("delta", [0.05, 0.3])
    def test_holds_with_the_stated_probability(self, n, p, delta):
        bound = fill_distance_bound(n, p, delta, 1.0)
        assert bound.holds
        assert np.mean(measured(n, p).upper <= bound.value) >= bound.probability

    def test_needs_its_logarithm(self):
        n, delta = 20_000, 0.05
        assert np.mean(measured(n, 1).lower <= 11 / n) < 1 - delta

    @pytest.mark.parametrize(("n", "p"), [(1000, 1), (20_000, 1), (800, 2), (3000, 2), (6000, 3)])
    def test_is_no_more_than_a_constant_off(self, n, p):
        """In one draw out of two at least, a thirtieth of it is too small."""
        assert np.median(measured(n, p).lower) > fill_distance_bound(n, p, 0.05, 1.0).value / 30

    @pytest.mark.parametrize(("p", "spacing"), [(1, 1e-4), (2, 0.005), (3, 0.04)])
    def test_scaling_law(self, p, spacing):
        """Both go like n^(-1/p), but for the logarithm, which makes them a little slower."""
        few, many = 500, 8000
        for h in (
            [mean_fill_distance(n, p, spacing) for n in (few, many)],
            [fill_distance_bound(n, p, 0.05, 1.0).value for n in (few, many)],
        ):
            assert -1.05 < p * math.log(h[1] / h[0]) / math.log(many / few) < -0.8


class TestFillDistance:
    @pytest.mark.parametrize(
        ("X", "cover", "exact"),
        [
            ([[0.0]], cover_box(-1, 1, 0.01), 1.0),
            ([[-1.0], [0.5]], cover_box(-1, 1, 0.01), 0.75),
            ([[0.5, 0.5]], cover_box([0, 0], [1, 1], 0.01), math.sqrt(0.5)),
            ([[0.0, 0.0]], cover_ball(2, 3.0, 0.05), 3.0),
            ([[1.0, 0.0]], cover_ball(2, 1.0, 0.02), 2.0),
            ([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]], cover_ball(3, 1.0, 0.05), math.sqrt(2)),
        ],
    )
    def test_closed_forms(self, X, cover, exact):
        h = fill_distance(np.array(X), cover)
        assert h.lower - 1e-12 <= exact <= h.upper
        assert h.upper - h.lower == pytest.approx(cover.radius)

    def test_encloses_the_exact_value_on_the_interval(self):
        cover = cover_box(-1, 1, 0.003)
        for x in np.random.default_rng(0).uniform(-1, 1, (50, 40)):
            h = fill_distance(x[:, None], cover)
            assert h.lower - 1e-12 <= on_interval(x) <= h.upper

    @pytest.mark.parametrize("p", [1, 2, 3, 5])
    def test_agrees_with_brute_force(self, p):
        rng = np.random.default_rng(p)
        X, Z = rng.standard_normal((60, p)), rng.standard_normal((200, p))
        assert fill_distance(X, Z) == FillDistance(pytest.approx(cdist(Z, X).min(axis=1).max(), rel=1e-12), math.inf)

    def test_finer_covers_tighten_the_enclosure(self):
        X = ball(np.random.default_rng(0), 100, 2)
        coarse, fine = (fill_distance(X, cover_ball(2, 1.0, h)) for h in (0.1, 0.01))
        assert coarse.lower - 1e-12 <= fine.upper
        assert fine.lower <= coarse.upper
        assert fine.upper - fine.lower < 0.11 * (coarse.upper - coarse.lower)

    def test_wrong_shapes(self):
        with pytest.raises(ValueError, match=r"`candidates` must have 1 columns, as `X` has, got shape \(5, 2\)"):
            fill_distance(np.zeros((3, 1)), np.zeros((5, 2)))
        with pytest.raises(ValueError, match="X contains NaN"):
            fill_distance(np.full((3, 1), np.nan), np.zeros((5, 1)))
        with pytest.raises(ValueError, match="candidates contains infinity"):
            fill_distance(np.zeros((3, 1)), np.full((5, 1), np.inf))
        with pytest.raises(ValueError, match="Expected 2D array"):
            fill_distance(np.zeros(3), np.zeros((5, 1)))


class TestCovers:
    @settings(max_examples=40, deadline=None)
    @given(st.integers(1, 3), st.floats(0.5, 20), st.floats(0.1, 3.0), st.integers(0, 99))
    def test_ball(self, p, R, fraction, seed):
        cover = cover_ball(p, R, R * fraction)
        X = R * ball(np.random.default_rng(seed), 300, p)
        X[:100] *= R / np.linalg.norm(X[:100], axis=1, keepdims=True)  # the boundary is the hard part
        assert cdist(X, cover.points).min(axis=1).max() <= cover.radius * (1 + 1e-12)
        assert np.linalg.norm(cover.points, axis=1).max() <= R * (1 + 1e-12)
        assert cover.radius <= R * fraction * math.sqrt(p) / 2 * (1 + 1e-12)

    @settings(max_examples=40, deadline=None)
    @given(st.integers(1, 3), st.floats(0.2, 3.0), st.integers(0, 99))
    def test_box(self, p, spacing, seed):
        rng = np.random.default_rng(seed)
        low = rng.uniform(-5, 5, p)
        high = low + rng.uniform(0.1, 3, p)
        cover = cover_box(low, high, spacing)
        X = low + (high - low) * rng.integers(0, 3, (200, p)) / 2  # corners, edges and the centre
        assert cdist(X, cover.points).min(axis=1).max() <= cover.radius * (1 + 1e-12)
        assert (low <= cover.points).all()
        assert (cover.points <= high).all()
        assert cover.radius <= spacing * math.sqrt(p) / 2 * (1 + 1e-12)

    def test_by_hand(self):
        cover = cover_box(0, 1, 0.3)
        np.testing.assert_allclose(cover.points, [[0.125], [0.375], [0.625], [0.875]])
        assert cover.radius == pytest.approx(0.125)
        assert isinstance(cover, Cover)

    @pytest.mark.parametrize(
        ("low", "high"), [(1, 1), (2, 1), (0, math.inf), (math.nan, 1), ([0, 0], [1, -1]), ([0, 0], [1])]
    )
    def test_bad_box(self, low, high):
        with pytest.raises(ValueError, match="`low` must be finite and below `high`, axis by axis, got low="):
            cover_box(low, high, 0.1)

    @pytest.mark.parametrize("spacing", [0, -1.0, math.nan, "0.1"])
    def test_bad_spacing(self, spacing):
        with pytest.raises(ValueError, match=f"`spacing` must be positive and finite, got {spacing!r}"):
            cover_box(0, 1, spacing)

    def test_too_fine(self):
        with pytest.raises(ValueError, match=r"`spacing` must give at most 10000000 cells, got 0\.001 for "):
            cover_ball(3, 1.0, 0.001)

    def test_bad_ball(self):
        with pytest.raises(ValueError, match="`p` must be an integer of at least 1, got 0"):
            cover_ball(0, 1.0, 0.1)
        with pytest.raises(ValueError, match="`R` must be positive and finite, got 0"):
            cover_ball(1, 0, 0.1)


class TestBadInput:
    GOOD = {"n": 1000, "p": 2, "delta": 0.1, "R": 1.0}

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("n", 0, "be an integer of at least 1"),
            ("p", 1.5, "be an integer of at least 1"),
            ("delta", 0.0, "lie strictly between 0 and 1"),
            ("delta", 1, "lie strictly between 0 and 1"),
            ("R", 0.0, "be positive and finite"),
            ("r", -1.0, "be positive and finite"),
            ("r", 1.5, "be at most R = 1, half the diameter of the domain"),
        ],
    )
    def test_bound(self, name, value, message):
        with pytest.raises(ValueError, match=f"`{name}` must {message}, got {value!r}"):
            fill_distance_bound(**self.GOOD | {name: value})
