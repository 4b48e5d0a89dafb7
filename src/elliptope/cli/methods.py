"""Methods of embedding, the flags of their parameters, and the estimators that they describe."""

from __future__ import annotations

import argparse
import inspect
import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

from ..estimators.diffusion_map import DiffusionMap
from ..estimators.multiscale import MultiscaleEmbedding
from ..estimators.rkhs_embedding import RKHSEmbedding
from ..estimators.sdp_embedding import SDPEmbedding
from ..kernels.bandwidth import RULES
from ..kernels.choice import BUILT_IN
from ..kernels.metrics import METRICS
from ..sdp import METHODS as SOLVERS
from .errors import UsageError
from .preparation import Options
from .selection import Selection
from .tables import Form

METHODS: dict[str, Callable[..., Any]] = {
    "multiscale": MultiscaleEmbedding,
    "sdp": SDPEmbedding,
    "rkhs": RKHSEmbedding,
    "diffusion": DiffusionMap,
}
_DEFAULT_METHOD = "multiscale"
# Fits are repeatable by default.
_DEFAULT_SEED = 0
# Kernels that have neighbours and no bandwidth.
NEIGHBOR_KERNELS = ("neighbors", "overlap")
_THEY = " and ".join(NEIGHBOR_KERNELS)
# Without those that have parameters which are arrays.
_METRICS = tuple(name for name in METRICS if name not in ("mahalanobis", "seuclidean"))


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


def bounded(text: str) -> float:
    return _number(text, "a finite number", lambda value: True)


def one_per_scale(expected: str, allowed: Callable[[float], bool]) -> Callable[[str], list[float]]:
    """Numbers separated by commas: one, or as many as a method has scales."""

    def parse(text: str) -> list[float]:
        try:
            values = [float(part) for part in text.split(",")]
        except ValueError:
            values = [math.nan]
        if not all(map(allowed, values)):
            raise argparse.ArgumentTypeError(f"must be {expected}, or several of them, as 32,1, got {text!r}")
        return [int(value) if value.is_integer() else value for value in values]

    return parse


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


# Flags of the estimators: the parameter, and how to parse it. A method has the flags of its constructor's parameters; those
# that give lists belong also to a parameter of that name in the plural, which has an entry for every scale.
_FLAGS: dict[str, tuple[str, dict[str, Any]]] = {
    "--n-components": ("n_components", {"type": whole(1), "metavar": "K", "help": "columns of the embedding"}),
    "--bandwidth": (
        "bandwidth",
        {"type": positive_or(*RULES), "metavar": "SIGMA", "help": f"σ, or a rule: {', '.join(RULES)} (sdp, diffusion)"},
    ),
    "--kernel": (
        "kernel",
        {
            "choices": (*BUILT_IN, *NEIGHBOR_KERNELS),
            "help": "(default: overlap for multiscale, gaussian for others)",
        },
    ),
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
    "--normalize": ("normalize", {"choices": ("unit",), "help": "rows to the unit sphere (sdp, rkhs, diffusion)"}),
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
    "--diffusion-time": (
        "diffusion_time",
        {
            "type": one_per_scale("a number that is not negative", lambda t: 0 <= t < math.inf),
            "metavar": "T",
            "help": "steps of diffusion; for multiscale one number per scale, as 32,1 (multiscale, sdp, diffusion)",
        },
    ),
    "--spread": (
        "spread",
        {
            "type": one_per_scale("a number that is not negative, or inf", lambda eta: eta >= 0),
            "metavar": "ETA",
            "help": "0: the paper's program, inf: diffusion maps; for multiscale one per scale (multiscale, sdp)",
        },
    ),
    "--scale-weights": (
        "weights",
        {
            "type": one_per_scale("a positive number", lambda weight: 0 < weight < math.inf),
            "metavar": "LIST",
            "help": "length of the rows of every scale, as 1,0.5 (multiscale)",
        },
    ),
    "--density": (
        "density",
        {"type": bounded, "metavar": "BETA", "help": "how much dense regions count for more (multiscale)"},
    ),
    "--tol": ("tol", {"type": positive, "metavar": "GAP", "help": "relative gap to prove (multiscale, sdp, rkhs)"}),
    "--max-iter": ("max_iter", {"type": whole(1), "metavar": "N", "help": "iterations (multiscale, sdp, rkhs)"}),
    "--solver": ("solver", {"choices": tuple(SOLVERS), "help": "power is the paper's Algorithm 1 (sdp)"}),
    "--seed": ("random_state", {"type": whole(0), "metavar": "N", "help": f"of the start (default: {_DEFAULT_SEED})"}),
    "--jobs": ("n_jobs", {"type": jobs, "metavar": "N", "help": "threads for the kernel; -1: all cores"}),
    "--device": ("device", {"metavar": "NAME", "help": "cpu, cuda, cuda:1, … or auto: a GPU where that is faster"}),
}


def add_estimator(
    parser: argparse.ArgumentParser,
    methods: tuple[str, ...] = tuple(METHODS),
    *,
    without: tuple[str, ...] = (),
    default_scaling: str | None = None,
) -> None:
    """Add the flags of these methods. ``default_scaling``: which columns are standardised without being asked for."""
    group = parser.add_argument_group("the embedding")
    if len(methods) > 1:
        which = f"sdp is the paper's program (default: {_DEFAULT_METHOD})"
        group.add_argument("--method", choices=methods, help=which)
    scaling = "z-score the columns first, by the standard deviation with n - 1; a saved model remembers how"
    default = "" if default_scaling is None else f" (default: {default_scaling})"
    group.add_argument("--standardize", action=argparse.BooleanOptionalAction, help=f"{scaling}{default}")
    for flag, (parameter, how) in _FLAGS.items():
        if flag not in without and any(_name_in(METHODS[method], parameter) for method in methods):
            group.add_argument(flag, dest=parameter, **how)


def table_options(args: argparse.Namespace) -> list[str]:
    """The given options that are about reading a table or fitting to it."""
    read = (name for kind in (Form, Selection, Options) for name in inspect.signature(kind).parameters)
    flags = {f"--{name.replace('_', '-')}": name for name in (*read, "rows", "method", "standardize")} | {
        flag: parameter for flag, (parameter, _) in _FLAGS.items()
    }
    return [flag for flag, name in flags.items() if getattr(args, name, None) not in (None, False, [])]


def in_flags(message: str) -> str:
    """A message on parameters of an estimator, such as `n_neighbors`, with the flags of the command line."""
    flags = {parameter: flag for flag, (parameter, _) in _FLAGS.items()}
    return re.sub(r"`(\w+)`", lambda found: flags.get(found[1], found[0]), message)


def method_of(args: argparse.Namespace) -> str:
    return args.method or _DEFAULT_METHOD


def estimator_of(args: argparse.Namespace) -> Any:
    """The unfitted estimator that the options describe."""
    method = method_of(args)
    return METHODS[method](**parameters_of(args, method))


def parameters_of(args: argparse.Namespace, method: str) -> dict[str, Any]:
    """The given parameters of this method; an error for one that it does not have."""
    cls = METHODS[method]
    if getattr(args, "bandwidths", None) is not None and method != "sdp":
        raise UsageError(f"--bandwidths does not apply to --method {_named(method)}, only to sdp")
    given = {}
    for flag, (parameter, _) in _FLAGS.items():
        value = getattr(args, parameter, None)
        if value is None:
            continue
        name = _name_in(cls, parameter)
        if name is None:
            _refuse(flag, parameter, method)
        given[name] = _as_many(flag, value, name, method)
    _check_kernel(args, method)
    if "random_state" in inspect.signature(cls).parameters:
        given.setdefault("random_state", _DEFAULT_SEED)
    return given


def _name_in(cls: Callable[..., Any], parameter: str) -> str | None:
    """The parameter in the constructor of ``cls``, where it may be a plural; None if it has none."""
    known = inspect.signature(cls).parameters
    return next((name for name in (parameter, f"{parameter}s") if name in known), None)


def _refuse(flag: str, parameter: str, method: str) -> NoReturn:
    others = ", ".join(name for name, cls in METHODS.items() if _name_in(cls, parameter))
    raise UsageError(f"{flag} does not apply to --method {_named(method)}, only to {others}")


def _named(method: str) -> str:
    """The method, for those who have not chosen it, too."""
    return f"{method}, the default" if method == _DEFAULT_METHOD else method


def _as_many(flag: str, value: Any, name: str, method: str) -> Any:
    """A list for a parameter with an entry for every scale; its only entry for another one."""
    if not isinstance(value, list) or name.endswith("s"):
        return value
    if len(value) > 1:
        raise UsageError(f"{flag} takes one number for --method {method}, got {len(value)}; multiscale takes several")
    return value[0]


def _check_kernel(args: argparse.Namespace, method: str) -> None:
    """Neighbours and bandwidths exclude each other."""
    default = inspect.signature(METHODS[method]).parameters.get("kernel")
    if default is None:
        return
    kernel = getattr(args, "kernel", None) or default.default
    if kernel not in NEIGHBOR_KERNELS:
        for flag, name in (("--neighbors", "n_neighbors"), ("--metric", "metric")):
            if getattr(args, name, None) is not None:
                raise UsageError(f"{flag} applies to --kernel {_THEY} only, not to {kernel} (--method {method})")
        return
    for name in ("bandwidth", "bandwidths"):
        if getattr(args, name, None) is not None:
            raise UsageError(f"--{name} does not apply to --kernel {kernel}, which takes --neighbors instead")
