"""Threads: how many cores there are for them, and those of BLAS, which are set back."""

import importlib
import os
from contextlib import contextmanager
from threading import Barrier
from types import SimpleNamespace

import numpy as np
import pytest
import threadpoolctl

from elliptope._utils import threads as _threads
from elliptope._utils.threads import (
    Workers,
    all_blas_threads,
    blas_threads,
    count_threads,
    in_order,
    one_blas_thread,
    usable_cores,
)
from elliptope.sdp import certify, solve

solving = importlib.import_module("elliptope.sdp.solve")
COST = np.random.default_rng(0).standard_normal((30, 30))
COST += COST.T


class Pools:
    """Pools of threads that only count, whatever BLAS there is."""

    def __init__(self):
        self.threads = {"blas": 4, "openmp": 4}

    def limit(self, limits, user_api):
        before, self.threads[user_api] = self.threads[user_api], limits
        return SimpleNamespace(restore_original_limits=lambda: self.threads.update({user_api: before}))

    def info(self):
        return [{"user_api": api, "num_threads": count} for api, count in self.threads.items()]


@pytest.fixture
def pools(monkeypatch):
    found = Pools()
    monkeypatch.setattr(_threads, "_pools", lambda: found)
    monkeypatch.setattr(_threads, "_cores_at_first", lambda: 8)
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


@pytest.mark.parametrize("cores", [8, 3])
def test_all_again_for_a_while(pools, monkeypatch, cores):
    """No more than there are cores: BLAS does not ask control groups."""
    monkeypatch.setattr(_threads, "_cores_at_first", lambda: cores)
    with one_blas_thread():
        assert (pools["blas"], blas_threads()) == (1, min(4, cores))
        with all_blas_threads(False):
            assert pools["blas"] == 1
        with all_blas_threads():
            assert pools["blas"] == min(4, cores)
        assert pools["blas"] == 1
    assert pools["blas"] == 4
    with all_blas_threads():
        assert pools["blas"] == 4
    assert blas_threads() == min(4, cores)


def test_threads_of_ours_have_one_each(pools):
    seen = []
    results = in_order(lambda item: seen.append(pools["blas"]) or item, range(10), 2)
    assert [item for item in results if pools["blas"] in (1, 4)] == list(range(10))
    assert set(seen) == {1}
    assert pools["blas"] == 4


def test_solves_have_one(monkeypatch):
    inside = []

    @contextmanager
    def spy():
        inside.append(True)
        yield
        inside.pop()

    monkeypatch.setattr(solving, "one_blas_thread", spy)
    seen = []
    solution = solve(COST, rng=0, callback=lambda _: seen.append(bool(inside)))
    assert seen
    assert all(seen)
    monkeypatch.setattr(solving, "prove", lambda *_: seen.append(bool(inside)))
    certify(COST, solution.factor)
    assert seen[-1]
    assert not inside


def test_the_pools_that_there_are():
    def threads():
        return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}

    _threads._pools.cache_clear()  # other tests may have loaded more libraries since
    before = threads()
    with one_blas_thread():
        assert threads() == {1}
    assert threads() == before


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not tell")
def test_cores_are_those_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 2, 5})
    assert [count_threads(n_jobs) for n_jobs in (-1, -2, -3, -4, None, 7)] == [3, 2, 1, 1, 1, 7]


GROUP = {"proc/self/cgroup": "0::/a/b\n"}


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 16),
        (GROUP, 16),
        (GROUP | {"sys/fs/cgroup/a/b/cpu.max": "max 100000\n"}, 16),
        (GROUP | {"sys/fs/cgroup/a/b/cpu.max": "100000 100000\n"}, 1),
        (GROUP | {"sys/fs/cgroup/a/b/cpu.max": "10000 100000\n"}, 1),
        (GROUP | {"sys/fs/cgroup/a/b/cpu.max": "150000 100000\n"}, 2),
        (GROUP | {"sys/fs/cgroup/a/b/cpu.max": "6400000 100000\n"}, 16),
        (GROUP | {"sys/fs/cgroup/a/b/cpu.max": "max 100000\n", "sys/fs/cgroup/a/cpu.max": "300000 100000\n"}, 3),
        (GROUP | {"sys/fs/cgroup/other/cpu.max": "100000 100000\n"}, 16),
        (GROUP | {"sys/fs/cgroup/a/b/cpu.max": "what is this\n"}, 16),
        ({"proc/self/cgroup": "4:cpu,cpuacct:/a\n"}, 16),
    ],
    ids=str,
)
def test_cores_that_control_groups_leave(tmp_path, monkeypatch, files, cores):
    """Of 16."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert usable_cores(tmp_path) == cores


@pytest.mark.parametrize("count", [1, 2, 3])
def test_workers_do_all_and_pass_errors_on(count):
    workers, done = Workers(count), []
    workers.run(done.append, list(range(7)))
    assert sorted(done) == list(range(7))

    def fail(item):
        if item == 5:
            raise ValueError("five")
        done.append(item)

    with pytest.raises(ValueError, match="five"):
        workers.run(fail, list(range(7)))
    workers.run(done.append, [10, 11])  # they go on after an error
    assert {10, 11} <= set(done)


def test_workers_share_work_among_threads():
    workers, barrier = Workers(2), Barrier(2, timeout=10)
    workers.run(lambda _: barrier.wait(), [0, 1])  # passes only if both run at once
