"""What every switching point of the solver is worth: each field of ``elliptope.sdp.tuning.Tuning``, halved and doubled.

    python benchmarks/tuning.py --output benchmarks/results
    python benchmarks/tuning.py --fields basin rank --cases held-out

Runs ``solve`` on the 32 costs of the race, the 20 held out, the narrow ones (with ``polish``) and eight as linear operators,
which cannot be factorised. Writes ``tuning.md``: time and products relative to the defaults, as geometric means over each
group, and the cases that end with another status. Times are processor time of one thread, so that other work on the machine
hardly shows.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import machine
import numpy as np
from cases import ALL_CASES, GROUPS, Case, cost_matrix
from scipy.sparse.linalg import aslinearoperator

from elliptope.sdp import solve
from elliptope.sdp.tuning import TUNING, Tuning

TOL = 1e-6
# Solved as linear operators, too: wide and narrow bandwidths of several data sets.
MATRIX_FREE = ("wine:1", "wine:3", "iris:0.6", "moons:0.5", "digits:1.5", "cancer:4", "roll:1.2", "diabetes:2.1")
# Relative change of time or products below which a field makes no difference.
NOTICEABLE = 0.05
# Runs shorter than this are repeated twice, and the best time counts.
_SHORT = 0.05


@dataclass(frozen=True)
class Instance:
    """A cost of one of the groups."""

    group: str
    name: str
    cost: Any

    @property
    def key(self) -> str:
        return f"{self.group} {self.name}"


@dataclass(frozen=True)
class Run:
    seconds: float
    products: int
    status: str


def main(argv: list[str] | None = None) -> None:
    options = parse(argv)
    machine.limit_threads(1)
    everything = list(instances(options.groups))
    default = {instance.key: run(instance, TUNING) for instance in everything}
    chosen = [instance for instance in everything if default[instance.key].seconds <= options.longest]
    print(f"{len(chosen)} of {len(everything)} costs take at most {options.longest:g} s", flush=True)
    lines = []
    for name in options.fields:
        for factor in (0.5, 2.0):
            value = changed(name, factor)
            if value == getattr(TUNING, name):
                continue
            found = {instance.key: run(instance, replace(TUNING, **{name: value})) for instance in chosen}
            lines.append(row(name, value, found, default))
            print(" | ".join(lines[-1]), flush=True)
            save(options.output, lines, len(chosen), options)


def parse(argv: list[str] | None) -> argparse.Namespace:
    names = [field.name for field in fields(Tuning)]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fields", nargs="+", choices=names, default=names, metavar="FIELD", help="default: all")
    groups = ("race", "held-out", "narrow", "matrix-free")
    parser.add_argument("--groups", nargs="+", choices=groups, default=groups, help="default: all")
    parser.add_argument("--longest", type=float, default=2.5, help="seconds beyond which a cost is left out (default 2.5)")
    parser.add_argument("--output", type=Path, default=Path("results"), help="folder for tuning.md")
    return parser.parse_args(argv)


def instances(groups: Iterable[str]) -> Iterable[Instance]:
    """The costs of the groups, in order."""
    usual = {"race": ALL_CASES, **GROUPS}
    for group in groups:
        if group == "matrix-free":
            cases = [case for case in ALL_CASES + GROUPS["held-out"] if case.name in MATRIX_FREE]
            yield from (Instance(group, case.name, aslinearoperator(_cost(case))) for case in cases)
        else:
            yield from (Instance(group, case.name, _cost(case)) for case in usual[group])


def _cost(case: Case) -> Any:
    return cost_matrix(case.data(), case.sigma)


def run(instance: Instance, tuning: Tuning) -> Run:
    """Best time of up to three runs; products and status are the same in all of them."""
    times = []
    for _ in range(3):
        before = time.process_time()
        solution = solve(instance.cost, tol=TOL, rng=0, polish=instance.group == "narrow", tuning=tuning)
        times.append(time.process_time() - before)
        if times[0] > _SHORT:
            break
    return Run(min(times), solution.n_products, solution.status)


def changed(name: str, factor: float) -> Any:
    """The field, multiplied; whole numbers stay whole and positive, parts of one stay below one."""
    value = getattr(TUNING, name)
    if isinstance(value, int):
        return max(1, round(factor * value))
    return min(factor * value, 0.99) if 0.5 <= value < 1 else factor * value


def row(name: str, value: Any, found: dict[str, Run], default: dict[str, Run]) -> list[str]:
    """A line of the table: what moved, group by group."""
    cells = []
    for group in dict.fromkeys(key.split(" ")[0] for key in found):
        keys = [key for key in found if key.startswith(f"{group} ")]
        seconds = _mean(found[key].seconds / default[key].seconds for key in keys)
        products = _mean(found[key].products / default[key].products for key in keys)
        cells.append(f"{seconds:.2f} / {products:.2f}")
    moved = [f"{key}: {found[key].status}" for key in found if found[key].status != default[key].status]
    return [name, f"{value:g}", *cells, "; ".join(moved)]


def _mean(ratios: Iterable[float]) -> float:
    return float(np.exp(np.mean(np.log(list(ratios)))))


def save(folder: Path, lines: list[list[str]], count: int, options: argparse.Namespace) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    header = ["field", "value", *options.groups, "status changed"]
    text = [
        "# Switching points of the solver, halved and doubled",
        "",
        f"`python benchmarks/tuning.py`: {count} costs, tol {TOL:g}, seed 0, one thread, costs of more than "
        f"{options.longest:g} s left out. Entries: processor time / block products, relative to the defaults, geometric "
        f"means over the group. Differences of time below {NOTICEABLE:.0%} are noise.",
        "",
        *(f"- {line}" for line in machine.describe()),
        "",
        "| " + " | ".join(header) + " |",
        "|" + "---|" * len(header),
        *("| " + " | ".join(line) + " |" for line in lines),
        "",
    ]
    (folder / "tuning.md").write_text("\n".join(text))


if __name__ == "__main__":
    main()
