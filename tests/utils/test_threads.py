"""Threads of BLAS: one where more would be in the way, and as many as before afterwards."""

import importlib
import os
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
import threadpoolctl

from elliptope._utils import threads as _threads
from elliptope._utils.threads import count_threads, one_blas_thread, openmp_threads
from elliptope.sdp import solve

solving = importlib.import_module("elliptope.sdp.solve")


class Pools:
    """Pools of threads that only count, whatever BLAS there is."""

    def __init__(self):
        self.threads = {"blas": 4, "openmp": 4}

    def limit(self, limits, user_api):
        before, self.threads[user_api] = self.threads[user_api], limits
        return SimpleNamespace(restore_original_limits=lambda: self.threads.update({user_api: before}))


@pytest.fixture
def pools(monkeypatch):
    found = Pools()
    monkeypatch.setattr(_threads, "_pools", lambda: found)
    return found.threads


def test_blocks_may_overlap(pools):
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert pools["blas"] == 1
    second.__exit__(None, None, None)
    assert pools["blas"] == 4


def test_set_back_after_an_error(pools):
    with pytest.raises(ValueError, match="inside"), one_blas_thread():
        raise ValueError("inside")
    assert pools["blas"] == 4


@pytest.mark.parametrize(("largest", "expected"), [(30, True), (29, False)])
def test_small_solves_have_one(largest, expected, monkeypatch):
    inside = []

    @contextmanager
    def spy():
        inside.append(True)
        yield
        inside.pop()

    monkeypatch.setattr(solving, "one_blas_thread", spy)
    monkeypatch.setattr(solving, "ONE_THREAD", largest)
    J = np.random.default_rng(0).standard_normal((30, 30))
    seen = []
    solve(J + J.T, rng=0, callback=lambda _: seen.append(bool(inside)))
    assert seen
    assert set(seen) == {expected}
    assert not inside


def test_the_pools_that_there_are():
    def threads(api):
        return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == api}

    _threads._pools.cache_clear()  # other tests may have loaded more libraries since
    before = threads("blas"), threads("openmp")
    with one_blas_thread(), openmp_threads(1):
        assert threads("blas") | threads("openmp") == {1}
    assert (threads("blas"), threads("openmp")) == before


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not tell")
def test_cores_are_those_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 2, 5})
    assert [count_threads(n_jobs) for n_jobs in (-1, -2, -3, -4, None, 7)] == [3, 2, 1, 1, 1, 7]
