"""Versions of the software in use, for model files, reports and benchmarks."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from .._version import __version__

_REQUIRED = ("numpy", "scipy", "scikit-learn")


def versions(*optional: str) -> dict[str, str | None]:
    """Versions of elliptope, Python, the libraries it needs, and ``optional`` ones; None for what is not installed."""
    libraries = {name: _version(name) for name in (*_REQUIRED, *optional)}
    return {"elliptope": __version__, "python": platform.python_version(), **libraries}


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None
