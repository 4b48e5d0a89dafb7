"""Every switching point of the solver in one record, each with its reason.

None of these numbers can make a certificate wrong: they decide how soon an answer is found, not whether it is right.
``benchmarks/tuning.py`` halves and doubles each of them and prints what changes (``benchmarks/results/tuning.md``).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """Defects, gaps and eigenvalues are relative; *rows* and *columns* are those of the factor H, (n, r)."""

    # The starting factor, and its number of columns over time.
    rank: int = 4  # optimal ranks seen on data are 1 to 4; the certificate adds columns that are missing
    warm_up: int = 4  # power steps from a random start, each a product without a line search
    widening: float = 0.1  # entries of added columns, beside rows of length 1
    light_column: float = 1e-6  # share of the objective below which a column is dropped if that costs nothing
    idle_column: float = 10.0  # a column is dropped whose entries are below this, times the stationarity
    trimmed_column: float = 3e-3  # ... or whose entries are below this, where the rest does not settle

    # When one method hands over to the next.
    basin: float = 1e-5  # defect below which Newton's method converges in a few steps
    single_precision: float = 1e-3  # defect above which products in single precision are exact enough
    patience_per_row: float = 4.0  # products, per row, after which the interior-point method would have been cheaper
    small: int = 250  # rows up to which one Newton step by factorisation costs as much as a dozen other steps
    small_patience: int = 60  # products after which such steps take over there
    dense_steps: int = 30  # steps by factorisation after which the interior-point method takes over
    cg_steps: int = 60  # conjugate-gradient steps that cost as much as a step by factorisation
    dense_newton_rows: int = 4000  # rows up to which a few n × n factorisations are affordable
    interior_point_rows: int = 1500  # rows up to which a few dozen of them are

    # The methods themselves.
    memory: int = 10  # pairs of steps and gradients that L-BFGS starts with
    memory_growth: int = 4  # the memory is doubled when it has been filled this often
    memory_columns: int = 256  # largest number of pairs, times columns of H
    memory_numbers: int = 2**25  # largest number of stored entries (256 MB)
    forcing: float = 0.1  # relative residual to which a Newton system is solved, at most
    max_cg: int = 500  # conjugate-gradient steps for one Newton system where nothing can be factorised
    newton_steps: int = 30  # Newton steps after which H is taken not to be near an optimum
    interior_point_gap: float = 1e-9  # relative gap at which the interior-point method ends
    interior_point_step: float = 0.97  # part of the way to the boundary that its steps go

    # When a proof is tried.
    first_attempt: float = 4.0  # defect, relative to tol, of the first attempt
    refinement: float = 0.2  # factor by which that falls after every attempt that fails
    converged: float = 1e-3  # defect, relative to tol, at which a failed proof means a saddle point
    polish: float = 1e-2  # stationarity, relative to tol, that makes the factor itself accurate
    attempt_shift: float = 0.9  # part of tol that an early proof may give away
    proof_shift: float = 0.1  # part of tol that the proof of a converged factor may give away
    escalation: float = 1.5  # growth of the shift when a factorisation fails

    # Proofs by moments.
    rows_per_column: int = 32  # a factorisation of n rows costs as much as n / 32 columns of the Krylov space
    most_columns: int = 128  # largest Krylov space
    columns_per_square: float = 6.0  # columns expected per unit of the sum of squares that is left
    known: float = 1e-4  # residual up to which a direction of the range of H is taken out

    # Probabilistic tests.
    lanczos_steps: int = 50  # of the first look at the spectrum
    test_shift: float = 0.8  # part of tol that a test aims at
    upper_margin: float = 0.05  # part of the spread by which a test looks beyond the largest Ritz value
    pass_band: float = 30.0  # no low pass ends below this multiple of the shift aimed at
    damping: float = 1e-2  # by which a low pass damps what is beyond its edge


TUNING = Tuning()
