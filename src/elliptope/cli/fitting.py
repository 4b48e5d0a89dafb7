"""Fit an estimator to a table, and describe the result."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.arrays import Array
from .._utils.rounding import round_up
from ..estimators.multiscale import MultiscaleEmbedding
from ..estimators.training import Scale
from ..kernels.choice import find_kernel
from ..kernels.neighborhoods import few_neighbors
from ..memory.planner import InsufficientMemoryError
from ..sdp import Certificate
from .columns import COUNTS_ROWS, NAMES_ROWS
from .console import Console
from .data import Data, read_data
from .errors import CommandError, ExitCode, counted, listing
from .models import Model, Standardizer
from .options import in_flags, selection_of

_STANDARDIZED = "columns standardised, since named columns may have different units"
# Ratio of standard deviations beyond which the widest columns dominate the distances.
_UNLIKE = 30.0


def read_training_data(
    args: argparse.Namespace, console: Console, most_rows: int | None = None, first_look: bool = False
) -> Data:
    """The table, or a random sample of ``most_rows`` of its rows where it has more."""
    data = read_data(args.input, selection_of(args), first_look=first_look)
    if data.X.shape[0] < 2:
        raise CommandError(f"{data.source}: 1 row; an embedding takes 2 or more")
    describe(data, console)
    if most_rows is not None:
        data = data.sampled(most_rows, args.random_state or 0)
        console.name_row = data.name_row
    if text := " ".join(data.preparation.sentences()):
        console.note(f"{data.source}: {text}{_uses(args, data)}")
    return data


def _uses(args: argparse.Namespace, data: Data) -> str:
    """How columns and rows that were left out can be used."""
    reasons = [what for _, what in data.preparation.left_out]
    held = {what.partition(",")[0] for what in reasons}
    uses = ["pandas.get_dummies makes numbers of text"] if "text" in held else []
    uses += ["pandas.to_datetime makes numbers of dates"] if "dates" in held else []
    uses += ["--columns uses those that it names"] if held & {NAMES_ROWS, COUNTS_ROWS} else []
    uses += ["--rows all uses all, and takes longer"] if data.preparation.sample else []
    label = f"--label COLUMN {'colours by one' if data.first_look else 'copies one to the output'}"
    uses += [label] if held - {"empty", NAMES_ROWS, COUNTS_ROWS} and args.label is None else []
    return f" ({', '.join(uses)})" if uses else ""


def describe(data: Data, console: Console) -> None:
    """Notes on a table; from now on messages name its rows."""
    console.note(data.describe())
    for doubt in data.doubts:
        console.warn(f"{data.source}: {doubt}")
    for note in data.notes:
        console.note(f"{data.source}: {note}")
    console.name_row = data.name_row


def scale(data: Data, console: Console) -> tuple[Array, Standardizer | None]:
    """The features: in a first look standardised, where they have names and may be in any unit, and else as they are."""
    if data.is_sparse:
        return data.X, None
    with np.errstate(over="ignore", invalid="ignore"):
        constant = _some(data, np.ptp(data.X, axis=0) == 0)
    if constant:
        console.note(f"{data.source}: constant columns have no influence: {listing(constant)}")
    if not data.first_look or data.preparation.names is None:
        if unlike := _unlike(data.X):
            console.note(f"{data.source}: columns differ {unlike}, and the widest ones decide{_advice(data)}")
        return data.X, None
    console.note(f"{data.source}: {_STANDARDIZED}")
    standardizer = Standardizer.of(data.X)
    lost = _some(data, ~((standardizer.scale > 0) & np.isfinite(standardizer.scale)))
    if lost:
        raise CommandError(f"{data.source}: numbers too large or too small for a standard deviation in {listing(lost)}")
    return standardizer(data.X), standardizer


def _advice(data: Data) -> str:
    """How to put columns on one scale."""
    if data.first_look or data.preparation.names is None:
        return "; (X - X.mean(0)) / X.std(0) puts them on one scale"
    return "; `report` standardises them, and `transform` by its model gives the coordinates"


def _unlike(X: Array) -> str | None:
    """By how much columns differ in spread, if by so much that the widest ones dominate the distances."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread = X.std(axis=0)
    spread = spread[(spread > 0) & np.isfinite(spread)]
    if not len(spread) or spread.max() <= _UNLIKE * spread.min():
        return None
    return f"{spread.max() / spread.min():.0f}-fold in spread"


def preparation(model: Model, doubts: Sequence[str]) -> str | None:
    """Sentences for the page on what was done to the columns; None where it is not known."""
    if model.source is None:  # saved from Python
        return None
    sentences = [f"{doubt[0].upper()}{doubt[1:]}." for doubt in doubts]
    return " ".join([*sentences, *model.preparation.sentences(), _scaling(model)])


def _scaling(model: Model) -> str:
    if model.standardizer is not None:
        return "The fit used standardised columns; this table shows them in the units of the file."
    points = model.est.training_.points
    unlike = None if points is None or sparse.issparse(points) else _unlike(points)
    warning = f" They differ {unlike}, so that the widest ones decide."
    return f"Columns were taken as they are, not standardised.{warning if unlike else ''}"


def _some(data: Data, chosen: Array) -> list[str]:
    return [handle for handle, of_these in zip(data.preparation.handles, chosen, strict=True) if of_these]


def fit(est: Any, args: argparse.Namespace, data: Data, console: Console) -> Model:
    """Fit the estimator. Ctrl-C ends the command; an unfinished fit is not kept."""
    check_sparse(data, est)
    X, standardizer = scale(data, console)
    if data.first_look and args.n_neighbors is None:
        _lower_neighbors(est, data, console)
    try:
        with console.watching(est):
            est.fit(X, sample_weight=data.weight)
    except InsufficientMemoryError as error:
        raise CommandError(f"{data.source}: {error}") from None
    except ValueError as error:
        raise CommandError(f"{data.source}: {in_flags(str(error))}") from error
    except MemoryError:
        raise CommandError(
            f"{data.source}: not enough memory{_dense_need(est, X.shape[0])}; fit a part of the rows, and embed the others "
            "with `transform`"
        ) from None
    if getattr(est, "status_", "") == "interrupted":
        raise KeyboardInterrupt
    if (names := data.preparation.names) is not None:
        est.feature_names_in_ = np.array(names, dtype=object)
    console.note(sentence(est))
    return Model(est, data.preparation, standardizer, data.label, data.id, data.source)


def _lower_neighbors(est: Any, data: Data, console: Console) -> None:
    """Have rows look at a part of the others where the table has few."""
    if data.is_sparse or not is_of_neighbors(est):
        return
    distinct = len(np.unique(data.X, axis=0))
    most = few_neighbors(distinct)
    if most < est.n_neighbors:
        console.note(
            f"{data.source}: {most} neighbours in place of {est.n_neighbors}, for {distinct} rows differ (--neighbors)"
        )
        est.set_params(n_neighbors=most)


def is_of_neighbors(est: Any) -> bool:
    """Whether the kernel is one of neighbours."""
    rule = find_kernel(getattr(est, "kernel", None))
    return rule is not None and rule.scale_parameter == "n_neighbors"


def check_sparse(data: Data, est: Any) -> None:
    """Raise if the table is a sparse matrix and the estimator does not take one."""
    rule = find_kernel(getattr(est, "kernel", None))
    if data.is_sparse and (rule is None or not rule.accepts_sparse):
        raise CommandError(f"{data.source}: a sparse matrix; only --method multiscale takes one")


def _dense_need(est: Any, n: int) -> str:
    """The memory of a dense kernel, and which kernel needs less; nothing for a sparse one."""
    rule = find_kernel(getattr(est, "kernel", None))
    if rule is not None and "dense" not in rule.operators:
        return ""
    need = f": the kernel of {n} rows alone takes {8 * n * n / 2**30:.3g} GiB"
    return need if rule is None else f"{need}; --method multiscale takes far less"


def exit_code(est: Any) -> ExitCode:
    return ExitCode.OK if getattr(est, "status_", "optimal") == "optimal" else ExitCode.NOT_OPTIMAL


def sentence(est: Any) -> str:
    """The result of a fit, in a line; of several scales, in a line each."""
    n, k = est.embedding_.shape
    text = f"{counted(n, 'row')} in {counted(k, 'column')}{_scale(est)}"
    if not hasattr(est, "certificate_"):
        return f"{type(est).__name__}: {text}"
    if isinstance(est, MultiscaleEmbedding):
        scales = [f"  {_scale_line(number, scale)}" for number, scale in enumerate(est.scales_, start=1)]
        return "\n".join([f"{est.status_}: {text}, {counted(len(scales), 'scale')} (tol {est.tol:g})", *scales])
    return f"{est.status_}: {text}; {_gap(est.certificate_)} (tol {est.tol:g})"


def _scale_line(number: int, scale: Scale) -> str:
    rank = counted(len(scale.eigenvalues), "component")
    return f"scale {number}, diffusion time {scale.diffusion_time}: {scale.status}, {rank}; {_gap(scale.certificate)}"


def _gap(certificate: Certificate) -> str:
    return f"{certificate.grade}, relative gap {round_up(certificate.relative_gap)}"


def _scale(est: Any) -> str:
    """The scale of the kernel: neighbours, bandwidth or length scale."""
    if is_of_neighbors(est):
        return f", {est.n_neighbors_} neighbours"
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
        "preparation": model.preparation.facts(),
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
    if isinstance(est, MultiscaleEmbedding):
        found |= {"scales": [_scale_facts(scale) for scale in est.scales_]}
    return found


def _scale_facts(scale: Scale) -> dict[str, Any]:
    names = ("diffusion_time", "spread", "weight", "status", "eigenvalues", "n_iter", "n_products")
    return {**{name: getattr(scale, name) for name in names}, "certificate": certificate_facts(scale.certificate)}


def certificate_facts(certificate: Certificate) -> dict[str, Any]:
    names = ("grade", "objective", "upper_bound", "gap", "failure_probability", "min_eigenvalue", "stationarity")
    found = {"relative_gap": certificate.relative_gap, **{name: getattr(certificate, name) for name in names}}
    if math.isfinite(certificate.distance_bound):  # the optimum is unique
        found["distance_bound"] = certificate.distance_bound
    if certificate.error_below or certificate.error_above:  # an approximate problem was solved
        found |= {"exact_interval": certificate.exact_interval, "exact_relative_gap": certificate.exact_relative_gap}
    return found


def _describe(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
