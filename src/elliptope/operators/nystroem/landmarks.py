r"""Low-rank factors of a kernel matrix from a few of its columns: :math:`K \succeq F F^\top`, approximately equal.

For landmarks S, C = K[:, S] and any jitter :math:`\tau \ge 0`, the residual :math:`K - C (K_{SS} + \tau D)^{-1} C^\top` is
psd. With an upper triangular R, :math:`R^\top R = K_{SS} + \tau D`, the factor is F = C R⁻¹: a partial Cholesky
factorisation. Randomly pivoted Cholesky draws landmarks one by one, in proportion to the diagonal of the residual so far.
Here they are drawn in blocks and thinned by rejection, which gives the same distribution and consists almost entirely of
matrix products.

The computed F is not exact. Entry by entry :math:`F R = C + \Delta` and :math:`R^\top R = K_{SS} + \tau D + \Delta'`,
where, with η the error of a kernel value relative to :math:`\sqrt{K_{ii} K_{jj}}` and D = Diag(diag K),

.. math:: \lVert\Delta_i\rVert \le \beta \sqrt{K_{ii}}, \quad \beta = \sqrt k\,(2\gamma_{k+2} + \eta), \qquad
          \lVert D_S^{-1/2} \Delta' D_S^{-1/2} \rVert \le \rho = k\,(2\gamma_{k+2} + \eta)

(Higham 2002, Lemma 8.4 and Theorem 10.3; in the norm that Diag(K_SS) defines for the columns of Δ). For τ ≥ 2ρ and
:math:`\theta = 2 n \beta^2/\tau` the second of the matrices

.. math:: \begin{pmatrix} R^\top R & (C + \Delta)^\top \\ C + \Delta & K + \theta D \end{pmatrix}
          = \begin{pmatrix} K_{SS} & C^\top \\ C & K \end{pmatrix}
          + \begin{pmatrix} \tau D_S + \Delta' & \Delta^\top \\ \Delta & \theta D \end{pmatrix}

on the right is psd, the first is because K is, and so is the Schur complement on the left:

.. math:: K - F F^\top + \theta D \succeq 0 .

τ is chosen so that it and θ are as small as they can both be, 1e-10 for a hundred points and 4e-8 for half a million.

References
----------
Chen, Epperly, Tropp and Webber. Randomly pivoted Cholesky: practical approximation of a kernel matrix with few entry
evaluations. arXiv:2207.06503.
Epperly, Tropp and Webber. Embrace rejection: kernel matrix approximation by accelerated randomly pivoted Cholesky.
arXiv:2410.03969.
Higham. Accuracy and Stability of Numerical Algorithms. SIAM, 2nd edition, 2002.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dtrsm

from ..._utils.arrays import Array
from ..._utils.blocks import ROWS, blocks
from ..._utils.rounding import UNIT
from ..._utils.threads import in_order
from ...kernels.base import Kernel
from ..factorization import cholesky

# η: the error of a value of a kernel, relative to √(k(x,x) k(y,y)). Kernels form distances to about this.
_KERNEL_ERROR = 1e-12
# Landmarks that are added at a time: products with fewer columns are slow; with more, more proposals are rejected.
_BLOCK = 128


@dataclass(frozen=True)
class PartialCholesky:
    r"""F (n, k) with :math:`K - F F^\top + \theta \operatorname{Diag}(K) \succeq 0`, θ = ``deficit``.

    ``landmarks`` are the rows of X that F was made from, k of them: fewer than were asked for, when nothing is left of K but
    rounding. ``residual`` is a bound from above on the diagonal of K - FFᵀ, (n,).
    """

    F: Array
    landmarks: Array
    residual: Array
    deficit: float


def partial_cholesky(
    kernel: Kernel, X: Array, n_landmarks: int, rng: np.random.Generator, n_jobs: int = 1
) -> PartialCholesky:
    """Factor of rank ``n_landmarks`` (n, if that is less), in O(n k²) operations and no more memory than F takes."""
    work = _GrowingFactor(kernel, X, min(n_landmarks, len(X)), n_jobs)
    _grow_by_rejection(work, rng)
    return work.finish()


def _grow_by_rejection(work: _GrowingFactor, rng: np.random.Generator) -> None:
    """Accelerated RPCholesky: propose from the current residual diagonal, accept as the one-by-one method would have.

    A row may be proposed twice. Once it is kept its residual is zero, and it is rejected; otherwise it may still be kept.
    """
    proposals = _BLOCK
    while work.used < work.k and work.residual.any():
        rows = rng.choice(work.n, proposals, p=work.residual / work.residual.sum())
        A = work.residual_block(rows)
        work.residual[rows[A.diagonal() <= work.floor[rows]]] = 0.0  # by rounding they were still above
        kept = accept(A, rng.uniform(size=len(rows)), work.floor[rows], min(_BLOCK, work.k - work.used))
        work.append(rows[kept])
        if len(kept) < _BLOCK // 2:
            proposals = min(2 * proposals, 8 * _BLOCK)


def accept(A: Array, uniforms: Array, floor: Array, most: int) -> list[int]:
    """Indices of the proposals kept: i with probability A_ii now, after those kept before, over A_ii when it was proposed.

    A, the residual matrix of the proposals, is overwritten. Where no more than ``floor`` is left, it is rejected. No more
    than ``most`` are kept: the first of them have the distribution that all would have.
    """
    proposed = A.diagonal().copy()
    kept: list[int] = []
    for i, u in enumerate(uniforms):
        if len(kept) == most:
            break
        if A[i, i] > floor[i] and u * proposed[i] < A[i, i]:
            kept.append(i)
            column = A[i + 1 :, i] / math.sqrt(A[i, i])
            A[i + 1 :, i + 1 :] -= np.outer(column, column)
    return kept


class _GrowingFactor:
    """A factor F to which columns are appended, and the diagonal of K - FFᵀ."""

    def __init__(self, kernel: Kernel, X: Array, k: int, n_jobs: int) -> None:
        self.kernel, self.X, self.n_jobs = kernel, X, n_jobs
        self.n, self.k, self.used = len(X), k, 0
        self.diagonal = kernel.diagonal(X)
        self.jitter, self.deficit = jitter_and_deficit(self.n, k)
        self.floor = self.jitter * self.diagonal
        self.residual = self.diagonal.copy()  # zero where it is too small to be drawn
        self.landmarks = np.empty(k, dtype=np.intp)
        self.F = np.empty((self.n, k))

    def residual_block(self, rows: Array) -> Array:
        """K - FFᵀ among the given rows."""
        F = self.F[rows, : self.used]
        A = self.kernel.block(self.X[rows], self.X[rows])
        np.fill_diagonal(A, self.diagonal[rows])
        A -= F @ F.T
        return A

    def append(self, rows: Array) -> None:
        r"""Columns for the landmarks B = ``rows``: :math:`(K_{:B} - F F_B^\top) R^{-1}`, where R is that of the block."""
        if not len(rows):
            return
        columns = slice(self.used, self.used + len(rows))
        A = self.residual_block(rows)
        A[np.diag_indices_from(A)] += self.floor[rows]
        L = cholesky(np.asfortranarray(A))  # Rᵀ
        if L is None:
            raise ValueError("`kernel` must be positive semi-definite, got one that is not on the landmarks.")
        F_B, X_B = self.F[rows, : self.used], self.X[rows]

        def fill(block: slice) -> None:
            G = self.kernel.block(self.X[block], X_B)
            G -= self.F[block, : self.used] @ F_B.T
            # The transpose of a C-ordered array is in the order that LAPACK reads: Rᵀ Fᵀ = Gᵀ.
            new = dtrsm(1.0, L, G.T, lower=1, overwrite_b=1).T
            self.F[block, columns] = new
            self.residual[block] -= np.einsum("ij,ij->i", new, new)

        for _ in in_order(fill, blocks(0, self.n, ROWS), self.n_jobs):
            pass
        self.landmarks[columns] = rows
        self.used = columns.stop
        self._settle(rows)

    def _settle(self, rows: Array) -> None:
        """Set to zero the residual of landmarks and of rows where rounding alone is left; raise if one is far below zero."""
        worst = int(np.argmin(self.residual / self.diagonal))
        # One floor for θ, which is no larger, one for residuals that were set to zero before, and one for rounding.
        if self.residual[worst] < -3 * self.floor[worst]:
            raise ValueError(
                f"`kernel` must be positive semi-definite, got a k(x, x) that is less than what the landmarks "
                f"explain, by {-self.residual[worst]:.3g}."
            )
        self.residual[self.residual <= self.floor] = 0.0
        self.residual[rows] = 0.0

    def finish(self) -> PartialCholesky:
        F = self.F[:, : self.used]
        residual = np.maximum(self.diagonal - np.einsum("ij,ij->i", F, F), 0.0)
        residual += 2 * (self.used + 2) * UNIT * self.diagonal
        return PartialCholesky(F, self.landmarks[: self.used], residual, self.deficit)


def jitter_and_deficit(n: int, k: int) -> tuple[float, float]:
    """τ and θ of the module's derivation; the factor 1.01 is for products of roundings, and for ‖f_i‖² ≤ (1 + θ) K_ii."""
    relative = 1.01 * (2 * (k + 2) * UNIT + _KERNEL_ERROR)
    rho, beta = k * relative, math.sqrt(k) * relative
    jitter = max(2 * rho, math.sqrt(2 * n) * beta)
    return float(jitter), float(2 * n * beta**2 / jitter)
