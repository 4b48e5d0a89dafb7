"""Embeddings that come with a proof: positive semi-definite embedding with certificate, extension and learned kernel."""

from . import datasets, theory
from ._version import __version__
from .estimators import DiffusionMap, MultiscaleEmbedding, RKHSEmbedding, SDPEmbedding
from .estimators.path import bandwidth_path, spread_path
from .estimators.recertify import InconsistentModelError, recertify
from .estimators.streaming import score_to, transform_to
from .kernels import Neighbors, Overlap
from .memory import InsufficientMemoryError, estimate_memory
from .persistence import ModelFileError, load

__all__ = [
    "DiffusionMap",
    "InconsistentModelError",
    "InsufficientMemoryError",
    "ModelFileError",
    "MultiscaleEmbedding",
    "Neighbors",
    "Overlap",
    "RKHSEmbedding",
    "SDPEmbedding",
    "__version__",
    "bandwidth_path",
    "datasets",
    "estimate_memory",
    "load",
    "recertify",
    "score_to",
    "spread_path",
    "theory",
    "transform_to",
]
