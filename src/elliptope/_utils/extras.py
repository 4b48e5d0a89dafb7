"""Optional libraries, and how to get them."""

from __future__ import annotations


def install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'elliptope[{extra}]' (in a clone: pip install '.[{extra}]')"


def missing_module(what: str, extra: str, error: ImportError, otherwise: str = "") -> ImportError:
    """The error for ``what`` needs an extra; it names the module that could not be imported, which may be one of several."""
    need = "need" if what.endswith("s") else "needs"
    module = error.name or "a library"
    return ImportError(f"{what} {need} {module}, of the extra `{extra}`: {install(extra)}{otherwise}. Python says: {error}.")
