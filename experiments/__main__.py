"""Reproduce the paper: run all experiments, or some, and write the report.

    python -m experiments [--quick] [--items fig3 table1] [--resume] [--output FOLDER] [--data FOLDER]

Every item is saved as soon as it is done; the report covers all that the folder holds. What needs data that are not there is
left out, and the report says so.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path

from . import report
from .common import Options, add_options, execute, options_from, summary
from .results import Result


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m experiments", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser)
    parser.add_argument("--items", nargs="+", choices=report.ITEMS, default=report.ITEMS, metavar="ITEM", help="which ones")
    parser.add_argument("--resume", action="store_true", help="keep items that the folder already holds")
    arguments = parser.parse_args(argv)
    options = options_from(arguments)
    for item in arguments.items:
        if arguments.resume and is_done(item, options):
            print(f"{item:8} kept", flush=True)
            continue
        print_result(run(item, options))
    print(f"report: {report.write(options.output)}")


def run(item: str, options: Options) -> Result:
    """Run one item and save its result."""
    module = importlib.import_module(f".{item}", __package__)
    result = execute(item, module.TITLE, module.run, options)
    result.save(options.output)
    return result


def is_done(item: str, options: Options) -> bool:
    """Whether the folder holds this item, complete and of the size asked for."""
    path: Path = options.output / f"{item}.json"
    if not path.is_file():
        return False
    result = Result.load(path)
    return not result.skipped and result.quick == options.quick


def print_result(result: Result) -> None:
    print(
        f"{result.item:8} {result.seconds:6.1f} s  {result.skipped and 'left out: ' + result.skipped}".rstrip(), flush=True
    )
    for line in summary(result):
        print(f"         {line}", flush=True)


if __name__ == "__main__":
    main()
