"""Which operator a fit can afford, decided from shapes alone, before anything is allocated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.checks import check_choice
from ..kernels.base import Kernel, KernelRule
from ..kernels.choice import find_kernel
from .available import Memory, available_memory
from .needs import WIDTH, estimate_memory

__all__ = [
    "InsufficientMemoryError",
    "Memory",
    "Plan",
    "available_memory",
    "check_fits",
    "choose_operator",
    "estimate_memory",
    "plan",
    "size_of",
]

OPERATORS = ("dense", "tiled")
# Used for kernels that are not known; estimators refuse them.
_ANY_KERNEL = Kernel

# Rows up to which no machine is too small, and the available memory is not asked for.
_SMALL_ROWS = 1000
# Part of the free memory that an automatic choice may take.
_COMFORT = 0.7
# Rows at which the proof of a dense fit, n³/3 multiplications, takes minutes.
_DENSE_ROWS = 30_000
# Sizes of samples that are suggested: round numbers up to that.
_SAMPLES = (_DENSE_ROWS, 20_000, 10_000, 5_000, 2_000, 1_000)
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
    alternatives : tuple of str
        What would fit instead, in words.
    """

    operator: str
    need: int
    memory: Memory
    reason: str
    alternatives: tuple[str, ...] = ()

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
        The name of that estimator, for messages. What to do instead is put in terms of ``SDPEmbedding``.
    n_threads : int
        Threads that a tiled product would use.
    memory : Memory, optional
        What there is; by default what :func:`available_memory` finds.
    **sizes
        ``dtype``, ``rank`` and ``n_neighbors`` of :func:`estimate_memory`.
    """
    check_choice("operator", operator, ("auto", *OPERATORS))
    memory = available_memory() if memory is None else memory
    fit = _Fit(n, p, find_kernel(kernel) or _ANY_KERNEL, only, n_threads, memory, sizes)
    choices = ("auto", *(name for name in OPERATORS if name in fit.possible))
    if operator not in choices:
        allowed = ", ".join(map(repr, choices))
        raise ValueError(f"`operator` must be one of {allowed} for kernel={kernel!r}, got {operator!r}.")
    chosen, why = _choose(fit) if operator == "auto" else (operator, "as asked for")
    need = fit.need(chosen)
    subject = f"operator={chosen!r}" if fit.has_choice else estimator
    found = there_is(fit.memory)
    reason = f"{subject} for {n} rows of {p} features, {why}: it needs about {gigabytes(need)}, and {found}."
    return Plan(chosen, need, fit.memory, reason, tuple(_alternatives(fit, chosen)))


@dataclass(frozen=True)
class _Fit:
    """What is known of a fit before it starts."""

    n: int
    p: int
    kernel: KernelRule | type[KernelRule]
    only: str | None
    n_threads: int
    memory: Memory
    sizes: dict[str, Any]

    @cached_property
    def possible(self) -> tuple[str, ...]:
        """Operators that can hold the kernel, or the only one of the estimator."""
        return self.kernel.operators if self.only is None else (self.only,)

    @property
    def has_choice(self) -> bool:
        """Whether the estimator has the parameter ``operator``."""
        return self.only is None

    @property
    def limit(self) -> float:
        return math.inf if self.memory.bytes is None else self.memory.bytes

    def need(self, operator: str, rows: int | None = None) -> int:
        """Bytes for all rows, or that many."""
        if operator == "dense" and self.kernel.pairwise:
            operator = "precomputed"
        return estimate_memory(self.n if rows is None else rows, self.p, operator=operator, **self.sizes)

    @cached_property
    def tiled_hours(self) -> float:
        """Hours that the products of a tiled fit take, in order of magnitude."""
        pair = _SECONDS_PER_PAIR + 2 * (self.p + WIDTH) * _SECONDS_PER_FLOP
        return _PRODUCTS * self.n**2 / 2 * pair / self.n_threads / 3600


def _choose(fit: _Fit) -> tuple[str, str]:
    """The policy of ``operator="auto"``, and the reason for its answer."""
    if len(fit.possible) == 1:
        pairs = fit.possible[0] != "sparse" and not fit.has_choice
        why = "which stores a matrix of all pairs" if pairs else "the only way to hold this kernel"
        return fit.possible[0], why
    room = _COMFORT * fit.limit
    dense = fit.need("dense")
    if fit.n <= _DENSE_ROWS and dense <= room:
        return "dense", "which fits and gives a proof"
    # Where the limit is not known nothing could be refused, and waiting is better than being killed.
    if fit.need("tiled") <= room and (fit.tiled_hours <= _TOLERABLE_HOURS or fit.limit == math.inf):
        stored = f"a dense one of {gigabytes(dense)}"
        return "tiled", f"as the proof of {stored} takes long" if dense <= room else f"as {stored} is too large"
    return "dense", "as no other that is exact would fit and end within a night"


def _alternatives(fit: _Fit, chosen: str) -> list[str]:
    """What would fit instead, in the terms of the estimator."""
    hours = f", in some {fit.tiled_hours:,.0f} hours" if fit.tiled_hours > 1 else ""
    remarks = {
        "sparse": ("kernel='neighbors'", ""),
        "tiled": ("operator='tiled'", hours),
    }
    found = []
    if fit.kernel.pairwise:
        found.append("rows and the name of a kernel instead of its matrix")
        remarks = {}
    for name, (words, remark) in remarks.items():
        need = fit.need(name)
        possible = name in fit.possible or name == "sparse" or not fit.has_choice
        if possible and name != chosen and need <= fit.limit:
            found.append(f"{words if fit.has_choice else f'SDPEmbedding({words})'} ({gigabytes(need)}{remark})")
    fitting = (rows for rows in _SAMPLES if rows < fit.n and fit.need(chosen, rows) <= _COMFORT * fit.limit)
    rows = next(fitting, None)
    found.append(f"a fit to a sample of {f'{rows} ' if rows else ''}rows, and `transform` for the others")
    return found


def check_fits(plan: Plan) -> None:
    """Raise :class:`InsufficientMemoryError` where a plan needs more memory than there is."""
    if not plan.fits:
        raise InsufficientMemoryError(f"Not enough memory. {plan.reason} Instead: {'; '.join(plan.alternatives)}.")


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
