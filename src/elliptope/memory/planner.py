"""Which operator a fit can afford, decided from shapes alone, before anything is allocated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.checks import check_choice
from ..kernels.base import Kernel
from ..kernels.choice import find_kernel
from .available import Memory, available_memory
from .needs import WIDTH, estimate_memory

OPERATORS = ("dense", "tiled")
# Used for kernels that are not known; estimators refuse them.
_ANY_KERNEL = Kernel

# Rows up to which no machine is too small, and the available memory is not asked for.
_SMALL_ROWS = 1000
# Part of the free memory that an automatic choice may take.
_COMFORT = 0.7
# Rows at which the proof of a dense fit, n³/3 multiplications, takes minutes.
_DENSE_ROWS = 30_000
# A tiled product recomputes n²/2 pairs: an exponential each, and 2(p + r) flops. Seconds of a core, in order of magnitude.
_SECONDS_PER_PAIR = 1e-9
_SECONDS_PER_FLOP = 2e-11
_PRODUCTS = 300
# Numbers that are stored for an entry of a sparse matrix: itself and its column.
_SPARSE_ENTRY = 2
# Overnight.
_TOLERABLE_HOURS = 12.0


class InsufficientMemoryError(MemoryError):
    """A fit that would not fit into memory, refused before anything of its size was allocated."""


@dataclass(frozen=True)
class Plan:
    """The operator that was chosen, and why.

    Attributes
    ----------
    operator : str
    need : int
        Bytes at the peak of ``fit``, by :func:`estimate_memory`.
    memory : Memory
        What there is.
    reason : str
        The choice, the need and the limit, in a sentence.
    """

    operator: str
    need: int
    memory: Memory
    reason: str

    @property
    def limit(self) -> int | None:
        """Bytes that there are; None where that is not known."""
        return self.memory.bytes

    @property
    def fits(self) -> bool:
        return self.limit is None or self.need <= self.limit


def plan(
    n: int,
    p: int,
    *,
    kernel: Any = "gaussian",
    operator: str = "auto",
    only: str | None = None,
    estimator: str = "SDPEmbedding",
    n_threads: int = 1,
    memory: Memory | None = None,
    **sizes: Any,
) -> Plan:
    """Choose how the kernel is held; nothing is refused here, see :func:`check_fits`.

    ``"auto"`` is dense up to 30 000 rows where that leaves three tenths of the memory free: it is the fastest, and gives
    a proof. Beyond, and where memory is short, it is tiled, which solves the same problem, unless that would take more than
    a night. Then it is dense again, which is refused where it does not fit. A neighbour kernel is always sparse.

    Parameters
    ----------
    n, p : int
        Rows of positive weight, and features.
    kernel, operator
        As ``SDPEmbedding`` has them.
    only : str, optional
        The one operator, a name of :func:`estimate_memory`, of an estimator that has no choice.
    estimator : str
        The name of that estimator, for messages.
    n_threads : int
        Threads that a tiled product would use.
    memory : Memory, optional
        What there is; by default what :func:`available_memory` finds.
    **sizes
        ``dtype``, ``rank`` and ``n_neighbors`` of :func:`estimate_memory`.
    """
    check_choice("operator", operator, ("auto", *OPERATORS))
    memory = available_memory() if memory is None else memory
    rule = find_kernel(kernel) or _ANY_KERNEL
    possible = rule.operators if only is None else (only,)
    choices = ("auto", *(name for name in OPERATORS if name in possible))
    if operator not in choices:
        allowed = ", ".join(map(repr, choices))
        raise ValueError(f"`operator` must be one of {allowed} for kernel={kernel!r}, got {operator!r}.")

    def need(name: str) -> int:
        name = "precomputed" if name == "dense" and rule.pairwise else name
        return estimate_memory(n, p, operator=name, **sizes)

    if operator != "auto":
        chosen, why = operator, "as asked for"
    elif len(possible) == 1:
        pairs = only is not None and only != "sparse"
        chosen, why = possible[0], "which stores a matrix of all pairs" if pairs else "the only way to hold this kernel"
    else:
        limit = math.inf if memory.bytes is None else memory.bytes
        chosen, why = _choose(n, need("dense"), need("tiled"), limit, tiled_hours(n, p, n_threads))
    subject = f"operator={chosen!r}" if only is None else estimator
    needed = gigabytes(need(chosen))
    reason = f"{subject} for {n} rows of {p} features, {why}: it needs about {needed}, and {there_is(memory)}."
    return Plan(chosen, need(chosen), memory, reason)


def tiled_hours(n: int, p: int, n_threads: int) -> float:
    """Hours that the products of a tiled fit take, in order of magnitude."""
    pair = _SECONDS_PER_PAIR + 2 * (p + WIDTH) * _SECONDS_PER_FLOP
    return _PRODUCTS * n**2 / 2 * pair / n_threads / 3600


def _choose(n: int, dense: int, tiled: int, limit: float, hours: float) -> tuple[str, str]:
    """The policy of ``operator="auto"``, and the reason for its answer."""
    room = _COMFORT * limit
    if n <= _DENSE_ROWS and dense <= room:
        return "dense", "which fits and gives a proof"
    # Where the limit is not known nothing could be refused, and waiting is better than being killed.
    if tiled <= room and (hours <= _TOLERABLE_HOURS or limit == math.inf):
        stored = f"a dense one of {gigabytes(dense)}"
        return "tiled", f"as the proof of {stored} takes long" if dense <= room else f"as {stored} is too large"
    return "dense", "as no other that is exact would fit and end within a night"


def check_fits(plan: Plan) -> None:
    """Raise :class:`InsufficientMemoryError` where a plan needs more memory than there is."""
    if not plan.fits:
        rows = "a fit to a sample of the rows, and `transform` for the others"
        instead = rows if plan.operator == "sparse" else f"kernel='neighbors' of SDPEmbedding, which takes rows; {rows}"
        raise InsufficientMemoryError(f"Not enough memory. {plan.reason} Instead: {instead}.")


def choose_operator(n: int, p: int, *, verbose: bool = False, **options: Any) -> str:
    """The operator for a fit, by :func:`plan`; refused where memory does not suffice. ``verbose``: print the reason."""
    small = options.get("operator", "auto") in ("auto", "dense") and n <= _SMALL_ROWS
    if small and not verbose and "memory" not in options:
        options["memory"] = Memory(None, "not looked at")
    chosen = plan(n, p, **options)
    check_fits(chosen)
    if verbose:
        print(chosen.reason)
    return chosen.operator


def size_of(X: Any, sample_weight: Any = None) -> tuple[int, int] | None:
    """Rows of positive weight and columns of data that are still to be validated, from their shape alone.

    None where that cannot be told, or where there are none: validation will say what is wrong. A sparse matrix counts as one
    with as many columns as its rows have entries on average, each with its index. Not meant for kernel
    matrices, whose rows of weight zero take memory too: leave ``sample_weight`` out.
    """
    shape = getattr(X, "shape", None)
    if shape is None and isinstance(X, list | tuple) and X and isinstance(X[0], list | tuple | np.ndarray):
        shape = (len(X), len(X[0]))
    if shape is None or len(shape) != 2:
        return None
    n, p = int(shape[0]), int(shape[1])
    if sparse.issparse(X) and n > 0:
        p = min(p, max(1, -(-_SPARSE_ENTRY * X.nnz // n)))
    if sample_weight is not None and np.ndim(sample_weight):
        n = min(n, int(np.count_nonzero(sample_weight)))
    return (n, p) if n > 0 and p > 0 else None


def gigabytes(number: float) -> str:
    size = number / 1e9
    return f"{size:,.0f} GB" if size >= 100 else f"{size:.2g} GB"


def there_is(memory: Memory) -> str:
    if memory.bytes is None:
        return "how much memory there is could not be found out"
    return f"there are {gigabytes(memory.bytes)} ({memory.source})"
