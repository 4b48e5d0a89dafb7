"""Programs with a quadratic term, and their optima by other methods than the solver's."""

from functools import cache

import cvxpy as cp
import numpy as np
from scipy.optimize import root

from operator_cases import long


def nearest(J, e):
    """Z for positive e, by a general root finder on diag((T + Diag u)_+) = e; u; and the error of that diagonal."""
    r = np.sqrt(e)
    T = J / np.outer(r, r)

    def positive_part(u):
        values, P = np.linalg.eigh(T + np.diag(u))
        return (P * np.maximum(values, 0)) @ P.T

    # By a trust region, from where the diagonal of T + Diag u is right.
    u = root(lambda u: positive_part(u).diagonal() / e - 1, e - T.diagonal(), method="hybr", options={"xtol": 1e-15}).x
    X = positive_part(u)
    d = X.diagonal()
    return X / np.sqrt(np.outer(d, d)), u, abs(d / e - 1).max()


def nearest_in_extended_precision(J, e, u):
    """The same from a u that is almost right, by Newton steps for a residual in extended precision; Z, and its error."""
    r = np.sqrt(long(e))
    T = long(J) / np.outer(r, r)
    for _ in range(8):
        values, P = jacobi(T + np.diag(u))
        X = (P * np.maximum(values, 0)) @ P.T
        F = X.diagonal() - e
        if abs(F / e).max() < 1e-17:
            break
        # The derivative of the positive part, entry by entry of its divided differences.
        v, Q = values.astype(float), P.astype(float)
        difference = v[:, None] - v
        plus = np.maximum(v, 0)
        slopes = np.where(difference == 0, v > 0, (plus[:, None] - plus) / np.where(difference, difference, 1))
        pairs = Q[:, None, :] * Q
        V = ((pairs @ slopes) * pairs).sum(axis=-1)
        u = u - np.linalg.lstsq(V, F.astype(float))[0]
    return X / np.outer(r, r), abs(F / e).max()


def jacobi(A, sweeps=12):
    """Eigenvalues and eigenvectors of a symmetric matrix in extended precision, by rotations."""
    A, P = long(A).copy(), np.eye(len(A), dtype=np.longdouble)
    for _ in range(sweeps):
        for i, j in zip(*np.triu_indices(len(A), 1), strict=True):
            if abs(A[i, j]) < 1e-25 * (abs(A[i, i]) + abs(A[j, j])):
                continue
            theta = (A[j, j] - A[i, i]) / (2 * A[i, j])
            t = (1 if theta >= 0 else -1) / (abs(theta) + np.sqrt(1 + theta**2))
            c = 1 / np.sqrt(1 + t**2)
            R = np.array([[c, t * c], [-t * c, c]])
            A[:, [i, j]] = A[:, [i, j]] @ R
            A[[i, j]] = R.T @ A[[i, j]]
            P[:, [i, j]] = P[:, [i, j]] @ R
    return A.diagonal().copy(), P


@cache
def _conic(n):
    J, root_ee = cp.Parameter((n, n), symmetric=True), cp.Parameter((n, n), nonneg=True)
    Z = cp.Variable((n, n), PSD=True)
    objective = cp.trace(J @ Z) - 0.5 * cp.sum_squares(cp.multiply(root_ee, Z))
    return cp.Problem(cp.Maximize(objective), [cp.diag(Z) == 1]), J, root_ee, Z


def conic(J, e):
    """Z by Clarabel, for any e ≥ 0; to about 1e-6."""
    size = abs(J).max()
    program, cost, root_ee, Z = _conic(len(J))
    cost.value, root_ee.value = J / size, np.sqrt(np.outer(e, e) / size)
    program.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return Z.value
