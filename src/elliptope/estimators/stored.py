"""What a file keeps of each estimator: the tables behind docs/model_format.md.

Only classes in these tables are stored or loaded. Sizes: N rows given to ``fit``, of which n are points of the program;
p columns; k columns of the embedding, and r of all its components.
"""

from __future__ import annotations

from typing import Any

from ..kernels.given import Precomputed
from ..kernels.neighbors import SEARCHES, GraphKernel, NeighborKernel, Neighbors, SparseKernel
from ..kernels.stationary import Gaussian, Laplacian, Matern
from ..persistence.arrays import Floats, Graph, Indices
from ..persistence.container import ModelFileError
from ..persistence.fields import Choice, Field, Flag, Integer, Number, Optional
from ..persistence.models import Table, register
from ..persistence.objects import OneOf, Shared
from ..persistence.parameters import ParameterKinds
from ..sdp import Certificate, NullSpace
from .diagonals import ConstantDiagonal, KernelDiagonal, NearestDiagonal
from .diffusion_map import DiffusionMap
from .extension import Extension, LinearExtension
from .rkhs_embedding import Program, RKHSEmbedding
from .sdp_embedding import SDPEmbedding

_FORMULAS: dict[type, dict[str, Field]] = {
    Gaussian: {"bandwidth": Number()},
    Laplacian: {"bandwidth": Number()},
    Matern: {"bandwidth": Number(), "nu": Number()},
}
_RULES: dict[type, dict[str, Field]] = {Neighbors: {"search": Choice(SEARCHES)}}
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
_KERNEL = OneOf(_FORMULAS | _PRECOMPUTED | _SPARSE)
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
            "kernel": OneOf(_FORMULAS),
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
            "error_below": Number(),
            "error_above": Number(),
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
# Attributes that ``fit`` sets.
_FITTED: dict[type, dict[str, Field]] = {
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
# What to do about parameters that cannot be stored.
_REMEDIES = {
    "kernel": "fit with the name of a kernel, one of those in elliptope.kernels, or kernel='precomputed'",
    "diagonal": "fit with an array of its values at the training points (new points take that of the most similar one)",
    "direction": "fit with direction='mean'",
    "random_state": "call set_params(random_state=None) first, or pass an integer; it has no influence on a fitted model",
}


def register_estimators() -> None:
    """Make the estimators storable."""
    parameters = ParameterKinds(OneOf(_FORMULAS | _RULES), _REMEDIES)
    for cls, attributes in _FITTED.items():
        register(cls, Table(attributes, parameters, _check_columns))


def _check_columns(est: Any) -> None:
    """Training points have as many columns as new ones will have; kernels that keep them, or need none, leave none here."""
    extension = est._extension
    q, p = extension.X.shape[1], est.n_features_in_
    expected = 0 if isinstance(extension.kernel, SparseKernel) else p
    if q != expected and not (q == 0 and isinstance(extension.kernel, Precomputed)):
        raise ModelFileError(f"`extension.X` must have {expected} columns, got {q}")
