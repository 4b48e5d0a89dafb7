"""What ``SDPEmbedding`` warns of, and what it advises."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._utils.arrays import Array
from .._utils.checks import name_rows
from ..operators import KernelOperator, SparseOperator
from ..sdp import Certificate, Solution
from .pose import Posed

# Rows that a warning names.
_NAMED = 5
# 1 - m²/(k M) below this leaves fewer digits of the embedding than its extension must agree with.
_SMALL_CONTRAST = 1e-6
# Mass from other points, relative to a point's own, below which the kernel is the identity for this purpose.
_IDENTITY_KERNEL = 1e-12


def warn_of_parts(J: KernelOperator, stacklevel: int) -> None:
    """Where a graph is not connected."""
    parts = J.n_connected() if isinstance(J, SparseOperator) else 1
    if parts > 1:
        warnings.warn(
            f"The graph of neighbours has {parts} connected components, so that the eigenvalue 1 of A repeats: they are "
            f"placed apart, and where there are many their positions may not be unique. A larger `n_neighbors` connects "
            f"them.",
            stacklevel=stacklevel,
        )


def judge(solution: Solution, posed: Posed, d: Array, *, verbose: bool, stacklevel: int) -> str:
    """The status of a fit; what the user should know of it is printed, or warned of."""
    J, rows = posed.operator, posed.sample.rows
    _warn_of_hubs(J, d, solution.dual, rows, stacklevel + 1)
    constant = float(np.median(J.contrast())) < _SMALL_CONTRAST
    status = "degenerate" if constant and solution.status in ("optimal", "unconfirmed") else solution.status
    if verbose:
        print(f"{status}: {solution.message}")
    if status != "optimal":
        text = _advice(solution, status, J, d, rows, posed.rule.scale_parameter, constant)
        warnings.warn(f"SDPEmbedding ended with status {status!r}: {text}", ConvergenceWarning, stacklevel=stacklevel)
    return status


def _warn_of_hubs(J: KernelOperator, d: Array, y: Array, rows: Array, stacklevel: int) -> None:
    """Where Abar has a negative diagonal, y may be negative, too; and the extension of a row is y times the row."""
    reversed_ = (y <= 0) & (d > 0) & (J.contrast() < 0)
    if reversed_.any():
        warnings.warn(
            f"So many points see those in rows {rows[reversed_][:_NAMED].tolist()} that `transform` does not return their "
            f"embedding, but the opposite direction. With diagonal='kernel' they are placed at the origin instead.",
            stacklevel=stacklevel,
        )


def _advice(
    solution: Solution, status: str, J: KernelOperator, d: Array, rows: Array, parameter: str, constant: bool
) -> str:
    """How a fit ended that is not optimal, and what to change; ``parameter`` is the one that sets the scale of distances."""
    if constant:
        return (
            f"the kernel is so close to constant that rounding shows: decrease `{parameter}`, or check that the points "
            f"differ."
        )
    remedy = ""
    if not d.all():
        named = name_rows(rows[d == 0])
        remedy = f" The diagonal vanishes to rounding at {named}, which outweigh all others."
        if (J.contrast() < 0).any():  # not with a psd kernel
            remedy = f" So many points see those in {named} that d(x) is not positive there: they are at the origin."
    elif (J.m <= (1 + _IDENTITY_KERNEL) * J.w * J.kernel_diagonal()).all():
        remedy = f" No point has a neighbour within the bandwidth (K is the identity to rounding): increase `{parameter}`."
    elif status == "unconfirmed":
        remedy = " Fit once more with another `random_state`, and compare the embeddings."
    elif status == "degenerate":
        remedy = f" Other embeddings are as good; {_against_others(solution.certificate, parameter)}."
    return f"{solution.message}.{remedy}"


def _against_others(certificate: Certificate, parameter: str) -> str:
    null = certificate.null_space
    if null is not None and null.strict and not null.unique:
        return f"a larger `{parameter}` helps where groups of points hardly see each other, but not against symmetric points"
    return f"a larger `{parameter}` usually makes the optimum unique"
