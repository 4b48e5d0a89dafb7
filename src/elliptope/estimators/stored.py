"""What a file keeps of each estimator: the tables behind docs/model_format.md.

Only classes in these tables are stored or loaded. Sizes: N rows given to ``fit``, of which n are points of the program;
p columns; k columns of the embedding, r of all its components, and c of those of all scales.
"""

from __future__ import annotations

from ..kernels.base import FittedFormula
from ..kernels.given import PrecomputedKernel
from ..kernels.metrics import METRICS
from ..kernels.neighborhoods import GraphKernel, NeighborKernel
from ..kernels.neighbors import Neighbors
from ..kernels.overlap import Overlap
from ..kernels.stationary import Gaussian, Laplacian, Matern
from ..persistence.arrays import Floats, Graph, Indices, Integers, Numbers, Points
from ..persistence.fields import Choice, Field, Flag, Integer, Number, Optional
from ..persistence.models import ParameterKinds, Table, register
from ..persistence.objects import OneOf, Several
from ..sdp import Certificate, NullSpace
from .diagonals import ConstantDiagonal, KernelDiagonal, NearestDiagonal, SpreadDirections
from .diffusion_map import DiffusionMap
from .extension import Extension, LinearExtension
from .groups import Groups
from .multiscale import MultiscaleEmbedding
from .rkhs_embedding import RKHSEmbedding
from .sdp_embedding import SDPEmbedding
from .training import DiffusionTraining, MultiscaleTraining, RKHSTraining, Scale, SDPTraining

_FORMULAS: dict[type, dict[str, Field]] = {
    Gaussian: {"bandwidth": Number()},
    Laplacian: {"bandwidth": Number()},
    Matern: {"bandwidth": Number(), "nu": Number()},
}
_NEIGHBORHOODS: dict[str, Field] = {
    "metric": Optional(Choice(METRICS)),
    "metric_params": Optional(Numbers("p", "w", "V", "VI")),
}
_RULES: dict[type, dict[str, Field]] = {
    Neighbors: _NEIGHBORHOODS,
    Overlap: {**_NEIGHBORHOODS, "exponent": Number(positive=True)},
}
_FITTED_FORMULA: dict[type, dict[str, Field]] = {FittedFormula: {"formula": OneOf(_FORMULAS), "points": Floats("n", "p")}}
_PRECOMPUTED: dict[type, dict[str, Field]] = {
    PrecomputedKernel: {"columns": Indices("n", below="p"), "self_similarity": Optional(Number(positive=True))}
}
_SPARSE: dict[type, dict[str, Field]] = {
    NeighborKernel: {
        "rule": OneOf(_RULES),
        "points": Points("n", "p"),
        "scales": Floats("n", positive=True, squared=True),
        "n_neighbors": Integer(low=2),
        "graph": Optional(Graph("n")),
        "n_jobs": Integer(low=1),
    },
    GraphKernel: {
        "rule": OneOf(_RULES),
        "graph": Graph("n"),
        "scales": Floats("n", positive=True, squared=True),
        "n_neighbors": Integer(low=2),
        "columns": Indices("n", below="p"),
    },
}
_KERNEL = OneOf(_FITTED_FORMULA | _PRECOMPUTED | _SPARSE)
_KERNEL_DIAGONAL: dict[type, dict[str, Field]] = {KernelDiagonal: {"M": Number(positive=True)}}
_DIAGONAL = OneOf(
    _KERNEL_DIAGONAL
    | {
        ConstantDiagonal: {},
        NearestDiagonal: {"d": Floats("n", positive=True)},
    }
)
_SPREAD = OneOf(
    {
        SpreadDirections: {
            "s": Number(positive=True),
            "M": Number(positive=True),
            "values": Floats("r"),
            "basis": Floats("r", "r"),
        }
    }
)


def _extension(columns: str) -> OneOf:
    fields: dict[str, Field] = {
        "kernel": _KERNEL,
        "w": Floats("n", positive=True),
        "m": Floats("n", positive=True),
        "M": Number(positive=True),
        "self_similarity": Floats("n", positive=True),
        "F": Floats("n", columns),
    }
    return OneOf({Extension: fields})


_EXTENSION, _EXTENSION_OF_SCALES = _extension("r"), _extension("c")
_LINEAR_EXTENSION = OneOf(
    {
        LinearExtension: {
            "kernel": OneOf(_FITTED_FORMULA),
            "alpha": Floats("n", "r"),
            "w": Floats("n", positive=True),
        }
    }
)
_NULL_SPACE = OneOf(
    {
        NullSpace: {
            "nullity": Integer(),
            "spectral_gap": Number(),
            "rank": Integer(),
            "unique": Flag(),
            "curvature": Number(),
        }
    }
)
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
            "weights": Choice(("slack", "additive", "mixed", "own")),
            "null_space": Optional(_NULL_SPACE),
            "error_below": Number(),
            "error_above": Number(),
            "distance_bound": Number(),
        }
    }
)
_STATUS = Choice(("optimal", "degenerate", "unconfirmed", "max_iter", "interrupted"))
_GROUPS = OneOf({Groups: {"labels": Integers("n"), "rows": Floats("g", "q"), "certificate": _CERTIFICATE}})
_SCALE: dict[str, Field] = {
    "diffusion_time": Integer(low=1),
    "spread": Number(),
    "weight": Number(positive=True),
    "certificate": _CERTIFICATE,
    "status": _STATUS,
    "eigenvalues": Floats("r"),
    "n_iter": Integer(),
    "n_products": Integer(),
    "components": Floats("n", "r"),
    "directions": Optional(_SPREAD),
}
# `rows` come first: they say what n is. Near points are together where there are many, in another order than the rows.
_ROWS: dict[str, Field] = {"rows": Indices("n", below="N", ascending=False), "normalize": Optional(Choice(("unit",)))}
_TRAINING: dict[type, dict[str, Field]] = {
    SDPTraining: _ROWS
    | {
        "extension": _EXTENSION,
        "diagonal": _DIAGONAL,
        "components": Floats("n", "r"),
        "spread": Optional(_SPREAD),
        "diffusion_time": Integer(low=1),
    },
    MultiscaleTraining: _ROWS
    | {
        "extension": _EXTENSION_OF_SCALES,
        "scales": Several(OneOf({Scale: _SCALE}), own=("r",)),
        "groups": Optional(_GROUPS),
        "axes": Floats("b", "a"),
    },
    DiffusionTraining: _ROWS | {"extension": _EXTENSION, "factor": Floats("r")},
    RKHSTraining: _ROWS
    | {
        "extension": _LINEAR_EXTENSION,
        "d": Floats("n", positive=True),
        "u": Floats("n", positive=True),
        "jitter": Number(),
        "place": Indices("N", below="n", low=-1),
    },
}
_COMMON: dict[str, Field] = {
    "n_features_in_": Integer(low=1, size="p"),
    "n_components_": Integer(low=1, size="k"),
    "embedding_": Floats("N", "k", single=True),
}
_CERTIFIED: dict[str, Field] = {
    "certificate_": _CERTIFICATE,
    "status_": _STATUS,
    "n_iter_": Integer(),
    "n_products_": Integer(),
    "eigenvalues_": Floats("r"),
}
_BANDWIDTH: dict[str, Field] = {"bandwidth_": Optional(Number(positive=True))}


def _training(cls: type) -> dict[str, Field]:
    return {"training_": OneOf({cls: _TRAINING[cls]})}


# Attributes that ``fit`` sets.
_FITTED: dict[type, dict[str, Field]] = {
    SDPEmbedding: _COMMON
    | _CERTIFIED
    | _BANDWIDTH
    | {"spread_": Number(), "n_outside_": Integer()}
    | _training(SDPTraining),
    MultiscaleEmbedding: _COMMON
    | _BANDWIDTH
    | _training(MultiscaleTraining)
    | {"eigenvalues_": Floats("a"), "groups_": Integers("N"), "n_outside_": Integer()},
    RKHSEmbedding: _COMMON
    | _CERTIFIED
    | {
        "length_scale_": Number(positive=True),
        "smoothness_": Number(positive=True),
        "regularization_": Number(positive=True),
        "trace_": Number(),
    }
    | _training(RKHSTraining),
    DiffusionMap: _COMMON | _BANDWIDTH | {"eigenvalues_": Floats("r")} | _training(DiffusionTraining),
}
# What to do about parameters that cannot be stored.
_REMEDIES = {
    "kernel": "fit with the name of a kernel, one of those in elliptope.kernels, or kernel='precomputed'",
    "metric": "fit with the name of a metric, or with metric='precomputed'",
    "diagonal": "fit with an array of its values at the training points (new points take that of the most similar one)",
    "direction": "fit with direction='mean'",
    "device": "call set_params(device='cuda') first; it has no influence on a fitted model",
    "random_state": "call set_params(random_state=None) first, or pass an integer; it has no influence on a fitted model",
}


def register_estimators() -> None:
    """Make the estimators storable."""
    parameters = ParameterKinds(OneOf(_FORMULAS | _RULES), _REMEDIES)
    for cls, attributes in _FITTED.items():
        register(cls, Table(attributes, parameters))
