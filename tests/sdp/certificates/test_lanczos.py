"""Ritz values against dense eigenvalues, and the probability of being misled against how often that happens."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elliptope.sdp.certificates.lanczos import lanczos_probe, spread_error
from elliptope.sdp.certificates.probes import run_together


def rotated(spectrum, rng):
    Q, _ = np.linalg.qr(rng.standard_normal((len(spectrum), len(spectrum))))
    return Q * spectrum @ Q.T


def run(A, steps, rng):
    return run_together(lambda V: A @ V, [lanczos_probe(len(A), steps, rng)])[0]


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 60), steps=st.integers(1, 80), seed=st.integers(0, 9999), offset=st.sampled_from([-50.0, 0.0, 50.0]))
def test_ritz_values_lie_between_the_extreme_eigenvalues(n, steps, seed, offset):
    rng = np.random.default_rng(seed)
    A = rotated(rng.standard_normal(n) + offset, rng)
    values = np.linalg.eigvalsh(A)
    ritz = run(A, steps, rng)
    rounding = 1e-13 * (1 + abs(values).max())
    assert values[0] - rounding <= ritz.lower <= ritz.upper <= values[-1] + rounding
    assert ritz.steps == min(steps, n)
    assert ritz.exhausted == (steps >= n)
    if ritz.exhausted:
        assert (ritz.lower, ritz.upper) == pytest.approx((values[0], values[-1]), abs=1e-11)
    # The vector has the Ritz value as its Rayleigh quotient.
    assert np.linalg.norm(ritz.vector) == pytest.approx(1.0, rel=1e-12)
    assert ritz.vector @ A @ ritz.vector == pytest.approx(ritz.lower, abs=rounding)


def test_an_invariant_krylov_space_is_left_for_a_new_direction():
    A = np.diag(np.repeat([-2.0, 0.0, 7.0], [1, 20, 19]))
    ritz = run(A, 30, np.random.default_rng(0))
    assert not ritz.exhausted
    assert ritz.steps == 30
    assert (ritz.lower, ritz.upper) == pytest.approx((-2.0, 7.0), abs=1e-12)


def test_zero_and_identity():
    for A, value in ((np.zeros((5, 5)), 0.0), (3 * np.eye(5), 3.0)):
        ritz = run(A, 5, np.random.default_rng(0))
        assert ritz.exhausted
        assert (ritz.lower, ritz.upper) == pytest.approx((value, value))


def test_a_nearly_invariant_space_does_not_hide_an_eigenvalue():
    """One eigenvalue differs from all others by less than a breakdown can tell: only a whole basis finds it."""
    d = np.ones(30)
    d[0] = 1 - 1e-12
    for seed in range(20):
        assert run(np.diag(d), 30, np.random.default_rng(seed)).lower == pytest.approx(1 - 1e-12, abs=1e-14)


def test_many_steps_keep_the_basis_orthogonal():
    """Without reorthogonalisation ghosts of the outlying eigenvalue would fill the space."""
    rng = np.random.default_rng(1)
    A = rotated(np.r_[1e8, np.linspace(-1, 1, 119)], rng)
    ritz = run(A, 120, rng)
    assert ritz.lower == pytest.approx(-1.0, abs=1e-5)
    assert ritz.upper == pytest.approx(1e8, rel=1e-13)


def test_reproducible_and_dependent_on_the_generator():
    A = rotated(np.linspace(0, 1, 40), np.random.default_rng(0))
    first, again, other = (run(A, 4, np.random.default_rng(seed)).lower for seed in (1, 1, 2))
    assert first == again != other


class TestSpreadError:
    def test_solves_the_inequality_of_kuczynski_and_wozniakowski(self):
        for n, steps, probability in [(50, 6, 0.3), (1000, 200, 1e-6), (10**6, 50, 1e-3)]:
            epsilon = spread_error(n, steps, probability)
            bound = 1.648 * math.sqrt(n) * math.exp(-math.sqrt(epsilon) * (2 * steps - 1))
            assert bound == pytest.approx(probability, rel=1e-12)

    @pytest.mark.parametrize("sign", [1, -1], ids=["largest", "smallest"])
    @pytest.mark.parametrize(("n", "steps", "probability"), [(60, 5, 0.3), (400, 8, 0.2)])
    def test_failures_are_no_more_frequent_than_stated(self, n, steps, probability, sign):
        """One eigenvalue at the end of an interval, the others as far as ε allows, at Chebyshev nodes."""
        rng = np.random.default_rng([n, steps])
        epsilon = spread_error(n, steps, probability)
        # With a diagonal matrix and a start uniform on the sphere nothing is lost: the distribution does not see rotations.
        nodes = 0.5 * (1 - epsilon) * (1 + np.cos(np.pi * (np.arange(n - 1) + 0.5) / (n - 1)))
        spectrum = sign * np.r_[1.0, nodes]
        spread = np.ptp(spectrum)
        runs = 400
        errors = np.empty(runs)
        for i in range(runs):
            (ritz,) = run_together(lambda V: spectrum[:, None] * V, [lanczos_probe(n, steps, rng)])
            errors[i] = spectrum.max() - ritz.upper if sign > 0 else ritz.lower - spectrum.min()
        assert (errors > epsilon * spread).mean() <= probability + 3 * math.sqrt(probability / runs)
        # The instance is hard enough for the bound to matter: a tenth of ε would not do.
        assert (errors > 0.1 * epsilon * spread).mean() > probability
