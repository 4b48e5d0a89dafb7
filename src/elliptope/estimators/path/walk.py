"""What paths share: fits from the largest value of a parameter to the smallest, each started from those before it."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._utils.arrays import Array
from ..._utils.callers import warn
from ..._utils.fingerprints import describe
from ..._utils.progress import ProgressBar
from ..._version import __version__
from ...sdp.steps import normalize_rows
from ..certified import ZERO_COLUMNS
from ..outliers import outlier_scores
from ..sdp_embedding import SDPEmbedding
from .checkpoint import Checkpoint
from .records import PLURALS, SYMBOLS, Path, PathRecord

# Values that a warning names for each status.
_NAMED = 5


def walk(
    parameter: str,
    values: list[float],
    solve: Callable[[float, Sequence[PathRecord]], PathRecord],
    file: Checkpoint | None,
    callback: Callable[[PathRecord], Any] | None,
    verbose: bool,
) -> tuple[tuple[PathRecord, ...], tuple[float, ...]]:
    """Records at the values, in their order, and the values that an interrupted path has not come to.

    ``solve`` is given a value and the records at larger ones, in descending order.
    """
    found = {} if file is None else {getattr(record, parameter): record for record in file.read()}
    done = {value: found[value] for value in values if value in found}
    order = sorted(set(values), reverse=True)
    bar = ProgressBar(len(order), bool(verbose))
    if file is not None and done:
        bar.start(len(done))
        bar.update(len(done), f"from {file.path}")
    try:
        for value in order:
            if value in done:
                continue
            record = solve(value, [done[larger] for larger in order if larger > value])
            done[value] = found[value] = record
            if file is not None:
                file.write(found.values())
            bar.update(len(done), str(record))
            if callback is not None and callback(record):
                break
    except KeyboardInterrupt:
        if not done:
            raise
    finally:
        bar.close()
    records = tuple(done[value] for value in values if value in done)
    return records, tuple(value for value in values if value not in done)


def record_of(
    est: SDPEmbedding, fit: Callable[[], Any], factor: Callable[[], Array], spread: float | None = None
) -> PathRecord:
    """The record of a fit of ``est``; ``factor`` gives all components at all rows."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # there will be one for the whole path
        warnings.filterwarnings("ignore", ZERO_COLUMNS)
        fit()
    if est.status_ == "interrupted":  # the fit has caught Ctrl-C, which was meant for the path
        raise KeyboardInterrupt
    return PathRecord(
        bandwidth=math.nan if est.bandwidth_ is None else est.bandwidth_,
        embedding=est.embedding_,
        factor=factor(),
        eigenvalues=est.eigenvalues_,
        certificate=est.certificate_,
        status=est.status_,
        n_iter=est.n_iter_,
        n_products=est.n_products_,
        seconds=time.perf_counter() - begin,
        spread=spread,
        outlier_scores=est.training_.in_order(outlier_scores(est)),
    )


def start_from(record: PathRecord) -> Array | None:
    """Unit rows of the optimum; None where there are no directions, as for a constant kernel."""
    # The generator is for rows of length zero, whose direction is arbitrary.
    return normalize_rows(record.factor, np.random.default_rng(0)) if record.factor.any() else None


def fingerprint(parameter: str, X: Any, w: Array, estimator: SDPEmbedding) -> dict[str, str]:
    """All that the records of a path depend on."""
    immaterial = (parameter, "n_jobs", "device", "verbose")
    parameters = {k: describe(v) for k, v in estimator.get_params().items() if k not in immaterial}
    return {"X": describe(X), "sample_weight": describe(w), "elliptope.__version__": __version__, **parameters}


def warn_of_shortcomings(path: Path, checkpoint: Any) -> None:
    """Once for a whole path, where it was ended early or some records are not "optimal"."""
    messages = []
    if path.missing:
        remedy = "call again with the same `checkpoint` to go on" if checkpoint else "with a `checkpoint` it could go on"
        messages.append(f"ended early, {PLURALS[path.parameter]} missing: {len(path.missing)}; {remedy}.")
    messages += shortcomings(path.parameter, path.records)
    if messages:
        warn(f"{path.parameter}_path: " + " ".join(messages), ConvergenceWarning)


def shortcomings(parameter: str, records: Sequence[PathRecord]) -> list[str]:
    """A sentence for every status but "optimal"."""
    messages = []
    for status in sorted({record.status for record in records} - {"optimal"}):
        values = [f"{getattr(record, parameter):.6g}" for record in records if record.status == status]
        named = ", ".join(values[:_NAMED]) + (", …" if len(values) > _NAMED else "")
        messages.append(
            f"status {status!r} at {len(values)} of {len(records)} {PLURALS[parameter]} ({SYMBOLS[parameter]} = {named}): "
            f"a fit at one of them says why, and what to change."
        )
    return messages
