"""Solvers side by side: the same matrices, the same certified gap, one run.

    python benchmarks/solvers.py --output benchmarks/results
    python benchmarks/solvers.py --cases held-out --output benchmarks/results/held_out
    python benchmarks/solvers.py --cases wine:3 moons --solvers elliptope L-BFGS-B --repeats 1 --output results

Writes ``solvers.md``, ``solvers.csv``, ``solvers_reference.csv`` and a performance profile (``solvers.png``),
after every case. The report states the rules.
"""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from pathlib import Path

import conic
import machine
import numpy as np
import race
from cases import Case, cost_matrix, select
from instance import RANK, Instance
from peers import PEERS

import report
from elliptope.sdp import solve

SOLVERS = [race.OURS, *PEERS, *conic.CONIC]
TOL = 1e-6
# Clarabel's memory grows as n⁴ and its time as n⁶: a case is compared with it on this many of its rows.
REFERENCE_ROWS = 60
_REFERENCE_TOL = 1e-10
_REFERENCE_LIMIT = 60.0


def main(argv: list[str] | None = None) -> None:
    options = parse(argv)
    machine.limit_threads(options.threads)
    options.output.mkdir(parents=True, exist_ok=True)
    names = (field.name for field in fields(report.Settings) if field.name != "tol")
    settings = report.Settings(TOL, **{name: getattr(options, name) for name in names})
    results: list[race.Result] = []
    references: list[report.Reference] = []
    for number, case in enumerate(options.cases, 1):
        X = case.data()
        instance = Instance(cost_matrix(X, case.sigma), TOL, options.seed, options.rank)
        print(f"[{number}/{len(options.cases)}] {case.name}, n = {instance.n}", flush=True)
        rules = race.Rules(case.name, options.repeats, options.limit, options.memory)
        for solver in options.solvers:
            limit = options.patience if solver == report.ALGORITHM_1 else options.limit
            result = run(solver, instance, replace(rules, limit=limit))
            if result is not None:
                results.append(result)
                show(result)
        if options.reference_rows:
            references.append(reference(case, X, options.reference_rows, options.memory))
            print(f"    {references[-1]}", flush=True)
        report.save(options.output, results, references, settings)
    print(f"\n{report.summary(results, settings)}\n\nSaved to {options.output}")


def run(solver: str, instance: Instance, rules: race.Rules) -> race.Result | None:
    """One solver on one case; None where it does not apply."""
    if solver == race.OURS:
        return race.ours(instance, rules)
    if solver in PEERS:
        return race.factor_peer(solver, PEERS[solver], instance, rules)
    return race.conic_peer(solver, instance, rules) if instance.n <= conic.MAX_N else None


def reference(case: Case, X: np.ndarray, rows: int, memory_gb: float) -> report.Reference:
    """Our gain and Clarabel's on evenly spaced rows of a case."""
    chosen = np.unique(np.linspace(0, len(X) - 1, rows).round().astype(int))
    instance = Instance(cost_matrix(X[chosen], case.sigma), TOL, 0)
    gain = solve(instance.J, tol=TOL, rng=0).certificate.gain
    found = conic.run_apart("Clarabel", instance.A, _REFERENCE_TOL, _REFERENCE_LIMIT, memory_gb)
    return report.Reference(case.name, len(chosen), gain, found.objective * instance.scale, found.status)


def show(result: race.Result) -> None:
    products = "-" if result.products is None else result.products
    print(
        f"    {result.solver:20} {result.status:12} {report.number(result.seconds, '.4f'):>8} s  {products:>7} products  "
        f"gap {report.number(result.relative_gap, '.1e')} ({result.grade})",
        flush=True,
    )


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", help="data sets (wine) or single cases (wine:0.7); default: all")
    parser.add_argument("--solvers", nargs="+", default=SOLVERS, choices=SOLVERS, help="default: all that are installed")
    parser.add_argument("--repeats", type=int, default=3, help="best of that many timed runs, after a warm-up")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds that one run may take")
    parser.add_argument("--patience", type=float, default=3600.0, help="seconds that Algorithm 1 may take")
    parser.add_argument("--memory", type=float, default=8.0, help="GB that a conic solver may take")
    parser.add_argument("--seed", type=int, default=0, help="of the common start")
    parser.add_argument("--rank", type=int, default=RANK, help="columns of the common start")
    parser.add_argument("--threads", type=int, default=1, help="of BLAS and of the conic solvers")
    parser.add_argument("--reference-rows", type=int, default=REFERENCE_ROWS, help="for Clarabel; 0: no comparison")
    parser.add_argument("--output", type=Path, required=True, help="folder for the tables and the plot")
    options = parser.parse_args(argv)
    limits = {"repeats": 1, "threads": 1, "rank": 1, "limit": 1e-3, "patience": 1e-3, "memory": 0.5, "reference_rows": 0}
    for name, least in limits.items():
        if getattr(options, name) < least:
            parser.error(f"--{name.replace('_', '-')} must be at least {least}, got {getattr(options, name)}")
    try:
        options.cases = select(options.cases)
    except ValueError as error:
        parser.error(str(error))
    return options


if __name__ == "__main__":
    main()
