"""Embeddings along a path of bandwidths, each fit started from those before it."""

from .path import bandwidth_path, follow_path
from .records import BandwidthPath, PathRecord

__all__ = ["BandwidthPath", "PathRecord", "bandwidth_path", "follow_path"]
