"""The estimators, and what they share: posing the program, new rows, paths of bandwidths."""

from ..persistence import ModelFileError, load
from .diffusion_map import DiffusionMap
from .multiscale import MultiscaleEmbedding
from .rkhs_embedding import RKHSEmbedding
from .sdp_embedding import SDPEmbedding
from .stored import register_estimators

__all__ = ["DiffusionMap", "ModelFileError", "MultiscaleEmbedding", "RKHSEmbedding", "SDPEmbedding", "load"]

register_estimators()  # `load` finds them from here on
