"""Options that commands share, and the estimator that they describe."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any

from ..estimators.multiscale import MultiscaleEmbedding
from ..estimators.rkhs_embedding import RKHSEmbedding
from ..estimators.sdp_embedding import SDPEmbedding
from .errors import UsageError
from .selection import Selection, split_items
from .streams import STANDARD, check_distinct

METHODS: dict[str, Callable[..., Any]] = {
    "multiscale": MultiscaleEmbedding,
    "sdp": SDPEmbedding,
    "rkhs": RKHSEmbedding,
}
_DEFAULT_METHOD = "multiscale"
# Fits are repeatable by default.
_DEFAULT_SEED = 0
# Attributes of the parsed command line that name files, and what users call them.
INPUTS = {"model": "MODEL", "input": "INPUT"}
OUTPUTS = {"output": "-o", "save_model": "--save-model", "coordinates": "--coordinates"}


def whole(low: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if value < low:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {low}, got {text!r}")
        return value

    return parse


def jobs(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number other than 0 (-1: all cores), got {text!r}")
    return value


def items(text: str) -> list[str]:
    try:
        return split_items(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


class Once(argparse.Action):
    """An option that may be given only once."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "takes one column, and was given twice")
        setattr(namespace, self.dest, values)


# Flags of the estimators: the parameter, and how to parse it.
_FLAGS: dict[str, tuple[str, dict[str, Any]]] = {
    "--n-components": ("n_components", {"type": whole(1), "metavar": "K", "help": "columns of the embedding"}),
    "--neighbors": (
        "n_neighbors",
        {
            "type": whole(2),
            "metavar": "K",
            "help": "rows that every row looks at, itself included (multiscale; default: 15)",
        },
    ),
    "--seed": ("random_state", {"type": whole(0), "metavar": "N", "help": f"of the start (default: {_DEFAULT_SEED})"}),
    "--jobs": ("n_jobs", {"type": jobs, "metavar": "N", "help": "threads for the kernel; -1: all cores"}),
    "--device": ("device", {"metavar": "NAME", "help": "cpu, cuda, cuda:1, … or auto: a GPU where that is faster"}),
}


def add_output(parser: argparse.ArgumentParser, help: str, *, required: bool = False) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", required=required, default=STANDARD, help=help)
    parser.add_argument("-f", "--force", action="store_true", help="replace files that exist")


def add_outlier_score(parser: argparse.ArgumentParser) -> None:
    text = "a column outlier_score, too: high for rows far from others, 0 for the median row of the training table"
    parser.add_argument("--outlier-score", action="store_true", help=text)


def add_save_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--save-model", metavar="FILE", help="keep the model, for `transform`, `report` and `info`")


def add_table(parser: argparse.ArgumentParser, description: str, *, training: bool = True) -> None:
    """Options for the roles of columns. ``description`` says what becomes of text and missing values."""
    text = f"Columns go by name, or by position counted from 1.\n{description}"
    group = parser.add_argument_group("the table", text)
    group.add_argument("--columns", type=items, metavar="LIST", help="features, as in a,b,3-7 (default: all with numbers)")
    group.add_argument("--drop", type=items, metavar="LIST", default=[], help="columns to leave out")
    group.add_argument("--label", action=Once, metavar="COLUMN", help="kept in the output, used for colours, not a feature")
    group.add_argument("--id", action=Once, metavar="COLUMN", help="names of rows, kept in the output, not a feature")
    if training:
        group.add_argument("--weight", action=Once, metavar="COLUMN", help="weights of rows: 2 is a row given twice")


def add_estimator(parser: argparse.ArgumentParser, *, n_components: bool = False) -> None:
    """Options for the estimator."""
    group = parser.add_argument_group("the embedding")
    which = f"sdp is the paper's program, rkhs gives smooth coordinates (default: {_DEFAULT_METHOD})"
    group.add_argument("--method", choices=METHODS, help=which)
    for flag, (parameter, how) in _FLAGS.items():
        if n_components or parameter != "n_components":
            group.add_argument(flag, dest=parameter, **how)


def check_files(args: argparse.Namespace) -> None:
    """Raise if the name of a file is empty, or if an output is the same file as an input or another output."""
    inputs, outputs = (
        {called: path for name, called in names.items() if (path := getattr(args, name, None)) is not None}
        for names in (INPUTS, OUTPUTS)
    )
    for called, path in {**inputs, **outputs}.items():
        if not path:
            raise UsageError(f"{called} must be the name of a file, got {path!r}")
    files = {called: path for called, path in outputs.items() if path != STANDARD}
    check_distinct(inputs, {"standard output": STANDARD, **files})


def selection_of(args: argparse.Namespace) -> Selection:
    return Selection(args.columns, args.drop, args.label, args.id, getattr(args, "weight", None))


def training_options(args: argparse.Namespace) -> list[str]:
    """The given options that are about a table or a fit to it."""
    flags = {f"--{name}": name for name in ("columns", "drop", "label", "id", "weight", "rows", "method")}
    flags |= {flag: parameter for flag, (parameter, _) in _FLAGS.items()}
    return [flag for flag, name in flags.items() if getattr(args, name, None) not in (None, [])]


def in_flags(message: str) -> str:
    """A message on parameters of an estimator, such as `n_neighbors`, with the flags of the command line."""
    flags = {parameter: flag for flag, (parameter, _) in _FLAGS.items()}
    return re.sub(r"`(\w+)`", lambda found: flags.get(found[1], found[0]), message)


def estimator_of(args: argparse.Namespace) -> Any:
    """The unfitted estimator that the options describe; an error for an option that its method does not have."""
    method = args.method or _DEFAULT_METHOD
    if args.n_neighbors is not None and method != "multiscale":
        raise UsageError(f"--neighbors does not apply to --method {method}, only to multiscale")
    given = {p: value for p, _ in _FLAGS.values() if (value := getattr(args, p, None)) is not None}
    return METHODS[method](**{"random_state": _DEFAULT_SEED, **given})
