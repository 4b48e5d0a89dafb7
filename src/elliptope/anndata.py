"""Cells: embeddings of an AnnData, by the conventions of scanpy, which is not needed. Extra ``anndata``.

:func:`embed` writes into ``obsm``, ``obs`` and ``uns``; :func:`transform` places cells of another AnnData among those of the
first; :func:`layout` makes a picture for ``scanpy.pl.embedding``. What is written survives files of the format h5ad.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterable, Mapping
from inspect import isfunction
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ._utils.arrays import Array
from ._utils.checks import check_choice
from ._utils.fingerprints import describe
from ._utils.versions import missing_module, versions
from .estimators import MultiscaleEmbedding, SDPEmbedding
from .estimators.certified import CertifiedEmbedding
from .estimators.outliers import outlier_scores, training_scores
from .persistence import load
from .plotting.view import Options, picture

__all__ = ["embed", "layout", "model", "transform"]

_METHODS: dict[str, type[CertifiedEmbedding]] = {"multiscale": MultiscaleEmbedding, "sdp": SDPEmbedding}
_RUN_PCA = "Run scanpy.pp.pca(adata) first."
_PROJECT = (
    "Do not run scanpy.pp.pca on the new cells: it would find other components. Project them on those of the reference, "
    "with its genes: adata.obsm['X_pca'] = np.asarray(adata[:, reference.var_names].X @ reference.varm['PCs'] - "
    "reference.X.mean(axis=0) @ reference.varm['PCs']). See 'New cells' in docs/cells.md."
)
# Cells that tell whose loadings made the principal components.
_CELLS_COMPARED = 10
# Of a certificate, what `uns` holds.
_NUMBERS = ("objective", "upper_bound", "relative_gap", "failure_probability", "stationarity", "distance_bound")


def embed(
    adata: Any,
    *,
    method: str = "multiscale",
    use_rep: str | None = None,
    neighbors_key: str | None = None,
    key_added: str = "X_sdp",
    store_model: bool = True,
    copy: bool = False,
    **parameters: Any,
) -> Any:
    r"""Embed the cells of an AnnData, with a certificate.

    Parameters
    ----------
    adata : AnnData
        In memory or backed; all that is read and written, but ``X``, is in memory in either case.
    method : {"multiscale", "sdp"}
        :class:`~elliptope.MultiscaleEmbedding`, or the paper's program, :class:`~elliptope.SDPEmbedding`.
    use_rep : str, optional
        A key of ``adata.obsm``, or "X", which may be sparse but not on disk. Default: "X_pca".
    neighbors_key : str, optional
        Use the distances that ``scanpy.pp.neighbors`` has found, instead of ``use_rep``: "neighbors", or its ``key_added``.
        ``n_neighbors`` is then that of scanpy by default, and the kernel "overlap". ``use_rep`` and ``metric`` cannot be
        given. Such an embedding has no :func:`transform`.
    key_added : str
        Where results are written.
    store_model : bool
        Keep the fitted estimator in ``uns``, for :func:`transform` and :func:`model`. It holds the representation once more.
    copy : bool
        Return a copy with the results, and leave ``adata`` as it is.
    **parameters
        Of the estimator. ``random_state`` is 0 by default.

    Returns
    -------
    AnnData or None
        None, unless ``copy``. The following is added, for ``key_added="X_sdp"``:

        - ``obsm["X_sdp"]``: the embedding.
        - ``obs["sdp_outlier_score"]``: high for outliers, 0 for the median cell. Minus the log density; with a kernel of
          neighbours it is :math:`\log s(x) - \frac14 \min(\log m(x), c)`, s being the distance to the ``n_neighbors``-th
          nearest cell, m the density, which is small where the neighbours of a cell have other neighbours, and c the median
          of log m. A separate group of more than ``n_neighbors`` cells is no outlier by this measure.
        - ``uns["X_sdp"]``: a dictionary with ``method``, ``params``, ``status``, ``certificates`` (arrays with an entry per
          scale, for ``pandas.DataFrame``), ``versions``, ``model``, ``cells`` (their names, in the order of the rows of the
          model), and ``features``: the genes where ``use_rep`` is "X", or the columns of a data frame.

    Raises
    ------
    ValueError
        Among others where ``key_added`` would replace what :func:`embed` or :func:`transform` has not written.

    Examples
    --------
    >>> import elliptope.anndata
    >>> elliptope.anndata.embed(adata)  # doctest: +SKIP
    >>> elliptope.anndata.layout(adata)  # doctest: +SKIP
    >>> scanpy.pl.embedding(adata, "X_sdp_layout", color="sdp_outlier_score")  # doctest: +SKIP
    """
    _check_anndata("adata", adata)
    check_choice("method", method, tuple(_METHODS))
    _check_copy(adata, copy)
    _check_key("key_added", key_added)
    _check_free(adata, key_added)
    if neighbors_key is None:
        use_rep = "X_pca" if use_rep is None else use_rep
        source = {"use_rep": use_rep}
        X, features = _representation(adata, use_rep, without_pca=_RUN_PCA), _features(adata, use_rep)
    else:
        for name, value in (("use_rep", use_rep), ("metric", parameters.get("metric"))):
            if value is not None:
                raise ValueError(
                    f"`{name}` must be left out with `neighbors_key`={neighbors_key!r}, got {value!r}: distances are those "
                    f"that scanpy.pp.neighbors has found."
                )
        source = {"neighbors_key": neighbors_key}
        (X, n_neighbors), features = _distances(adata, neighbors_key), None
        parameters = {"kernel": "overlap", "metric": "precomputed", **n_neighbors, **parameters}
    est = _make(_METHODS[method], {"random_state": 0, **parameters}, store_model).fit(X)
    scores = training_scores(est, X)
    about = {
        "method": type(est).__name__,
        "params": {**source, **_storable(est.get_params(deep=False))},
        **({} if features is None else {"features": np.array(features, dtype=object)}),
        "status": est.status_,
        "certificates": _certificates(est),
        "versions": _storable(versions("anndata")),
        **({"model": _as_bytes(est), "cells": np.array(adata.obs_names, dtype=object)} if store_model else {}),
    }
    adata = adata.copy() if copy else adata
    _write(adata, key_added, est.embedding_, scores, about)
    return adata if copy else None


def transform(
    adata: Any,
    reference: Any,
    *,
    key: str = "X_sdp",
    use_rep: str | None = None,
    key_added: str | None = None,
    copy: bool = False,
) -> Any:
    """Place the cells of ``adata`` in the embedding of another AnnData. Cells that it was fitted to stay where they are.

    Parameters
    ----------
    adata : AnnData
        New cells, with the representation that ``reference`` was embedded by: the same principal components, for instance,
        which are ``(X - mean) @ reference.varm["PCs"]``, ``mean`` being that of the reference. With "X", the genes must be
        those of the reference, in the same order.
    reference : AnnData
        With results of :func:`embed`, possibly read from a file.
    key : str
        ``key_added`` of :func:`embed`.
    use_rep : str, optional
        A key of ``adata.obsm``, or "X". Default: that of the reference.
    key_added : str, optional
        Where results are written. Default: ``key``. An embedding of ``adata`` by :func:`embed` is not replaced.
    copy : bool
        Return a copy with the results, and leave ``adata`` as it is.

    Returns
    -------
    AnnData or None
        None, unless ``copy``. ``obsm`` and the outlier scores in ``obs`` are as :func:`embed` has them, and ``uns`` holds
        the source. The scores of new cells and of those of the reference are not on one scale: the latter count themselves.
        Take a threshold for new cells from others that were not embedded: ``docs/cells.md``.
    """
    _check_anndata("adata", adata)
    _check_copy(adata, copy)
    est = _model(reference, key)
    key_added = key if key_added is None else key_added
    _check_key("key_added", key_added)
    _check_free(adata, key_added)
    if "certificates" in adata.uns.get(key_added, {}):
        raise ValueError(
            f"`key_added` must be another name: adata.uns[{key_added!r}] holds an embedding of `adata` itself, by `embed`, "
            f"whose model and certificates would be lost. If it came along with a copy of other cells, first "
            f"`del adata.uns[{key_added!r}], adata.obsm[{key_added!r}]`. Got {key_added!r}."
        )
    source = reference.uns[key]["params"]
    if "use_rep" not in source:
        raise ValueError(
            f"`reference` was embedded by distances between its cells (neighbors_key={source['neighbors_key']!r}), and the "
            f"new cells have none to them. Embed it with `use_rep`."
        )
    use_rep = str(source["use_rep"]) if use_rep is None else use_rep
    X = _representation(adata, use_rep, without_pca=_PROJECT)
    _check_features(_features(adata, use_rep), reference.uns[key].get("features"), use_rep)
    if X.shape[1] != est.n_features_in_:
        raise ValueError(
            f"`adata` must have the {est.n_features_in_} columns of {use_rep!r} that `reference` was embedded by, got "
            f"{X.shape[1]}.{' ' + _PROJECT if use_rep == 'X_pca' else ''}"
        )
    if use_rep == "X_pca":
        _check_components(adata, reference)
    Z, scores = est.transform(X), outlier_scores(est, X)
    about = {"params": {"reference": key, "use_rep": use_rep}, "versions": _storable(versions("anndata"))}
    adata = adata.copy() if copy else adata
    _write(adata, key_added, Z, scores, about)
    return adata if copy else None


def layout(adata: Any, *, key: str = "X_sdp", key_added: str | None = None, copy: bool = False) -> Any:
    """Lay out an embedding in the plane by t-SNE, for ``scanpy.pl.embedding``; see ``docs/pictures.md`` for what it shows.

    The layout of another AnnData, such as new cells, has nothing to do with this one: positions cannot be compared. To draw
    new cells among those of the reference, use ``elliptope.plotting.EmbeddingDisplay(..., new=...)``.

    Parameters
    ----------
    adata : AnnData
    key : str
        A key of ``adata.obsm``: ``key_added`` of :func:`embed`.
    key_added : str, optional
        Where the positions, (n, 2), are written in ``obsm``. Default: ``key`` followed by ``"_layout"``.
    copy : bool
        Return a copy with the positions, and leave ``adata`` as it is.
    """
    _check_anndata("adata", adata)
    key_added = _layout_name(key) if key_added is None else key_added
    _check_copy(adata, copy)
    _check_key("key_added", key_added)
    if key_added == key:
        raise ValueError(f"`key_added` must not be `key`, whose coordinates would be lost, got {key_added!r}.")
    if key not in adata.obsm:
        raise _unknown("key", "a key of `adata.obsm`", adata.obsm, key)
    Z = np.asarray(adata.obsm[key], dtype=np.float64)
    positions = picture(Z, Options(len(Z), Z), "layout").positions
    adata = adata.copy() if copy else adata
    adata.obsm[key_added] = positions
    return adata if copy else None


def model(adata: Any, *, key: str = "X_sdp") -> CertifiedEmbedding:
    """The fitted estimator behind an embedding, for displays, reports and :func:`elliptope.recertify`.

    Its rows are the cells that :func:`embed` saw, whose names are in ``uns[key]["cells"]``. A warning tells where ``adata``
    has others, or another order: labels of its cells do not belong to the rows then.
    """
    _check_anndata("adata", adata)
    est = _model(adata, key)
    cells = adata.uns[key].get("cells")
    if cells is not None and list(cells) != list(adata.obs_names):
        warnings.warn(
            f"The cells of `adata` ({adata.n_obs}) are not those of the model ({len(cells)}), or in another order: do not "
            f"use its labels or positions with the model. The cells of the model are adata.uns[{key!r}]['cells'].",
            UserWarning,
            stacklevel=2,
        )
    return est


def _model(adata: Any, key: str) -> CertifiedEmbedding:
    _check_anndata("reference", adata)
    stored = adata.uns.get(key)
    if isinstance(stored, Mapping) and "certificates" in stored and "model" not in stored:
        raise ValueError(
            f"`key`={key!r} has no model: `embed` was called with store_model=False. Call it with store_model=True."
        )
    if not isinstance(stored, Mapping) or "model" not in stored:
        ours = [name for name, value in adata.uns.items() if isinstance(value, Mapping) and "model" in value]
        wanted = "a key of `uns` with a model, written by `embed(..., store_model=True)`"
        raise _unknown("key", wanted, ours, key)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(np.asarray(stored["model"], dtype=np.uint8).tobytes())
        return load(path)


def _check_anndata(name: str, value: Any) -> None:
    try:
        from anndata import AnnData
    except ImportError as error:
        raise missing_module("`elliptope.anndata`", "anndata", error) from None
    if not isinstance(value, AnnData):
        raise TypeError(f"`{name}` must be an AnnData, got {type(value).__name__}.")


def _check_key(name: str, key: Any) -> None:
    if not isinstance(key, str) or not key or "/" in key:
        raise ValueError(f"`{name}` must be a name without '/', as files of the format h5ad need it, got {key!r}.")


def _check_free(adata: Any, key: str) -> None:
    """Raise where results under ``key`` would replace what elliptope has not written, or scores of another key."""
    ours = _is_ours(adata.uns.get(key))
    taken = [
        f"adata.{part}[{key!r}]" for part, names in (("uns", adata.uns), ("obsm", adata.obsm)) if key in names and not ours
    ]
    score = _score_name(key)
    taken += [
        f"adata.obs[{score!r}]"
        for other in adata.uns
        if other != key and _score_name(other) == score and _is_ours(adata.uns[other])
    ]
    if taken:
        raise ValueError(
            f"`key_added` must be a name that is free: {', '.join(taken)} would be lost. Choose another name, or delete "
            f"them first. Got {key!r}."
        )


def _is_ours(stored: Any) -> bool:
    """Whether an entry of ``uns`` was written here."""
    return isinstance(stored, Mapping) and "elliptope" in stored.get("versions", {})


def _check_copy(adata: Any, copy: bool) -> None:
    if copy and adata.isbacked:
        raise ValueError("`copy`=True is not possible for an AnnData that is backed by a file: pass adata.to_memory().")


def _unknown(name: str, wanted: str, known: Iterable[str], value: Any) -> ValueError:
    return ValueError(f"`{name}` must be {wanted} (there are: {', '.join(map(repr, known)) or 'none'}), got {value!r}.")


def _representation(adata: Any, use_rep: Any, *, without_pca: str) -> Any:
    """The rows that stand for the cells, (n, p), dense or sparse. ``without_pca``: what to do where "X_pca" is missing."""
    if isinstance(use_rep, str) and use_rep == "X":
        if adata.X is None:
            raise ValueError("`use_rep`='X' needs `adata.X`, which is None.")
        if adata.isbacked:
            raise ValueError(
                "`use_rep`='X' needs X in memory, and this AnnData is backed by a file: pass adata.to_memory(), or a key of "
                "`adata.obsm`, such as the 'X_pca' that scanpy.pp.pca writes."
            )
        X = adata.X
    elif use_rep in adata.obsm:
        X = adata.obsm[use_rep]
    else:
        error = _unknown("use_rep", "'X' or a key of `adata.obsm`", adata.obsm, use_rep)
        raise ValueError(f"{error} {without_pca}") if use_rep == "X_pca" else error
    return sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)


def _features(adata: Any, use_rep: str) -> list[str] | None:
    """Names of the columns of a representation: the genes, the columns of a data frame, or none."""
    names = adata.var_names if use_rep == "X" else getattr(adata.obsm[use_rep], "columns", None)
    return None if names is None else [str(name) for name in names]


def _check_features(found: list[str] | None, expected: Any, use_rep: str) -> None:
    """Raise where new cells have other genes than the reference, or the same in another order."""
    if found is None or expected is None or found == list(expected):
        return
    what = "genes" if use_rep == "X" else f"columns of obsm[{use_rep!r}]"
    pairs = enumerate(zip_longest(found, expected, fillvalue="(none)"))
    k, (name, wanted) = next((k, pair) for k, pair in pairs if pair[0] != pair[1])
    there = set(found)
    missing = [name for name in expected if name not in there]
    if missing:
        hint = f"{len(missing)} of the reference are missing, the first {missing[0]!r}."
    elif use_rep == "X":
        hint = "All are there: pass adata[:, reference.uns[key]['features']].copy()."
    else:
        hint = "All are there, in another order or among others."
    raise ValueError(
        f"`adata` must have the {len(expected)} {what} that `reference` was embedded by, in the same order, and has "
        f"{len(found)}. Counted from 0, the first that differs is number {k}: {name!r}, and {wanted!r} in the reference. "
        f"{hint}"
    )


def _check_components(adata: Any, reference: Any) -> None:
    """Raise where the components of new cells are by loadings of their own, and not by those of the reference."""
    own, wanted = (cells.varm.get("PCs") for cells in (adata, reference))
    if own is None or wanted is None or adata.X is None or np.array_equal(own, wanted, equal_nan=True):
        return
    few = adata[: min(adata.n_obs, _CELLS_COMPARED)]
    X = few.X.toarray() if sparse.issparse(few.X) else np.asarray(few.X)
    # Differences of cells do not depend on the mean that was subtracted.
    moved = np.asarray(few.obsm["X_pca"])[1:] - np.asarray(few.obsm["X_pca"])[:1]
    by_own = (X[1:] - X[:1]) @ np.nan_to_num(own)
    if by_own.shape == moved.shape and np.allclose(by_own, moved, rtol=1e-3, atol=1e-3 * np.abs(moved).max(initial=0.0)):
        raise ValueError(
            "`adata` must have the principal components of `reference`, got components by loadings of its own "
            f"(varm['PCs']), which are others. {_PROJECT}"
        )


def _distances(adata: Any, key: Any) -> tuple[sparse.csr_array, dict[str, int]]:
    """The graph of distances that scanpy has stored, and its number of neighbours, a cell counting itself."""
    # Old files have neither of the two keys in `uns`, and a single result.
    known = [
        name
        for name, value in adata.uns.items()
        if isinstance(value, Mapping) and (name == "neighbors" or {"connectivities_key", "distances_key"} & set(value))
    ]
    if key not in known:
        raise _unknown("neighbors_key", "a result of scanpy.pp.neighbors in `adata.uns`", known, key)
    name = str(adata.uns[key].get("distances_key", "distances"))
    if name not in adata.obsp:
        raise ValueError(f"`neighbors_key`={key!r} needs adata.obsp[{name!r}], which is not there.")
    graph = sparse.csr_array(adata.obsp[name])
    n_neighbors = adata.uns[key].get("params", {}).get("n_neighbors")
    if n_neighbors is None:
        return graph, {}
    n_neighbors = np.asarray(n_neighbors).item()  # old files hold an array of one number
    usual = int(np.median(np.diff(graph.indptr))) + 1
    if usual < n_neighbors:
        warnings.warn(
            f"scanpy.pp.neighbors found {n_neighbors} neighbours of each cell, and adata.obsp[{name!r}] has {usual} of "
            f"most, perhaps because `adata` is a subset of the cells since: run scanpy.pp.neighbors again.",
            UserWarning,
            stacklevel=3,
        )
    return graph, {"n_neighbors": n_neighbors}


def _make(cls: type[CertifiedEmbedding], parameters: dict[str, Any], store_model: bool) -> Any:
    known = cls().get_params(deep=False)
    for name, value in parameters.items():
        if name not in known:
            hint = (
                " A layer can be embedded from `obsm`: adata.obsm['counts'] = adata.layers['counts']."
                if name == "layer"
                else ""
            )
            raise TypeError(f"`{name}` is no parameter of {cls.__name__}, which has {', '.join(sorted(known))}.{hint}")
        if store_model and isfunction(value):
            raise ValueError(f"`store_model` must be False where `{name}` is a function, which no file can hold.")
    return cls(**parameters)


def _write(adata: Any, key: str, Z: Array, scores: Array, about: dict[str, Any]) -> None:
    """All results; the layout of an embedding that they replace is removed."""
    if _is_ours(adata.uns.get(key)):
        adata.obsm.pop(_layout_name(key), None)
    adata.obsm[key] = np.asarray(Z)
    adata.obs[_score_name(key)] = scores
    adata.uns[key] = about


def _layout_name(key: str) -> str:
    return f"{key}_layout"


def _score_name(key: str) -> str:
    return f"{key.removeprefix('X_')}_outlier_score"


def _certificates(est: Any) -> dict[str, Array]:
    """An array per field, with an entry for every scale."""
    scales = getattr(est, "scales_", None)
    certificates = getattr(est, "certificates_", (est.certificate_,))
    return {
        "diffusion_time": np.array([est.diffusion_time] if scales is None else [scale.diffusion_time for scale in scales]),
        "status": np.array([est.status_] if scales is None else [scale.status for scale in scales]),
        "grade": np.array([certificate.grade for certificate in certificates]),
        **{name: np.array([float(getattr(one, name)) for one in certificates]) for name in _NUMBERS},
    }


def _storable(values: Mapping[str, Any]) -> dict[str, Any]:
    """What files of the format h5ad can hold: None is left out, functions and generators go by their names."""
    plain = (bool, int, float, str)
    stored: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, list | tuple | np.ndarray):
            stored[name] = np.asarray(value)
        elif value is not None:
            stored[name] = value if isinstance(value, plain) else describe(value)
    return stored


def _as_bytes(est: CertifiedEmbedding) -> Array:
    """The file that ``save`` writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        est.save(path)
        return np.frombuffer(path.read_bytes(), dtype=np.uint8)
