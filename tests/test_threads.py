"""Threads of BLAS: one where more would be in the way, and as many as before afterwards."""

import importlib

import numpy as np
import pytest
import threadpoolctl

from elliptope._threads import one_blas_thread, openmp_threads
from elliptope.sdp import solve

solving = importlib.import_module("elliptope.sdp.solve")
J = np.random.default_rng(0).standard_normal((30, 30))
J += J.T


def threads(api="blas"):
    return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == api}


@pytest.fixture(autouse=True)
def two():
    with threadpoolctl.threadpool_limits(2):
        if threads() != {2}:
            pytest.skip("BLAS has one thread and no more")
        yield


def test_who_comes_first_need_not_go_last():
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads() == {1}
    second.__exit__(None, None, None)
    assert threads() == {2}


def test_set_back_after_an_error():
    with pytest.raises(ValueError, match="inside"), one_blas_thread():
        raise ValueError("inside")
    assert threads() == {2}


def test_openmp():
    with openmp_threads(1):
        assert threads("openmp") <= {1}
        assert threads() == {2}


@pytest.mark.parametrize(("largest", "expected"), [(30, {1}), (29, {2})])
def test_small_solves_have_one(largest, expected, monkeypatch):
    monkeypatch.setattr(solving, "_ONE_THREAD", largest)
    seen = []
    solve(J, rng=0, callback=lambda _: seen.append(threads()))
    assert seen
    assert all(found == expected for found in seen)
    assert threads() == {2}
