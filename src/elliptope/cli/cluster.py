"""Commands on a Dask cluster: its options, and tables as folders of Parquet files that its workers read and write."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .._utils.versions import missing_module
from ..distributed.cluster import WORKER_SETTINGS, ClusterError
from ..estimators.rkhs_embedding import RKHSEmbedding
from .console import Console
from .errors import CommandError, ExitCode, UsageError, listing
from .frames import TablePreparation
from .methods import whole
from .models import Model, column_names, load_model
from .streams import exists

# Rows that a task is sent at a time.
_CHUNK = 100_000


def add_cluster(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("cluster (extra dask)").add_mutually_exclusive_group()
    group.add_argument("--scheduler", metavar="ADDRESS", help="compute on the Dask cluster with this scheduler")
    group.add_argument("--workers", metavar="N", type=whole(1), help="compute by N processes on this machine, by Dask")


def is_on_cluster(args: argparse.Namespace) -> bool:
    return getattr(args, "scheduler", None) is not None or getattr(args, "workers", None) is not None


@contextmanager
def connected(args: argparse.Namespace) -> Iterator[None]:
    """A context with a client of the cluster that was asked for, if any."""
    if not is_on_cluster(args):
        yield
        return
    try:
        from dask import config
        from dask.distributed import Client, LocalCluster
    except ImportError as error:
        raise missing_module("A cluster", "dask", error) from None
    with ExitStack() as stack:
        address = args.scheduler
        if address is None:
            stack.enter_context(config.set(WORKER_SETTINGS))
            address = stack.enter_context(LocalCluster(n_workers=args.workers, threads_per_worker=1, dashboard_address=None))
        try:
            stack.enter_context(Client(address))
        except (OSError, TimeoutError, ValueError) as error:
            raise CommandError(f"--scheduler {args.scheduler}: no scheduler answers ({error})") from None
        try:
            yield
        except ClusterError as error:
            raise CommandError(str(error)) from None


def on_cluster(args: argparse.Namespace, est: Any, X: Any) -> Any:
    """Rows as the estimator should be given them: in chunks for a cluster."""
    if not is_on_cluster(args):
        return X
    if isinstance(est, RKHSEmbedding):
        raise UsageError("--method rkhs: not computed by a cluster; leave out --scheduler and --workers")
    import dask.array as da

    return da.from_array(X, chunks=(_CHUNK, X.shape[1]))


def transform_folder(args: argparse.Namespace, console: Console) -> int:
    """Embed the rows of Parquet files by workers, which read them and write as many files."""
    try:
        import dask.dataframe as dd
    except ImportError as error:
        raise missing_module("A folder of Parquet files", "dask", error) from None
    model = load_model(args.model, "; the order is MODEL INPUT")
    _check_folder(args.output, args.force)
    try:
        table = dd.read_parquet(args.input)
    except (OSError, ValueError) as error:
        raise CommandError(f"{args.input}: no Parquet files can be read ({error})") from None
    kept = [name for name in (args.id, args.label) if name is not None]
    names = model.preparation.wanted.names or [name for name in table.columns if name not in kept]
    if missing := [name for name in (*names, *kept) if name not in table.columns]:
        raise CommandError(f"{args.input}: there is no column {listing(missing)}")
    X = table[names].map_partitions(_prepared, model, meta=_frame(np.empty((0, model.est.n_features_in_)), model))
    Z = model.est.transform(X)
    coordinates = column_names(model.est) or [f"z{k + 1}" for k in range(len(Z.columns))]
    Z = Z.rename(columns=dict(zip(Z.columns, coordinates, strict=True)))
    for name in reversed(kept):
        Z = Z.assign(**{name: table[name]})
    Z[[*kept, *(name for name in Z.columns if name not in kept)]].to_parquet(args.output, overwrite=args.force)
    console.note(f"written: {args.output}")
    facts = {"model": args.model, "source": args.input, "n_components": model.est.n_components_}
    console.result({**facts, "output": args.output})
    return ExitCode.OK


def _prepared(rows: Any, model: Model) -> Any:
    return _frame(model.inputs(TablePreparation(model.preparation).transform(rows)), model, rows.index)


def _frame(Z: Array, model: Model, index: Any = None) -> Any:
    import pandas as pd

    return pd.DataFrame(Z, columns=model.names or [f"x{k}" for k in range(Z.shape[1])], index=index)


def _check_folder(path: str, force: bool) -> None:
    if path == "-":
        raise CommandError("a cluster writes a folder of Parquet files; name it with -o")
    if Path(path).exists() and not Path(path).is_dir():
        raise CommandError(f"{path}: a file; name a folder")
    if Path(path).is_dir() and os.listdir(path) and not force:
        raise exists(path)
