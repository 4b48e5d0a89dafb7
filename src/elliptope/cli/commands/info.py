"""About the installation: versions, optional libraries. About a model: what it was fitted to, and how.

examples:
  elliptope info
  elliptope info wine.elliptope --json
"""

from __future__ import annotations

import argparse
import os
import platform
from typing import Any

from ..._utils.threads import usable_cores
from ..._utils.versions import versions
from ...persistence import read_header
from ..console import Console
from ..errors import ExitCode
from ..fitting import facts, sentence
from ..models import load_model

# Optional library: the extra that brings it.
_OPTIONAL = {"matplotlib": "plot", "pyarrow": "cli"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", nargs="?", help="file that --save-model wrote")


def run(args: argparse.Namespace, console: Console) -> int:
    if args.model is None:
        about = installation()
        console.result(about, "\n".join(_table(about)))
        return ExitCode.OK
    model = load_model(args.model)
    about = {"model": args.model, **facts(model), "versions": read_header(args.model)["versions"]}
    console.result(about, "\n".join([sentence(model.est), *(f"  {line}" for line in _table(about))]))
    return ExitCode.OK


def installation() -> dict[str, Any]:
    found = versions(*_OPTIONAL)
    return {
        **found,
        **{name: found[name] or f"not installed (extra {extra})" for name, extra in _OPTIONAL.items()},
        "platform": platform.platform(),
        "cores": usable_cores(),
        "ELLIPTOPE_DATA": os.environ.get("ELLIPTOPE_DATA"),
    }


def _table(about: dict[str, Any]) -> list[str]:
    """One line per entry that is not None; the scales have had theirs."""
    lines = {}
    for name, value in about.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key}={entry}" for key, entry in value.items())
        elif hasattr(value, "tolist") or isinstance(value, list):
            value = ", ".join(f"{entry:.6g}" if isinstance(entry, float) else str(entry) for entry in value)
        if value is not None and name != "scales":
            lines[name] = value
    width = max(map(len, lines)) + 2
    return [f"{name:{width}}{value}" for name, value in lines.items()]
