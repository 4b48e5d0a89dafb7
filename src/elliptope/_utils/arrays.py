"""Arrays of other libraries beside NumPy's: the functions of the array API standard, and the few that it lacks.

Operators and solver take the functions they call from the *namespace* of the arrays they are given
(https://data-apis.org/array-api). NumPy is its own namespace and is called without a detour. Where a function here
distinguishes NumPy, it does so for speed: thin matrices are Fortran-ordered there, and the fastest calls, which small
problems need, are not in the standard. What is computed is the same.

Random numbers are drawn by NumPy and moved, so that a solve takes the same path in every library. Factorisations (LAPACK)
and the eigenvectors of small matrices are left to NumPy.

Arrays are annotated as those of NumPy throughout; the standard has no type for arrays in general.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .versions import missing_module

Array = np.ndarray

# Namespaces of the types of arrays that were met: to look one up takes longer than many a step on a device.
_namespaces: dict[type, Any] = {}
# Columns up to which it makes no difference how a product with a transpose is written.
_THIN = 8


def namespace(x: Array) -> Any:
    """The functions of the array API standard for arrays like ``x``."""
    if isinstance(x, np.ndarray):
        return np
    found = _namespaces.get(type(x))
    if found is not None:
        return found
    try:
        from array_api_compat import array_namespace
    except ImportError as error:
        raise missing_module(f"`{type(x).__name__}`", "torch", error, "; or pass NumPy arrays") from error
    return _namespaces.setdefault(type(x), array_namespace(x))


def library(x: Array) -> Any:
    """Where ``asarray`` for arrays like ``x`` is: their namespace; without array-api-compat, the package of their type."""
    try:
        return namespace(x)
    except ImportError:
        return sys.modules[type(x).__module__.partition(".")[0]]


def is_foreign(x: Any) -> bool:
    """Whether ``x`` is an array of another library than NumPy."""
    return hasattr(x, "__dlpack__") and not isinstance(x, (np.ndarray, np.generic))


def is_dask(x: Any) -> bool:
    """Whether ``x`` is an array or a data frame of Dask."""
    return hasattr(x, "__dask_graph__")


def as_numpy(x: Any) -> Array:
    """``x`` as a NumPy array; memory is shared where it can be, and copied from an accelerator."""
    if isinstance(x, np.ndarray):
        return x
    if not is_foreign(x):
        return np.asarray(x)
    shared = np.from_dlpack(_plain(x), device="cpu")
    return shared if shared.flags.writeable else shared.copy()  # NumPy before 2.2.5 makes it read-only


def like(x: Array, y: Any) -> Array:
    """``y`` in the library of ``x``, on its device and in its precision; in NumPy as it is, unless that is single."""
    if isinstance(x, np.ndarray):
        y = as_numpy(y)
        return y.astype(np.float32) if is_single(x) else y
    if is_foreign(y):
        return namespace(x).asarray(y, dtype=x.dtype, device=x.device)
    # Copied: tensors cannot have negative strides, and must not share the memory of an array that the caller keeps. An array
    # of one row may have such strides and pass for contiguous.
    return namespace(x).asarray(np.array(y, order="C"), dtype=x.dtype, device=x.device)


def owned(x: Array) -> Array:
    """A float64 copy of ``x``, C-contiguous in NumPy."""
    if isinstance(x, np.ndarray):
        return np.array(x, dtype=np.float64, order="C")
    return namespace(x).asarray(_plain(x), dtype=namespace(x).float64, copy=True)


def _plain(x: Any) -> Any:
    """``x`` detached from PyTorch's record of derivatives, which would otherwise grow with every product."""
    return x.detach() if hasattr(x, "detach") else x


def is_sparse(x: Any) -> bool:
    """Whether ``x`` is a tensor that stores some of its entries only."""
    return not str(getattr(x, "layout", "strided")).endswith("strided")


def has_real_dtype(x: Any) -> bool:
    """Whether the dtype of ``x`` is one of real numbers; integers and truth values are."""
    if is_foreign(x):
        return not namespace(x).isdtype(x.dtype, "complex floating")
    return np.dtype(x.dtype).kind in "fiub"  # a LinearOperator may leave it open: None stands for float64


def is_single(x: Array) -> bool:
    """Whether ``x`` is an array in single precision."""
    return x.dtype == np.float32 if isinstance(x, np.ndarray) else str(x.dtype).endswith("float32")


def has_single_precision(X: Any) -> bool:
    """Whether data that users give, an array, a sparse matrix or a data frame, are in single precision."""
    dtypes = [X.dtype] if hasattr(X, "dtype") else list(getattr(X, "dtypes", ()))
    return bool(dtypes) and all(str(dtype).lower().endswith("float32") for dtype in dtypes)


def in_precision_of(x: Array, y: Array) -> Array:
    """``y``, of the library of ``x``, in its precision."""
    return namespace(y).asarray(y, dtype=x.dtype)


def is_rowwise(V: Array) -> bool:
    """Whether ``V`` is a matrix of NumPy with contiguous rows, and not contiguous columns."""
    return isinstance(V, np.ndarray) and V.flags.c_contiguous and not V.flags.f_contiguous


def columnwise(V: Array) -> Array:
    """A thin matrix with contiguous columns in NumPy, as it is elsewhere."""
    return np.asfortranarray(V) if isinstance(V, np.ndarray) else V


def rowwise(V: Array) -> Array:
    """A matrix with contiguous rows in NumPy, as it is elsewhere."""
    return np.ascontiguousarray(V) if isinstance(V, np.ndarray) else V


def vector(V: Array) -> Array:
    """A matrix as one vector, which may share its memory; in an order that :func:`matrix` undoes."""
    if isinstance(V, np.ndarray):
        return V.reshape(-1, order="C" if is_rowwise(V) else "F")  # no copy of a contiguous one
    return namespace(V).reshape(V, (-1,))


def matrix(v: Array, model: Array) -> Array:
    """The matrix, of the shape and order of ``model``, of which ``v`` is the :func:`vector`; it may share its memory."""
    if isinstance(v, np.ndarray):
        return v.reshape(model.shape, order="C" if is_rowwise(model) else "F")
    return namespace(v).reshape(v, model.shape)


def hstack(blocks: Sequence[Array]) -> Array:
    return namespace(blocks[0]).concat(blocks, axis=1)


def select_columns(V: Array, used: Array) -> Array:
    """The columns that are ``used``, an array of truth values of NumPy."""
    if isinstance(V, np.ndarray):
        return V[:, used]
    return hstack([V[:, :0], *(V[:, k : k + 1] for k in np.flatnonzero(used).tolist())])


def take_rows(V: Array, rows: Array) -> Array:
    """The rows with these numbers, an array of NumPy."""
    if isinstance(V, np.ndarray):
        return V[rows]
    xp = namespace(V)
    return xp.take(V, xp.asarray(rows, device=V.device), axis=0)


def hollow(K: Array) -> Array:
    """K with zeros on its diagonal; in NumPy K itself, changed."""
    if isinstance(K, np.ndarray):
        np.fill_diagonal(K, 0.0)
        return K
    xp = namespace(K)
    return xp.tril(K, k=-1) + xp.triu(K, k=1)


def transposed_product(Q: Array, V: Array) -> Array:
    """Qᵀ V for two tall matrices; in NumPy, a wide Q with contiguous rows is read as it lies in memory."""
    return (V.T @ Q).T if is_rowwise(Q) and Q.shape[1] > _THIN else Q.T @ V


def row_dots(U: Array, V: Array) -> Array:
    if isinstance(U, np.ndarray):
        return np.einsum("ij,ij->i", U, V)
    return namespace(U).sum(U * V, axis=-1)  # many libraries make a product of matrices per row of `vecdot`


def row_norms(V: Array) -> Array:
    return namespace(V).sqrt(row_dots(V, V))


def spectral_norm(V: Array) -> float:
    """‖V‖₂ of a thin matrix, never less; 0 without columns."""
    gram = as_numpy(V.T @ V)
    return float(np.sqrt(max(np.linalg.eigvalsh(gram)[-1], 0.0))) * (1 + 1e-10) if len(gram) else 0.0


def inner(U: Array, V: Array) -> float:
    """Σ_ij U_ij V_ij, read as they lie in memory; most factors are Fortran-ordered."""
    if isinstance(U, np.ndarray):
        return float(np.vdot(U, V) if is_rowwise(U) else np.vdot(U.T, V.T))
    return float(vector(U) @ vector(V))


def numbers(*scalars: Array) -> list[float]:
    """Arrays without dimensions, of one library, as numbers: a device is asked once for all of them."""
    if isinstance(scalars[0], (np.ndarray, np.generic)):
        return [float(one) for one in scalars]
    return as_numpy(namespace(scalars[0]).stack(scalars)).tolist()


def total(v: Array) -> float:
    return float(np.add.reduce(v, axis=None, dtype=np.float64) if isinstance(v, np.ndarray) else namespace(v).sum(v))


def absolute_total(v: Array) -> float:
    """Σ_i |v_i|."""
    return total(abs(v))


def totals(*arrays: Array) -> list[float]:
    """The sums of some arrays of one library."""
    if isinstance(arrays[0], np.ndarray):
        return [total(one) for one in arrays]
    return numbers(*(namespace(one).sum(one) for one in arrays))


def largest(v: Array) -> float:
    return float(np.maximum.reduce(v, axis=None) if isinstance(v, np.ndarray) else namespace(v).max(v))


def smallest(v: Array) -> float:
    return float(v.min() if isinstance(v, np.ndarray) else namespace(v).min(v))


def all_zero(V: Array) -> bool:
    return not bool(namespace(V).any(V))


def all_nonzero(v: Array) -> bool:
    """Whether every entry is non-zero, or true."""
    return bool(np.logical_and.reduce(v, axis=None) if isinstance(v, np.ndarray) else namespace(v).all(v))
