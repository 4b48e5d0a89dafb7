"""Products of six digits may misdirect a solve; what its certificate says must hold all the same."""

import numpy as np
import pytest

from elliptope.operators.base import Operator
from elliptope.sdp import solve
from sdp.costs import indefinite, moons


class Rough(Operator):
    """A matrix whose faster products are those of another one: off by ``error``, and symmetric."""

    single_is_accurate = True

    def __init__(self, J, error):
        self.n, self._d = len(J), J.diagonal().copy()
        self._core = J - np.diag(self._d)
        self._other = self._core * (1 + error * np.sign(indefinite(len(J), seed=7)))
        self.rough_products = 0

    def core_matmat(self, V):
        return self._core @ V

    def offset(self):
        return self._d

    def single(self):
        other = Rough(self._core, 0.0)
        other._core = self._other
        other.core_matmat = self._count(other.core_matmat)
        return other

    def _count(self, product):
        def counted(V):
            self.rough_products += 1
            return product(V)

        return counted


@pytest.mark.parametrize("error", [1e-6, 1e-4, 0.05])
def test_certificates_hold(error):
    cost = moons(0.6)
    cost.set_row_scale(np.sqrt(cost.abar_diagonal()))
    exact = solve(cost, polish=True, rng=0).certificate
    assert exact.grade == "proved"
    J = cost.matmat(np.eye(cost.n))
    rough = Rough((J + J.T) / 2, error)
    found = solve(rough, polish=True, tol=1e-6, rng=1)
    assert found.certificate.upper_bound >= exact.objective * (1 - 1e-12)
    assert found.certificate.objective <= exact.upper_bound * (1 + 1e-12)
    assert rough.rough_products > 20
    if error <= 1e-4:
        assert found.status == "optimal"
        assert found.certificate.relative_gap <= 1e-6
