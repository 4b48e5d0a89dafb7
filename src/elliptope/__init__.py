"""Embeddings that come with a proof: positive semi-definite embedding with certificate, extension and learned kernel.

What `__all__` lists, here and in the modules that it lists, is public; all else may change at any time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import anndata, datasets, distributed, kernels, operators, plotting, report, sdp, theory
    from .estimators import DiffusionMap, ModelFileError, MultiscaleEmbedding, RKHSEmbedding, SDPEmbedding, load
    from .estimators.path import bandwidth_path
    from .estimators.recertify import InconsistentModelError, recertify
    from .estimators.streaming import score_to, transform_to
    from .kernels import Neighbors, Overlap
    from .memory import InsufficientMemoryError, estimate_memory

# Where names are found. They are imported when they are used first, for NumPy, SciPy and scikit-learn take their time.
_PLACES = {
    "DiffusionMap": "estimators",
    "InconsistentModelError": "estimators.recertify",
    "InsufficientMemoryError": "memory",
    "ModelFileError": "estimators",
    "MultiscaleEmbedding": "estimators",
    "Neighbors": "kernels",
    "Overlap": "kernels",
    "RKHSEmbedding": "estimators",
    "SDPEmbedding": "estimators",
    "bandwidth_path": "estimators.path",
    "estimate_memory": "memory",
    "load": "estimators",
    "recertify": "estimators.recertify",
    "score_to": "estimators.streaming",
    "transform_to": "estimators.streaming",
}
_MODULES = ("anndata", "datasets", "distributed", "kernels", "operators", "plotting", "report", "sdp", "theory")

__all__ = ["__version__", *_MODULES, *_PLACES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
