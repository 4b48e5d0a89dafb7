"""Kernel matrices that are recomputed tile by tile at every product, on a CUDA device."""
