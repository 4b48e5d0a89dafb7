"""Fit an estimator to a table, and describe the result."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from .._utils.rounding import round_up
from ..estimators.sdp_embedding import SDPEmbedding
from ..kernels.choice import find_kernel
from ..memory.planner import InsufficientMemoryError
from .console import Console
from .data import Data, read_data
from .errors import CommandError, ExitCode, counted, listing
from .models import Model, Standardizer
from .options import estimator_of, form_of, selection_of

# Ratio of standard deviations beyond which the widest columns dominate the distances.
_UNLIKE = 30.0


def read_training_data(args: argparse.Namespace, console: Console) -> Data:
    data = read_data(args.input, form_of(args), selection_of(args))
    if data.X.shape[0] < 2:
        raise CommandError(f"{data.source}: 1 row; an embedding takes 2 or more")
    console.note(data.describe())
    console.name_row = data.name_row
    return data


def scale(args: argparse.Namespace, data: Data, console: Console) -> tuple[Array, Standardizer | None]:
    """The features, standardised if asked for; a note where their scales differ and they are not."""
    if data.is_sparse:
        if args.standardize:
            raise CommandError(f"{data.source}: a sparse matrix is not standardised, for it would be stored in full")
        return data.X, None
    with np.errstate(over="ignore", invalid="ignore"):
        constant = _some(data, np.ptp(data.X, axis=0) == 0)
    if constant:
        console.note(f"{data.source}: constant columns have no influence: {listing(constant)}")
    if not args.standardize:
        if unlike := _unlike(data.X):
            console.note(f"{data.source}: columns differ {unlike}; --standardize puts them on one scale")
        return data.X, None
    standardizer = Standardizer.of(data.X)
    lost = _some(data, ~((standardizer.scale > 0) & np.isfinite(standardizer.scale)))
    if lost:
        raise CommandError(f"{data.source}: numbers too large or too small for a standard deviation in {listing(lost)}")
    return standardizer(data.X), standardizer


def _unlike(X: Array) -> str | None:
    """By how much columns differ in spread, if by so much that the widest ones dominate the distances."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread = X.std(axis=0)
    spread = spread[(spread > 0) & np.isfinite(spread)]
    if not len(spread) or spread.max() <= _UNLIKE * spread.min():
        return None
    return f"{spread.max() / spread.min():.0f}-fold in spread"


def preparation(model: Model) -> str | None:
    """A sentence for the page on the scale of the columns; None where it is not known."""
    if model.source is None:  # saved from Python
        return None
    if model.standardizer is not None:
        return "Columns were standardised: these are z-scores."
    points = model.est.training_.points
    unlike = None if points is None or sparse.issparse(points) else _unlike(points)
    warning = f" They differ {unlike}, so that the widest ones decide; --standardize puts them on one scale."
    return f"Columns were taken as they are, not standardised.{warning if unlike else ''}"


def _some(data: Data, chosen: Array) -> list[str]:
    return [handle for handle, of_these in zip(data.handles, chosen, strict=True) if of_these]


def fit(args: argparse.Namespace, data: Data, console: Console) -> Model:
    """Fit the estimator that the options describe. Ctrl-C ends the command; an unfinished fit is not kept."""
    est = estimator_of(args)
    check_sparse(data, est)
    X, standardizer = scale(args, data, console)
    try:
        with console.watching(est):
            est.fit(X, sample_weight=data.weight)
    except InsufficientMemoryError as error:
        raise CommandError(f"{data.source}: {error}") from None
    except MemoryError:
        raise CommandError(
            f"{data.source}: not enough memory{_dense_need(est, X.shape[0])}; fit a part of the rows, and embed the others "
            "with `transform`"
        ) from None
    if getattr(est, "status_", "") == "interrupted":
        raise KeyboardInterrupt
    if data.names is not None:
        est.feature_names_in_ = np.array(data.names, dtype=object)
    console.note(sentence(est))
    return Model(est, standardizer, data.label, data.id, data.source)


def check_sparse(data: Data, est: Any) -> None:
    """Raise if the table is a sparse matrix and the estimator does not take one."""
    rule = find_kernel(getattr(est, "kernel", None))
    if data.is_sparse and (rule is None or not rule.accepts_sparse):
        kernels = "--kernel overlap or --kernel neighbors, best with --metric cosine"
        raise CommandError(f"{data.source}: a sparse matrix; {kernels}, take one")


def _dense_need(est: Any, n: int) -> str:
    """The memory of a dense kernel, and which kernel needs less."""
    need = f": the kernel of {n} rows alone takes {8 * n * n / 2**30:.3g} GiB"
    if not isinstance(est, SDPEmbedding):
        return need
    rule = find_kernel(est.kernel)
    return "" if rule is None or "dense" not in rule.operators else f"{need}; --kernel neighbors takes far less"


def exit_code(est: Any) -> ExitCode:
    return ExitCode.OK if getattr(est, "status_", "optimal") == "optimal" else ExitCode.NOT_OPTIMAL


def sentence(est: Any) -> str:
    """The result of a fit, in a line."""
    n, k = est.embedding_.shape
    text = f"{counted(n, 'row')} in {counted(k, 'column')}{_scale(est)}"
    if not hasattr(est, "certificate_"):
        return f"{type(est).__name__}: {text}"
    certificate = est.certificate_
    return f"{est.status_}: {text}; {certificate.grade}, relative gap {round_up(certificate.relative_gap)} (tol {est.tol:g})"


def _scale(est: Any) -> str:
    """The scale of the kernel: neighbours, bandwidth or length scale."""
    rule = find_kernel(getattr(est, "kernel", None))
    if rule is not None and rule.scale_parameter == "n_neighbors":
        return f", {est.n_neighbors} neighbours"
    for name in ("bandwidth", "length_scale"):
        value = getattr(est, f"{name}_", None)
        if value is not None:
            return f", {name.replace('_', ' ')} {value:.6g}"
    return ""


def facts(model: Model) -> dict[str, Any]:
    """A model as plain values, for JSON."""
    est = model.est
    n, k = est.embedding_.shape
    found: dict[str, Any] = {
        "estimator": type(est).__name__,
        "source": model.source,
        "n_samples": n,
        "n_features": est.n_features_in_,
        "feature_names": model.names,
        "standardized": model.standardizer is not None,
        "label": model.label and model.label.name,
        "n_components": k,
        "eigenvalues": est.eigenvalues_,
        "parameters": {name: _describe(value) for name, value in est.get_params(deep=False).items()},
    }
    for name in ("bandwidth", "length_scale", "smoothness", "regularization", "status", "n_iter", "n_products"):
        value = getattr(est, f"{name}_", None)
        if value is not None:
            found[name] = value
    if hasattr(est, "certificate_"):
        found["certificate"] = certificate_facts(est.certificate_)
    return found


def certificate_facts(certificate: Any) -> dict[str, Any]:
    names = ("grade", "objective", "upper_bound", "gap", "failure_probability", "min_eigenvalue", "stationarity")
    found = {"relative_gap": certificate.relative_gap, **{name: getattr(certificate, name) for name in names}}
    if certificate.error_below or certificate.error_above:  # an approximate problem was solved
        found |= {"exact_interval": certificate.exact_interval, "exact_relative_gap": certificate.exact_relative_gap}
    return found


def _describe(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
