"""New rows that are arrays or data frames of Dask: embedded and scored when their user computes them, chunk by chunk."""

from __future__ import annotations

import functools
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils.arrays import Array, is_dask
from ..distributed.cluster import Cluster, ClusterError
from .streaming import check_chunk, embed_chunk, score_chunk

_CHUNKS: dict[str, Callable[..., Array]] = {"transform": embed_chunk, "score_samples": score_chunk}


def takes_dask(method: Callable[[Any, Any], Array]) -> Callable[[Any, Any], Any]:
    """``transform`` or ``score_samples``, which for a dask array or frame return one, with the chunks and the index of X."""

    @functools.wraps(method)
    def call(self: Any, X: Any) -> Any:
        if not is_dask(X):
            return method(self, X)
        check_is_fitted(self)
        apply = _to_frame if hasattr(X, "map_partitions") else _to_array
        return apply(self, method.__name__, X)

    return call


def stays_lazy(method: Callable[..., Any]) -> Callable[..., Any]:
    """``transform`` as scikit-learn has wrapped it for ``set_output``, but not for dask input: wrapping would compute it."""
    plain = method.__wrapped__  # type: ignore[attr-defined]

    @functools.wraps(method)
    def call(self: Any, X: Any) -> Any:
        return (plain if is_dask(X) else method)(self, X)

    return call


def _to_array(estimator: Any, name: str, X: Any) -> Any:
    if X.ndim != 2:
        raise ValueError(f"`X` must have two dimensions, got {X.ndim}.")
    check_chunk(estimator, np.zeros((1, X.shape[1])))
    X = X.rechunk({1: -1})
    sizes = X.chunks[0]
    starts = None if np.isnan(sizes).any() else np.r_[0, np.cumsum(sizes)]
    columns = (
        {"chunks": (sizes, (estimator.n_components_,))} if name == "transform" else {"chunks": (sizes,), "drop_axis": 1}
    )
    return X.map_blocks(
        _chunk,
        model=_sent(estimator),
        method=name,
        starts=starts,
        dtype=np.float64,
        meta=_meta(name),
        name=f"{name}-{uuid4().hex}",
        **columns,
    )


def _chunk(rows: Any, *, model: Any, method: str, starts: Array | None, block_id: tuple[int, ...] | None = None) -> Array:
    chunk = 0 if block_id is None else block_id[0]
    try:
        return _CHUNKS[method](model, rows, 0 if starts is None else int(starts[chunk]))
    except ValueError as error:
        if starts is not None:
            raise
        raise ValueError(f"{error} (In chunk {chunk} of `X`, whose rows count from 0.)") from error


def _to_frame(estimator: Any, name: str, X: Any) -> Any:
    import pandas

    columns = estimator.get_feature_names_out() if name == "transform" else None
    check_chunk(estimator, X._meta_nonempty)
    meta = (
        pandas.Series(name="score", index=X._meta.index, dtype=np.float64)
        if columns is None
        else pandas.DataFrame(columns=columns, index=X._meta.index, dtype=np.float64)
    )
    return X.map_partitions(_partition, _sent(estimator), name, columns, meta=meta)


def _partition(rows: Any, model: Any, method: str, columns: Array | None) -> Any:
    import pandas

    found = _CHUNKS[method](model, rows)
    if columns is None:
        return pandas.Series(found, index=rows.index, name="score")
    return pandas.DataFrame(found, index=rows.index, columns=columns)


def _meta(name: str) -> Array:
    return np.empty((0, 0)) if name == "transform" else np.empty(0)


def _sent(estimator: Any) -> Any:
    """The model as a task, which every worker is sent once; on a cluster it is there from now on."""
    from dask import delayed

    task = delayed(_on_one_thread(estimator), traverse=False)
    try:
        return Cluster().keep([task])[0]
    except ClusterError:  # computed by Dask in this process
        return task


def _on_one_thread(estimator: Any) -> Any:
    """The model without what new rows do not need; workers have as many threads as they should have."""
    model, training = copy(estimator), estimator.training_
    extension = training.extension
    if hasattr(extension.kernel, "n_jobs"):
        extension = replace(extension, kernel=replace(extension.kernel, n_jobs=1))
    model.training_ = replace(training, extension=extension)
    model.embedding_ = None
    if hasattr(model, "n_jobs"):
        model.n_jobs = None
    return model
