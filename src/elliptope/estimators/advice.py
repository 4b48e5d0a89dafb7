"""What ``SDPEmbedding`` warns of, and what it advises."""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._utils.arrays import Array, as_numpy
from .._utils.callers import warn
from .._utils.checks import name_rows
from ..operators import KernelOperator
from ..sdp import Certificate, Solution
from .pose import Posed

# 1 - m²/(k M) below this leaves fewer digits of the embedding than its extension must agree with.
_SMALL_CONTRAST = 1e-6
# Parts of a dual value that depend on how far a solve went; and parts of the largest that rounding leaves of others.
_ACCURACY = 1e-6
_ROUNDING = 1e-12
# Mass from other points, relative to a point's own, below which the kernel is the identity for this purpose.
_IDENTITY_KERNEL = 1e-12


# What is wrong with a kernel that is the identity.
NO_NEIGHBOURS = "No point has a neighbour within the bandwidth (K is the identity to rounding)"


def is_identity(J: KernelOperator) -> bool:
    """Whether the kernel is the identity to rounding, scales of rows apart."""
    return bool((J.m <= (1 + _IDENTITY_KERNEL) * J.w * J.kernel_diagonal()).all())


def warn_of_parts(J: KernelOperator, parameter: str) -> None:
    """Where a graph is not connected; ``parameter`` is the one that sets the scale of distances.

    With a quadratic term there is nothing to warn of: the optimum is unique.
    """
    parts = int(J.components().max()) + 1
    if parts > 1:
        warn(
            f"Your data form {parts} separate groups; how the groups lie to each other may be arbitrary. A larger "
            f"`{parameter}` connects them."
        )


def judge(solution: Solution, posed: Posed, d: Array, estimator: str, *, verbose: bool) -> str:
    """The status of a fit of that ``estimator``, with the diagonal d.

    What the user should know of it is printed, or warned of.
    """
    J, rows = posed.operator, posed.sample.rows
    constant = float(np.median(as_numpy(J.contrast()))) < _SMALL_CONTRAST
    status = "degenerate" if constant and solution.status in ("optimal", "unconfirmed") else solution.status
    if verbose:
        print(f"{status}: {solution.message}")
    if status != "optimal":
        text = _advice(solution, status, J, d, rows, posed.rule.scale_parameter, constant)
        warn(f"{estimator} ended with status {status!r}: {text}", ConvergenceWarning)
    return status


def _hubs(rows: Array) -> str:
    return f"So many points have {name_rows(rows)} among their neighbours"


def _advice(
    solution: Solution, status: str, J: KernelOperator, d: Array, rows: Array, parameter: str, constant: bool
) -> str:
    """How a fit ended that is not optimal, and what to change; ``parameter`` is the one that sets the scale of distances."""
    if constant:
        metric = "choose another `metric`, " if parameter == "n_neighbors" else ""
        return (
            f"all rows are equally similar, and little more than rounding errors is left: {metric}decrease `{parameter}`, "
            f"or check that the rows differ."
        )
    remedy = ""
    if not d.all():
        remedy = f" d(x) is zero to rounding at {name_rows(rows[d == 0])}: they outweigh all other rows."
        if (J.contrast() < 0).any():  # not with a psd kernel
            remedy = f" {_hubs(rows[d == 0])} that d(x) is not positive there: they are placed at the origin."
    elif is_identity(J):
        remedy = f" {NO_NEIGHBOURS}: increase `{parameter}`."
    elif status == "max_iter" and parameter == "n_neighbors":
        remedy = " More `n_neighbors` often make it easier."
    elif status == "unconfirmed":
        remedy = " Fit once more with another `random_state`, and compare the embeddings."
    elif status == "degenerate":
        remedy = f" Other embeddings are as good; {_against_others(solution.certificate, parameter)}."
    return f"{solution.message}.{remedy}"


def _against_others(certificate: Certificate, parameter: str) -> str:
    null = certificate.null_space
    if null is not None and null.strict and not null.unique:
        return (
            f"a larger `{parameter}` helps where groups of points are far from each other, but not where points lie "
            f"symmetrically"
        )
    return f"a larger `{parameter}` usually makes the optimum unique"
