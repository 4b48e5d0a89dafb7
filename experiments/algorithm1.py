r"""Algorithm 1 of the paper with its authors' stopping rule, for comparison.

The paper takes what the method yields "after convergence". The code that it links to (github.com/mrfanuel/sdp-embedding)
stops at the first iteration with :math:`\lVert \Xi_{k+1} - \Xi_k \rVert_F < \text{tol}`, where
:math:`\Xi = \operatorname{Diag}(\sqrt d) H`, or after a fixed number of iterations; it adds 1e-7 to the diagonal of Abar. A
short step is no sign of convergence: where the kernel is almost diagonal every step is short.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elliptope.kernels import Gaussian
from elliptope.operators import as_operator
from elliptope.sdp import Certificate
from elliptope.sdp.ascent.power import power
from elliptope.sdp.certificates.certifier import prove
from elliptope.sdp.factors import random_start
from elliptope.sdp.goal import Goal
from elliptope.sdp.problem import Meter, Problem

_SHIFT = 1e-7
# Certified gap at which the proof need not be sharper.
_TOL = 1e-6


@dataclass(frozen=True)
class Rule:
    """The authors' settings for one data set: columns of H, smallest step and largest number of iterations."""

    rank: int
    step: float
    max_iter: int

    def __str__(self) -> str:
        return (
            f"{self.rank} columns, stopped when ‖ΔΞ‖ < {self.step:g} or after {self.max_iter} iterations, as in the code "
            "that the paper links to"
        )


WINE = Rule(rank=20, step=1e-6, max_iter=5000)
MOONS = Rule(rank=30, step=1e-9, max_iter=5000)


@dataclass(frozen=True)
class Stopped:
    """Where the rule stopped Algorithm 1, and what can be proved about that point."""

    embedding: np.ndarray
    spectrum: np.ndarray
    n_iter: int
    step: float
    certificate: Certificate


def normalized_kernel(X: np.ndarray, bandwidth: float, deflation: float | None = None) -> np.ndarray:
    """Abar = A - v0 v0ᵀ, (n, n); ``deflation`` takes v0 from another bandwidth than A."""
    K = Gaussian(bandwidth)(X)
    m = K.sum(axis=1)
    u = m if deflation is None else Gaussian(deflation)(X).sum(axis=1)
    v0 = np.sqrt(u / u.sum())
    return K / np.sqrt(np.outer(m, m)) - np.outer(v0, v0)


def run(X: np.ndarray, bandwidth: float, rule: Rule, seed: int) -> Stopped:
    """Iterate H ← rownormalise(JH) from a random start until the rule says stop."""
    Abar = normalized_kernel(X, bandwidth)
    scale = np.sqrt(Abar.diagonal())  # √d
    J = scale[:, None] * (Abar + _SHIFT * np.eye(len(Abar))) * scale
    meter, rng = Meter(Problem(as_operator(J))), np.random.default_rng(seed)
    iterates = power(meter, random_start(len(J), rule.rank, rng), Goal(), rng)
    last = next(iterates)
    step, n_iter = np.inf, 0
    while step >= rule.step and n_iter < rule.max_iter:
        previous, last = last, next(iterates)
        step = float(np.linalg.norm(scale[:, None] * (last.H - previous.H)))
        n_iter += 1
    U, S, _ = np.linalg.svd(scale[:, None] * last.H, full_matrices=False)
    return Stopped(U * S, S**2 / (S**2).sum(), n_iter, step, prove(meter, last, rng, _TOL))
