r"""The statistical constants of the kernelised problem (Sections 1.2.2 and 4 of Fanuel et al.).

The points :math:`x_1, \dots, x_n` are independent and uniform on a domain :math:`X \subset \mathbb R^p`; with features φ of
a kernel k bounded by :math:`k(x, x) \le \kappa^2`,

.. math:: S^*S = \frac1{|X|} \int_X \varphi(x) \otimes \varphi(x)\,dx, \qquad
          S_n^*S_n = \frac1n \sum_i \varphi(x_i) \otimes \varphi(x_i) .

The objective is :math:`f(B) = \operatorname{Tr}(A\,S^*S\,B\,S^*S)` with :math:`A = I - u \otimes u`, and :math:`f_n` is the
same with :math:`S_n`. B⋆⋆ maximises f over the psd B with :math:`\langle\varphi(x), B\varphi(x)\rangle = d(x)` on all of
X. B⋆ maximises :math:`f_n - \lambda\operatorname{Tr}` where the constraint is asked for on the sample only. The dimension is
p here, so that d can be the diagonal; the paper calls both d.

That the sample is independent and uniform cannot be checked. Arguments out of range raise an error. A condition of a theorem
that does not hold is named in :attr:`Guarantee.failed`, next to the number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.sparse.linalg import ArpackError, eigsh
from sklearn.utils import check_array

from .._utils.arrays import Array
from .._utils.checks import check_between, check_finite, check_integer, check_non_negative, check_positive
from ..kernels.choice import make_kernel
from ..operators import kernel_matrix

# Excess of λmax over κ², and asymmetry of a kernel matrix relative to its largest entry, that may be rounding.
_ROUNDING = 1e-10
# Points up to which the dense eigensolver takes little time.
_DENSE_SIZE = 1000
# The theorem's δ is below this, so that both its parts hold together with positive probability.
_LARGEST_DELTA = 1 / 3
# Beyond this logarithm a number is written as a power of ten.
_LARGEST_LOG = 700


@dataclass(frozen=True)
class Guarantee:
    """A bound, the probability with which it holds, and the conditions that fail.

    ``value`` is the formula of the theorem whether or not its conditions hold; ``probability`` is claimed only if ``holds``.
    """

    value: float
    probability: float
    failed: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.failed


def _failed(*conditions: tuple[bool, str]) -> tuple[str, ...]:
    return tuple(name for met, name in conditions if not met)


def deviation(n: int, delta: float, lambda_max: float, kappa2: float = 1.0) -> float:
    r"""How far the sample operator is from its mean, Proposition 2: with probability at least 1 - 2δ, δ in (0, 1/2),

    .. math:: \lVert S^*S - S_n^*S_n \rVert \le c_{n,\delta} = \frac{4\kappa^2\beta}{3n}
              + \sqrt{\frac{2\kappa^2 \lambda_{\max} \beta}{n}}, \qquad
              \beta = \log\frac{2\kappa^2}{\lambda_{\max}\delta} .

    ``lambda_max`` is λmax(S*S), which never exceeds Tr(S*S) ≤ κ²; ``kappa2`` is κ², which is 1 for every built-in kernel.
    c increases with λmax as soon as n λmax ≥ 34 κ² (the derivative is positive where n λmax/κ² ≥ 32β/(9(β-1)²), and
    β > log 4), so that too large a λmax is then on the safe side.
    """
    n, delta = check_integer("n", n, 1, most=math.inf), check_between("delta", delta, 0, 1 / 2)
    kappa2, lambda_max = check_positive("kappa2", kappa2), check_positive("lambda_max", lambda_max)
    if lambda_max > kappa2 * (1 + _ROUNDING):
        raise ValueError(
            f"`lambda_max` must lie in (0, κ²] = (0, {kappa2:g}], because λmax(S*S) ≤ Tr(S*S) ≤ κ², got {lambda_max!r}."
        )
    beta = math.log(2) + math.log(kappa2) - math.log(lambda_max) - math.log(delta)
    return 4 * kappa2 * beta / (3 * n) + math.sqrt(2 * kappa2 * lambda_max * beta / n)


def trace_deviation(n: int, delta: float, lambda_max: float, kappa2: float = 1.0) -> float:
    r"""How far the sample objective is from the true one, Proposition 2: with probability at least 1 - 2δ, δ in (0, 1/2),

    .. math:: |f(B) - f_n(B)| \le C_{n,\delta} \operatorname{Tr}(B), \qquad
              C_{n,\delta} = 2\kappa^2 c_{n,\delta} + c_{n,\delta}^2 .

    It follows from the event of :func:`deviation` alone, so it holds for all psd B and all A with 0 ⪯ A ⪯ I at once: both
    may depend on the sample, as the default u does.
    """
    c = deviation(n, delta, lambda_max, kappa2)
    return 2 * kappa2 * c + c**2


def least_regularization(n: int, delta: float, lambda_max: float, kappa2: float = 1.0) -> float:
    r"""The smallest λ to which Theorem 3 applies, :math:`\lambda = 2 C_{n,\delta}`."""
    return 2 * trace_deviation(n, delta, lambda_max, kappa2)


def objective_bound(
    regularization: float, trace: float, *, n: int, delta: float, lambda_max: float, kappa2: float = 1.0
) -> Guarantee:
    r"""Theorem 3 (i), as printed: if λ ≥ 2 C and δ < 1/3, then with probability at least 1 - 2δ

    .. math:: |f(B_\star) - f(B_{\star\star})| \le 3 \lambda \operatorname{Tr}(B_{\star\star}) .

    ``trace`` is Tr(B⋆⋆), or an upper bound of it if the value is to be one. It is unknown in practice, and the fit bounds
    it only from below (:func:`trace_floor`): with such a trace the value is what the theorem promises *at best*.

    The proof takes f(B⋆) ≤ f(B⋆⋆) from feasibility, but B⋆ meets the constraints on the sample only. The other half,
    f(B⋆⋆) - f(B⋆), does not need that step: see :func:`shortfall_bound`.
    """
    regularization, trace = check_positive("regularization", regularization), check_non_negative("trace", trace)
    least = least_regularization(n, delta, lambda_max, kappa2)
    failed = _failed(
        (regularization >= least, f"λ ≥ 2 C_{{n,δ}} = {least:.6g}; got λ = {regularization:.6g}"),
        (delta < _LARGEST_DELTA, f"δ < 1/3; got δ = {delta:.6g}"),
    )
    return Guarantee(3 * regularization * trace, 1 - 2 * delta, failed)


def shortfall_bound(
    regularization: float, trace: float, *, n: int, delta: float, lambda_max: float, kappa2: float = 1.0
) -> Guarantee:
    r"""The half of Theorem 3 (i) whose proof is complete: if λ ≥ C and δ < 1/2, then with probability at least 1 - 2δ

    .. math:: f(B_{\star\star}) - f(B_\star) \le (\lambda + C_{n,\delta}) \operatorname{Tr}(B_{\star\star}) .

    Optimality of B⋆ on the sample gives :math:`f_n(B_\star) - \lambda T_\star \ge f_n(B_{\star\star}) - \lambda
    T_{\star\star}` for the traces T, and replacing each :math:`f_n` by f costs C times its trace; with λ ≥ C the terms in
    T⋆ can be dropped. The same holds for every feasible B in the place of B⋆⋆.
    """
    regularization, trace = check_positive("regularization", regularization), check_non_negative("trace", trace)
    C = trace_deviation(n, delta, lambda_max, kappa2)
    failed = _failed((regularization >= C, f"λ ≥ C_{{n,δ}} = {C:.6g}; got λ = {regularization:.6g}"))
    return Guarantee((regularization + C) * trace, 1 - 2 * delta, failed)


def trace_floor(upper_bound: float, regularization: float) -> float:
    r"""A lower bound on Tr(B⋆⋆), and on the trace of every feasible B, from the solved problem; certain, not probable.

    .. math:: \operatorname{Tr}(B_{\star\star}) \ge \max(0, -q / \lambda)

    where q, ``upper_bound``, is at least the optimum of :math:`\frac1{n^2}\operatorname{Tr}(\bar K B') - \lambda
    \operatorname{Tr}(K^{-1} B')` (a certificate for the cost :math:`\bar K - \lambda n^2 K^{-1}`, divided by n²): B⋆⋆ is
    feasible for it and :math:`f_n(B_{\star\star}) \ge 0`. An upper bound on Tr(B⋆⋆) does not follow from a sample. The proof
    of Theorem 3 has Tr(B⋆) ≤ (1 + λ/C) Tr(B⋆⋆), also a lower bound, but by the step that needs B⋆ feasible on all of X.
    """
    return max(0.0, -check_finite("upper_bound", upper_bound) / check_positive("regularization", regularization))


def top_eigenvalue(X: Array, kernel: Callable | None = None) -> float:
    r"""The estimate :math:`\lambda_{\max}(K)/n` of λmax(S*S), from a kernel matrix, or from points and their kernel.

    It is the largest eigenvalue of :math:`S_n^*S_n`, a convex function of the sample operator: too large on average, and
    within :math:`c_{n,\delta}` with probability at least 1 - 2δ. Beyond 1000 points Lanczos from a fixed start is tried
    first; where it fails, as for zero or for top eigenvalues that are very close, the dense solver takes over.
    """
    X = check_array(X, dtype=np.float64, input_name="X")
    K = X if kernel is None else kernel_matrix(make_kernel(kernel, None), X)
    n = len(K)
    if K.shape != (n, n):
        raise ValueError(f"`X` must be a square kernel matrix when `kernel` is None, got shape {K.shape}.")
    asymmetry = float(np.abs(K - K.T).max())
    if asymmetry > _ROUNDING * np.abs(K).max():
        raise ValueError(f"`X` must be a symmetric kernel matrix when `kernel` is None, got max|K - K.T| = {asymmetry:.3g}.")
    if n > _DENSE_SIZE:
        start = np.random.default_rng(0).standard_normal(n)  # fixed: the result is a function of the data
        try:
            return float(eigsh(K, k=1, which="LA", v0=start, ncv=40, maxiter=100, return_eigenvectors=False)[0]) / n
        except ArpackError:
            pass
    # All of them: bisection for the largest alone costs as much, and fails where it repeats, as for I - 11ᵀ/n.
    return float(np.linalg.eigvalsh(K)[-1]) / n


def fill_distance_bound(n: int, p: int, delta: float, R: float, r: float | None = None) -> Guarantee:
    r"""Fill distance of n uniform points (Proposition 5; Lemma 4 of Rudi, Marteau-Ferey and Bach), δ in (0, 1):

    .. math:: h_{\hat X, X} \le 11 R\, n^{-1/p} \big(\log\tfrac n\delta + p \log\tfrac{2R}r\big)^{1/p}
              \quad\text{if}\quad n \ge 2 \big(\tfrac{6R}r\big)^p \big(\log\tfrac2\delta + 2p \log\tfrac{4R}r\big)

    with probability at least 1 - δ, for a domain of diameter 2R that is a union of balls of radius r ≤ R. The default
    r = R is a ball of radius R.
    """
    n, p = check_integer("n", n, 1, most=math.inf), check_integer("p", p, 1)  # samples that are needed may be any number
    delta = check_between("delta", delta, 0, 1)
    R = check_positive("R", R)
    r = R if r is None else check_positive("r", r)
    if r > R:
        raise ValueError(f"`r` must be at most R = {R:g}, half the diameter of the domain, got {r!r}.")
    value = 11 * R * math.exp(_log_coverage(n, p, delta, R / r) / p)
    return Guarantee(value, 1 - delta, _failed(_enough_for_fill(n, p, delta, R / r)))


def constraint_rate(n: int, p: int, delta: float, m: int, s: float) -> Guarantee:
    r"""Rate at which the constraints come to hold between the sample points, Theorem 3 (ii), for δ in (0, 1):

    .. math:: \sup_x |d(x) - \langle\varphi(x), B_\star\varphi(x)\rangle|
              \le \gamma \big(\beta_m \operatorname{Tr}(B_\star) + |d|_{X,m}\big) \cdot \text{rate}, \qquad
              \text{rate} = n^{-m/p} \big(\log\tfrac n\delta + p\log 2\big)^{m/p}

    with probability at least 1 - δ, on a ball, for the RKHS :math:`W_2^s` (``s = kernel.sobolev_order(p)``) and an
    integer 0 < m < s - p/2, if

    .. math:: 11\, n^{-1/p} \big(\log\tfrac n\delta + p\log 2\big)^{1/p} \le \min\Big(1, \frac1{18(m-1)^2}\Big) .

    The constants γ, of m, p and R, and β_m are not explicit, so that only the rate has a value. Departures from the paper:
    the trace is that of B⋆, which the fit knows. The paper goes on to Tr(B⋆⋆) by λ ≥ 2 C, which needs the event of
    Proposition 2 too: the probability is then 1 - 3δ, not the 1 - δ of its part (ii). (The factor C on the left of that step
    in its proof is a slip.) The condition on n of :func:`fill_distance_bound` is needed and checked; the theorem omits it.
    """
    n, p = check_integer("n", n, 1, most=math.inf), check_integer("p", p, 1)  # samples that are needed may be any number
    delta = check_between("delta", delta, 0, 1)
    m = check_integer("m", m, 1)
    if isinstance(s, bool) or not isinstance(s, Real):
        raise ValueError(f"`s` must be a number, the Sobolev order of the RKHS, got {s!r}.")
    failed = _failed(
        (m < s - p / 2, f"0 < m < s - p/2; got m = {m}, s = {s:g}, p = {p}"),
        (s != math.inf, "s finite: the RKHS must be a Sobolev space; got s = inf"),
        _enough_for_zeros(n, p, delta, m),
        _enough_for_fill(n, p, delta),
    )
    return Guarantee(math.exp(_log_coverage(n, p, delta) * m / p), 1 - delta, failed)


def samples_needed(p: int, delta: float, m: int = 1) -> int:
    """The smallest n that meets both conditions on n of :func:`constraint_rate`; they hold for every larger n too.

    It grows like 11^p, and like (198 (m-1)²)^p for m > 1: an exact integer, however large.
    """
    p, delta, m = check_integer("p", p, 1), check_between("delta", delta, 0, 1), check_integer("m", m, 1)

    def enough(n: int) -> bool:
        return _enough_for_zeros(n, p, delta, m)[0] and _enough_for_fill(n, p, delta)[0]

    too_few, n = 1, 2  # one point is never enough: 11 (p log 2)^(1/p) > 1
    while not enough(n):
        too_few, n = n, 2 * n
    while n - too_few > 1:
        middle = (too_few + n) // 2
        too_few, n = (too_few, middle) if enough(middle) else (middle, n)
    return n


def _log_coverage(n: int, p: int, delta: float, ratio: float = 1.0) -> float:
    """log((log(n/δ) + p log(2R/r)) / n) for ratio = R/r, finite for integers n beyond the range of floats."""
    return math.log(math.log(n) - math.log(delta) + p * math.log(2 * ratio)) - math.log(n)


def _enough_for_fill(n: int, p: int, delta: float, ratio: float = 1.0) -> tuple[bool, str]:
    log_least = p * math.log(6 * ratio) + math.log(2 * (math.log(2) - math.log(delta) + 2 * p * math.log(4 * ratio)))
    name = f"n ≥ 2 (6R/r)^p (log(2/δ) + 2p log(4R/r)) = {_written(log_least)}; got n = {_written(math.log(n), n)}"
    return math.log(n) >= log_least, name


def _enough_for_zeros(n: int, p: int, delta: float, m: int) -> tuple[bool, str]:
    log_left, most = math.log(11) + _log_coverage(n, p, delta) / p, 1 / max(1, 18 * (m - 1) ** 2)
    name = f"11 ((log(n/δ) + p log 2)/n)^(1/p) ≤ min(1, 1/(18(m-1)²)) = {most:.6g}; got {_written(log_left)}"
    return log_left <= math.log(most), name


def _written(log_value: float, exact: int | None = None) -> str:
    """A positive number given by its logarithm, which may be beyond the range of floats; integers to the last digit."""
    if log_value > _LARGEST_LOG:
        return f"1e{log_value / math.log(10):.0f}"
    return f"{math.exp(log_value):.6g}" if exact is None else str(exact)
