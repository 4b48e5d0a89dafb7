"""Factors with unit rows: their start, and columns added and dropped."""

import numpy as np
import pytest

from elliptope.sdp.factors import (
    count_columns,
    double_columns,
    drop_columns,
    drop_light_columns,
    largest_rank,
    random_start,
)
from sdp.costs import unit_rows

N = 12


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def assert_unit(H):
    np.testing.assert_allclose(np.linalg.norm(H, axis=1), 1, rtol=1e-14)


def test_random_start_has_directions_of_uniform_entries(rng):
    H = random_start(2000, 3, rng)
    assert_unit(H)
    V = unit_rows(np.random.default_rng(0).uniform(-1, 1, (2000, 3)))
    np.testing.assert_allclose(H, V, rtol=1e-14)


def test_unused_columns_are_dropped_in_any_basis(rng):
    narrow = random_start(N, 2, rng)
    wide = np.hstack([narrow, 1e-5 * rng.standard_normal((N, 2))]) @ np.linalg.qr(rng.standard_normal((4, 4)))[0]
    assert count_columns(wide, 1e-3) == 2
    assert count_columns(wide, 1e-7) == 4
    H = drop_columns(wide, 1e-3, rng)
    assert H.shape == (N, 2)
    assert_unit(H)
    np.testing.assert_allclose(H @ H.T, narrow @ narrow.T, atol=1e-4)
    assert drop_columns(wide, 1e-7, rng).shape == (N, 4)
    assert drop_columns(wide, 2.0, rng).shape == (N, 4)  # something has to stay


def test_columns_are_light_by_the_weights_of_their_rows(rng):
    """Three rows have a column to themselves, which is dropped only where these rows weigh little."""
    H = np.zeros((N, 2))
    H[:3, 1] = H[3:, 0] = 1.0
    weights = np.ones(N)
    assert drop_light_columns(H, weights, 0.2, rng).shape[1] == 2
    assert drop_light_columns(H, weights, 0.3, rng).shape[1] == 1
    weights[:3] = 1e-3
    assert_unit(drop_light_columns(H, weights, 1e-3, rng))
    assert drop_light_columns(H, weights, 1e-3, rng).shape[1] == 1


def test_columns_are_doubled_up_to_the_largest_rank(rng):
    """That of Barvinok and Pataki, r(r + 1)/2 ≤ n, and one or two to spare."""
    for n in range(1, 200):
        r = max(r for r in range(1, 20) if r * (r + 1) // 2 <= n)
        assert r + 1 <= largest_rank(n) <= r + 2
    ranks = [double_columns(random_start(100, r, rng), rng).shape[1] for r in (1, 4, 10, 15, 20)]
    assert ranks == [2, 8, 15, 15, 20]
    H = random_start(100, 4, rng)
    wide = double_columns(H, rng)
    assert_unit(wide)
    assert 0.01 < abs(wide[:, 4:]).mean() < 0.2
    assert (wide[:, :4] * H).sum(axis=1).min() > 0.8  # rows hardly move
