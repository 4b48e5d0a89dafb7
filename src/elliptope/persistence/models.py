"""What a model consists of, class by class: the tables behind docs/model_format.md.

Only classes that stand here are stored, and only they are made from a file. Sizes: N rows given to ``fit``, of which n are
points of the program; p columns; k columns of the embedding, and r of all its components.
"""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from .._utils.arrays import Array
from ..estimators.base import Embedding
from ..estimators.diagonals import ConstantDiagonal, KernelDiagonal, NearestDiagonal
from ..estimators.diffusion_map import DiffusionMap
from ..estimators.extension import Extension, LinearExtension
from ..estimators.rkhs_embedding import Program, RKHSEmbedding
from ..estimators.sdp_embedding import SDPEmbedding
from ..kernels.given import Precomputed
from ..kernels.neighbors import GraphKernel, NeighborKernel, SparseKernel
from ..sdp import Certificate, NullSpace
from .arrays import Floats, Graph, Indices
from .container import ModelFileError, shown
from .fields import Choice, Field, Flag, Integer, Names, Number, Optional, Packing, Reading
from .objects import OneOf, Shared, Since, unpack_fields
from .parameters import FORMULAS, pack_parameters, unpack_parameters

_PRECOMPUTED: dict[type, dict[str, Field]] = {
    Precomputed: {"self_similarity": Optional(Number(positive=True)), "columns": Optional(Indices("n", below="p"))}
}
_SPARSE: dict[type, dict[str, Field]] = {
    NeighborKernel: {
        "X": Floats("n", "p"),
        "scales": Floats("n", positive=True),
        "n_neighbors": Integer(low=2),
        "graph": Optional(Graph("n")),
        "n_jobs": Integer(low=1),
    },
    GraphKernel: {
        "graph": Graph("n"),
        "scales": Floats("n", positive=True),
        "n_neighbors": Integer(low=2),
        "columns": Indices("n", below="p"),
    },
}
_KERNEL = OneOf(FORMULAS | _PRECOMPUTED | _SPARSE)
_DIAGONAL = OneOf(
    {
        KernelDiagonal: {"kernel": Shared("extension.kernel", _KERNEL), "M": Number(positive=True)},
        ConstantDiagonal: {},
        NearestDiagonal: {"d": Floats("n", positive=True)},
    }
)
_EXTENSION = OneOf(
    {
        Extension: {
            "kernel": _KERNEL,
            "X": Floats("n", "q"),  # q = p, or 0 where the kernel keeps the points, or needs none
            "w": Floats("n", positive=True),
            "m": Floats("n", positive=True),
            "M": Number(positive=True),
            "self_similarity": Floats("n", positive=True),
            "F": Floats("n", "r"),
        }
    }
)
_LINEAR_EXTENSION = OneOf(
    {
        LinearExtension: {
            "kernel": OneOf(FORMULAS),
            "X": Floats("n", "p"),
            "alpha": Floats("n", "r"),
            "w": Floats("n", positive=True),
        }
    }
)
_PROGRAM = OneOf(
    {
        Program: {
            "d": Floats("n", positive=True),
            "u": Floats("n", positive=True),
            "jitter": Number(),
            "place": Indices("N", below="n", low=-1),
        }
    }
)
_NULL_SPACE = OneOf({NullSpace: {"nullity": Integer(), "spectral_gap": Number(), "rank": Integer(), "unique": Flag()}})
_CERTIFICATE = OneOf(
    {
        Certificate: {
            "objective": Number(),
            "upper_bound": Number(),
            "gap": Number(),
            "grade": Choice(("proved", "probabilistic", "estimate")),
            "failure_probability": Number(),
            "min_eigenvalue": Number(),
            "stationarity": Number(),
            "gain": Number(),
            "weights": Choice(("slack", "multiplicative", "additive", "own")),
            "null_space": Optional(_NULL_SPACE),
            "error_below": Since(2, Number(), 0.0),
            "error_above": Since(2, Number(), 0.0),
        }
    }
)
_COMMON: dict[str, Field] = {
    "n_features_in_": Integer(low=1, size="p"),
    "n_components_": Integer(low=1, size="k"),
    "embedding_": Floats("N", "k"),
}
_CERTIFIED: dict[str, Field] = {
    "certificate_": _CERTIFICATE,
    "status_": Choice(("optimal", "degenerate", "max_iter", "interrupted")),
    "n_iter_": Integer(),
    "n_products_": Integer(),
    "eigenvalues_": Floats("r"),
}
_KERNELIZED: dict[str, Field] = {
    "bandwidth_": Optional(Number(positive=True)),
    "_support": Indices("n", below="N"),
    "_extension": _EXTENSION,
}
# Attributes of the fitted estimators.
MODELS: dict[type[Embedding], dict[str, Field]] = {
    SDPEmbedding: _COMMON | _CERTIFIED | _KERNELIZED | {"_diagonal": _DIAGONAL},
    RKHSEmbedding: _COMMON
    | _CERTIFIED
    | {
        "length_scale_": Number(positive=True),
        "smoothness_": Number(positive=True),
        "regularization_": Number(positive=True),
        "trace_": Number(),
        "_extension": _LINEAR_EXTENSION,
        "_program": _PROGRAM,
    },
    DiffusionMap: _COMMON | _KERNELIZED | {"eigenvalues_": Floats("r"), "_factor": Floats("r")},
}
_NAMES = Optional(Names("p"))
_OUTPUT = Optional(Choice(("default", "pandas", "polars")))


def place_of(attribute: str) -> str:
    """What a file calls an attribute: underscores are a matter of Python."""
    return attribute.strip("_")


def pack(est: Embedding) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a fitted estimator."""
    fields = MODELS.get(type(est))
    if fields is None:
        known = ", ".join(cls.__name__ for cls in MODELS)
        raise ModelFileError(f"files are made for {known}, and not for classes derived from them; use pickle or joblib")
    check_is_fitted(est, list(fields))
    packing = Packing()
    header = {
        "class": type(est).__name__,
        "parameters": pack_parameters(est, packing),
        "set_output": _OUTPUT.pack(getattr(est, "_sklearn_output_config", {}).get("transform"), "set_output", packing),
        "feature_names_in": _NAMES.pack(getattr(est, "feature_names_in_", None), "feature_names_in", packing),
        "fitted": {place_of(name): kind.pack(getattr(est, name), place_of(name), packing) for name, kind in fields.items()},
    }
    return header, packing.arrays


def unpack(header: dict[str, Any], reading: Reading) -> Embedding:
    """The estimator that was packed."""
    classes = {cls.__name__: cls for cls in MODELS}
    name = header["class"]
    if not isinstance(name, str) or name not in classes:
        raise ModelFileError(f"its class must be one of {', '.join(classes)}, got {shown(name)}")
    cls = classes[name]
    est = cls(**unpack_parameters(cls, header["parameters"], reading))
    fields = {place_of(attribute): kind for attribute, kind in MODELS[cls].items()}
    fitted = unpack_fields(fields, header["fitted"], "fitted", reading, prefix="")
    for attribute in MODELS[cls]:
        setattr(est, attribute, fitted[place_of(attribute)])
    names = _NAMES.unpack(header["feature_names_in"], "feature_names_in", reading)
    if names is not None:
        est.feature_names_in_ = names
    output = _OUTPUT.unpack(header["set_output"], "set_output", reading)
    if output is not None:
        est.set_output(transform=output)
    _check_columns(est)
    return est


def _check_columns(est: Embedding) -> None:
    """Training points have as many columns as new ones will have; kernels that keep them, or need none, leave none here."""
    extension = est._extension
    q, p = extension.X.shape[1], est.n_features_in_
    expected = 0 if isinstance(extension.kernel, SparseKernel) else p
    if q != expected and not (q == 0 and isinstance(extension.kernel, Precomputed)):
        raise ModelFileError(f"`extension.X` must have {expected} columns, got {q}")
