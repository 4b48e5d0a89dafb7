r"""Solvers that move a factor H with unit rows: the paper's Algorithm 1, pymanopt and SciPy.

A method is ``method(product, start, stop, visit) -> H``. It stops at ``stop``, a threshold on its own gradient norm (a
number of iterations for Algorithm 1). In a search, ``visit(H, measure)`` sees its iterates with that norm, off the clock; in
a timed run ``visit`` is None and costs nothing. All minimise :math:`-\tfrac12\operatorname{Tr}(AHH^\top)`, with
hand-written derivatives and no product made twice at a point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from instance import Product

from elliptope._utils.arrays import Array, row_dots, row_norms
from elliptope.sdp.steps import normalize_rows

Visit = Callable[..., None]
Method = Callable[[Product, Array, float, Visit | None], Array]

# Algorithm 1 is looked at when its number of iterations has grown by this factor.
_POWER_CHECK = 1.02
_UNLIMITED = 10**9


@dataclass(frozen=True)
class Peer:
    """A method, the ``stop`` at which it never stops, and whether it needs the psd J rather than the hollow A."""

    method: Method
    never: float = 0.0
    psd: bool = False


def residual_norm(A: Array, H: Array) -> float:
    """Norm of the Riemannian gradient LH."""
    P = A @ H
    return float(np.linalg.norm(row_dots(H, P)[:, None] * H - P))


def algorithm_1(product: Product, H: Array, stop: float, visit: Visit | None) -> Array:
    """The paper's iteration in plain NumPy: H ← rownormalise(JH), ``stop`` times."""
    rng = np.random.default_rng(0)  # for zero rows
    iteration, check = 0, 1
    while iteration < stop:
        H = normalize_rows(product(H), rng)
        iteration += 1
        if visit is not None and iteration >= check:
            with product.clock.stopped():
                measure = residual_norm(product.matrix, H) / np.abs(product.matrix).sum(axis=1).mean()
            visit(H, measure, stop=iteration)
            check = max(iteration + 1, int(_POWER_CHECK * iteration))
    return H


def lbfgs(product: Product, H: Array, stop: float, visit: Visit | None) -> Array:
    r"""SciPy's L-BFGS-B on a free V, (n, r), with H = V with rows normalised.

    By the chain rule the gradient in row i is :math:`(LH)_i / \lVert v_i\rVert`.
    """
    from scipy.optimize import minimize

    shape = H.shape

    def cost(x: Array, multiply: Callable[[Array], Array] = product) -> tuple[float, Array]:
        V = x.reshape(shape)
        norms = row_norms(V)[:, None]
        H = V / norms
        P = multiply(H)
        slack = row_dots(H, P)
        return -0.5 * float(slack.sum()), ((slack[:, None] * H - P) / norms).ravel()

    def callback(intermediate_result: Any) -> None:
        x = intermediate_result.x
        with product.clock.stopped():
            measure = float(np.abs(cost(x, lambda H: product.matrix @ H)[1]).max())
            V = x.reshape(shape)
            H = V / row_norms(V)[:, None]
        visit(H, measure)

    options = {"gtol": stop, "ftol": 0.0, "maxiter": _UNLIMITED, "maxfun": _UNLIMITED}
    found = minimize(
        cost, H.ravel(), jac=True, method="L-BFGS-B", options=options, callback=callback if visit is not None else None
    )
    V = found.x.reshape(shape)
    return V / row_norms(V)[:, None]


def trust_regions(product: Product, H: Array, stop: float, visit: Visit | None) -> Array:
    """pymanopt's Riemannian trust regions, with the exact Hessian."""
    from pymanopt.optimizers import TrustRegions

    return _pymanopt(TrustRegions, product, H, stop, visit)


def conjugate_gradient(product: Product, H: Array, stop: float, visit: Visit | None) -> Array:
    """pymanopt's Riemannian conjugate gradients (Hestenes–Stiefel, adaptive line search: its defaults)."""
    from pymanopt.optimizers import ConjugateGradient

    return _pymanopt(ConjugateGradient, product, H, stop, visit)


def _pymanopt(optimizer: Any, product: Product, H: Array, stop: float, visit: Visit | None) -> Array:
    """Run an optimiser of pymanopt on the oblique manifold, whose points have unit columns: Hᵀ."""
    import pymanopt

    manifold = pymanopt.manifolds.Oblique(H.shape[1], H.shape[0])
    function = pymanopt.function.numpy(manifold)
    at = _Point(product)

    @function
    def cost(Ht: Array) -> float:
        at.move(Ht)
        return -0.5 * float(at.slack.sum())

    @function
    def gradient(Ht: Array) -> Array:
        at.move(Ht)
        G = at.slack * Ht - at.P
        if visit is not None:
            visit(Ht.T, float(np.linalg.norm(G)))
        return G

    @function
    def hessian(Ht: Array, D: Array) -> Array:
        at.move(Ht)
        Z = at.slack * D - product.transposed(D)
        return Z - np.einsum("ij,ij->j", Z, Ht) * Ht

    problem = pymanopt.Problem(manifold, cost, riemannian_gradient=gradient, riemannian_hessian=hessian)
    settings = {
        "min_gradient_norm": stop,
        "min_step_size": np.finfo(float).tiny,  # ends a line search that found no step at all
        "max_iterations": _UNLIMITED,
        "max_cost_evaluations": _UNLIMITED,
        "max_time": np.inf,
        "verbosity": 0,
    }
    start = np.ascontiguousarray(H.T)
    return optimizer(**settings).run(problem, initial_point=start).point.T


class _Point:
    """The last two points with their products, shared by cost, gradient and Hessian, so that a rejected step costs one."""

    def __init__(self, product: Product) -> None:
        self._product = product
        self._known: list[tuple[Array, Array, Array]] = []

    def move(self, Ht: Array) -> None:
        known = next((entry for entry in self._known if entry[0] is Ht), None)
        if known is None:
            P = self._product.transposed(Ht)
            known = Ht, P, np.einsum("ij,ij->j", Ht, P)
            self._known = [known, *self._known[:1]]
        _, self.P, self.slack = known


PEERS = {
    "Algorithm 1": Peer(algorithm_1, never=np.inf, psd=True),
    "trust regions": Peer(trust_regions),
    "conjugate gradient": Peer(conjugate_gradient),
    "L-BFGS-B": Peer(lbfgs),
}
