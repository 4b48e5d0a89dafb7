"""What the estimators share: scikit-learn's conventions, and what becomes of a fit."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from .._utils.arrays import Array, has_single_precision, is_foreign, namespace
from .._utils.callers import underflows_to_zero
from .._utils.devices import as_given, in_single
from .._utils.threads import count_threads
from ..kernels.choice import find_kernel
from ..kernels.metrics import PRECOMPUTED
from ..memory.device import device_errors
from ..persistence import save
from .extension import Extension
from .lazy import stays_lazy, takes_dask
from .streaming import Streaming

_NO_LAYOUT = "the optimum has no such setting; pictures are drawn by elliptope.plotting.EmbeddingDisplay"
_NO_DESCENT = "the solver stops when the optimum is proved, to `tol`, wherever it starts"
_BANDWIDTH = "use `bandwidth`, σ in exp(-‖x-y‖²/σ²), of SDPEmbedding and DiffusionMap"
# Parameters of UMAP, t-SNE, SpectralEmbedding and diffusion maps that have other names here, or none.
_FOREIGN = {
    "min_dist": _NO_LAYOUT,
    "spread": "use `spreads` of MultiscaleEmbedding, or `spread` of SDPEmbedding; neither shapes a picture, as UMAP's does",
    "early_exaggeration": _NO_LAYOUT,
    **dict.fromkeys(("n_epochs", "n_iter", "learning_rate", "init", "eigen_solver", "eigen_tol"), _NO_DESCENT),
    "perplexity": "use `n_neighbors`",
    "affinity": "use `kernel`, and `metric` for distances",
    "gamma": f"{_BANDWIDTH}; it is gamma**-0.5",
    "sigma": _BANDWIDTH,
    "epsilon": _BANDWIDTH,
    "metric_kwds": "use kernel=Neighbors(metric=..., metric_params=...), of elliptope.kernels",
    "metric_params": "use kernel=Neighbors(metric=..., metric_params=...), of elliptope.kernels",
    "densmap": "use SDPEmbedding, in which rows of sparse regions lie farther out",
    "target_metric": "labels are not used",
    "n_evecs": "use `n_components`",
    "transform_seed": "`transform` is not random",
}


class Embedding(Streaming, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all estimators: scikit-learn's conventions for rows in and columns out."""

    normalize: str | None
    n_components_: int
    embedding_: Array

    def __new__(cls, *args: Any, **parameters: Any) -> Embedding:
        """Refuse parameters of other libraries, and name ours; not in ``__init__``, whose signature scikit-learn reads."""
        if parameters.keys() & _FOREIGN.keys():
            own = cls._get_param_names()
            advice = [f"`{name}`: {_FOREIGN[name]}." for name in parameters if name in _FOREIGN and name not in own]
            if advice:
                raise TypeError(f"{cls.__name__} has no {' '.join(advice)} Its parameters are {', '.join(own)}.")
        return super().__new__(cls)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)  # here scikit-learn wraps the methods that a class defines
        if "transform" in vars(cls):
            cls.transform = stays_lazy(cls.transform)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def save(self, path: str | os.PathLike, *, overwrite: bool = False) -> None:
        """Write the fitted estimator to a file, for :func:`elliptope.load`: arrays and JSON with a checksum, no pickle.

        An existing file is replaced only with ``overwrite``, and in one step: never is there half a file. Functions given
        as parameters cannot be stored.
        """
        save(self, path, overwrite=overwrite)

    def _keep(self, **fitted: Any) -> Any:
        """Replace all fitted attributes, at once: the last thing that ``fit`` does. Returns the estimator."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("__")]:
            delattr(self, name)
        for name, value in fitted.items():
            setattr(self, name, value)
        return self

    def _follow(self, X: Any) -> Any:
        """``embedding_`` in the precision of X; under scikit-learn's ``array_api_dispatch``, of its library.

        Otherwise fitted arrays are always of NumPy.
        """
        if has_single_precision(X):
            self.embedding_ = in_single(self.embedding_)
        if get_config()["array_api_dispatch"] and is_foreign(X):
            for name in ("embedding_", "eigenvalues_", "groups_"):
                if name in vars(self):
                    setattr(self, name, namespace(X).asarray(getattr(self, name), device=X.device))
        return self

    def _finish(self, Xi: Array) -> Array:
        return finish(Xi, self.n_components_, self.training_.normalize)


class KernelEmbedding(Embedding):
    """Base of the estimators on a normalised kernel."""

    kernel: str | Callable
    bandwidth: float | str
    metric: str | Callable
    n_jobs: int | None
    device: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        rule = find_kernel(self.kernel)
        takes_sparse = rule is not None and rule.accepts_sparse
        distances = takes_sparse and isinstance(self.metric, str) and self.metric == PRECOMPUTED
        tags.input_tags.pairwise = rule is not None and (rule.pairwise or distances)
        tags.input_tags.sparse = takes_sparse
        return tags

    @property
    def n_neighbors_(self) -> int | None:
        """The number of neighbours in use, which is below ``n_neighbors`` where X has few rows; None for other kernels."""
        return getattr(self.training_.extension.kernel, "n_neighbors", None)

    @property
    def _accepts_sparse(self) -> bool:
        return self.training_.extension.kernel.is_sparse

    @takes_dask
    def score_samples(self, X: Array) -> Array:
        r"""Log density of the training points at each row, up to a constant: :math:`\log m_e(x)`.

        Low for outliers, unless the kernel is one of neighbours: points far from all others have neighbours, too. A training
        point counts itself, so that its score is at least the log of its own weight; scores of training points and of new
        ones are not on one scale. For ``kernel="precomputed"``, X is the cross-kernel block.
        """
        return as_given(self._score_rows(self._check_new(X), device=self._device_for(X)), X)

    @underflows_to_zero
    def _score_rows(self, X: Array, *, first: int = 0, device: Any | None = None) -> Array:
        extension: Extension = self.training_.extension
        numbers, n_jobs = range(first, first + X.shape[0]), count_threads(self.n_jobs)
        with device_errors(device):
            return extension.log_mass(X, numbers=numbers, n_jobs=n_jobs, device=device)


def finish(Xi: Array, n_components: int, normalize: str | None) -> Array:
    """The columns that ``transform`` returns: the leading ones, zeros beyond the rank, and rows to the sphere if asked."""
    Z = Xi[:, :n_components]
    if Z.shape[1] < n_components:
        Z = np.hstack([Z, np.zeros((len(Z), n_components - Z.shape[1]))])
    if normalize == "unit":
        norms = np.linalg.norm(Z, axis=1, keepdims=True)
        return np.divide(Z, norms, out=np.zeros_like(Z), where=norms > 0)
    return Z.copy()


def column_signs(F: Array) -> Array:
    """Signs that make the first of the largest entries of every column positive, so that they do not depend on rounding."""
    size = np.abs(F)
    first = (size >= (1 - 1e-6) * size.max(axis=0)).argmax(axis=0)
    return np.where(F[first, np.arange(F.shape[1])] < 0, -1.0, 1.0)
