"""Probes that share products find what they would find by themselves."""

import numpy as np
import pytest

from elliptope.sdp.certificates.chebyshev import chebyshev_test
from elliptope.sdp.certificates.lanczos import lanczos_probe
from elliptope.sdp.certificates.probes import mapped, run_together

N = np.random.default_rng(0).standard_normal((60, 60))
N = N @ N.T / 200  # psd, with its spectrum in [0, 2]


def counting(widths):
    def apply(V):
        widths.append(V.shape[1])
        return N @ V

    return apply


def powers(V, steps):
    """A probe whose result is easy to check: N^steps V."""
    for _ in range(steps):
        V = yield V
    return V


def nothing():
    """A probe that has its result before any product."""
    return "done"
    yield


def test_results_come_in_order_and_are_right():
    V, W = np.eye(60)[:, :3], np.ones((60, 1))
    widths = []
    found = run_together(counting(widths), [powers(V, 2), nothing(), powers(W, 5), powers(V, 0)])
    np.testing.assert_allclose(found[0], N @ N @ V, rtol=1e-12)
    assert found[1] == "done"
    np.testing.assert_allclose(found[2], np.linalg.matrix_power(N, 5) @ W, rtol=1e-12)
    np.testing.assert_array_equal(found[3], V)
    assert run_together(counting(widths), []) == []
    # One product for all that still ask, and none for those that have ended.
    assert widths == [4, 4, 1, 1, 1]


def test_together_as_one_by_one():
    def probes():
        return [
            lanczos_probe(60, 20, np.random.default_rng(1)),
            chebyshev_test(np.random.default_rng(2).standard_normal((60, 4)), 2.0, 1e-3, 1e-6, 1e-13),
            lanczos_probe(60, 35, np.random.default_rng(3)),
            chebyshev_test(np.random.default_rng(4).standard_normal((60, 2)), 2.0, 1e-1, 1e-6, 1e-13),
        ]

    def apply(V):
        return N @ V

    together, alone = run_together(apply, probes()), [run_together(apply, [probe])[0] for probe in probes()]
    for one, other in zip(together[::2], alone[::2], strict=True):
        assert (one.steps, one.exhausted) == (other.steps, other.exhausted)
        assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper), rel=1e-9)
        np.testing.assert_allclose(abs(one.vector @ other.vector), 1, rtol=1e-6)
    for one, other in zip(together[1::2], alone[1::2], strict=True):
        assert one.shift == pytest.approx(other.shift, rel=1e-9)
        assert one.direction is other.direction is None


def test_other_coordinates():
    """Powers of 2N - I, by products with S⁻¹NS."""
    S = np.diag(np.linspace(1.0, 2.0, 60))
    V = np.random.default_rng(0).standard_normal((60, 2))
    inner = np.linalg.inv(S) @ N @ S
    asked = mapped(powers(V, 3), lambda q: np.linalg.solve(S, q), lambda q, v, product: S @ (2 * product) - q)
    (found,) = run_together(lambda v: inner @ v, [asked])
    np.testing.assert_allclose(found, np.linalg.matrix_power(2 * N - np.eye(60), 3) @ V, rtol=1e-9)
    assert run_together(None, [mapped(nothing(), None, None)]) == ["done"]


def test_errors_of_probes_and_products_are_not_swallowed():
    def broken():
        yield np.ones((60, 1))
        raise RuntimeError("broken probe")

    with pytest.raises(RuntimeError, match="broken probe"):
        run_together(lambda V: N @ V, [broken()])
    with pytest.raises(ValueError, match="matmul"):
        run_together(lambda V: N[:, :-1] @ V, [powers(np.ones((60, 1)), 1)])
