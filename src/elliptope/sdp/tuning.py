"""Every switching point of the solver in one record, each with its reason.

None of these numbers can make a certificate wrong: they decide how soon an answer is found, not whether it is right.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """Defects, gaps and eigenvalues are relative; *rows* and *columns* are those of the factor H, (n, r)."""

    # The starting factor, and its number of columns over time.
    rank: int = 4  # optimal ranks seen on data are 1 to 4; the certificate adds columns that are missing
    light_column: float = 1e-6  # share of the objective below which a column is dropped if that costs nothing

    # When one method hands over to the next.
    basin: float = 1e-5  # defect below which Newton's method converges in a few steps
    single_precision: float = 1e-3  # defect above which products in single precision are exact enough
    patience_per_row: float = 4.0  # products, per row, after which the interior-point method would have been cheaper
    patience: int = 60  # products that cost as much as a step by factorisation, or a few of them where n is small
    newton_steps: int = 20  # Newton steps after which H is taken not to be near an optimum
    small: int = 250  # rows up to which one Newton step by factorisation costs as much as a dozen other steps
    dense_newton_rows: int = 4000  # rows up to which a few n × n factorisations are affordable
    interior_point_rows: int = 1500  # rows up to which a few dozen of them are

    # The methods themselves.
    memory: int = 8  # pairs of steps and gradients that L-BFGS starts with
    memory_growth: int = 4  # the memory is doubled when it has been filled this often
    memory_columns: int = 256  # largest number of pairs, times columns of H
    memory_numbers: int = 2**25  # largest number of stored entries (256 MB)
    forcing: float = 0.1  # relative residual to which a Newton system is solved, at most
    rough_forcing: float = 1e-4  # least residual where products with six digits are used for it
    interior_point_gap: float = 1e-10  # relative gap at which the interior-point method ends
    interior_point_step: float = 0.97  # part of the way to the boundary that its steps go

    # The program with a quadratic term.
    concave_rank: int = 16  # columns of the starting factor; optimal ranks seen are 4 to 45
    concave_memory: int = 3  # pairs of L-BFGS: more save no products
    wide: float = 3e-2  # defect at which one looks whether H has columns to spare
    spare: float = 2e-2  # length of a column, relative to the longest, that makes it one to spare
    vanishing: float = 100.0  # the same, relative to the square of the defect, that makes it one to drop
    concave_polish: float = 0.1  # stationarity, relative to tol, that makes the factor itself accurate
    large_spread: float = 0.5  # s from which on Newton's method for the dual needs few steps, and all others many columns
    columns_per_row: float = 30.0  # columns multiplied by J, per row, after which Newton's method for the dual is cheaper
    single_defect: float = 1e-6  # defect down to which the ascent may be in single precision
    escape_block: int = 16  # columns that are multiplied at once to look for directions of negative curvature
    escape_products: int = 8  # columns multiplied for that, per column of H
    concave_basin: float = 1e-7  # defect below which Newton's method takes over

    # When a proof is tried.
    first_test: float = 1e-4  # defect, relative to the root of tol, of the first test where nothing can be factorised
    first_attempt: float = 5.0  # defect, relative to tol, of the first attempt
    polish: float = 5e-3  # stationarity, relative to tol, that makes the factor itself accurate
    attempt_shift: float = 0.9  # part of tol that an early proof, or a test, may give away
    proof_shift: float = 0.1  # part of tol that the proof of a converged factor may give away

    # Proofs by moments.
    rows_per_column: int = 32  # a factorisation of n rows costs as much as n / 32 columns of the Krylov space
    most_columns: int = 128  # largest Krylov space
    columns_per_square: float = 6.0  # columns expected per unit of the sum of squares that is left
    known: float = 1e-4  # residual up to which a direction of the range of H is taken out

    # Probabilistic tests.
    lanczos_steps: int = 30  # of the first look at the spectrum
    damping: float = 1e-2  # by which a low pass damps what is beyond its edge


TUNING = Tuning()
