r"""A cost with an inverse kernel matrix in it, which is never formed.

The kernelised problem has the cost :math:`J = A - \rho\, (F^\top F)^{-1}`: a gain A, less the trace of an operator of the
RKHS, whose features are the columns of the Cholesky factor F. Inverses of kernel matrices are ill conditioned. Three things
keep the problem well conditioned all the same.

- Products with J come from triangular solves.
- Directions and residuals are measured in the metric :math:`M = \rho\, (F^\top F)^{-1} + c\, I`, in which rough directions
  are as long as they are costly. What rounding leaves in a residual is rough, and vanishes in this metric.
- Definiteness is proved for the congruent matrix
  :math:`F (\operatorname{Diag}(z) - J) F^\top = F (\operatorname{Diag}(z) - A) F^\top + \rho\, I`, in the paper's variables
  :math:`\mathbf{B} = F^{-\top} B' F^{-1}`, where no inverse is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

import numpy as np
from scipy.linalg.blas import dtrmm, dtrsm
from scipy.linalg.lapack import dlauum, dpotrf, dpotrs, dtrtri, dtrtrs

from .._utils.arrays import Array
from .._utils.rounding import UNIT, gamma
from .._utils.threads import ONE_THREAD, ONE_THREAD_FACTORIZES, all_blas_threads
from .base import ROUNDINGS, ExplicitOperator, Operator
from .factorization import Factorization, cholesky, cholesky_rounding, cholesky_solver
from .metric import Metric


class RegularizedOperator(Operator):
    r""":math:`J = A - \rho\, (F^\top F)^{-1}`, for a gain operator A and an upper triangular F.

    ``ceiling`` is a bound on Tr(A Z) over the elliptope. The offset is :math:`e_i = -2\rho T_0 / n`, where
    :math:`T_0 = \lVert F^{-\top} 1\rVert^2` is the trace of the rank-one solution that puts all points in one place: the
    gain, objective less Σe, is then at least :math:`\rho T_0` at the optimum. (The diagonal of J would make no sense as an
    offset: B = Diag(d) is so rough that any other B gains enormously over it.)
    """

    def __init__(self, A: ExplicitOperator, F: Array, rho: float, ceiling: float) -> None:
        self.n = A.n
        self.A = A
        self.F = np.asfortranarray(F)
        self.rho = rho
        self.ceiling = ceiling
        self.reference = rho * float(np.sum(self.features(np.ones((self.n, 1))) ** 2))  # ρ T0
        self._offset = np.full(self.n, -2 * self.reference / self.n)
        self._shift_of_A = (A.offset() - self._offset)[:, None]

    def features(self, V: Array) -> Array:
        r""":math:`F^{-\top} V`: the factor of :math:`\mathbf{B}` whose rows in the features are those of V."""
        return dtrtrs(self.F, V, trans=1)[0]

    def core_matmat(self, V: Array) -> Array:
        G = self.A.core_matmat(V)
        G += self._shift_of_A * V
        G -= self.rho * dpotrs(self.F, V)[0]
        return G

    def offset(self) -> Array:
        return self._offset

    def metric(self) -> Metric:
        return self._metric

    @cached_property
    def _metric(self) -> RegularizedMetric:
        return RegularizedMetric(self.F, self.rho, self.reference, self.ceiling)

    @property
    def can_factor(self) -> bool:
        return self.A.has_entries

    @contextmanager
    def factorization(self, slack: Array, metric: Metric, shift: float) -> Iterator[Factorization | None]:
        r"""Factorise :math:`F (\operatorname{Diag}(y + s c) - A) F^\top + \rho (1 + s) I`, congruent to L + sM."""
        F, Q = self.F, self._metric.Q
        with self.A.triangle(np.ones(self.n)) as T:
            np.fill_diagonal(T, slack + self._offset + shift * self._metric.c - self.A.offset())
            X = np.tril(T)  # (n, n)
            X += np.tril(X, -1).T
        rounding = self._rounding(X)
        with all_blas_threads(self.n > ONE_THREAD):
            S = dtrmm(1.0, F, dtrmm(1.0, F, X.T), side=1, trans_a=1, overwrite_b=1)  # F X Fᵀ
        S[np.diag_indices(self.n)] += self.rho * (1 + shift)
        rounding += cholesky_rounding(self.n, float(np.abs(S.diagonal()).sum()))
        L = cholesky(S)
        if L is None:
            yield None
            return
        solve = cholesky_solver(L)
        # In whitened coordinates E = Q⁻¹F, and the inverse is Qᵀ S⁻¹ Q. Rounding is a multiple of I, and ρ I ⪯ F M Fᵀ.
        yield Factorization(shift + rounding / self.rho, shift, lambda V: Q.T @ solve(Q @ V))

    def _rounding(self, X: Array) -> float:
        r"""Bound on the error of the computed :math:`F X F^\top + \rho I` in the spectral norm.

        Two products err by :math:`2\gamma_n |F||X||F|^\top` together, entry by entry, and the entries of X by a few
        roundings of theirs. A non-negative symmetric N has no eigenvalue beyond :math:`\max_i (Nx)_i/x_i`, for any positive
        x (Collatz and Wielandt); the power method makes that bound a sharp one.
        """
        n, F, X = self.n, np.abs(self.F), np.abs(X)
        scale = np.sqrt(self.A.entry_scale())
        x, bound = np.ones(n), np.inf
        for _ in range(6):  # any number gives a bound; these bring it to within a few times the spectral radius
            f = F.T @ x
            entries = scale * (scale @ f) + X.diagonal() * f
            Nx = F @ (2.01 * gamma(n + 10) * (X @ f) + 2 * ROUNDINGS * UNIT * entries) + 4 * UNIT * self.rho * x
            bound = min(bound, float((Nx / x).max()))
            x = Nx / Nx.max() + UNIT  # kept positive
        return bound


class RegularizedMetric(Metric):
    r""":math:`M = \rho (F^\top F)^{-1} + c\, I` with root :math:`E = Q^{-1} F`, :math:`Q Q^\top = \rho I + c F F^\top`.

    c is the mean over the rows of (reference + ceiling), the size of the objective.
    """

    def __init__(self, F: Array, rho: float, reference: float, ceiling: float) -> None:
        n = len(F)
        self._F, self._rho, self._ceiling = F, rho, ceiling
        self.c = (reference + ceiling) / n
        with all_blas_threads(n > ONE_THREAD_FACTORIZES):
            N = self.c * dlauum(F, lower=0)[0]
            N[np.diag_indices(n)] += rho
            # The upper triangle of F Fᵀ is the lower one of its transpose, in the order that LAPACK reads.
            self.Q = dpotrf(np.asfortranarray(np.triu(N).T), lower=1, clean=1, overwrite_a=1)[0]
        with all_blas_threads(n > ONE_THREAD):
            self._E = dtrsm(1.0, self.Q, np.triu(F), lower=1)

    @cached_property
    def largest(self) -> float:  # type: ignore[override]
        inverse, _ = dtrtri(self._F)
        return self._rho * float(np.sum(np.triu(inverse) ** 2)) + self.c

    def solve(self, V: Array) -> Array:
        return self.unwhiten(self.whiten_gradient(V))

    def whiten(self, V: Array) -> Array:
        return self.Q.T @ dtrtrs(self._F, V, trans=1)[0]

    def unwhiten(self, Q: Array) -> Array:
        return (Q.T @ self._E).T

    def whiten_gradient(self, G: Array) -> Array:
        return (G.T @ self._E.T).T

    def total(self, objective: float) -> float:
        r"""From :math:`\rho \operatorname{Tr}\mathbf{B} = \operatorname{Tr}(AZ) - p \le \text{ceiling} - p`."""
        return max(self._ceiling - objective, 0.0) + self.c * len(self._F)
