"""Do certificates and statuses hold? Random instances of every estimator, operator and bandwidth regime.

    python benchmarks/soundness.py --instances 5000 --output benchmarks/results

For every instance the optimum of the program is enclosed in extended precision (``numpy.longdouble``): from below by a
feasible factor, from above by a Cholesky factorisation of the shifted dual matrix. Then

- *bound*: ``objective`` ≤ optimum ≤ ``upper_bound``;
- *gap*: "optimal" implies ``relative_gap`` ≤ tol. What the factor of a cost misses, without the diagonal, in which it
  would be lost, is no more than ``gap``;
- *extension*: "optimal" implies ``transform(X)`` = ``embedding_`` within tol;
- *unique*: "optimal" for two seeds implies the same B* within 10 tol.

Writes ``soundness.md``: instances, violations and the largest difference of two seeds by operator.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import machine
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
from scipy.spatial.distance import pdist

from elliptope import RKHSEmbedding, SDPEmbedding
from elliptope.sdp import solve

LONG = np.longdouble
Array = np.ndarray
TOL = 1e-6
CLAIMS = ("bound", "gap", "extension", "unique")
DIFFERENCE = "difference"  # of B from two seeds, both of which are called optimal; no claim
# Relative to the sum of |y|: what rounding of the float64 inputs may change of an optimum.
ROUNDING = 1e-12
OPERATORS = ("dense", "tiled", "neighbors", "rkhs", "array", "sparse array", "linear operator")


@dataclass(frozen=True)
class Fit:
    """What one fit claims, and its B."""

    status: str
    certificate: Any
    B: Array
    extension_error: float = 0.0
    H: Array | None = None


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0, help="number of the first instance")
    parser.add_argument("--output", type=Path, default=Path("results"))
    options = parser.parse_args(argv)
    machine.limit_threads(1)
    counts: Counter = Counter()
    for number in range(options.first, options.first + options.instances):
        operator = OPERATORS[number % len(OPERATORS)]
        for claim, text in check(number):
            if claim == DIFFERENCE:
                counts[operator, claim] = max(counts[operator, claim], float(text))
                continue
            counts[operator, claim] += 1
            if text:
                print(f"instance {number} ({operator}): {claim}: {text}", flush=True)
        counts[operator, "instances"] += 1
    print(save(options.output, counts, options))


def check(number: int) -> list[tuple[str, str]]:
    """The claims that instance ``number`` violates, each with what was found; its status, without a text; the difference."""
    rng = np.random.default_rng(number)
    operator = OPERATORS[number % len(OPERATORS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits, J = (_solves if "array" in operator or operator == "linear operator" else _fits)(operator, rng)
        core = J - np.diag(J.diagonal())
        low, high = enclose(core)
    size, trace = float(np.abs(J).sum()), J.diagonal().sum()
    found = [(fit.status, "") for fit in fits]
    for fit in fits:
        c = fit.certificate
        below, above = c.exact_interval
        first, last = float(low + trace) - ROUNDING * size, float(high + trace) + ROUNDING * size
        if c.grade != "estimate" and not (below <= last and first <= above):
            found.append(("bound", f"[{below!r}, {above!r}] is not around [{first!r}, {last!r}]"))
        if c.grade != "estimate" and fit.H is not None:
            H = extended(fit.H)
            missing = float(low - (core * (H @ H.T)).sum())
            if not missing <= c.gap + ROUNDING * float(np.abs(core).sum()):
                found.append(("gap", f"{missing:.3g} is missing, and no more than {c.gap:.3g} should be"))
        if fit.status == "optimal" and not c.relative_gap <= TOL:
            found.append(("gap", f"{c.relative_gap:.3g}"))
        if fit.status == "optimal" and not fit.extension_error <= TOL:
            found.append(("extension", f"{fit.extension_error:.3g}"))
    if all(fit.status == "optimal" for fit in fits):
        difference = float(np.linalg.norm(fits[0].B - fits[1].B) / np.linalg.norm(fits[0].B))
        found.append((DIFFERENCE, f"{difference:.1e}"))
        if not difference <= 10 * TOL:
            found.append(("unique", f"two seeds differ by {difference:.3g}"))
    if not float(high - low) <= 1e-7 * max(float(low), float(np.abs(core).sum()) * 1e-3) + 1e-300:
        found.append(("not enclosed", ""))
    return found


def points(rng: np.random.Generator) -> Array:
    """Rows of several kinds: normal, groups near and far, on a curve, with outliers, with repeated rows."""
    n, p = int(rng.integers(8, 36)), int(rng.integers(1, 6))
    kind = rng.integers(5)
    X = rng.standard_normal((n, p))
    if kind == 1:
        X += float(rng.choice([3, 10, 100])) * rng.standard_normal((int(rng.integers(2, 6)), p))[rng.integers(0, 2, n)]
    elif kind == 2:
        X = np.outer(np.sort(rng.uniform(-1, 1, n)), np.ones(p)) + 0.01 * X
    elif kind == 3:
        X[: n // 8 + 1] *= 30
    elif kind == 4:
        X = X[rng.integers(0, n - 2, n)]
    return X


def draw(operator: str, rng: np.random.Generator) -> tuple[Array, Array | None, dict[str, Any]]:
    """Rows, weights or none, and parameters of an estimator; for ``operator`` or, by that name, a kernel of neighbours."""
    X = points(rng)
    scale = float(np.median(pdist(np.unique(X, axis=0)))) * float(10 ** rng.uniform(-1.3, 1.3))
    w = rng.uniform(0.2, 3, len(X)) if rng.random() < 0.4 else None
    if operator == "rkhs":
        return X, w, {"length_scale": scale, "jitter": 1e-8}
    if operator in ("neighbors", "overlap"):
        k = int(rng.integers(3, max(4, len(np.unique(X, axis=0)) // 2)))
        return X, w, {"kernel": operator, "n_neighbors": min(k, len(np.unique(X, axis=0)))}
    kernel = str(rng.choice(["gaussian", "laplacian", "matern"]))
    return X, w, {"kernel": kernel, "bandwidth": scale, "operator": operator}


def _fits(operator: str, rng: np.random.Generator) -> tuple[list[Fit], Array]:
    """Two fits of an estimator with different seeds, and its program in extended precision."""
    X, w, parameters = draw(operator, rng)
    estimator = RKHSEmbedding if operator == "rkhs" else SDPEmbedding
    models = [estimator(**parameters, random_state=seed).fit(X, sample_weight=w) for seed in (0, 1)]
    fits = []
    for est in models:
        error = np.abs(est.transform(X) - est.embedding_).max() / max(np.abs(est.embedding_).max(), 1e-300)
        fits.append(Fit(est.status_, est.certificate_, est.embedding_ @ est.embedding_.T, float(error)))
    return fits, (rkhs_program if operator == "rkhs" else sdp_program)(models[0])


def sdp_program(est: SDPEmbedding) -> Array:
    """J of a fitted estimator, from its kernel matrix on, in extended precision."""
    training = est.training_
    K = training.extension.kernel.matrix()
    K = (K.toarray() if sparse.issparse(K) else K).astype(LONG)
    w = training.weights.astype(LONG)
    m = K @ w
    A = K / np.sqrt(np.outer(m, m)) - np.sqrt(np.outer(m, m)) / (w @ m)
    d = np.where(A.diagonal() * m / K.diagonal() > 1e-12, A.diagonal(), 0)
    t = w * np.sqrt(d)
    return t[:, None] * A * t


def rkhs_program(est: RKHSEmbedding) -> Array:
    """The same for the kernelised problem, whose inverse kernel matrix is formed here."""
    training = est.training_
    kernel, w = training.extension.kernel, training.weights.astype(LONG)
    K = kernel.matrix().astype(LONG)
    K[np.diag_indices_from(K)] += LONG(est.jitter)
    R = cholesky(K)
    assert R is not None
    inverse = solve_lower(R, np.eye(len(K), dtype=LONG))
    inverse = inverse.T @ inverse
    u = K @ w / np.sqrt(w @ K @ w)
    return w[:, None] * (K - np.outer(u, u)) * w - LONG(est.regularization_) * w.sum() ** 2 * inverse


def _solves(operator: str, rng: np.random.Generator) -> tuple[list[Fit], Array]:
    """Two polished solves of a random cost.

    Normal entries over orders of magnitude, a graph, a kernel, linked groups, little beside a diagonal, or nothing.
    """
    n = int(rng.integers(5, 40))
    kind = rng.integers(6)
    if kind == 0:
        C = rng.standard_normal((n, n)) * np.exp(rng.uniform(-4, 4, n))
    elif kind == 1:
        C = -(rng.random((n, n)) < 4 / n).astype(float)
    elif kind == 2:
        C = linked_groups(n, rng)
    elif kind == 3:
        C = float(10 ** rng.uniform(-14, -4)) * rng.standard_normal((n, n)) + np.diag(rng.standard_normal(n))
    elif kind == 4:
        C = np.diag(rng.standard_normal(n))
    else:
        X = rng.standard_normal((n, 2))
        C = np.exp(-((X[:, None] - X) ** 2).sum(-1) / float(10 ** rng.uniform(-1.5, 1)))
    C = 0.5 * (C + C.T)
    cost = {"array": C, "sparse array": sparse.csr_array(C), "linear operator": aslinearoperator(C)}[operator]
    fits = []
    for seed in (0, 1):
        s = solve(cost, rng=seed, polish=True, max_products=20_000)
        fits.append(Fit(s.status, s.certificate, s.factor @ s.factor.T, H=s.factor))
    return fits, C.astype(LONG)


def linked_groups(n: int, rng: np.random.Generator) -> Array:
    """Groups of rows that agree, and one to three rows that link them, attract or repel, more or less weakly."""
    links = int(rng.integers(1, 4))
    group = rng.integers(0, int(rng.integers(2, 4)), n)
    C = (group[:, None] == group).astype(float)
    C[-links:] = C[:, -links:] = 0
    C[-links:, :-links] = float(10 ** rng.uniform(-13, 0)) * rng.standard_normal((links, n - links))
    return C


def enclose(J: Array) -> tuple[Any, Any]:
    """Numbers between which the optimum lies: a feasible value, and Σy plus what a factorisation of L takes."""
    return enclose_from(J, extended(solve(J.astype(float), rng=2, polish=True, tol=1e-9).factor))


def extended(H: Array) -> Array:
    """H in extended precision, with rows of length one there, too."""
    H = H.astype(LONG)
    return H / np.sqrt((H * H).sum(axis=1))[:, None]


def enclose_from(J: Array, H: Array, size: Any = 0.0) -> tuple[Any, Any]:
    """:func:`enclose` by an almost optimal H; ``size`` is that of the terms of J, where they cancel."""
    y = ((J @ H) * H).sum(axis=1)
    # In the scale of the slack, with which the bound is sharp, kept from zero.
    v = np.maximum(y - J.diagonal(), LONG(1e-9) * max(np.abs(y).max(), LONG(size), LONG(1e-300)))
    L = np.diag(y) - J
    L /= np.sqrt(np.outer(v, v))
    shift = LONG(1e-16) * len(J)
    while shift < 1e6 and cholesky(L + shift * np.eye(len(J), dtype=LONG)) is None:
        shift *= 4
    return y.sum(), y.sum() + shift * v.sum()


def cholesky(A: Array) -> Array | None:
    """The lower factor of A, column by column, in its precision; None if A is not definite."""
    A, n = A.copy(), len(A)
    for k in range(n):
        if not A[k, k] > 0:
            return None
        A[k:, k] /= np.sqrt(A[k, k])
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k + 1 :, k])
    return np.tril(A)


def solve_lower(R: Array, B: Array) -> Array:
    """R⁻¹ B by forward substitution."""
    X = B.copy()
    for k in range(len(R)):
        X[k] = (X[k] - R[k, :k] @ X[:k]) / R[k, k]
    return X


def save(folder: Path, counts: Counter, options: argparse.Namespace) -> str:
    """The report, which is also returned."""
    statuses = ("optimal", "degenerate", "unconfirmed", "max_iter")
    header = ["operator", "instances", *(f"fits {status}" for status in statuses), *CLAIMS, "not enclosed", DIFFERENCE]
    counted = ("instances", *statuses, *CLAIMS, "not enclosed")
    rows = [[op, *(str(counts[op, name]) for name in counted), str(counts.get((op, DIFFERENCE), "–"))] for op in OPERATORS]
    text = "\n".join(
        [
            "# Soundness of certificates and statuses",
            "",
            f"`python benchmarks/soundness.py --instances {options.instances} --first {options.first}`, tol {TOL:g}, two "
            "seeds each. Columns *bound* to *unique* count violations; an optimum is *not enclosed* where extended "
            "precision leaves an interval of more than 1e-7 of its size. The *difference* is the largest between the B of "
            "two seeds that are both called optimal, relative to B.",
            "",
            *(f"- {line}" for line in machine.describe()),
            "",
            "| " + " | ".join(header) + " |",
            "|" + "---|" * len(header),
            *("| " + " | ".join(row) + " |" for row in rows),
            "",
        ]
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "soundness.md").write_text(text)
    return text


if __name__ == "__main__":
    main()
