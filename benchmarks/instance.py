"""One SDP as the solvers see it, and the judge that certifies what they return."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import numpy as np

from elliptope.operators import as_operator
from elliptope.sdp import Certificate
from elliptope.sdp.certificates.certifier import attempt_proof, certify_converged, prove
from elliptope.sdp.factors import random_start
from elliptope.sdp.iterate import Iterate
from elliptope.sdp.problem import Meter, Problem
from elliptope.sdp.steps import normalize_rows

Array = np.ndarray

# Columns of the peers' start: twice the largest optimal rank that was seen.
RANK = 8
# Eigenvalues of X, relative to the largest, below which a factor of X may drop them.
_TRUNCATIONS = (0.0, 1e-6, 1e-3)


class Instance:
    r"""max Tr(JHHᵀ) over unit rows of H, with a start and a judge.

    ``A`` is J without its diagonal (which changes the objective by a constant and only harms the conditioning of solvers
    that do not remove it), divided by its mean absolute row sum, so that one ladder of tolerances serves all cases.
    """

    def __init__(self, J: Array, tol: float, seed: int, rank: int = RANK) -> None:
        self.J, self.tol, self.seed = J, tol, seed
        self.n = len(J)
        self.A = J - np.diag(J.diagonal())
        self.scale = float(np.abs(self.A).sum(axis=1).mean())
        self.A /= self.scale
        self.start = random_start(self.n, min(rank, self.n), np.random.default_rng(seed))
        self._problem = Problem(as_operator(J))

    def attempt(self, H: Array) -> Certificate:
        """One try at a proof that meets the tolerance."""
        return attempt_proof(*self._at(H))[0]

    def check(self, H: Array) -> Certificate:
        """A proof that meets the tolerance, or an estimate."""
        return certify_converged(*self._at(H))[0]

    def prove(self, H: Array) -> Certificate:
        """A proof, however large the gap."""
        return prove(*self._at(H))

    def _at(self, H: Array) -> tuple[Meter, Iterate, np.random.Generator, float]:
        meter, rng = Meter(self._problem), np.random.default_rng(self.seed)
        return meter, meter.evaluate(normalize_rows(np.ascontiguousarray(H), rng)), rng, self.tol

    def prove_matrix(self, X: Array) -> Certificate:
        """The best certificate of a factor of X, with or without its small eigenvalues."""
        values, U = np.linalg.eigh(0.5 * (X + X.T))
        found = []
        for truncation in _TRUNCATIONS:
            keep = values > truncation * values[-1]
            H = U[:, keep] * np.sqrt(values[keep])
            found.append(self.prove(H))
            if self.accepts(found[-1]):
                break
        return min(found, key=lambda certificate: certificate.relative_gap)

    def accepts(self, certificate: Certificate) -> bool:
        return certificate.grade == "proved" and certificate.relative_gap <= self.tol


class OutOfTime(Exception):
    """The limit is spent."""


class Clock:
    """Seconds since it was made, less those spent off the clock."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._start = perf_counter()

    @property
    def seconds(self) -> float:
        return perf_counter() - self._start

    def check(self) -> None:
        if self.seconds > self.limit:
            raise OutOfTime

    @contextmanager
    def stopped(self) -> Iterator[None]:
        before = perf_counter()
        try:
            yield
        finally:
            self._start += perf_counter() - before


class Product:
    """Products with a symmetric matrix, counted; the place where the limit is checked."""

    def __init__(self, matrix: Array, clock: Clock) -> None:
        self.matrix, self.clock = matrix, clock
        self.count = 0

    def __call__(self, V: Array) -> Array:
        """A V, for V with a row per point."""
        self.count += 1
        self.clock.check()
        return self.matrix @ V

    def transposed(self, V: Array) -> Array:
        """V A, for V with a column per point."""
        self.count += 1
        self.clock.check()
        return V @ self.matrix
