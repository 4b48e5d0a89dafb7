"""Check that a change of the code leaves the results as they were.

    python benchmarks/same_results.py freeze FILE     # with the old code: run all cases, write their results to FILE
    python benchmarks/same_results.py compare FILE    # with the new code: run them again, print what differs

A case is one fit, one path of bandwidths, one call of the solver, or one call with bad input, which must raise. ``compare``
prints a line for every case that differs and exits with 1 if there is one. Numbers may differ by ``--tolerance`` relative to
the largest entry of their array; status, grade, warnings and error messages must be the same. Numbers of iterations and of
products are printed when they differ, but count only with ``--strict``. FILE also holds every model as ``save`` wrote it:
``compare`` loads these old files with the new code. Use the same machine and the same libraries for both runs.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported: several threads would round sums differently
os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import io
import json
import re
import sys
import tempfile
import time
import warnings
from collections import Counter, namedtuple
from contextlib import contextmanager, redirect_stdout
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import scipy
import sklearn
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.neighbors import KNeighborsTransformer
from threadpoolctl import threadpool_info

import elliptope
from elliptope import DiffusionMap, Neighbors, RKHSEmbedding, SDPEmbedding, bandwidth_path, datasets, load
from elliptope.sdp import solve

ROWS = 200  # of the embedding, and of B, that are kept
COUNTS = ("n_iter", "n_products")
UP_TO_SIGN = ("embedding", "transform", "transform by saved file")  # columns may have the opposite sign
CERTIFIED = ("objective", "upper_bound", "gap", "relative_gap", "failure_probability", "stationarity", "gain")
CERTIFIED += ("min_eigenvalue", "error_below", "error_above")
CHOSEN = ("bandwidth_", "length_scale_", "smoothness_", "regularization_", "trace_")
FOLDER = tempfile.TemporaryDirectory()  # for files that the cases write
MODEL = Path(FOLDER.name, "model")

# Rows to fit, and other rows to transform.
Data = namedtuple("Data", "name X new")
# `run` returns a record: a dictionary of arrays, numbers and texts. The name starts with the kind: fit, path, solve or
# error. `new` are the rows for a saved model to transform.
Case = namedtuple("Case", "name run new", defaults=[None])


def clean(text):
    """Text without what differs from run to run: addresses in memory, and the name of the temporary folder."""
    return re.sub(r"0x[0-9A-Fa-f]+", "0x", str(text)).replace(FOLDER.name, "FOLDER")


def value_or_error(function, *arguments):
    """What a function returns, or the text of the error that it raises."""
    try:
        return function(*arguments)
    except Exception as error:
        return clean(f"{type(error).__name__}: {error}")


@contextmanager
def warnings_in(record, name):
    """Put the texts of all warnings into the record, and whether each of them points at a line of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    lines = [f"{w.category.__name__} ({'here' if w.filename == __file__ else 'elsewhere'}): {w.message}" for w in caught]
    record[name] = clean("\n".join(lines))


def solver_record(certificate, status, n_iter, n_products):
    numbers = {name: float(getattr(certificate, name)) for name in CERTIFIED}
    texts = {name: str(getattr(certificate, name)) for name in ("grade", "weights", "null_space")}
    return {"status": status, **texts, **numbers, "n_iter": int(n_iter), "n_products": int(n_products)}


def fit_record(make, data, parameters, **arguments):
    """Fit, transform new rows, save and load."""
    est, record = make(**parameters), {}
    with warnings_in(record, "warnings of fit"), redirect_stdout(io.StringIO()) as printed:
        est.fit(data.X, **arguments)
    record["last line printed"] = printed.getvalue().strip().rpartition("\n")[2]
    Xi = np.asarray(est.embedding_)[:ROWS]
    record |= {"B": Xi @ Xi.T, "embedding": Xi, "eigenvalues": est.eigenvalues_, "columns": len(est.get_feature_names_out())}
    record |= {name: float(getattr(est, name)) for name in CHOSEN if getattr(est, name, None) is not None}
    with warnings_in(record, "warnings after fit"):
        record["transform"] = value_or_error(est.transform, data.new)
        if not isinstance(record["transform"], str):  # shows if only one of the two has changed its sign
            record["transform times embedding"] = np.asarray(record["transform"]) @ Xi.T
        record["score_samples"] = value_or_error(est.score_samples, data.new)
        if hasattr(est, "certificate_"):
            record |= solver_record(est.certificate_, est.status_, est.n_iter_, est.n_products_)
            record["learned_kernel"] = value_or_error(est.learned_kernel, data.new)
        record["save"] = str(value_or_error(partial(est.save, MODEL, overwrite=True)))
        if record["save"] == "None":
            record["model file"] = np.frombuffer(MODEL.read_bytes(), np.uint8)
            record["transform by saved file"] = value_or_error(load(MODEL).transform, data.new)
    return record


def solve_record(cost, diagonal=None, **options):
    found = solve(cost, diagonal, **{"rng": 0, **options})
    H = found.factor[:ROWS]
    record = {"message": found.message, "B": H @ H.T, "dual": found.dual, "columns": H.shape[1]}
    return record | solver_record(found.certificate, found.status, found.n_iter, found.n_products)


def path_record(X, bandwidths, **options):
    record = {}
    with warnings_in(record, "warnings"):
        path = bandwidth_path(X, bandwidths, **{"random_state": 0, **options})
    record |= {"bandwidths": path.bandwidths, "spectra": path.spectra, "aligned": path.aligned, "missing": str(path.missing)}
    for one in path.records:
        found = solver_record(one.certificate, one.status, one.n_iter, one.n_products)
        found |= {"B": one.factor[:ROWS] @ one.factor[:ROWS].T, "embedding": one.embedding[:ROWS]}
        record |= {f"{name} at {one.bandwidth:g}": value for name, value in found.items()}
    return record


def split(name, X):
    """About 30 rows, spread evenly, are held out as new rows."""
    held = np.arange(len(X)) % max(len(X) // 30, 2) == 0
    return Data(name, X[~held], X[held])


def weights(n, kind):
    """Sample weights: fractional; integers from 1 to 3; or fractional with zeros in every fourth row."""
    rng = np.random.default_rng(2)
    w = rng.integers(1, 4, n) if kind == "integer" else rng.uniform(0.1, 2.0, n)
    return np.where(np.arange(n) % 4 == 0, 0.0, w) if kind == "zeros" else w


def gaussian(X, Y):
    return np.exp(-((X[:, None] - Y) ** 2).sum(axis=-1) / 9)


def squared_length(X):
    return 1 + (X**2).sum(axis=1)


sdp, rkhs = partial(SDPEmbedding, random_state=0), partial(RKHSEmbedding, random_state=0)
tables = {"wine": load_wine().data, "iris": load_iris().data, "cancer": load_breast_cancer().data}
WINE, IRIS, CANCER = (split(name, (X - X.mean(axis=0)) / X.std(axis=0)) for name, X in tables.items())
DIGITS = split("digits", load_digits().data[:330])
MOONS = split("moons", datasets.two_moons(random_state=0)[0])
OUTLIERS = split("outliers", datasets.clusters_with_outliers(random_state=0)[0])
NORMAL = split("normal", np.random.default_rng(0).standard_normal((180, 5)))
MANY = split("many", np.random.default_rng(1).standard_normal((4300, 2)))
GRID = Data("grid", datasets.interval_grid()[0], np.linspace(-2, 2, 30)[:, None])
TWICE = Data("twice", np.vstack([MOONS.X, MOONS.X[:80]]), MOONS.new)
# One row is nearest to all others.
STAR = Data("star", np.vstack([np.zeros(30), np.diag(np.linspace(1, 1.2, 30))]), 0.9 * np.eye(30))
FAR = Data("far", MOONS.X, MOONS.new * np.logspace(0, 4, len(MOONS.new))[:, None])
SINGLE = Data("float32", WINE.X.astype(np.float32), WINE.new.astype(np.float32))
FRAME = Data("frame", *(pd.DataFrame(rows, columns=["a", "b", "c", "d"]) for rows in IRIS[1:]))
KERNEL = Data("matrix", gaussian(WINE.X, WINE.X), gaussian(WINE.new, WINE.X))
SCALE = np.linspace(1, 2, len(WINE.X))
DIAGONALS = ("constant", SCALE, squared_length)
SCALED = Data("scaled matrix", SCALE[:, None] * KERNEL.X * SCALE, KERNEL.new * SCALE)
GRAPH = Data("graph", *map(KNeighborsTransformer(n_neighbors=12).fit(WINE.X).transform, WINE[1:]))


def describe(options):
    """Options in words; of arrays and functions only what they are."""
    plain = (str, int, float, bool, list, type(None))
    texts = {k: v if isinstance(v, plain) else getattr(v, "__name__", type(v).__name__) for k, v in options.items()}
    return ", ".join(f"{name}={value}" for name, value in texts.items()) or "defaults"


def each(**values):
    """[{"a": 1}, {"a": 2}] for a=(1, 2)."""
    return [{name: value} for name, several in values.items() for value in several]


def fit(make, data, sample_weight=None, start=None, **parameters):
    """A fit with these parameters; weights may be given by their kind."""
    w = weights(data.X.shape[0], sample_weight) if isinstance(sample_weight, str) else sample_weight
    given = {name: value for name, value in {"sample_weight": w, "start": start}.items() if value is not None}
    kind = {} if sample_weight is None else {"sample_weight": sample_weight}
    name = f"fit {getattr(make, 'func', make).__name__} {data.name}: {describe(parameters | given | kind)}"
    return Case(name, partial(fit_record, make, data, parameters, **given), data.new)


def sdp_cases():
    yield from (fit(sdp, data) for data in (WINE, IRIS, CANCER, DIGITS, MOONS, OUTLIERS, GRID, TWICE, SINGLE))
    yield from (fit(sdp, WINE, bandwidth=b) for b in ("knn", "median", 0.05, 0.5, 1.2, 2.5, 6.0, 30.0, 1e3, 1e7))
    for kernel in ("laplacian", "matern"):
        yield from (fit(sdp, IRIS, kernel=kernel, bandwidth=b) for b in ("auto", 0.2, 5.0))
        yield fit(sdp, DIGITS, kernel=kernel, bandwidth=20.0)
    yield from (fit(sdp, WINE, kernel=kernel) for kernel in (gaussian, lambda X, Y: np.ones((len(X), len(Y)))))
    yield from (fit(sdp, KERNEL, kernel="precomputed", sample_weight=kind) for kind in (None, "zeros"))
    yield from (fit(sdp, SCALED, kernel="precomputed", diagonal=d) for d in ("kernel", "constant"))
    yield fit(sdp, Data("identity", np.eye(40), np.eye(40)[:5]), kernel="precomputed")
    for operator in ("dense", "tiled"):
        yield from (fit(sdp, WINE, operator=operator, bandwidth=b) for b in (0.7, 2.5, 15.0))
        yield fit(sdp, MOONS, operator=operator, bandwidth=0.4, sample_weight="zeros")
        yield fit(sdp, NORMAL, operator=operator, bandwidth=1.0, max_iter=2)
        yield from (fit(sdp, WINE, operator=operator, diagonal=d) for d in DIAGONALS)
    yield fit(sdp, IRIS, operator="tiled", kernel="matern")
    yield fit(sdp, WINE, operator="tiled", kernel=gaussian)
    yield fit(sdp, CANCER, operator="tiled", n_jobs=2)
    yield fit(sdp, MANY, operator="tiled", bandwidth=2.0, tol=1e-4)
    yield from (fit(sdp, CANCER, kernel="neighbors", n_neighbors=k) for k in (2, 4, 15, 60))
    yield fit(sdp, DIGITS, kernel=Neighbors(), n_components=2, normalize="unit")
    yield fit(sdp, IRIS, kernel="neighbors", diagonal="constant", n_neighbors=8)
    yield from (fit(sdp, STAR, kernel="neighbors", n_neighbors=2, diagonal=d) for d in ("kernel", "constant"))
    yield fit(sdp, TWICE, kernel="neighbors", sample_weight="zeros")
    yield from (fit(sdp, GRAPH, kernel="neighbors", n_neighbors=5, sample_weight=kind) for kind in (None, "zeros"))
    for k, normalize in ((1, None), (2, None), (12, None), (None, "unit"), (1, "unit"), (2, "unit")):
        yield fit(sdp, WINE, n_components=k, normalize=normalize, bandwidth=1.5)
    yield from (fit(sdp, WINE, sample_weight=kind) for kind in ("fractional", "integer", "zeros", 0.25))
    yield fit(sdp, WINE, diagonal=SCALE, sample_weight="zeros")
    yield fit(sdp, FRAME, n_components=2)
    yield fit(sdp, Data("one point", np.ones((20, 2)), np.zeros((3, 2))), bandwidth=1.0)
    yield from (fit(sdp, Data(f"{n} rows", NORMAL.X[:n].tolist(), NORMAL.new.tolist()), bandwidth=1.0) for n in (2, 3, 7))
    yield from (fit(sdp, FAR, bandwidth=0.5, normalize=normalize) for normalize in (None, "unit"))
    yield fit(sdp, NORMAL, solver="power", operator="tiled", max_iter=50)
    several = each(solver=["power"], rank=(1, 2, 10), tol=(1e-2, 1e-10), random_state=(1, np.random.RandomState(3)))
    yield from (fit(sdp, NORMAL, **option) for option in [*several, {"verbose": True}])
    start = np.random.default_rng(4).standard_normal((len(WINE.X), 3))
    yield from (fit(sdp, WINE, bandwidth=2.0, start=start, sample_weight=kind) for kind in (None, "zeros"))
    yield fit(sdp, WINE, bandwidth=1.8, start=sdp(bandwidth=2.0).fit(WINE.X).embedding_)  # from a nearby solution


def rkhs_and_diffusion_cases():
    several = each(length_scale=(0.3, 1.0, "knn"), regularization=(1e-4, 1.0, "theory"), smoothness=(2.5, 3.2), rank=[2])
    several += each(jitter=[1e-6], max_iter=[2], tol=[1e-3], n_components=(1, 6))
    yield from (fit(rkhs, IRIS, **option) for option in several)
    yield from (fit(rkhs, data) for data in (WINE, IRIS, MOONS, TWICE, SINGLE, GRID, FRAME))
    yield fit(rkhs, IRIS, sample_weight="zeros", n_components=2, normalize="unit")
    yield from (fit(rkhs, WINE, **option) for option in each(diagonal=(SCALE, squared_length), direction=[squared_length]))
    several = each(diffusion_time=(0.5, 2), normalize=["unit"], n_components=[8], bandwidth=(0.3, "median", 1e8))
    several += each(kernel=("laplacian", "matern", gaussian), sample_weight=("fractional", "zeros"))
    yield from (fit(DiffusionMap, WINE, **option) for option in several)
    yield from (fit(DiffusionMap, data) for data in (DIGITS, TWICE, SINGLE, FRAME, split("1200 rows", MANY.X[:1200])))
    yield fit(DiffusionMap, KERNEL, kernel="precomputed")


def path_and_solve_cases():
    several = each(kernel=["matern"], max_iter=[3], diagonal=["constant"], operator=["tiled"], normalize=["unit"])
    for option in [{}, *several, *each(n_components=[1], sample_weight=[weights(len(WINE.X), "zeros")])]:
        yield Case(f"path wine: {describe(option)}", partial(path_record, WINE.X, (4.0, 1.0, 2.0, 1.5, 2.0), **option))
    yield Case("path moons: narrow to wide", partial(path_record, MOONS.X, np.logspace(-2, 6, 9)))
    W = np.random.default_rng(5).standard_normal((90, 90))
    psd, indefinite, d = W @ W.T / 90, W + W.T, np.linspace(0.5, 3, 90)
    edges = np.triu(np.random.default_rng(6).random((120, 120)) < 0.06, 1).astype(float)
    max_cut = np.diag((edges + edges.T).sum(axis=1)) - edges - edges.T
    ring = -np.roll(np.eye(61), 1, axis=0) - np.roll(np.eye(61), -1, axis=0)
    costs = {"psd": psd, "indefinite": indefinite, "max-cut": max_cut, "negative": -psd, "diagonal": np.diag(d)}
    for name, C in (costs | {"ring": ring, "zero": 0 * psd, "two points": [[0.0, 1.0], [1.0, 0.0]]}).items():
        yield from (Case(f"solve {name}: {polish=}", partial(solve_record, C, polish=polish)) for polish in (False, True))
    for form in (sparse.csr_array, aslinearoperator):
        yield Case(f"solve max-cut: {form.__name__}", partial(solve_record, form(max_cut)))
        yield Case(f"solve indefinite: {form.__name__}, diagonal", partial(solve_record, form(indefinite), d, polish=True))
    several = each(method=["power"], rank=(1, 20), tol=(1e-2, 1e-10), max_iter=[3], max_products=(12, 40), rng=[7])
    for option in [*several, {"start": W[:, :3]}, {"callback": lambda progress: progress.iteration == 5}]:
        yield Case(f"solve psd: diagonal, {describe(option)}", partial(solve_record, psd, d, **option))


def changed(array, index, value):
    array = array.copy()
    array[index] = value
    return array


def fit_and(make, X, parameters, method=None, new=None, **arguments):
    """Fit, and call a method with new rows if one is named."""
    est = make(**parameters).fit(X, **arguments)
    return getattr(est, method)(new) if method else est


def error_cases():
    """Calls that must raise; the type of the error and its message are kept."""
    X, ones, absent = NORMAL.X, np.ones(len(NORMAL.X)), Path(FOLDER.name, "absent")
    K, NaN, graph = gaussian(X, X), changed(X, (3, 1), np.nan), KNeighborsTransformer(n_neighbors=5).fit_transform(X)
    asymmetric, negative = changed(K, (0, 1), 0.9), changed(ones, 4, -2)
    bad = {sdp: each(bandwidth=(0, -1.0, np.nan, True, "scott", None), kernel=("rbf", 3, "precomputed", lambda X, Y: X))}
    bad[sdp] += each(normalize=["l2"], operator=["csr"], solver=["newton"], tol=[0], max_iter=[2.5], rank=["full"])
    bad[sdp] += each(n_components=[0], n_jobs=[0], diagonal=("unit", negative, [1.0], lambda X: X))
    bad[sdp] += [{"kernel": "neighbors", "n_neighbors": k} for k in (1, 1000)]
    bad[sdp] += [{"kernel": "neighbors", "operator": "dense"}]
    bad[rkhs] = each(smoothness=[1.0], length_scale=("scott", 1e6), regularization=(-1, "cv"), jitter=[-1])
    bad[rkhs] += each(diagonal=["kernel"], direction=("median", 3))
    bad[DiffusionMap] = each(diffusion_time=[-1], n_components=[len(X)], kernel=["neighbors"], bandwidth=[0])
    data = {"NaN": NaN, "infinity": changed(X, (3, 1), np.inf), "vector": X[:3, 0], "one row": X[:1], "no columns": X[:, :0]}
    data |= {"text": [["a", "b"]], "complex": X[:2] + 1j, "huge": 1e200 * X, "one point": 0 * X, "sparse": graph}
    for make in (sdp, rkhs, DiffusionMap):
        name = getattr(make, "func", make).__name__
        yield from (Case(f"error {name}: {describe(option)}", partial(fit_and, make, X, option)) for option in bad[make])
        yield from (Case(f"error {name}: data {key}", partial(fit_and, make, value, {})) for key, value in data.items())
        for key, w in {"negative": negative, "NaN": changed(ones, 4, np.nan), "zero": 0 * ones, "short": ones[1:]}.items():
            yield Case(f"error {name}: weights {key}", partial(fit_and, make, X, {}, sample_weight=w))
        yield Case(f"error {name}: not fitted", partial(make().transform, X))
        yield Case(f"error {name}: save before fit", partial(make().save, absent))
        for key, new in {"columns": X[:, :2], "NaN": NaN, "vector": X[0]}.items():
            yield Case(f"error {name}: transform {key}", partial(fit_and, make, X, {}, "transform", new))
    kernels = {"asymmetric": asymmetric, "zero": changed(K, (2, 2), 0), "not psd": K + 9 * (K < 0.01), "negative": K - 0.5}
    graphs = {"not square": graph[:9], "negative": -graph, "two distances": changed(graph, (0, graph[0].indices[1]), 9.0)}
    for kernel, values in {"precomputed": kernels, "neighbors": graphs | {"short": graph[:, :50][:50]}}.items():
        for key, value in values.items():
            yield Case(f"error {kernel}: {key}", partial(fit_and, sdp, value, {"kernel": kernel, "n_neighbors": 6}))
    yield Case("error precomputed: new rows", partial(fit_and, sdp, K, {"kernel": "precomputed"}, "transform", 0 * K))
    yield from (Case(f"error start: {len(H)} rows", partial(fit_and, sdp, X, {}, start=H)) for H in (X[1:], NaN))
    several = each(method=["newton"], tol=[-1], max_iter=[0], max_products=[0], rank=[0], rng=["a"], polish=[1])
    several += each(callback=[3], start=[X[:3]], diagonal=(negative, [1.0]))
    yield from (Case(f"error solve: {describe(option)}", partial(solve, K, **option)) for option in several)
    costs = {"shape": X, "NaN": changed(K, (2, 2), np.nan), "complex": K + 1j, "text": "abc", "asymmetric": asymmetric}
    costs |= {"asymmetric sparse": sparse.csr_array(asymmetric), "asymmetric operator": aslinearoperator(asymmetric)}
    yield from (Case(f"error solve: cost {key}", partial(solve, cost, rng=0)) for key, cost in costs.items())
    yield from (Case(f"error path: {sigmas}", partial(bandwidth_path, X, sigmas)) for sigmas in ([], [1.0, -1.0], 3))
    for option in each(bandwidth=[1.0], kernel=["neighbors"], sample_weight=[ones[1:]], colour=[1], tol=[0]):
        yield Case(f"error path: {describe(option)}", partial(bandwidth_path, X, [1.0], **option))
    yield Case("error load: no file", partial(load, absent))
    yield Case("error load: not a model", partial(load_and_transform, np.zeros(9, np.uint8), X))


def run(case):
    """The record of a case. An error is a result, too."""
    record = value_or_error(case.run)
    if isinstance(record, str):
        return {"raised": record}
    return {"raised": "nothing"} if case.name.startswith("error") else record


def environment():
    """What results may depend on beside the code."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    blas = {f"{pool['internal_api']} {pool['version']} {pool.get('architecture')}" for pool in pools}
    versions = {module.__name__: module.__version__ for module in (elliptope, np, scipy, sklearn)}
    return {**versions, "python": sys.version.split()[0], "BLAS": sorted(blas)}


def freeze(file, cases):
    """Run the cases and write their records: arrays as arrays, everything else as one JSON text."""
    plain, arrays = {}, {}
    for case in cases:
        record = run(case)
        if ("raised" in record) != case.name.startswith("error") or record.get("raised") == "nothing":
            print(f"Note: {case.name} raised {record['raised']}")
        arrays |= {f"{case.name}|{name}": value for name, value in record.items() if isinstance(value, np.ndarray)}
        plain[case.name] = {name: value for name, value in record.items() if not isinstance(value, np.ndarray)}
    with file.open("wb") as stream:
        np.savez_compressed(stream, metadata=json.dumps({"environment": environment(), "records": plain}), **arrays)


def difference(old, new, up_to_sign=False):
    """The largest difference relative to the largest entry of the old array; infinite if text or shape differ."""
    if not isinstance(old, float | np.ndarray) or isinstance(new, str) or np.shape(old) != np.shape(new):
        return 0.0 if type(old) is type(new) and not isinstance(old, np.ndarray) and old == new else np.inf
    old, new = np.asarray(old, np.float64), np.asarray(new, np.float64)
    with np.errstate(all="ignore"):
        if up_to_sign:
            new = new * np.where((old * new).sum(axis=0) < 0, -1.0, 1.0)
        off = np.where((old == new) | (np.isnan(old) & np.isnan(new)), 0.0, abs(old - new)).max(initial=0.0)
    size = abs(old[np.isfinite(old)]).max(initial=0.0)
    return float(off / size) if off > 0 and size > 0 else np.inf if off != 0 else 0.0


def load_and_transform(content, new):
    MODEL.write_bytes(content.tobytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are kept, and compared, where the same rows are transformed after the fit
        return load(MODEL).transform(new)


def differences(case, old, new):
    """What differs between two records of a case: by name, how much (infinite for text), and that in words."""
    if "model file" in old:
        old = old | {"transform by old file": old["transform by saved file"]}
        new = new | {"transform by old file": value_or_error(load_and_transform, old["model file"], case.new)}
    found, names = {}, (old.keys() | new.keys()) - {"model file"}
    for name in ["raised"] if ("raised" in old) != ("raised" in new) else sorted(names):
        pair = old.get(name, "nothing"), new.get(name, "nothing")
        size = difference(*pair, up_to_sign=name.partition(" at ")[0] in UP_TO_SIGN)
        words = " -> ".join(f"array {x.shape}" if isinstance(x, np.ndarray) else repr(x) for x in pair)
        if size > 0:
            found[name] = size, f"{name} {size:.1e}" if size < np.inf else f"{name} {words}"
    return found


def compare(file, cases, tolerance, strict):
    """Run the cases, print what differs from the file, and return how many cases do."""
    with np.load(file, allow_pickle=False) as stored:
        environment_then, records = json.loads(str(stored["metadata"])).values()
        for key in set(stored.files) - {"metadata"}:
            case, _, name = key.rpartition("|")
            records[case][name] = stored[key]
    for name, value in environment().items():
        if value != environment_then[name]:
            print(f"Note: {name} is {value}; the results were frozen with {environment_then[name]}")
    bad, within = 0, 0.0
    for case in cases:
        old = records.get(case.name, {"raised": "nothing, because it is not in the file"})
        found = differences(case, old, run(case))
        large = {name: words for name, (size, words) in found.items() if size > tolerance}
        within = max([within, *(size for size, _ in found.values() if size <= tolerance)])
        fails = any(strict or not name.startswith(COUNTS) for name in large)
        bad += fails
        if large:
            status = old.get("status", "no status")
            print(f"{'differs' if fails else 'counts only'}: {case.name} ({status}): {'; '.join(large.values())}")
    print(f"largest difference within the tolerance: {within:.1e}")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["freeze", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--tolerance", type=float, default=1e-12, help="relative difference that numbers may have")
    parser.add_argument("--only", default="", metavar="TEXT", help="run only the cases that have TEXT in their name")
    parser.add_argument("--strict", action="store_true", help="numbers of iterations and products must be the same, too")
    args, begin, bad = parser.parse_args(), time.perf_counter(), 0
    makers = (sdp_cases, rkhs_and_diffusion_cases, path_and_solve_cases, error_cases)
    cases = [case for make in makers for case in make() if args.only in case.name]
    assert len({case.name for case in cases}) == len(cases), "two cases have the same name"
    if args.action == "freeze":
        freeze(args.file, cases)
    else:
        bad = compare(args.file, cases, args.tolerance, args.strict)
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(case.name.split()[0] for case in cases).items())
    print(f"{len(cases)} cases ({kinds}), {bad} differ, {time.perf_counter() - begin:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
