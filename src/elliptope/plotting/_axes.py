"""Shared by all displays: matplotlib, imported when something is drawn, axes and titles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._utils.versions import missing_module

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def check_matplotlib(caller: str) -> None:
    """Raise an error that names the extra where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise missing_module(caller, "plot", error) from error


def open_axes(ax: Any, caller: str, dimension: int = 2, size: tuple[float, float] | None = None) -> Any:
    """The axes to draw on: ``ax``, or those of a new figure of this size. pyplot is used for the latter only."""
    check_matplotlib(caller)
    if ax is None:
        import matplotlib.pyplot as plt

        projection = {"projection": "3d"} if dimension == 3 else {}
        _, ax = plt.subplots(figsize=size, layout="constrained", subplot_kw=projection)
    elif (dimension == 3) != (getattr(ax, "name", None) == "3d"):
        wanted = "3-D axes (`subplot_kw={'projection': '3d'}`)" if dimension == 3 else "2-D axes"
        raise ValueError(f"`ax` must be {wanted} for {dimension} coordinates, got {ax!r}.")
    return ax


def heading(*lines: str | None) -> str:
    """A title of the lines that are not empty."""
    return "\n".join(line for line in lines if line)


def equal_aspect(ax: Axes) -> None:
    """The same unit on both axes, so that distances and angles are right."""
    # If both axes are shared with others, matplotlib can change the box but not the limits.
    shared = all(len(group.get_siblings(ax)) > 1 for group in (ax.get_shared_x_axes(), ax.get_shared_y_axes()))
    ax.set_aspect("equal", adjustable="box" if shared else "datalim")
