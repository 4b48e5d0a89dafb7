"""What a path returns: a record per value of what varies, and what follows from all of them together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import orthogonal_procrustes

from ..._utils.arrays import Array
from ..._utils.notebook import table
from ..._utils.rounding import round_up
from ...sdp import Certificate

# Of the parameters that vary along paths.
SYMBOLS = {"bandwidth": "σ", "n_neighbors": "k"}
PLURALS = {"bandwidth": "bandwidths", "n_neighbors": "numbers of neighbours"}


@dataclass(frozen=True, eq=False, repr=False)
class PathRecord:
    """The optimum at one bandwidth or number of neighbours.

    Attributes
    ----------
    bandwidth : float
        NaN for a kernel without one.
    embedding : (n, n_components) array
        As :class:`~elliptope.SDPEmbedding` gives it: the columns are eigenvectors.
    factor : (n, rank) array
        All components, neither truncated nor normalised: :math:`B_\\star` = factor · factorᵀ.
    eigenvalues : (rank,) array
        Non-zero eigenvalues of B⋆ on L²(w), descending.
    certificate : Certificate
    status : {"optimal", "degenerate", "unconfirmed", "max_iter"}
    n_iter, n_products : int
    seconds : float
        Wall-clock time of the fit.
    n_neighbors : int or None
        k, where that is what varies along the path.
    outlier_scores : (n,) array or None
        Of the training points, high for outliers.
    """

    bandwidth: float
    embedding: Array
    factor: Array
    eigenvalues: Array
    certificate: Certificate
    status: str
    n_iter: int
    n_products: int
    seconds: float
    n_neighbors: int | None = None
    outlier_scores: Array | None = None

    def __str__(self) -> str:
        c = self.certificate
        parameter = "bandwidth" if self.n_neighbors is None else "n_neighbors"
        at = f"{SYMBOLS[parameter]} = {getattr(self, parameter):.6g}"
        return (
            f"{at}  {self.status}  gap {round_up(c.relative_gap)} ({c.grade})  "
            f"rank {len(self.eigenvalues)}  products {self.n_products}  {self.seconds:.2f} s"
        )

    def __repr__(self) -> str:
        return f"PathRecord({self})"


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Records at values of one parameter."""

    records: tuple[PathRecord, ...]
    missing: tuple[float, ...]
    weights: Array
    parameter: ClassVar[str]

    @property
    def values(self) -> Array:
        """The parameter at every record, shape (m,)."""
        return np.array([getattr(record, self.parameter) for record in self.records])

    @property
    def spectra(self) -> Array:
        """Eigenvalues of every record divided by their sum, shape (m, k), with zeros beyond the rank."""
        out = np.zeros((len(self.records), max(len(record.eigenvalues) for record in self.records)))
        for row, record in zip(out, self.records, strict=True):
            total = record.eigenvalues.sum()
            # The sum vanishes for a constant kernel, which has no spectrum.
            row[: len(record.eigenvalues)] = record.eigenvalues / (total if total > 0 else 1.0)
        return out

    @cached_property
    def aligned(self) -> Array:
        r"""The embeddings with zeros up to a common width, each turned onto its neighbour; shape (m, n, k).

        From the largest σ, which is left as it is, to the smallest: :math:`\hat\Xi_\sigma = \Xi_\sigma Q` with the
        orthogonal Q for which :math:`\sum_i w_i \lVert \hat\xi_i(\sigma) - \hat\xi_i(\sigma') \rVert^2` is least, σ' being
        the next larger value. Points that move between two of these matrices have moved, while the columns of
        ``embedding`` may change sign or order. The columns here are therefore no eigenvectors.

        Nothing is scaled: rows keep their length :math:`\sqrt{d_i(\sigma)}` and B⋆ is unchanged. A common factor would not
        change Q, and factors per row would decide for the reader which points matter. As it is, those far out count for
        more; with ``normalize="unit"`` all count alike.
        """
        width = max(record.embedding.shape[1] for record in self.records)
        turned: dict[int, Array] = {}  # by identity: a value given twice has one record
        neighbour: Array | None = None
        for record in sorted(self.records, key=lambda record: -getattr(record, self.parameter)):
            if id(record) not in turned:
                Z = widen(record.embedding, width)
                neighbour = turned[id(record)] = Z if neighbour is None else align(Z, neighbour, self.weights)
        return np.stack([turned[id(record)] for record in self.records])

    def to_rows(self) -> list[dict[str, Any]]:
        """A flat dictionary per record, for ``csv.DictWriter`` or ``pandas.DataFrame``; lambda_1, … are the ``spectra``."""
        return [
            {
                self.parameter: float(value),
                "status": record.status,
                "grade": record.certificate.grade,
                "objective": float(record.certificate.objective),
                "upper_bound": float(record.certificate.upper_bound),
                "relative_gap": float(record.certificate.relative_gap),
                "rank": len(record.eigenvalues),
                "n_iter": record.n_iter,
                "n_products": record.n_products,
                "seconds": record.seconds,
                **{f"lambda_{k}": float(share) for k, share in enumerate(spectrum, start=1)},
            }
            for value, record, spectrum in zip(self.values, self.records, self.spectra, strict=True)
        ]

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in Counter(r.status for r in self.records).items())
        low, high = self.values.min(), self.values.max()
        missing = f", {len(self.missing)} missing" if self.missing else ""
        number = f"{len(self.records)} {PLURALS[self.parameter]} from {low:.6g} to {high:.6g}"
        return f"{type(self).__name__}({number}: {counts}{missing})"

    def _repr_html_(self) -> str:
        """A row per record, for notebooks."""
        named = f"{self.parameter} {SYMBOLS[self.parameter]}"
        heads = (named, "status", "relative gap", "grade", "rank", "products", "seconds")
        rows = [
            (
                f"{value:.6g}",
                record.status,
                f"at most {round_up(record.certificate.relative_gap)}",
                record.certificate.grade,
                str(len(record.eigenvalues)),
                str(record.n_products),
                f"{record.seconds:.2f}",
            )
            for value, record in zip(self.values, self.records, strict=True)
        ]
        return table(heads, rows) + (f"<p>{len(self.missing)} missing</p>" if self.missing else "")


class BandwidthPath(Path):
    """What :func:`bandwidth_path` returns.

    Attributes
    ----------
    records : tuple of PathRecord
        In the order in which the bandwidths were given.
    missing : tuple of float
        Bandwidths that an interrupted path has not come to; empty otherwise.
    weights : (n,) array
        The sample weights w.
    bandwidths, spectra, aligned
        Arrays with a row, or a matrix, per record.
    """

    parameter = "bandwidth"

    @property
    def bandwidths(self) -> Array:
        """σ of every record, shape (m,)."""
        return self.values


class NeighborPath(Path):
    """Fits that differ in the number of neighbours."""

    parameter = "n_neighbors"


def align(Z: Array, onto: Array, w: Array) -> Array:
    r"""Z Q with the orthogonal Q that minimises :math:`\sum_i w_i \lVert z_i Q - t_i \rVert^2`, t the rows of ``onto``."""
    root = np.sqrt(w)[:, None]
    Q, _ = orthogonal_procrustes(root * Z, root * onto)
    return Z @ Q


def widen(Z: Array, width: int) -> Array:
    """Z with columns of zeros up to ``width``."""
    return np.hstack([Z, np.zeros((len(Z), width - Z.shape[1]))])
