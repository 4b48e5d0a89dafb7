"""What the experiments share: options, data, published numbers, certified fits, progress and the way to run one alone."""

from __future__ import annotations

import argparse
import csv
import os
import platform
import resource
import socket
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from elliptope import SDPEmbedding, bandwidth_path
from elliptope._utils.versions import versions
from elliptope.datasets import load_htru2, load_mnist_digits
from elliptope.estimators.path import BandwidthPath
from elliptope.sdp import Certificate

from .results import Result

PUBLISHED = Path(__file__).parent / "published"
LOADERS = {"HTRU2": load_htru2, "MNIST": load_mnist_digits}
# Seconds after which a machine that does not answer counts as no network.
_NETWORK_PATIENCE = 20.0


@dataclass(frozen=True)
class Options:
    """How to run: ``quick`` for small sizes, ``seed`` the first of the seeds, ``data`` a folder with HTRU2 and MNIST."""

    quick: bool = False
    output: Path = Path("reproduction")
    seed: int = 0
    data: Path | None = None

    def seeds(self, full: int, quick: int) -> list[int]:
        """Consecutive seeds; never a selection."""
        return list(range(self.seed, self.seed + (quick if self.quick else full)))


class DataMissing(Exception):
    """A data set is neither in a local folder nor to be had from the network."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="small sizes and few repetitions: two minutes at most")
    parser.add_argument("--output", type=Path, default=Options.output, help="folder of the results (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=Options.seed, help="first seed (default: %(default)s)")
    parser.add_argument(
        "--data", type=Path, help="folder of htru2.npz and mnist_train_1_4.npz (default: $ELLIPTOPE_DATA, OpenML)"
    )


def options_from(arguments: argparse.Namespace) -> Options:
    return Options(arguments.quick, arguments.output, arguments.seed, arguments.data)


def run_alone(item: str, title: str, run: Callable[[Options], Result], argv: Sequence[str] | None = None) -> None:
    """The command line of a single experiment: run it, save its result and print the verdicts."""
    parser = argparse.ArgumentParser(prog=f"python -m experiments.{item}", description=title)
    add_options(parser)
    options = options_from(parser.parse_args(argv))
    result = execute(item, title, run, options)
    print(result.skipped or "\n".join(summary(result)))
    print(f"{result.save(options.output)} written in {result.seconds:.1f} s")


def summary(result: Result) -> list[str]:
    marks = {True: "agrees ", False: "DIFFERS", None: "       "}
    return [f"{marks[v.agrees]}  {v.claim}: published {v.published}; ours {v.ours}" for v in result.verdicts]


def execute(item: str, title: str, run: Callable[[Options], Result], options: Options) -> Result:
    """Run an experiment and note what it took; without its data the result says so and nothing else."""
    start = time.perf_counter()
    try:
        result = run(options)
    except DataMissing as reason:
        result = Result(item, title, skipped=str(reason))
    result.quick = options.quick
    result.seconds = time.perf_counter() - start
    result.peak_gb = peak_memory()
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "default")
    result.machine = f"{platform.machine()}, {os.cpu_count()} cores, BLAS threads: {threads}"
    result.versions = versions("matplotlib")
    return result


def peak_memory() -> float:
    """Largest resident size of this process so far, in GB (the unit of ru_maxrss depends on the system)."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def load(name: str, options: Options) -> tuple[np.ndarray, np.ndarray]:
    """HTRU2 or MNIST digits 1 and 4, from a folder or from OpenML; :class:`DataMissing` says why there are none."""
    patience = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_NETWORK_PATIENCE)
    try:
        return LOADERS[name](data_home=options.data)
    except OSError as error:  # FileNotFoundError among them
        raise DataMissing(f"{name} is not there: {error}") from error
    finally:
        socket.setdefaulttimeout(patience)


def published(name: str) -> dict[str, np.ndarray]:
    """Columns of a file of published numbers."""
    lines = (PUBLISHED / f"{name}.csv").read_text("utf-8").splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    return {key: np.array([_number(row[key]) for row in rows]) for key in rows[0]}


def published_spectrum(name: str, only: tuple[float, ...] | None) -> tuple[np.ndarray, np.ndarray]:
    """Bandwidths, and eigenvalues (len(sigma), k); all of them, or those at the bandwidths ``only``."""
    columns = published(name)
    sigma = columns.pop("sigma")
    chosen = np.ones(len(sigma), dtype=bool) if only is None else np.isin(sigma, only)
    return sigma[chosen], np.column_stack(list(columns.values()))[chosen]


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def standardize(X: np.ndarray) -> np.ndarray:
    """z-scores with the sample standard deviation (ddof = 1), as MATLAB's ``zscore``, which the authors used."""
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def certified(
    X: np.ndarray, bandwidth: float, seed: int, weights: np.ndarray | None = None, **parameters: Any
) -> SDPEmbedding:
    """The SDP embedding; how it ended goes to the result by :func:`certificate`, not to a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator = SDPEmbedding(bandwidth=float(bandwidth), random_state=seed, **parameters)
        return estimator.fit(X, sample_weight=weights)


def certificate(label: str, estimator: SDPEmbedding) -> dict[str, Any]:
    """What was proved about a fit."""
    return _certificate(label, estimator.status_, estimator.certificate_, len(estimator.eigenvalues_), estimator.n_products_)


def path_certificates(path: BandwidthPath) -> list[dict[str, Any]]:
    """The same for every bandwidth of a path."""
    return [
        _certificate(f"σ = {r.bandwidth:.3g}", r.status, r.certificate, len(r.eigenvalues), r.n_products)
        for r in path.records
    ]


def _certificate(label: str, status: str, proof: Certificate, rank: int, products: int) -> dict[str, Any]:
    return {
        "label": label,
        "status": status,
        "grade": proof.grade,
        "relative_gap": proof.relative_gap,
        "objective": proof.objective,
        "upper_bound": proof.upper_bound,
        "rank": rank,
        "products": products,
    }


def certified_path(X: np.ndarray, bandwidths: Iterable[float], seed: int) -> BandwidthPath:
    """The SDP embedding along bandwidths, with a progress bar on a terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return bandwidth_path(X, bandwidths, random_state=seed, verbose=sys.stderr.isatty())


def spectrum(estimator: SDPEmbedding, k: int) -> np.ndarray:
    """The k leading eigenvalues of B⋆/Tr B⋆, zeros after the last."""
    shares = estimator.eigenvalues_ / estimator.eigenvalues_.sum()
    return np.append(shares, np.zeros(k))[:k]


def progress(label: str, items: Iterable[Any]) -> Iterator[Any]:
    """Iterate over ``items`` with a progress bar on standard error, if that is a terminal."""
    items = list(items)
    watched = sys.stderr.isatty()
    for count, item in enumerate(items):
        if watched:
            filled = 30 * count // len(items)
            print(f"\r  {label:<24} [{'#' * filled:<30}] {count}/{len(items)}", end="", file=sys.stderr, flush=True)
        yield item
    if watched:
        print("\r" + " " * 79 + "\r", end="", file=sys.stderr, flush=True)
