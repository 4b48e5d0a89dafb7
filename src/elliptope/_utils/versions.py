"""Versions of the software in use, and how to get optional libraries that are missing."""

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


def install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'elliptope[{extra}]' (in a clone: pip install '.[{extra}]')"


def missing_module(what: str, extra: str, error: ImportError, otherwise: str = "") -> ImportError:
    """The error for ``what`` needs an extra; it names the module that could not be imported, which may be one of several."""
    need = "need" if what.endswith("s") else "needs"
    module = error.name or "a library"
    return ImportError(f"{what} {need} {module}, of the extra `{extra}`: {install(extra)}{otherwise}. Python says: {error}.")
