"""What the estimators share that solve an SDP: calling the solver, and keeping what it says."""

from __future__ import annotations

from abc import abstractmethod
from html import escape
from typing import Any

import numpy as np

from .._utils.arrays import Array, as_numpy, like, namespace
from .._utils.callers import underflows_to_zero, warn
from .._utils.checks import check_integer, check_tol, check_verbose, is_word
from .._utils.devices import as_given
from ..operators import Operator
from ..sdp import Certificate, Solution, solve
from ..sdp.factors import SMALL_COLUMN
from ..sdp.spread import Spread
from ..sdp.verdict import one_line
from .base import Embedding, column_signs
from .pose import check_seed, draw_seed
from .progress import CallbackSupportMixin, progress_callback

# SMALL_COLUMN for a program with a quadratic term. There the extension divides by the eigenvalues of all columns, which are
# of the size of their squares: with smaller ones rounding shows in the last columns.
_SMALL_COLUMN_OF_SPREAD = 1e-4
_NO_SPREAD = Spread(0.0)
# How a warning begins that is of no use where many fits are made with the same `n_components`.
ZERO_COLUMNS = "`n_components` is larger than the rank of the optimum,"


class CertifiedEmbedding(CallbackSupportMixin, Embedding):
    """Base of the estimators whose embedding is the factor of a certified optimum."""

    n_components: int | None
    rank: int | str
    tol: float
    max_iter: int
    random_state: Any
    verbose: bool
    certificate_: Certificate
    status_: str
    n_iter_: int
    n_products_: int

    def fit_transform(self, X: Array, y: Any = None, sample_weight: Array | None = None) -> Array:
        """Fit, and return ``embedding_``, in the precision of X; a tensor where X is one."""
        return as_given(self.fit(X, sample_weight=sample_weight).embedding_, X)

    @underflows_to_zero
    def learned_kernel(self, X: Array, Y: Array | None = None) -> Array:
        r"""The data-dependent Mercer kernel :math:`b_\star(x, y) = \Xi(x)\cdot\Xi(y)`, over all components.

        Usable as ``SVC(kernel=est.learned_kernel)``.
        """
        Xi = self._extension_of(X)
        return as_given(Xi @ (Xi if Y is None or Y is X else self._extension_of(Y)).T, X, whole_rows=False)

    def _extension_of(self, X: Any) -> Array:
        """Ξ(x), all components, for rows that are still to be validated."""
        return self._embed_rows(self._check_new(X), device=self._device_for(X))

    @abstractmethod
    def fit(self, X: Array, y: Any = None, sample_weight: Array | None = None) -> Any: ...

    # scikit-learn's diagram with the certificate below it. Which of the two a front end calls depends on its age.
    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._certificate_line()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._certificate_line()
        return bundle

    def _certificate_line(self) -> str:
        if not hasattr(self, "embedding_"):
            return ""
        certificates = getattr(self, "certificates_", None) or (self.certificate_,)
        return f"<div>{escape(one_line(self.status_, *certificates))}</div>"

    def _check_solver_parameters(self) -> None:
        if self.n_components is not None:
            check_integer("n_components", self.n_components, 1, "None or ")
        check_integer("max_iter", self.max_iter, 1)
        check_tol(self.tol)
        check_verbose(self.verbose)
        check_seed(self.random_state)
        if not is_word(self.rank, "auto"):
            check_integer("rank", self.rank, 1, "'auto' or ")

    def _solve(
        self,
        J: Operator,
        method: str = "auto",
        start: Array | None = None,
        spread: Spread = _NO_SPREAD,
        extend: bool = True,
        interrupted: bool = False,
    ) -> Solution:
        """Solve; if the fit was ``interrupted`` before, return the start as it is, with its bound."""
        with progress_callback(self, bool(self.verbose)) as report:
            return solve(
                J,
                method=method,
                rank=self.rank,
                tol=self.tol,
                polish=True,
                max_iter=self.max_iter,
                rng=np.random.default_rng(draw_seed(self.random_state)),
                start=start,
                spread=spread,
                extend=extend,
                callback=(lambda _: True) if interrupted else report,
            )

    def _check_width(self, n: int) -> None:
        if self.n_components is not None and self.n_components > n:
            raise ValueError(f"`n_components` must be at most the number of rows, {n}, got {self.n_components!r}.")

    def _width(self, rank: int) -> int:
        """Columns of the embedding, for an optimum of that rank."""
        if self.n_components is None:
            return rank
        if self.n_components > rank:
            zero = int(self.n_components) - rank
            warn(f"{ZERO_COLUMNS} {rank}, so that the last {zero} of {self.n_components} columns of the embedding are zero.")
        return int(self.n_components)


def outcome(solution: Solution, status: str) -> dict[str, Any]:
    """The fitted attributes that say how a solve went."""
    return {
        "certificate_": solution.certificate,
        "status_": status,
        "n_iter_": solution.n_iter,
        "n_products_": solution.n_products,
    }


def needed_columns(H: Array, weights: Array, spread: float) -> Array:
    """H in its principal axes for these weights of rows, as an array of NumPy, without the columns that no row needs.

    That is to the accuracy of the optimum; rows are brought back to length one. ``spread`` is the weight s of the quadratic
    term.
    """
    small = _SMALL_COLUMN_OF_SPREAD if spread else SMALL_COLUMN
    if not weights.any():  # a constant kernel: B = 0 is all that the bound allows
        return np.zeros((len(weights), 1))
    while True:
        H = H @ like(H, principal_axes(like(H, np.sqrt(weights))[:, None] * H)[0])
        needed = as_numpy(namespace(H).max(abs(H), axis=0)) > small
        H = as_numpy(H)
        if needed.all():
            return H
        H = H[:, needed]
        H /= np.linalg.norm(H, axis=1, keepdims=True)


def principal_axes(A: Array) -> tuple[Array, Array]:
    """V and S² of a tall A = U S Vᵀ, by way of its triangular factor, which is small."""
    _, S, Vt = np.linalg.svd(as_numpy(namespace(A).linalg.qr(A)[1]), full_matrices=False)
    return Vt.T, S**2


def eigenvectors(Xi: Array, w: Array) -> tuple[Array, Array]:
    r"""V that turns the columns of Ξ to the eigenvectors of :math:`\Xi \Xi^\top` on L²(w), and their eigenvalues.

    They are in descending order, and of the sign that :func:`column_signs` gives.
    """
    V, values = principal_axes(np.sqrt(w)[:, None] * Xi)
    return V * column_signs(Xi @ V), values
