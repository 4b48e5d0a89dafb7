"""Programs with a quadratic term, and their optima by other methods than the solver's."""

from functools import cache

import cvxpy as cp
import numpy as np
from scipy.optimize import root

from elliptope.kernels import Gaussian
from elliptope.operators import DenseOperator, kernel_matrix
from operator_cases import long

SPREADS = (0.01, 0.1, 1.0, 10.0, np.inf)


def gaussian_cost(X, sigma, rng):
    """The paper's J with random weights: diag(J) = (w d)²."""
    w = rng.uniform(0.5, 2, len(X))
    operator = DenseOperator(kernel_matrix(Gaussian(sigma), X), w)
    operator.set_row_scale(w * np.sqrt(np.maximum(operator.abar_diagonal(), 0)))
    return operator @ np.eye(len(X))


def narrow(n, rng):
    return gaussian_cost(rng.standard_normal((n, 2)), 10 ** rng.uniform(-1.5, 0.5), rng)


def disconnected(n, rng):
    X = rng.standard_normal((n, 2)) + 100 * (np.arange(n) % 3)[:, None]
    return gaussian_cost(X, 10 ** rng.uniform(-1, 0.3), rng)


def psd_of_low_rank(n, rng):
    W = rng.standard_normal((n, max(1, n // 3)))
    return W @ W.T


def almost_identity(n, rng):
    W = rng.standard_normal((n, n))
    return np.eye(n) - 1 / n + 10 ** rng.uniform(-8, -2) * (W + W.T)


def indefinite(n, rng):
    """Half of the diagonal is negative."""
    W = rng.standard_normal((n, n))
    return W + W.T


def graph_with_loops(n, rng):
    """Sparse, isolated vertices among it, and some of the diagonal is negative."""
    A = np.triu(rng.random((n, n)) < 0.3, 1)
    return A + A.T + np.diag(rng.uniform(-0.2, 1, n))


FAMILIES = (narrow, disconnected, psd_of_low_rank, almost_identity, indefinite, graph_with_loops)


def random_program(seed, largest=30):
    """J, symmetric with a positive entry on its diagonal, and a spread."""
    rng = np.random.default_rng(seed)
    J = FAMILIES[seed % len(FAMILIES)](int(rng.integers(3, largest + 1)), rng)
    J[0, 0] = max(J[0, 0], 0.1)
    return (J + J.T) / 2, float(rng.choice(SPREADS))


def weights(J, s):
    return np.sqrt(s * np.maximum(J.diagonal(), 0))


def value(J, e, Z):
    return float(np.vdot(J, Z) - 0.5 * np.vdot(np.outer(e, e), Z**2))


def distance(e, Y, Z):
    """‖Y - Z‖/‖Z‖ in the norm Σ e_i e_j Z_ij²."""
    ee = np.outer(e, e)
    return np.sqrt(np.vdot(ee, (Y - Z) ** 2) / np.vdot(ee, Z**2))


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
