"""Threads, processes, cores, memory and interpreters around a fit."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from elliptope import DiffusionMap, SDPEmbedding
from elliptope._utils.threads import count_threads, usable_cores
from faults.case import Case, Right
from faults.processes import forked, python
from faults.runtime import SAME, X, embedding, reference

case = partial(Case, "runtime")
LABELS = X[:, 0] > 0


def threads(work: Callable[[Any], Any]) -> list[Any]:
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(work, range(24)))


def resident() -> int:
    """Bytes of memory that this process holds."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth() -> int:
    """Bytes that are held after 1000 fits, and were not after the first 100."""
    estimators = (DiffusionMap(bandwidth=1.0), SDPEmbedding(bandwidth=3.0, random_state=0))
    for k in range(500):
        if k == 50:
            first = resident()
        for est in estimators:
            est.fit(X[:6])
    return resident() - first


CONCURRENT = [
    case(
        "24 calls of transform in 8 threads",
        lambda: threads(lambda _: reference().transform(X)),
        Right("the same as one call", lambda outs: all((reference().transform(X) == Z).all() for Z in outs)),
    ),
    case(
        "24 fits in 8 threads",
        lambda: threads(lambda _: embedding(X)),
        Right("the same as one fit", lambda outs: all((reference().embedding_ == Z).all() for Z in outs)),
    ),
    case(
        "transform in a process that was forked after fit",
        lambda: forked(lambda: reference().transform(X)),
        Right("the same as without", lambda Z: (reference().transform(X) == Z).all()),
    ),
    case("fit in a process that was forked after fit", lambda: (reference(), forked(lambda: embedding(X)))[1], SAME),
    case(
        "GridSearchCV(n_jobs=2)",
        lambda: GridSearchCV(
            make_pipeline(SDPEmbedding(2, random_state=0), LogisticRegression()),
            {"sdpembedding__bandwidth": [1.5, 3.0]},
            n_jobs=2,
            cv=2,
        ).fit(X, LABELS),
        Right("a score for every bandwidth", lambda search: np.isfinite(search.cv_results_["mean_test_score"]).all()),
    ),
    case("n_jobs=10**12", lambda: SDPEmbedding(bandwidth=1.5, random_state=0, n_jobs=10**12).fit(X).embedding_, SAME),
    case("1000 fits", growth, Right("less than 2 MB more memory than after 100", lambda grown: grown < 2_000_000)),
    case(
        "clone of a fitted estimator",
        lambda: clone(SDPEmbedding(bandwidth=1.5, tol=1e-5).fit(X)),
        Right("the same parameters, not fitted", lambda est: est.tol == 1e-5 and not hasattr(est, "embedding_")),
    ),
    case("a pickled estimator", lambda: pickle.loads(pickle.dumps(reference())).embedding_, SAME),
    case("an estimator through joblib", lambda: joblib.load(joblib.dump(reference(), "m")[0]).embedding_, SAME),
    case("a deep copy of an estimator", lambda: copy.deepcopy(reference()).embedding_, SAME),
]


def on_one_core() -> tuple[int, np.ndarray]:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    return count_threads(-1), SDPEmbedding(bandwidth=1.5, random_state=0, n_jobs=-1).fit(X).embedding_


def in_control_group(proc: dict[str, str], limit: dict[str, str]) -> int:
    """Cores that are left by files as Linux has them, below the current folder."""
    for name, text in {**{f"proc/self/{name}": text for name, text in proc.items()}, **limit}.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text + "\n")
    return usable_cores(".")


ONE_CORE = [
    case(
        "a process that may run on one core of many, n_jobs=-1",
        lambda: forked(on_one_core),
        Right("one thread, the same embedding", lambda found: found[0] == 1 and (found[1] == reference().embedding_).all()),
    ),
    case(
        "a container with one core of many: control groups of version 2",
        lambda: in_control_group(
            {"cgroup": "0::/", "mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"},
            {"sys/fs/cgroup/cpu.max": "100000 100000"},
        ),
        Right("one core is used", lambda cores: cores == 1),
    ),
]

PRINT = """
import numpy as np
from elliptope import SDPEmbedding
X = np.random.default_rng(0).standard_normal((40, 3))
try:
    SDPEmbedding(bandwidth=-1.0).fit(X)
except ValueError as error:
    print(error)
est = SDPEmbedding(bandwidth=1.5, random_state=0).fit(X)
est.save("m")
print(est.status_, np.abs(est.embedding_).sum())
"""


def same_output(done: Any) -> None:
    assert done.returncode == 0, done.stderr
    message, result = done.stdout.splitlines()
    assert message == "`bandwidth` must be positive and finite, got -1.0."
    assert result.split()[0] == "optimal"
    np.testing.assert_allclose(float(result.split()[1]), np.abs(reference().embedding_).sum(), rtol=1e-10)
    assert done.stderr == ""


COMMA = """
import locale
try:
    locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
except locale.Error:
    pass  # neither installed nor made
else:
    assert locale.str(0.5) == "0,5"
"""


def with_decimal_comma() -> Any:
    """In a German locale, which is made here, because few machines have it."""
    if shutil.which("localedef"):
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", "./de_DE.UTF-8"], capture_output=True, check=False)
    return python("-c", COMMA + PRINT, LOCPATH=os.getcwd())


INTERPRETERS = [
    case(
        "python -O -W error",
        lambda: python("-O", "-W", "error", "-c", PRINT),
        Right("the same error, the same result, nothing on standard error", same_output),
    ),
    case(
        "a locale with decimal comma",
        with_decimal_comma,
        Right("the same error, the same result, nothing on standard error", same_output),
    ),
]
CASES = [*CONCURRENT, *ONE_CORE, *INTERPRETERS]
