"""Solvers side by side: the same matrices, the same certified gap, one run.

    python benchmarks/solvers.py --output benchmarks/results
    python benchmarks/solvers.py --cases held-out --output benchmarks/results/held_out
    python benchmarks/solvers.py --cases wine:3 moons --solvers elliptope L-BFGS-B --repeats 1 --output results

Writes ``solvers.md``, ``solvers.csv`` and a performance profile (``solvers.png``), after every case. The report states the
rules.
"""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from pathlib import Path

import conic
import machine
import race
from cases import cost_matrix, select
from instance import RANK, Instance
from peers import PEERS

import report

SOLVERS = [race.OURS, *PEERS, *conic.NAMES]
TOL = 1e-6


def main(argv: list[str] | None = None) -> None:
    options = parse(argv)
    machine.limit_threads(options.threads)
    options.output.mkdir(parents=True, exist_ok=True)
    names = (field.name for field in fields(report.Settings) if field.name != "tol")
    settings = report.Settings(TOL, **{name: getattr(options, name) for name in names})
    results: list[race.Result] = []
    for number, case in enumerate(options.cases, 1):
        instance = Instance(cost_matrix(case.data(), case.sigma), TOL, options.seed, options.rank)
        print(f"[{number}/{len(options.cases)}] {case.name}, n = {instance.n}", flush=True)
        rules = race.Rules(case.name, options.repeats, options.limit)
        for solver in options.solvers:
            limit = options.patience if solver == report.ALGORITHM_1 else options.limit
            result = run(solver, instance, replace(rules, limit=limit))
            if result is not None:
                results.append(result)
                show(result)
        report.save(options.output, results, settings)
    print(f"\n{report.summary(results, settings)}\n\nSaved to {options.output}")


def run(solver: str, instance: Instance, rules: race.Rules) -> race.Result | None:
    """One solver on one case; None where it does not apply."""
    if solver == race.OURS:
        return race.ours(instance, rules)
    if solver in PEERS:
        return race.factor_peer(solver, PEERS[solver], instance, rules)
    return race.conic_peer(instance, rules) if instance.n <= conic.MAX_N else None


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
    parser.add_argument("--seed", type=int, default=0, help="of the common start")
    parser.add_argument("--rank", type=int, default=RANK, help="columns of the common start")
    parser.add_argument("--threads", type=int, default=1, help="of BLAS")
    parser.add_argument("--output", type=Path, required=True, help="folder for the tables and the plot")
    options = parser.parse_args(argv)
    limits = {"repeats": 1, "threads": 1, "rank": 1, "limit": 1e-3, "patience": 1e-3}
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
