"""Compute the paper's figures and its table anew, and compare with what was published. Needs a clone of the repository.

examples:
  elliptope reproduce --quick
  elliptope reproduce fig3 table1 -o reproduction
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import sys
from pathlib import Path
from typing import Any

from ... import __file__ as package
from ..console import Console
from ..errors import CommandError, ExitCode, UsageError, missing_extra
from ..options import add_force, whole

SUMMARY = "the paper's figures and table, computed anew"
_FOLDER = "experiments"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("items", metavar="ITEM", nargs="*", help="such as fig3 or table1 (default: all)")
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", default="reproduction", help="of the results (default: %(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, few repetitions")
    parser.add_argument("--resume", action="store_true", help="keep items that the folder already holds")
    parser.add_argument("--seed", type=whole(0), default=0, metavar="N", help="first seed (default: %(default)s)")
    parser.add_argument("--data", metavar="FOLDER", help="of htru2.npz and mnist_train_1_4.npz (default: $ELLIPTOPE_DATA)")
    add_force(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    experiments, known = _experiments()
    items = args.items or list(known)
    unknown = [item for item in items if item not in known]
    if unknown:
        raise UsageError(f"there is no item {unknown[0]!r}; the items are {', '.join(known)}")
    folder = Path(args.output)
    held = [item for item in items if (folder / f"{item}.json").exists()]
    if held and not (args.force or args.resume):
        raise CommandError(f"{folder}: holds {', '.join(held)}; use --force to replace them, --resume to keep them")
    argv = ["--items", *items, "--output", str(folder), "--seed", str(args.seed)]
    argv += ["--quick"] * args.quick + ["--resume"] * args.resume + (["--data", args.data] if args.data else [])
    # With --json, standard output is for the result alone.
    with contextlib.redirect_stdout(io.StringIO() if console.quiet else sys.stderr if console.json else sys.stdout):
        experiments.main(argv)
    results = {item: json.loads((folder / f"{item}.json").read_text("utf-8")) for item in items}
    console.result({"folder": str(folder), "results": results})
    return ExitCode.OK


def _experiments() -> tuple[Any, tuple[str, ...]]:
    """The module that runs the experiments, and the names of its items. They lie beside the source, not in the package."""
    places = [Path(package).resolve().parents[2], Path.cwd()]
    root = next((place for place in places if (place / _FOLDER / "__main__.py").is_file()), None)
    if root is None:
        raise CommandError("`reproduce` needs the folder `experiments` of the repository: run it in a clone of that")
    sys.path.insert(0, str(root))
    try:
        main = importlib.import_module(f"{_FOLDER}.__main__")
        items = importlib.import_module(f"{_FOLDER}.report").ITEMS
    except ImportError as error:
        raise missing_extra("`reproduce`", "plot", error) from None
    finally:
        sys.path.remove(str(root))
    return main, items
