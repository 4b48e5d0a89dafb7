"""What a user sees in every case of the matrix of faults."""

from collections import Counter

import pytest

from faults.case import KINDS
from faults.cases import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}: {case.name}")
def test_what_a_user_sees(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case.check()


def test_names_are_unique_and_every_kind_has_cases():
    assert [name for name, count in Counter((case.kind, case.name) for case in CASES).items() if count > 1] == []
    assert {case.kind for case in CASES} == set(KINDS)
