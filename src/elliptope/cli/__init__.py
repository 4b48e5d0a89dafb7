"""The command line: ``elliptope embed wine.csv``, also as ``python -m elliptope``."""

from typing import TYPE_CHECKING, Any

from .app import main, run

if TYPE_CHECKING:
    from .models import load_pipeline

__all__ = ["load_pipeline", "main", "run"]


def __getattr__(name: str) -> Any:
    if name == "load_pipeline":  # imported when it is used: `elliptope --help` waits for no library
        from .models import load_pipeline

        return load_pipeline
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
