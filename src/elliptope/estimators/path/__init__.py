"""Embeddings along a path of bandwidths, or of spreads, each fit started from those before it."""

from .path import bandwidth_path, follow_path
from .records import BandwidthPath, PathRecord, SpreadPath
from .spread import spread_path

__all__ = ["BandwidthPath", "PathRecord", "SpreadPath", "bandwidth_path", "follow_path", "spread_path"]
