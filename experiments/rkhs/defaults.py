r"""Which defaults? Regularisation, length scale and smoothness, on data sets that the comparison does not use.

λ is either a number, or relative to :math:`g = (\lambda_{\max}(\bar K)/n)^2`, what a unit of trace gains: then it means the
same for every data set, kernel and length scale.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np

from . import labelled
from .fits import fit
from .labelled import Labelled, Task
from .rows import Row

TASKS = (Task("5-NN", None), Task("logistic", None))
SPLITS = 3


@dataclass(frozen=True)
class Choice:
    """A candidate for the defaults; ``relative``: λ in units of the gain scale."""

    regularization: float = 1e-3
    relative: bool = False
    nu: float = 1.5
    length_scale: str = "median"

    def __str__(self) -> str:
        unit = " g" if self.relative else ""
        return f"λ = {self.regularization:g}{unit}, ν = {self.nu:g}, {self.length_scale}"


CURRENT = Choice()
RECOMMENDED = Choice(0.1, relative=True)


def choices(quick: bool) -> list[Choice]:
    if quick:
        return [Choice(value, relative) for value, relative in ((1e-2, False), (1e-3, False), (0.03, True))]
    weights = [(value, False) for value in (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5)]
    weights += [(value, True) for value in (0.3, 0.1, 0.03, 0.01, 1e-3)]
    return [Choice(*weight, nu, rule) for weight in weights for nu in (0.5, 1.5, 2.5) for rule in ("median", "knn")]


def data(quick: bool) -> dict[str, tuple[bool, Labelled]]:
    """Data sets, and whether they are development sets; the other two show whether the choice carries over."""
    if quick:
        return {"iris": (True, labelled.DEVELOPMENT["iris"]())}
    development = {name: (True, load()) for name, load in labelled.DEVELOPMENT.items()}
    return development | {"Wine": (False, labelled.wine(0)), "two moons": (False, labelled.moons(0))}


def measure(quick: bool) -> list[Row]:
    """One row per data set, split and choice; the accuracy is the mean of the two classifiers, on all components."""
    rows = []
    for name, (development, (X, y)) in data(quick).items():
        for split, (train, test) in enumerate(labelled.splits(X, y, 1 if quick else SPLITS, seed=0)):
            first, second = labelled.split_data(X, y, train, test)
            where = {"data": name, "development": development, "split": split}
            rows += [where | _score(first, second, choice) for choice in choices(quick)]
    return rows


def _score(train: Labelled, test: Labelled, choice: Choice) -> Row:
    (A, y), (B, y_new) = train, test
    estimator, found = fit(A, **asdict(choice))
    row = {**asdict(choice), **found}
    if estimator is not None:
        Z, Z_new = estimator.embedding_, estimator.transform(B)
        row["accuracy"] = float(np.mean([np.mean(task.predict(Z, y, Z_new) == y_new) for task in TASKS]))
    return row


def summary(rows: list[Row], quick: bool) -> list[Row]:
    """Per choice: mean accuracy over the data sets, the largest loss against the best choice there, and failures."""
    results = []
    for development in (True, False):
        part = [row for row in rows if row["development"] is development]
        names = sorted({row["data"] for row in part})
        table = np.array([[accuracy(part, name, choice) for name in names] for choice in choices(quick)])
        if not names:
            continue
        for choice, line in zip(choices(quick), table, strict=True):
            own = [row for row in part if asdict(choice).items() <= row.items()]
            results.append(
                {
                    "development": development,
                    **asdict(choice),
                    "mean_accuracy": line.mean(),
                    "largest_loss": (np.nanmax(table, axis=0) - line).max(),
                    "one_place": sum(row.get("rank") == 1 for row in own),
                    "singular": sum(row["status"] == "singular" for row in own),
                    "solves": len(own),
                }
            )
    return results


def accuracy(rows: list[Row], name: str, choice: Choice) -> float:
    """Mean over the splits; NaN if there are none, or if any of them has no embedding."""
    wanted = {"data": name, **asdict(choice)}.items()
    return float(np.mean([row.get("accuracy", np.nan) for row in rows if wanted <= row.items()] or [np.nan]))


def is_neighbour(choice: Choice) -> bool:
    """Whether a choice differs from the current defaults in one thing: λ, ν or the length scale."""
    return CURRENT in (
        replace(choice, nu=CURRENT.nu),
        replace(choice, length_scale=CURRENT.length_scale),
        replace(choice, regularization=CURRENT.regularization, relative=CURRENT.relative),
    )
