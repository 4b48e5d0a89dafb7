"""Check a model's certificate again: the program is posed anew from the rows, weights and parameters in the file, the
embedding is put in, and the bound is proved once more. What the file claims is compared with that, and not relied on.

example:
  elliptope certify wine.elliptope
"""

from __future__ import annotations

import argparse
import math

from ...estimators.recertify import InconsistentModelError, recertify
from ...sdp import Certificate
from ..console import Console
from ..errors import CommandError, ExitCode
from ..fitting import certificate_facts, facts
from ..models import load_model

_GRADES = ("estimate", "probabilistic", "proved")
# A proof tries shifts that grow by half, and may therefore end at a slightly looser bound than the stored one.
_LOOSER = 2.0
# Relative difference of two objectives that may be rounding.
_ROUNDING = 1e-8


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="file that `fit` wrote")


def run(args: argparse.Namespace, console: Console) -> int:
    model = load_model(args.model)
    est = model.est
    if not hasattr(est, "certificate_"):
        raise CommandError(f"{args.model}: a {type(est).__name__} has no certificate; other models have one")
    try:
        found = recertify(est)
    except InconsistentModelError as error:
        raise CommandError(f"{args.model}: {error}") from None
    if isinstance(found, tuple):  # one for every scale
        pairs = list(zip(found, est.certificates_, strict=True))
    else:
        pairs = [(found, est.certificate_)]
    confirmed = all(_confirms(*pair, est.tol) for pair in pairs)
    worst = max((one for one, _ in pairs), key=lambda one: one.relative_gap)
    optimal = est.status_ == "optimal" and worst.relative_gap <= est.tol
    lines = [f"{args.model}: {'confirmed' if confirmed else 'NOT confirmed'}, status {est.status_!r}"]
    for one, stored in pairs:
        lines += [f"  stored: {stored}", f"  found:  {one}"]
    found_facts = {**facts(model), "model": args.model, "confirmed": confirmed, "found": certificate_facts(worst)}
    if isinstance(found, tuple):
        found_facts["found_scales"] = [certificate_facts(one) for one in found]
    console.result(found_facts, "\n".join(lines))
    return ExitCode.OK if confirmed and optimal else ExitCode.NOT_OPTIMAL


def _confirms(found: Certificate, stored: Certificate, tol: float) -> bool:
    """Whether the new certificate is at least as good as the stored one."""
    return (
        _GRADES.index(found.grade) >= _GRADES.index(stored.grade)
        and found.relative_gap <= max(tol, _LOOSER * stored.relative_gap)
        and math.isclose(found.objective, stored.objective, rel_tol=_ROUNDING, abs_tol=_ROUNDING * abs(stored.gain))
    )
