"""Certificates and statuses of 200 random instances, against optima enclosed in extended precision."""

import importlib
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def benchmark(monkeypatch):
    """The benchmarks are scripts: they import each other by plain names."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module


@pytest.fixture
def soundness(benchmark):
    return benchmark("soundness")


def test_no_claim_is_violated(soundness):
    found = {number: soundness.check(number) for number in range(200)}
    violated = {n: [claim for claim in claims if claim[0] in soundness.CLAIMS] for n, claims in found.items()}
    assert {n: claims for n, claims in violated.items() if claims} == {}
    # Most fits claim something that can be wrong, and most optima are known well enough to notice.
    said = [claim for claims in found.values() for claim, _ in claims]
    assert said.count("optimal") > 250
    assert said.count("not enclosed") < 10


def test_a_known_optimum_is_enclosed(soundness):
    """x xᵀ attains the sum of all |C_ij| for C = x xᵀ with signs x."""
    x = np.array([1.0, -1, 1, 1, -1])
    low, high = soundness.enclose(np.outer(x, x).astype(soundness.LONG))
    assert float(low) <= 25 + 1e-12
    assert float(high) >= 25 - 1e-12
    assert float(high - low) < 1e-9


def test_no_claim_of_the_strictly_concave_program_is_violated(benchmark):
    spread = benchmark("spread")
    known = 0
    for number in range(36):
        for kind, instance in (spread.fitted(number), spread.solved(number)):
            tally = spread.Tally()
            assert spread.check(instance, tally) == [], (number, kind)
            known += not tally.unknown
    assert known > 65
