"""Fits that would not fit into the memory of the client or of a worker are refused, with what would do."""

from itertools import pairwise
from types import SimpleNamespace

import pytest

from elliptope import InsufficientMemoryError, estimate_memory
from elliptope.distributed.exact import shares_of_work
from elliptope.distributed.order import cut_rows, cut_work, pairs_in
from elliptope.distributed.plan import check_client, check_workers, exact_need
from elliptope.memory import Memory


def cluster(workers, memory, threads=1):
    return SimpleNamespace(memory=lambda: memory, threads=lambda: {str(k): threads for k in range(workers)})


def test_workers():
    check_workers(cluster(2, None), 10**9, 100, None)
    check_workers(cluster(0, 1), 10**9, 100, None)  # they are still to come
    check_workers(cluster(2, 2 * 10**9), 10**6, 10, None)
    for neighbors in (None, 15):
        with pytest.raises(InsufficientMemoryError, match=r"Each of 2 needs about .* GB for 10000000 rows of 10") as refused:
            check_workers(cluster(2, 8 * 10**9), 10**7, 10, neighbors)
        enough = int(str(refused.value).split("Instead: ")[1].split(" workers of this size")[0])
        check_workers(cluster(enough, 8 * 10**9), 10**7, 10, neighbors)
        with pytest.raises(InsufficientMemoryError):
            check_workers(cluster(enough // 2, 8 * 10**9), 10**7, 10, neighbors)
    with pytest.raises(InsufficientMemoryError, match="Instead: workers with that much memory"):
        check_workers(cluster(2, 10**8), 10**7, 10, 15)


def test_client():
    check_client(10**6, 10, memory=Memory(10**11, "a limit"))
    with pytest.raises(InsufficientMemoryError, match=r"for the client.*10000000 rows of 10 features.*a limit.*a sample"):
        check_client(10**7, 10, memory=Memory(10**9, "a limit"))
    memory = Memory(estimate_memory(10**6, 10, operator="tiled") + 10**8, "a limit")
    check_client(10**6, 10, memory=memory)
    with pytest.raises(InsufficientMemoryError, match="for the client"):  # which has the kernel matrix, too
        check_client(10**6, 10, 50, memory)


def test_work_is_shared_as_threads_are():
    """Parts are all pairs, once; no worker has much more than its share of them, and few rows."""
    for blocks, workers in ((1, 1), (8, 2), (16, 3), (64, 7), (64, 64)):
        for threads in (1, 2):
            parts = cut_work(blocks, 2 * workers * threads)
            assert sum(map(pairs_in, parts)) == blocks**2 / 2
            assert (
                len({(i, j) for rows, columns in parts for i in rows for j in columns if i >= j})
                == blocks * (blocks + 1) / 2
            )
    for n in (1, 128, 4096, 5000, 300_000):
        sizes = cut_rows(n)
        assert (sizes[0].start, sizes[-1].stop) == (0, n)
        assert all(a.stop == b.start and a.stop > a.start for a, b in pairwise(sizes))
    rows = shares_of_work(cut_rows(10**6), {str(k): 1 for k in range(64)})
    assert max(rows.values()) < 0.5 * 10**6
    assert exact_need(10**6, 10, [1] * 64) < exact_need(10**6, 10, [1] * 2)
