"""What an experiment leaves behind: values that go to JSON and back, from which the report is written."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

# Digits kept of a number; more than any comparison needs, few enough to read a difference between two runs.
_DIGITS = 12


@dataclass(frozen=True)
class Verdict:
    """A claim of the paper beside ours; ``agrees`` is None where there is nothing to compare with."""

    claim: str
    published: str
    ours: str
    agrees: bool | None
    why: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the report, formatted; a long one may be ``folded`` away."""

    title: str
    header: list[str]
    rows: list[list[str]]
    folded: bool = False


@dataclass
class Result:
    """One figure or table of the paper.

    ``published`` and ``ours`` hold numbers; ``certificates`` one entry per solved program (see ``common.certificate``);
    ``figures`` names of pictures without suffix, with their captions. ``skipped`` says why there is nothing else.
    """

    item: str
    title: str
    setting: str = ""
    published: dict[str, Any] = field(default_factory=dict)
    ours: dict[str, Any] = field(default_factory=dict)
    certificates: list[dict[str, Any]] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures: dict[str, str] = field(default_factory=dict)
    seeds: list[int] = field(default_factory=list)
    quick: bool = False
    seconds: float = 0.0
    peak_gb: float = 0.0
    machine: str = ""
    versions: dict[str, str | None] = field(default_factory=dict)
    skipped: str = ""

    def save(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.item}.json"
        path.write_text(json.dumps(plain(asdict(self)), indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
        return path

    @classmethod
    def load(cls, path: Path) -> Result:
        values = json.loads(path.read_text("utf-8"))
        values["verdicts"] = [Verdict(**verdict) for verdict in values["verdicts"]]
        values["tables"] = [Table(**table) for table in values["tables"]]
        return cls(**values)


def plain(value: Any) -> Any:
    """Arrays as lists, numbers to 12 digits, and null for what JSON has no number for (NaN, infinity)."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value
