"""Random costs of several kinds, and their optima by an independent solver."""

from dataclasses import dataclass
from functools import cache

import cvxpy as cp
import numpy as np

from elliptope.kernels import Gaussian
from elliptope.operators import DenseOperator, kernel_matrix
from sdp.costs import unit_rows

# What rounding in the tests' own sums may take, relative to the sums of absolute values.
ROUNDING = 1e-13


@cache
def _conic_program(n):
    C = cp.Parameter((n, n), symmetric=True)
    Z = cp.Variable((n, n), PSD=True)
    unit_diagonal = cp.diag(Z) == 1
    return cp.Problem(cp.Maximize(cp.trace(C @ Z)), [unit_diagonal]), C, Z, unit_diagonal


@dataclass(frozen=True)
class Optimum:
    """An interval that holds p⋆ whatever the accuracy of the solver, up to rounding."""

    lower: float
    upper: float


def reference(J):
    """Clarabel's primal point made feasible (psd part, unit diagonal) and its dual vector made feasible (shifted)."""
    size = abs(J).max()
    program, C, Z, unit_diagonal = _conic_program(len(J))
    C.value = J / size
    program.solve(solver="CLARABEL", warm_start=False, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    values, vectors = np.linalg.eigh(Z.value)
    F = unit_rows(vectors * np.sqrt(np.maximum(values, 0)))
    z = unit_diagonal.dual_value
    shift = max(0.0, -np.linalg.eigvalsh(np.diag(z) - C.value)[0])
    rounding = ROUNDING * abs(J).sum()
    return Optimum(float(np.vdot(F, J @ F)) - rounding, size * float(z.sum() + len(J) * shift) + rounding)


def random_psd(n, rng):
    W = rng.standard_normal((n, rng.integers(1, n + 1)))
    return W @ W.T


def random_indefinite(n, rng):
    W = rng.standard_normal((n, n))
    return W + W.T + np.diag(rng.standard_normal(n) * 10 ** rng.uniform(-1, 2))


def gaussian_operator(n, rng):
    X, w = rng.standard_normal((n, 2)), rng.uniform(0.5, 2, n)
    operator = DenseOperator(kernel_matrix(Gaussian(10 ** rng.uniform(-0.6, 0.6)), X), w)
    operator.set_row_scale(w * np.sqrt(operator.abar_diagonal()))
    return operator


def random_graph(n, rng):
    """Max-cut; at least one edge, isolated vertices allowed."""
    A = np.triu(rng.random((n, n)) < rng.uniform(0.1, 0.9), 1).astype(float)
    A[0, 1] = 1.0
    return -(A + A.T)


FAMILIES = {"psd": random_psd, "gaussian": gaussian_operator, "indefinite": random_indefinite, "graph": random_graph}


def random_cost(family, n, rng):
    """A cost, and the same as a symmetric matrix."""
    cost = FAMILIES[family](n, rng)
    J = cost @ np.eye(n)
    return cost, 0.5 * (J + J.T)


def random_factor(n, rng, rank=3):
    return unit_rows(rng.standard_normal((n, rank)))


def power_steps(J, H, steps):
    """Any feasible point will do; for psd J these come ever closer to the optimum."""
    for _ in range(steps):
        H = unit_rows(J @ H + 1e-12 * H)
    return H
