r"""A low-rank surrogate of the kernel matrix: F Fᵀ from landmarks, with the diagonal of K itself.

.. math:: \hat K = F F^\top + \operatorname{Diag}(e), \qquad e = \operatorname{diag}(K - F F^\top) \ge 0 .

Degrees m, and with them v0, are those of the exact kernel, and so is the diagonal: Abar and the surrogate have the same
diagonal d, and the two problems the same feasible set. They differ by the off-diagonal part of
:math:`E = K - F F^\top` alone. As E is psd, :math:`|E_{ij}| \le \sqrt{e_i e_j}`, and for every Z of the elliptope

.. math:: -\sum_i a_i^2 \;\le\; \operatorname{Tr}((J_{exact} - J) Z) \;\le\; \Big(\sum_i a_i\Big)^2 - \sum_i a_i^2 ,
          \qquad a_i = s_i \sqrt{e_i}, \quad s = t/\sqrt m .

With the rounding of F accounted for (:mod:`~elliptope.operators.nystroem.landmarks`), E + θ Diag(K) is psd, and
e_i + θ K_ii takes the place of e_i. The bound above is loose, by a factor of up to n, unless E has little trace. What is
proved of the surrogate itself is tight, and is a separate claim.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import check_integer
from ..._utils.rounding import TINY, UNIT, gamma
from ...kernels.base import Kernel
from ...kernels.given import Precomputed
from ..base import ROUNDINGS, KernelOperator
from ..factorization import Factorization, cholesky, cholesky_rounding, cholesky_solver
from ..metric import Metric
from .landmarks import partial_cholesky
from .schur import prove_definite
from .tall import TallFactor

# Rows up to which J less a quadratic term is factorised as a whole. The solver itself takes n × n eigendecompositions there.
_WHOLE = 4000


class NystroemOperator(KernelOperator):
    r"""J from landmarks: O(nk) memory, O(nkr) operations for a product, O(nk²) for the factor and for a proof.

    Parameters
    ----------
    kernel : Kernel
        A psd function of two points.
    X : (n, p) array
    n_landmarks : int
        k, columns of F. Fewer are made when nothing but rounding is left of K, and never more than n.
    sample_weight : (n,) array, optional
    degrees : (n,) array
        m = K w of the exact kernel.
    degree_error : float
        Bound on the relative error of those.
    rng : Generator, int or None
        Draws the landmarks.
    n_jobs : int
        Threads. Results do not depend on their number.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        n_landmarks: int,
        sample_weight: Array | None = None,
        *,
        degrees: Array,
        degree_error: float = 0.0,
        rng: np.random.Generator | int | None = None,
        n_jobs: int = 1,
    ) -> None:
        if isinstance(kernel, Precomputed):
            raise ValueError("`kernel` must be a function of two points, got 'precomputed'.")
        n_landmarks, n_jobs = check_integer("n_landmarks", n_landmarks, 1), check_integer("n_jobs", n_jobs, 1)
        found = partial_cholesky(kernel, X, n_landmarks, np.random.default_rng(rng), n_jobs)
        self.landmarks, self.residual, self.deficit = found.landmarks, found.residual, found.deficit
        self._factor = TallFactor(found.F, n_jobs)
        self._diagonal_of_K = kernel.diagonal(X)
        self._exact_degrees, self._degree_error = degrees, degree_error
        super().__init__(len(X), sample_weight)

    def degrees(self) -> Array:
        """m = K w of the exact kernel, shape (n,)."""
        return self._exact_degrees

    def hollow_kernel_matmat(self, V: Array) -> Array:
        G = self._factor.product(self._factor.transposed_product(V))
        G -= self._factor.squares[:, None] * V
        return G

    def kernel_diagonal(self) -> Array:
        """diag(K), of the exact kernel and of the surrogate alike."""
        return self._diagonal_of_K

    @property
    def error_bounds(self) -> tuple[float, float]:
        """The bounds of the module docstring with e + θ diag(K) for e, and the effect of inexact degrees; rounded up."""
        e, theta = self.residual, self.deficit
        a = self._s * np.sqrt(e + theta * self._diagonal_of_K)
        square_of_sum, sum_of_squares = float(a.sum()) ** 2, float(a @ a)
        degrees = self.cost_of_degrees(self._degree_error)
        rounding = float(4 * self.n * UNIT)  # of sums of n terms
        above = (1 + rounding) * (square_of_sum + degrees) - (1 - rounding) * sum_of_squares
        return (1 + rounding) * (sum_of_squares + degrees), above

    @property
    def can_factor(self) -> bool:
        return True

    @contextmanager
    def factorization(self, slack: Array, metric: Metric, shift: float) -> Iterator[Factorization | None]:
        r"""Prove definite :math:`\operatorname{Diag}(z) + Q Q^\top - S F F^\top S`, which is L + sM.

        Here :math:`z = \text{slack} + s v + \lVert S f\rVert^2 - \lVert Q\rVert^2`, row by row: J without its diagonal is
        the low-rank part less its own. As many z as Q has columns may be negative in a definite matrix, and one sometimes
        is: the smallest are lifted, by columns of their own beside those of S F.

        A row that F alone explains, such as that of an outlier among the landmarks, may have a z far beyond what holds it; a
        multiple δ of :math:`\operatorname{Diag}(z) + Q Q^\top` is therefore no small multiple of M, but costs no more than
        :math:`\delta (\sum z + (\sum \lVert Q_i\rVert)^2)`.

        With further columns in Q, those of a quadratic term, the matrix itself is factorised unless n is large: S F Fᵀ S and
        Q Qᵀ may cancel almost entirely, z with them, and the small matrix is then inaccurate.
        """
        F, s, Q, v = self._factor, self._s, self._Q, metric.diagonal()
        own, deflated = s**2 * F.squares, np.einsum("ij,ij->i", Q, Q)
        size = np.abs(slack) + shift * v + own + deflated
        if Q.shape[1] > 1 and self.n <= _WHOLE:
            yield self._factorize_whole(slack + shift * v, v, size, shift)
            return
        z = slack + shift * v + own - deflated
        U = _lift(z, size, Q.shape[1])
        proof = prove_definite(F, s, U, z, Q) if (z > 0).all() else None
        if proof is None:
            yield None
            return
        root = np.sqrt(v)[:, None]
        # The rounding of z, row by row, and of the columns that lift it.
        rounding = (F.k + Q.shape[1] + ROUNDINGS) * UNIT * float(size.sum())
        extra = proof.delta * float(z.sum() + np.sqrt(deflated).sum() ** 2) + rounding
        yield Factorization(shift, shift, lambda V: root * proof.solve(root * V), (1 + 4 * self.n * UNIT) * extra)

    def _factorize_whole(self, diagonal: Array, v: Array, size: Array, shift: float) -> Factorization | None:
        r"""Factorise :math:`\operatorname{Diag}(\text{diagonal}) - J_0`, scaled by D = ``size`` to entries of at most 1.

        An entry of J_0 errs by :math:`\gamma (D_i D_j)^{1/2}`, for sums of k + q products; as a matrix that is at most
        :math:`n \gamma D`.
        """
        n, F, Q = self.n, self._factor, self._Q
        D = np.maximum(size, UNIT * size.max())
        scaled, q = (self._s / np.sqrt(D))[:, None] * F.F, Q / np.sqrt(D)[:, None]
        T = np.asfortranarray(q @ q.T - scaled @ scaled.T)
        rounding = cholesky_rounding(n, 1.01 * n) + 1.01 * n * gamma(F.k + Q.shape[1] + 2 * ROUNDINGS)
        np.fill_diagonal(T, diagonal / D + 2 * rounding)  # at an optimum T is singular
        L = cholesky(T)
        if L is None:
            return None
        solve, root = cholesky_solver(L), np.sqrt(v / D)[:, None]
        extra = (1 + 4 * n * UNIT) * 3 * rounding * float(D.sum())
        return Factorization(shift, shift, lambda V: root * solve(root * V), extra)


def _lift(z: Array, size: Array, count: int) -> Array:
    r"""Raise the ``count`` smallest z, relative to ``size``, in place; and the columns U with Diag(z) less UUᵀ as before."""
    rows = np.argsort(z / np.maximum(size, TINY))[:count]
    U = np.zeros((len(z), count))
    U[rows, np.arange(count)] = np.sqrt(size[rows] - z[rows])
    z[rows] = size[rows]
    return U
