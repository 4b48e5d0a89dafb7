"""Embeddings that come with a proof: positive semi-definite embedding with certificate, extension and learned kernel."""

from . import datasets, streaming, theory
from .diffusion import DiffusionMap
from .embedding import SDPEmbedding
from .neighbors import Neighbors
from .path import bandwidth_path
from .persistence import ModelFileError, load
from .planner import InsufficientMemoryError, estimate_memory
from .rkhs import RKHSEmbedding

__version__ = "0.1.0"

__all__ = [
    "DiffusionMap",
    "InsufficientMemoryError",
    "ModelFileError",
    "Neighbors",
    "RKHSEmbedding",
    "SDPEmbedding",
    "__version__",
    "bandwidth_path",
    "datasets",
    "estimate_memory",
    "load",
    "streaming",
    "theory",
]
