"""Fits on more than one machine, by Dask.

Give dask arrays or data frames to ``fit``, or ``operator="dask"`` with arrays of NumPy, while a
``dask.distributed.Client`` is connected. Results do not depend on the number of workers, to the last bit.
"""

from .cluster import ClusterError

__all__ = ["ClusterError"]
