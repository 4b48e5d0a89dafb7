"""Parts of the interior-point method: how far a step may go."""

import numpy as np
import pytest

from elliptope.sdp.ascent.interior_point import _STEP, _advance, _length, _times
from elliptope.sdp.ascent.linalg import cholesky, inverse_from_cholesky


def definite(n, rng):
    A = rng.standard_normal((n, n))
    return A @ A.T + np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("scale", [0.1, 3.0, 30.0])
def test_lengths_are_exact_where_lanczos_is(n, scale):
    rng = np.random.default_rng(n)
    P, D = definite(n, rng), rng.standard_normal((n, n))
    D = scale * (D + D.T)
    C = np.linalg.cholesky(P)
    lowest = np.linalg.eigvalsh(np.linalg.solve(C, np.linalg.solve(C, D).T))[0]
    expected = min(1.0, _STEP / -lowest) if lowest < 0 else 1.0
    assert _length(cholesky(P), D.dot, rng) == pytest.approx(expected, rel=1e-6)


def test_a_direction_along_the_matrix_itself_ends_lanczos_early():
    rng = np.random.default_rng(0)
    P = definite(6, rng)
    assert _length(cholesky(P), (-2 * P).dot, rng) == pytest.approx(_STEP / 2)


def test_diagonal_directions():
    rng = np.random.default_rng(0)
    P, d = definite(6, rng), rng.standard_normal(6) * 20
    assert _length(cholesky(P), _times(d), np.random.default_rng(1)) == pytest.approx(
        _length(cholesky(P), np.diag(d).dot, np.random.default_rng(1))
    )


def test_a_step_that_is_too_long_is_made_shorter():
    P, D = np.eye(3), -np.eye(3)
    new, factor = _advance(P, D, 1.5)
    assert factor is not None
    np.testing.assert_allclose(new, (1 - 1.5 * 0.8**2) * np.eye(3))
    assert _advance(P, -1e12 * np.eye(3), 1.0)[1] is None


@pytest.mark.parametrize("n", [1, 7])
def test_inverse(n):
    A = definite(n, np.random.default_rng(0))
    np.testing.assert_allclose(inverse_from_cholesky(cholesky(A)) @ A, np.eye(n), atol=1e-10)
