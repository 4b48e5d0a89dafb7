"""What a user sees in every case of the matrix of faults, and that the page of the documentation lists them all."""

import importlib
from collections import Counter
from pathlib import Path

import pytest

from faults.case import KINDS
from faults.cases import CASES

DOCS = Path(__file__).parents[2] / "docs"


def marks(case):
    return [pytest.mark.xfail(reason=case.pending, strict=True)] if case.pending else []


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case.kind}: {case.name}", marks=marks(case)) for case in CASES])
def test_what_a_user_sees(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case.seen()


def test_names_are_unique_and_every_kind_has_cases():
    assert [name for name, count in Counter((case.kind, case.name) for case in CASES).items() if count > 1] == []
    assert {case.kind for case in CASES} == set(KINDS)


def test_the_page_is_up_to_date(monkeypatch):
    """Names and verdicts; what a user sees in detail depends on versions of libraries. Run docs/make_faults.py."""
    monkeypatch.syspath_prepend(str(DOCS))
    page = importlib.import_module("make_faults")
    assert page.listed() == [(case.kind, page.escaped(case.name), case.verdict) for case in CASES]
