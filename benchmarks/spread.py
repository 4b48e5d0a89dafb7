"""Does the strictly concave program (``spread`` > 0) keep what it promises?

    python benchmarks/spread.py --output benchmarks/results

1. Random instances, narrow kernels and disconnected graphs among them: fits of ``SDPEmbedding`` with every operator, and as
   many costs given to ``solve``. The optimum B* is known from extended precision (``numpy.longdouble``): a factor, and by a
   Cholesky factorisation there how far it is from B* at most. Two starts each. Counted as violations are

   - *status*: one other than "optimal";
   - *bound*: an optimal value outside of ``objective`` to ``upper_bound``;
   - *distance*: B farther from B* than ``distance_bound`` says;
   - *starts*: the two B farther from each other than the sum of their bounds;
   - *extension*: ``transform(X)`` that differs from ``embedding_`` by more than 1e-5.

2. The narrow cases of ``consistency.py`` with ``spread=0.05``.
3. ``spread=inf``: B = Abar, and the leading columns span those of ``DiffusionMap``.

Writes ``spread.md``.
"""

from __future__ import annotations

import argparse
import math
import os
import warnings
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import consistency
import machine
import numpy as np
from cases import GROUPS, cancer, digits, iris, moons, wine
from scipy import sparse
from scipy.linalg import subspace_angles
from scipy.sparse.linalg import aslinearoperator
from soundness import LONG, ROUNDING, draw, enclose_from, extended, sdp_program
from spread_programs import FAMILIES, SPREADS, almost_identity, distance, narrow, random_program, value, weights

from elliptope import DiffusionMap, SDPEmbedding
from elliptope.estimators.extension import unit_rows
from elliptope.sdp import Certificate, Spread, solve
from elliptope.sdp.tuning import TUNING
from report import table

Array = np.ndarray
OPERATORS = ("dense", "tiled", "neighbors", "overlap")
CLAIMS = ("status", "bound", "distance", "starts", "extension")
EXTENSION = 1e-5
# Columns that are compared with those of diffusion maps.
COLUMNS = 5


@dataclass(frozen=True)
class Fit:
    """What one fit claims, and its Z."""

    status: str
    certificate: Certificate
    Z: Array
    extension_error: float = 0.0


@dataclass(frozen=True)
class Instance:
    r"""A program in extended precision, and fits of it; ``mu`` weighs rows in the norm of ``distance_bound``."""

    J: Array
    e: Array
    mu: Array
    fits: list[Fit]


@dataclass
class Tally:
    """What was found of one kind of instances."""

    instances: int = 0
    proved: int = 0
    unknown: int = 0  # fits whose B* is not known better than they claim to be close to it
    violations: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CLAIMS, 0))
    largest: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, name: str, number: float) -> None:
        self.largest[name] = max(self.largest[name], float(number))


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=300, help="fits, and as many costs given to `solve`")
    parser.add_argument("--output", type=Path, required=True, help="folder for the report")
    options = parser.parse_args(argv)
    machine.limit_threads(1)
    tallies: dict[str, Tally] = defaultdict(Tally)
    for number in range(options.instances):
        for kind, instance in (fitted(number), solved(number)):
            for claim, text in check(instance, tallies[kind]):
                print(f"instance {number} ({kind}): {claim}: {text}", flush=True)
    print({kind: (tally.instances, tally.violations) for kind, tally in tallies.items()}, flush=True)
    save(options, tallies, list(narrow_rows()), list(infinite_rows()))


def fitted(number: int) -> tuple[str, Instance]:
    """Fits of an estimator from two starts."""
    rng = np.random.default_rng(number)
    operator = OPERATORS[number % len(OPERATORS)]
    X, w, parameters = draw(operator, rng)
    parameters["spread"] = float(rng.choice(SPREADS))
    models, fits = [], []
    for start in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            est = SDPEmbedding(**parameters, random_state=start).fit(X, sample_weight=w)
            error = np.abs(est.transform(X) - est.embedding_).max() / np.abs(est.embedding_).max()
        H = unit_rows(est.training_.components)
        models.append(est)
        fits.append(Fit(est.status_, est.certificate_, H @ H.T, float(error)))
    J = sdp_program(models[0])
    e = weights(J, LONG(models[0].spread_))
    # With the paper's d, diag(J) = (w d)².
    return operator, Instance(J, e, np.sqrt(np.maximum(J.diagonal(), 0)), fits)


def solved(number: int) -> tuple[str, Instance]:
    """Solves from two starts: as an array, and as a sparse array or a linear operator."""
    J, eta = random_program(number)
    family = FAMILIES[number % len(FAMILIES)]
    other = (J, sparse.csr_array(J), aslinearoperator(J))[number // len(FAMILIES) % 3]
    # The second time by L-BFGS alone, where that is not beyond it.
    tuning = TUNING if family in (narrow, almost_identity) else replace(TUNING, dense_newton_rows=0)
    found = [solve(J, spread=eta, rng=0), solve(other, spread=eta, rng=1, tuning=tuning)]
    fits = [Fit(s.status, s.certificate, s.factor @ s.factor.T) for s in found]
    e = weights(J.astype(LONG), LONG(found[0].spread.s))
    return family.__name__.replace("_", " "), Instance(J.astype(LONG), e, (e > 0).astype(LONG), fits)


def check(instance: Instance, tally: Tally) -> list[tuple[str, str]]:
    """The claims that are violated, each with what was found; all that is found goes into the tally."""
    found = []
    J, e, mu = instance.J, instance.e, instance.mu
    Z, low, gap, error = optimum(J, e, mu)
    size = float(np.abs(J).sum() + (e @ e) * len(e))
    tally.add("error", error)
    for fit in instance.fits:
        c = fit.certificate
        tally.proved += c.grade == "proved"
        tally.unknown += error > c.distance_bound
        if fit.status != "optimal":
            found.append(("status", f"{fit.status}, gap {c.relative_gap:.3g} ({c.grade})"))
        if not (c.objective <= low + gap + ROUNDING * size and low <= c.upper_bound + ROUNDING * size):
            found.append(("bound", f"[{c.objective!r}, {c.upper_bound!r}] is not around {low!r}"))
        away = distance(mu, Z, fit.Z)
        tally.add("away", away)
        tally.add("distance_bound", c.distance_bound)
        if not away <= c.distance_bound + error + ROUNDING:
            found.append(("distance", f"{away:.3g} instead of {c.distance_bound:.3g}"))
        tally.add("extension", fit.extension_error)
        if not fit.extension_error <= EXTENSION:
            found.append(("extension", f"{fit.extension_error:.3g}"))
    one, two = instance.fits
    apart = distance(mu, two.Z, one.Z)
    tally.add("apart", apart)
    # The second bound is relative to the second B.
    if not apart <= one.certificate.distance_bound + two.certificate.distance_bound * (1 + apart) + ROUNDING:
        found.append(("starts", f"{apart:.3g} apart"))
    tally.instances += 1
    for claim, _ in found:
        tally.violations[claim] += 1
    return found


def optimum(J: Array, e: Array, mu: Array) -> tuple[Array, float, float, float]:
    """Z close to the optimum; its value; by how much the optimal one is larger at most; and how far Z* is at most.

    By the gap of the linearised problem at Z, which is solved in extended precision.
    """
    s = float((e.max() ** 2) / J.diagonal().max())
    H = extended(solve(J.astype(float), spread=Spread(min(s, 1.0)), rng=2, polish=True, tol=1e-13).factor)
    Z = H @ H.T
    low, high = enclose_from(J - np.outer(e, e) * Z, H, (e**2).max())
    gap, used = float(high - low), e > 0
    ratio = float((mu[used] / e[used]).max())
    return Z, value(J, e, Z), gap, ratio * math.sqrt(gap) / float(np.sqrt(np.sum(np.outer(mu, mu) * Z**2)))


def narrow_rows() -> Iterable[list[str]]:
    """Cases in which hardly anything holds points together."""
    for case in GROUPS["narrow"]:
        fits, times = consistency.fit(case, [0, 1], spread=0.05)
        _, apart = consistency.differences(fits)
        X = case.data()
        error = max(np.abs(est.transform(X) - est.embedding_).max() / np.abs(est.embedding_).max() for est in fits)
        c = max((est.certificate_ for est in fits), key=lambda c: c.relative_gap)
        bound = sum(est.certificate_.distance_bound for est in fits)
        row = [case.name, len(X), joined(est.status_ for est in fits), joined(est.embedding_.shape[1] for est in fits)]
        row += [f"{c.relative_gap:.1e} ({c.grade})", f"{apart:.1e}", f"{bound:.1e}", f"{error:.1e}", f"{min(times):.2f}"]
        print(*row, flush=True)
        yield [str(cell) for cell in row]


def infinite_rows() -> Iterable[list[str]]:
    """The other end of the path, for kernels that are psd."""
    for name, data in (("wine", wine), ("iris", iris), ("moons", moons), ("cancer", cancer), ("digits", digits)):
        for kernel in ("gaussian", "laplacian", "matern"):
            X = data()
            est = SDPEmbedding(kernel=kernel, spread=math.inf, random_state=0).fit(X)
            K = est.training_.extension.kernel.matrix()
            m = K.sum(axis=1)
            Abar = K / np.sqrt(np.outer(m, m)) - np.sqrt(np.outer(m, m)) / m.sum()
            B, scale = est.embedding_ @ est.embedding_.T, np.abs(Abar).max()
            other = DiffusionMap(COLUMNS, kernel=kernel, bandwidth=est.bandwidth_).fit(X)
            angle = subspace_angles(est.embedding_[:, :COLUMNS], other.embedding_)[0]
            error = np.abs(est.transform(X) - est.embedding_).max() / np.abs(est.embedding_).max()
            row = [name, kernel, len(X), est.status_, est.embedding_.shape[1], f"{np.abs(B - Abar).max() / scale:.1e}"]
            row += [f"{np.sin(angle):.1e}", f"{error:.1e}"]
            print(*row, flush=True)
            yield [str(cell) for cell in row]


def joined(values: Iterable[Any]) -> str:
    return "/".join(dict.fromkeys(map(str, values)))


Rows = list[list[str]]


def save(options: argparse.Namespace, tallies: dict[str, Tally], rows: Rows, infinite: Rows) -> None:
    kinds = [
        [name, str(t.instances), str(t.proved), str(t.unknown), *(str(t.violations[claim]) for claim in CLAIMS)]
        + [f"{t.largest[number]:.1e}" for number in ("away", "apart", "distance_bound", "extension", "error")]
        for name, t in tallies.items()
    ]
    header = ["kind", "instances", "fits proved", "B* unknown", *CLAIMS]
    header += ["from B*", "apart", "bound", "extension error", "B* known to"]
    parts = [
        "# The strictly concave program",
        f"`python benchmarks/spread.py --instances {options.instances}`, tol 1e-6, spreads {', '.join(map(str, SPREADS))}.",
        "\n".join(f"- {line}" for line in machine.describe()),
        "## Random instances",
        "Fits of `SDPEmbedding` by operator (or kernel of neighbours), 8 to 35 rows, bandwidths from a twentieth to twenty "
        "times the median distance, weights in two of five; then costs given to `solve`, 3 to 30 rows, by family. Two "
        "starts each. Columns *status* to *extension* count violations. *B\\* unknown*: fits that claim to be closer to "
        "B\\* than it is known. *From B\\**, *apart*, *bound*, *extension error* and *B\\* known to* "
        "are the largest of all fits, relative to B.",
        table(header, kinds),
        "## Narrow bandwidths, `spread=0.05`",
        "Seeds 0 and 1. *Bounds*: the sum of both `distance_bound`s.",
        table(["case", "n", "status", "rank", "gap", "apart", "bounds", "extension error", "seconds"], rows),
        "## `spread=inf`",
        f"Errors relative to the largest entry. *Angle*: the sine of the largest between the spans of {COLUMNS} columns.",
        table(["data", "kernel", "n", "status", "rank", "B - Abar", "angle to DiffusionMap", "extension error"], infinite),
    ]
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "spread.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
