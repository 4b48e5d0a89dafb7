"""Options that commands share, and the objects that they describe."""

from __future__ import annotations

import argparse
import inspect
import math
from collections.abc import Callable
from typing import Any

from ..estimators.diffusion_map import DiffusionMap
from ..estimators.rkhs_embedding import RKHSEmbedding
from ..estimators.sdp_embedding import SDPEmbedding
from ..kernels.bandwidth import RULES
from ..kernels.choice import BUILT_IN
from ..kernels.metrics import METRICS
from ..sdp import METHODS as SOLVERS
from .errors import UsageError
from .selection import Selection, split_items
from .streams import STANDARD, check_distinct
from .tables import FORMATS, WRITTEN_FORMATS, Form

METHODS: dict[str, Callable[..., Any]] = {"sdp": SDPEmbedding, "rkhs": RKHSEmbedding, "diffusion": DiffusionMap}
_DEFAULT_METHOD = "sdp"
# Fits are repeatable by default.
_DEFAULT_SEED = 0
# Kernels that have neighbours and no bandwidth.
NEIGHBOR_KERNELS = ("neighbors", "overlap")
_THEY = " and ".join(NEIGHBOR_KERNELS)
# Without those that have parameters which are arrays.
_METRICS = tuple(name for name in METRICS if name not in ("mahalanobis", "seuclidean"))
# Attributes of the parsed command line that name files, and what users call them.
INPUTS = {"model": "MODEL", "input": "INPUT"}
OUTPUTS = {
    "output": "-o",
    "save_model": "--save-model",
    "embeddings": "--embeddings",
    "coordinates": "--coordinates",
    "checkpoint": "--checkpoint",
}


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


def positive(text: str) -> float:
    return _number(text, "a positive number", lambda value: value > 0)


def non_negative(text: str) -> float:
    return _number(text, "a number that is not negative", lambda value: value >= 0)


def positive_or(*words: str) -> Callable[[str], float | str]:
    """A positive number, or one of the given words."""
    expected = f"a positive number or one of {', '.join(words)}"
    return lambda text: text if text in words else _number(text, expected, lambda value: value > 0)


def _number(text: str, expected: str, allowed: Callable[[float], bool]) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and allowed(value)):
        raise argparse.ArgumentTypeError(f"must be {expected}, got {text!r}")
    return value


def character(text: str) -> str:
    value = {"\\t": "\t", "tab": "\t", "space": " ", "comma": ",", "semicolon": ";"}.get(text, text)
    if len(value) != 1 or value in '"\r\n':
        raise argparse.ArgumentTypeError(f"must be one character, got {text!r}")
    return value


def columns(text: str) -> list[str]:
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


def add_common(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("messages")
    group.add_argument("-q", "--quiet", action="store_true", help="no progress and no notes; warnings and errors remain")
    group.add_argument("--json", action="store_true", help="the result as JSON on standard output")
    group.add_argument("--debug", action="store_true", help="show where in the program an error arose")


def add_output(parser: argparse.ArgumentParser, help: str, *, required: bool = False) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", required=required, default=STANDARD, help=help)
    parser.add_argument("-f", "--force", action="store_true", help="replace files that exist")


def add_output_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output-format", choices=WRITTEN_FORMATS, help="of the output (default: by its suffix, else --format, else csv)"
    )


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


def add_table(parser: argparse.ArgumentParser, *, weight: bool = True) -> None:
    """Options for reading a table, and for the roles of its columns."""
    group = parser.add_argument_group("reading the table", "Columns go by name, or by position counted from 1.")
    group.add_argument("--columns", type=columns, metavar="LIST", help="features, as in a,b,3-7 (default: all)")
    group.add_argument("--drop", type=columns, metavar="LIST", default=[], help="columns to leave out")
    group.add_argument("--label", action=Once, metavar="COLUMN", help="kept in the output, used for colours, not a feature")
    group.add_argument("--id", action=Once, metavar="COLUMN", help="names of rows, kept in the output, not a feature")
    if weight:
        group.add_argument("--weight", action=Once, metavar="COLUMN", help="weights of rows: 2 is a row given twice")
    group.add_argument("--format", choices=FORMATS, help="of the input (default: by its suffix, csv for -)")
    group.add_argument(
        "--header", action=argparse.BooleanOptionalAction, help="line 1 names the columns (default: found out)"
    )
    group.add_argument("--delimiter", type=character, metavar="CHAR", help="between cells (default: , for csv, tab for tsv)")
    group.add_argument("--decimal", choices=(".", ","), help="decimal point or comma (default: .)")
    group.add_argument("--encoding", metavar="NAME", help="of text (default: utf-8)")
    group.add_argument("--array", metavar="NAME", help="of the matrix, where an npz file has several")


def form_of(args: argparse.Namespace) -> Form:
    return Form(args.format, args.delimiter, args.decimal or ".", args.encoding or "utf-8", args.header, args.array)


def selection_of(args: argparse.Namespace) -> Selection:
    return Selection(args.columns, args.drop, args.label, args.id, getattr(args, "weight", None))


# Flags of the estimators: the parameter, and how to parse it. A method has the flags of its constructor's parameters.
_FLAGS: dict[str, tuple[str, dict[str, Any]]] = {
    "--n-components": ("n_components", {"type": whole(1), "metavar": "K", "help": "columns of the embedding"}),
    "--bandwidth": (
        "bandwidth",
        {"type": positive_or(*RULES), "metavar": "SIGMA", "help": f"σ, or a rule: {', '.join(RULES)} (sdp, diffusion)"},
    ),
    "--kernel": ("kernel", {"choices": (*BUILT_IN, *NEIGHBOR_KERNELS), "help": "(sdp, diffusion)"}),
    "--neighbors": (
        "n_neighbors",
        {"type": whole(2), "metavar": "K", "help": f"rows that --kernel {_THEY} look at, a row itself included"},
    ),
    "--metric": (
        "metric",
        {
            "choices": _METRICS,
            "metavar": "NAME",
            "help": f"for --kernel {_THEY}: cosine, manhattan, … (default: euclidean)",
        },
    ),
    "--diagonal": ("diagonal", {"choices": ("kernel", "constant"), "help": "the bound d (sdp)"}),
    "--normalize": ("normalize", {"choices": ("unit",), "help": "rows to the unit sphere: directions only"}),
    "--length-scale": (
        "length_scale",
        {"type": positive_or(*RULES), "metavar": "SIGMA", "help": "of the Matérn kernel, or a rule (rkhs)"},
    ),
    "--smoothness": ("smoothness", {"type": positive, "metavar": "S", "help": "order of the Sobolev space (rkhs)"}),
    "--regularization": (
        "regularization",
        {"type": positive_or("theory"), "metavar": "LAMBDA", "help": "how much roughness costs (rkhs)"},
    ),
    "--jitter": ("jitter", {"type": non_negative, "metavar": "EPS", "help": "added to the kernel's diagonal (rkhs)"}),
    "--diffusion-time": ("diffusion_time", {"type": non_negative, "metavar": "T", "help": "(diffusion)"}),
    "--tol": ("tol", {"type": positive, "metavar": "GAP", "help": "relative gap to prove (sdp, rkhs)"}),
    "--max-iter": ("max_iter", {"type": whole(1), "metavar": "N", "help": "iterations (sdp, rkhs)"}),
    "--solver": ("solver", {"choices": tuple(SOLVERS), "help": "power is the paper's Algorithm 1 (sdp)"}),
    "--seed": ("random_state", {"type": whole(0), "metavar": "N", "help": f"of the start (default: {_DEFAULT_SEED})"}),
    "--jobs": ("n_jobs", {"type": jobs, "metavar": "N", "help": "threads for the kernel; -1: all cores"}),
    "--device": ("device", {"metavar": "NAME", "help": "cpu, cuda, cuda:1, … or auto: a GPU where that is faster"}),
}


def add_estimator(
    parser: argparse.ArgumentParser, methods: tuple[str, ...] = tuple(METHODS), *, without: tuple[str, ...] = ()
) -> None:
    """Add the flags of these methods."""
    group = parser.add_argument_group("the embedding")
    if len(methods) > 1:
        group.add_argument("--method", choices=methods, help=f"(default: {_DEFAULT_METHOD})")
    scaling = "z-score the columns first, by the standard deviation with n - 1; a saved model remembers how"
    group.add_argument("--standardize", action="store_true", help=scaling)
    for flag, (parameter, how) in _FLAGS.items():
        if flag not in without and any(parameter in _parameters(METHODS[method]) for method in methods):
            group.add_argument(flag, dest=parameter, **how)


def table_options(args: argparse.Namespace) -> list[str]:
    """The given options that are about reading a table or fitting to it."""
    names = (*inspect.signature(Form).parameters, *inspect.signature(Selection).parameters, "method", "standardize")
    flags = {f"--{name}": name for name in names} | {flag: parameter for flag, (parameter, _) in _FLAGS.items()}
    return [flag for flag, name in flags.items() if getattr(args, name, None) not in (None, False, [])]


def estimator_of(args: argparse.Namespace) -> Any:
    """The unfitted estimator that the options describe."""
    method = args.method or _DEFAULT_METHOD
    return METHODS[method](**parameters_of(args, method))


def parameters_of(args: argparse.Namespace, method: str) -> dict[str, Any]:
    """The given parameters of this method; an error for one that it does not have."""
    known = _parameters(METHODS[method])
    given = {}
    for flag, (parameter, _) in _FLAGS.items():
        value = getattr(args, parameter, None)
        if value is None:
            continue
        if parameter not in known:
            others = ", ".join(name for name, cls in METHODS.items() if parameter in _parameters(cls))
            raise UsageError(f"{flag} does not apply to --method {method}, only to {others}")
        given[parameter] = value
    _check_kernel(args)
    if "random_state" in known:
        given.setdefault("random_state", _DEFAULT_SEED)
    return given


def _check_kernel(args: argparse.Namespace) -> None:
    """Neighbours and bandwidths exclude each other."""
    kernel = getattr(args, "kernel", None)
    if kernel not in NEIGHBOR_KERNELS:
        for flag, name in (("--neighbors", "n_neighbors"), ("--metric", "metric")):
            if getattr(args, name, None) is not None:
                raise UsageError(f"{flag} applies to --kernel {_THEY} only")
        return
    for name in ("bandwidth", "bandwidths"):
        if getattr(args, name, None) is not None:
            raise UsageError(f"--{name} does not apply to --kernel {kernel}, which takes --neighbors instead")


def _parameters(cls: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(cls).parameters)
