"""The reference lists what elliptope defines, not what its classes inherit from scikit-learn."""

from typing import Any

from sphinx.application import Sphinx


def _skip(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    module = getattr(getattr(obj, "fget", obj), "__module__", None) or ""
    return True if module.split(".")[0] in {"sklearn", "builtins"} else None


def setup(app: Sphinx) -> dict:
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
