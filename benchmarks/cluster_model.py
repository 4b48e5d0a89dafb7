r"""What a product costs on a cluster: a model, and a simulation of how thin matrices spread, which backs it.

    python benchmarks/cluster_model.py

The model: with n rows, r columns, W workers of t threads, a rate ρ of pairs per second and thread (for a kernel of
neighbours, of its e entries a row times columns), bandwidth β, and λ seconds of the scheduler per task,

    exact:       T = n²/2 / (ρ W t)  + 8 n r (2 + 2 s) / β + λ q,     s: part of the rows that a worker needs
    neighbours:  T = n e r / (ρ W t) + 8 n r (2 + h) / β + λ q,       h: rows of others that it needs for each of its own

where q is the number of tasks. A thin matrix goes to the scheduler and from it to workers, and its product comes back. With
a kernel of all pairs workers also pass it on; with one of neighbours the scheduler passes a part on while the next comes.
In the simulation every link carries one chunk at a time in each direction, at the bandwidth β after a latency, and all
results share the link of the client. For all pairs a thin matrix is sent in chunks to one worker each, and who has a chunk
serves one other worker at a time. For neighbours each worker is sent the rows that it needs, and computes while others are
sent theirs. Assumptions: no link is shared by workers, the scheduler is on a machine of its own, nothing fails, memory
suffices.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

from elliptope.distributed.exact import shares_of_work
from elliptope.distributed.order import cut_rows


@dataclass(frozen=True)
class Hardware:
    """Bandwidth in bytes/s, seconds of latency per message and per task, pairs and entries per second and thread.

    All but those of the network are measured: benchmarks/results/cluster.md, section `constants`.
    """

    bandwidth: float = 1.25e9  # a network of 10 Gbit/s; within a machine more than twice as much is measured
    message: float = 1e-3
    task: float = 1.6e-3
    pairs: float = 3.5e8  # of the exact kernel with 20 columns, in float64
    entries: float = 2.8e9  # of a sparse kernel, times columns
    others: float = 2.6  # h, for 64 workers with few rows each: with more rows it is less


def spread(chunks: int, size: float, workers: int, hardware: Hardware) -> float:
    """Seconds until every worker has every chunk of a thin matrix of ``size`` bytes; an event at a time."""
    one = size / chunks / hardware.bandwidth + hardware.message
    # The client sends chunk after chunk to the scheduler, which passes it on while the next one comes.
    events = [((k + 2) * one, k, k % workers, -1) for k in range(chunks)]
    heapq.heapify(events)
    held: list[set[int]] = [set() for _ in range(workers)]
    missing = [set(range(workers)) - {k % workers} for k in range(chunks)]
    sending, free_in = [False] * workers, [0.0] * workers
    last = 0.0
    while events:
        last, k, taker, sender = heapq.heappop(events)
        held[taker].add(k)
        if sender >= 0:
            sending[sender] = False
        for worker in {taker, sender} - {-1}:
            rarest = max(held[worker], key=lambda chunk: len(missing[chunk]), default=-1)
            if sending[worker] or rarest < 0 or not missing[rarest]:
                continue
            other = min(missing[rarest], key=free_in.__getitem__)
            missing[rarest].discard(other)
            sending[worker], free_in[other] = True, max(last, free_in[other]) + one
            heapq.heappush(events, (free_in[other], rarest, other, worker))
    assert not any(missing)
    return last


def exact(n: int, r: int, workers: int, threads: int, hardware: Hardware) -> tuple[float, float, float]:
    """Seconds to compute, by the model in all, and by the simulation in all."""
    compute = n**2 / 2 / (hardware.pairs * workers * threads)
    share = max(shares_of_work(cut_rows(n), {str(k): threads for k in range(workers)}).values()) / n
    tasks = 4 * workers * threads
    thin = 8 * n * r
    model = compute + thin * (2 + 2 * min(share, 1.0)) / hardware.bandwidth + tasks * hardware.task
    sums = math.ceil(math.log2(workers)) * thin / 2 / hardware.bandwidth + thin / hardware.bandwidth
    simulated = compute + spread(64, thin, workers, hardware) + sums + tasks * hardware.task
    return compute, model, simulated


def neighbors(n: int, r: int, workers: int, threads: int, hardware: Hardware) -> tuple[float, float, float]:
    """The same for a kernel of neighbours with 20 entries a row."""
    groups = min(workers * threads, 128)  # as in elliptope.distributed.neighbors
    used, thin = min(workers, groups), 8 * n * r
    compute = n * 20 * r / (hardware.entries * groups)
    tasks = (groups + (used if used < groups else 0)) * hardware.task
    model = compute + (2 + hardware.others) * thin / hardware.bandwidth + tasks
    there, back = ((size * thin / used / hardware.bandwidth + hardware.message) for size in (1 + hardware.others, 1))
    last = 0.0
    for k in range(used):  # sent one after the other, by way of the scheduler; results share the link of the client
        last = max(last, (k + 2) * there + compute) + back
    return compute, model, last + tasks


def main() -> None:
    hardware = Hardware()
    print(f"{hardware}; r = 20; 16 threads a worker\n")
    print("kernel       n  workers  compute    model  simulated (seconds a product)")
    for name, function, n, workers in (
        ("exact     ", exact, 10**6, 16),
        ("exact     ", exact, 10**7, 64),
        ("neighbours", neighbors, 10**7, 64),
        ("neighbours", neighbors, 10**8, 256),
    ):
        compute, model, simulated = function(n, 20, workers, 16, hardware)
        print(f"{name} {n:.0e} {workers:6} {compute:9.2f} {model:9.2f} {simulated:9.2f}")


if __name__ == "__main__":
    main()
