"""Saved models: the same bits after a round trip, in a format that other tools can read."""

import dataclasses
import inspect
import io
import json
import math
import os
import pickle
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Matern as SklearnMatern
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.neighbors import KNeighborsTransformer

import elliptope
from common import MOONS, RANK_4, Naive, weights
from elliptope import DiffusionMap, ModelFileError, RKHSEmbedding, SDPEmbedding, kernels
from elliptope.estimators import diagonals
from elliptope.estimators.extension import Extension
from elliptope.estimators.training import SDPTraining
from elliptope.kernels import Matern, Neighbors, Overlap
from elliptope.kernels.neighborhoods import GraphKernel
from elliptope.persistence import SCHEMA, models, read_header, save
from elliptope.persistence.fields import Optional
from elliptope.persistence.objects import OneOf
from model_files import header_of, small_model

DOUBLE = np.vstack([RANK_4, RANK_4[:5]])
CORRELATED = rbf_kernel(RANK_4, gamma=0.1)
SCALED = CORRELATED * np.linspace(1, 2, 40)[:, None] * np.linspace(1, 2, 40)
COUNTS = sparse.csr_array(np.random.default_rng(0).poisson(0.4, (60, 25)) + np.eye(60, 25))
GRAPH = KNeighborsTransformer(n_neighbors=12, mode="distance").fit_transform(RANK_4)

# Estimators, what they are fitted to, and their sample weights.
CASES = {
    "gaussian": (SDPEmbedding(bandwidth=2.0), RANK_4, None),
    "weighted": (SDPEmbedding(bandwidth=2.0), RANK_4, weights(40, zeros=4)),
    "laplacian": (SDPEmbedding(kernel="laplacian"), RANK_4, None),
    "matern": (SDPEmbedding(kernel="matern", bandwidth="median"), RANK_4, None),
    "kernel instance": (SDPEmbedding(kernel=Matern(bandwidth=2, nu=2.2)), RANK_4, None),
    "precomputed": (SDPEmbedding(kernel="precomputed"), CORRELATED, weights(40, zeros=4)),
    "precomputed, uneven": (SDPEmbedding(kernel="precomputed", diagonal="constant"), SCALED, None),
    "neighbors": (SDPEmbedding(kernel="neighbors", n_neighbors=8, n_jobs=2), RANK_4, None),
    "neighbors, equal rows": (SDPEmbedding(kernel=Neighbors(), n_neighbors=8), DOUBLE, weights(45, zeros=4)),
    "neighbors, many columns": (SDPEmbedding(kernel="neighbors", n_neighbors=8), np.hstack([RANK_4, RANK_4**2]), None),
    "graph": (SDPEmbedding(kernel="neighbors", n_neighbors=8), GRAPH, None),
    "overlap": (SDPEmbedding(kernel=Overlap(exponent=1.5), n_neighbors=8), DOUBLE, weights(45, zeros=4)),
    "overlap, graph": (SDPEmbedding(kernel="overlap", n_neighbors=8, metric="precomputed"), GRAPH, None),
    "overlap, sparse rows": (SDPEmbedding(kernel="overlap", n_neighbors=8, metric="cosine"), COUNTS, None),
    "neighbors, sparse rows": (SDPEmbedding(kernel="neighbors", n_neighbors=8, metric="l1"), COUNTS, weights(60, zeros=4)),
    "metric with parameters": (
        SDPEmbedding(kernel=Neighbors(metric="minkowski", metric_params={"p": 3, "w": np.arange(1.0, 13.0)}), n_neighbors=8),
        RANK_4,
        None,
    ),
    "metric with a matrix": (
        SDPEmbedding(kernel=Overlap(metric="mahalanobis", metric_params={"VI": 2 * np.eye(12)}), n_neighbors=8),
        RANK_4,
        None,
    ),
    "diffusion, overlap": (DiffusionMap(3, kernel="overlap", n_neighbors=8), RANK_4, None),
    "graph, weighted": (SDPEmbedding(kernel="neighbors", n_neighbors=6, diagonal="constant"), GRAPH, weights(40, zeros=4)),
    "constant diagonal": (SDPEmbedding(bandwidth=2.0, diagonal="constant"), RANK_4, None),
    "array diagonal": (SDPEmbedding(bandwidth=2.0, diagonal=np.linspace(1, 2, 40)), RANK_4, weights(40, zeros=4)),
    "list diagonal": (SDPEmbedding(bandwidth=2.0, diagonal=[1.0, 2.0] * 20), RANK_4, None),
    "unit rows": (SDPEmbedding(2, bandwidth=2.0, normalize="unit"), RANK_4, None),
    "columns of zeros": (SDPEmbedding(6, bandwidth=2.0), RANK_4, None),
    "one column": (SDPEmbedding(bandwidth=9.0), MOONS, None),
    "NumPy scalars": (SDPEmbedding(np.int64(2), bandwidth=np.float32(2.1), verbose=np.bool_(False)), RANK_4, None),
    "not converged": (SDPEmbedding(bandwidth=2.0, max_iter=1), RANK_4, None),
    "constant": (SDPEmbedding(bandwidth=1e9), RANK_4, None),
    "Fortran data": (SDPEmbedding(bandwidth=2.0), np.asfortranarray(RANK_4), None),
    "data frame": (SDPEmbedding(bandwidth=2.0), pd.DataFrame(RANK_4).rename(columns="größe {}".format), None),
    "diffusion": (DiffusionMap(bandwidth=2.0), RANK_4, weights(40, zeros=4)),
    "diffusion, t = 0": (DiffusionMap(1, bandwidth=2.0, diffusion_time=0, normalize="unit"), RANK_4, None),
    "diffusion, precomputed": (DiffusionMap(3, kernel="precomputed"), CORRELATED, None),
    "rkhs": (RKHSEmbedding(), RANK_4, None),
    "rkhs, one column": (RKHSEmbedding(regularization=1e6), RANK_4, None),
    "rkhs, equal rows": (RKHSEmbedding(2, jitter=1e-6), DOUBLE, weights(45, zeros=4)),
    "rkhs, array diagonal": (RKHSEmbedding(diagonal=np.linspace(1, 2, 40), regularization="theory"), RANK_4, None),
}


def fitted(name):
    est, X, w = CASES[name]
    if "random_state" in est.get_params():
        est.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return est.fit(X, sample_weight=w)


def new_rows(est):
    """Rows to embed; cross-kernel rows where the kernel is precomputed, distances where it is that of a graph."""
    rows = np.random.default_rng(3).standard_normal((7, est.n_features_in_))
    if isinstance(est.training_.extension.kernel, GraphKernel):
        return sparse.csr_array(np.where(rows > -0.5, np.abs(rows), 0.0))
    return np.abs(rows) if getattr(est, "kernel", None) == "precomputed" else rows


def outputs(est):
    """Everything that a model gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a data frame's model complains about rows without names
        Y = new_rows(est)
        found = {"transform": est.transform(Y), "score_samples": est.score_samples(Y), "embedding_": est.embedding_}
        found["eigenvalues_"] = est.eigenvalues_
        if hasattr(est, "learned_kernel"):
            found["learned_kernel"] = est.learned_kernel(Y)
    return found


def assert_same_bits(est, copy):
    ours, theirs = outputs(est), outputs(copy)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert value.dtype == theirs[name].dtype
        assert value.shape == theirs[name].shape
        assert value.tobytes() == theirs[name].tobytes(), name


def assert_same_parts(one, other, place=""):
    """All attributes, down to the layout of arrays in memory."""
    assert type(one) is type(other) or isinstance(one, float), place
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), place
        assert (one == other).all(), place
        assert one.strides == other.strides or one.size == 0, place
    elif sparse.issparse(one):
        for name in ("shape", "data", "indices", "indptr"):
            assert_same_parts(getattr(one, name), getattr(other, name), f"{place}.{name}")
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            assert_same_parts(getattr(one, field.name), getattr(other, field.name), f"{place}.{field.name}")
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), place
        for key, value in one.items():
            assert_same_parts(value, other[key], f"{place}.{key}")
    else:
        assert one == other or (math.isnan(one) and math.isnan(other)), place


def plain(certificate):
    """Python's numbers in the place of NumPy's: a file does not tell them apart."""
    values = {f.name: getattr(certificate, f.name) for f in dataclasses.fields(certificate)}
    return type(certificate)(**{k: v.item() if isinstance(v, np.generic) else v for k, v in values.items()})


def concrete(cls):
    """Subclasses that there can be objects of."""
    for sub in cls.__subclasses__():
        yield from concrete(sub)
        if not inspect.isabstract(sub):
            yield sub


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.elliptope"


class TestRoundTrip:
    @pytest.mark.parametrize("name", CASES)
    def test_nothing_is_lost(self, name, path):
        est = fitted(name)
        est.save(path)
        copy = elliptope.load(path)
        assert type(copy) is type(est)
        assert_same_bits(est, copy)
        given = est.get_params()
        assert_same_parts(*({k: v for k, v in vars(model).items() if k not in given} for model in (est, copy)))
        for parameter, value in copy.get_params().items():
            if dataclasses.is_dataclass(value):
                assert_same_parts(value, given[parameter], parameter)
            else:
                np.testing.assert_array_equal(value, given[parameter])

    def test_in_a_new_process(self, tmp_path):
        """All models in one process that has seen nothing but their files."""
        expected = {}
        for name in CASES:
            est = fitted(name)
            est.save(tmp_path / f"{name}.elliptope")
            expected[name] = {key: value.tobytes().hex() for key, value in outputs(est).items()}
            if hasattr(est, "certificate_"):
                expected[name]["certificate_"] = repr(dataclasses.asdict(plain(est.certificate_)))
        script = (
            "import sys, json, dataclasses, pathlib; sys.path.insert(0, sys.argv[1])\n"
            "sys.path.insert(0, sys.argv[1] + '/persistence')\n"
            "import elliptope; from test_persistence import outputs, plain\n"
            "found = {}\n"
            "for path in pathlib.Path(sys.argv[2]).glob('*.elliptope'):\n"
            "    est = elliptope.load(path)\n"
            "    found[path.stem] = {key: value.tobytes().hex() for key, value in outputs(est).items()}\n"
            "    if hasattr(est, 'certificate_'):\n"
            "        found[path.stem]['certificate_'] = repr(dataclasses.asdict(plain(est.certificate_)))\n"
            "print(json.dumps(found))\n"
        )
        command = [sys.executable, "-W", "error", "-c", script, str(Path(__file__).parents[1]), str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == expected

    @pytest.mark.parametrize(
        "changes",
        [
            {"upper_bound": math.inf, "gap": math.inf, "grade": "estimate", "failure_probability": math.nan},
            {"grade": "probabilistic", "failure_probability": 1e-6, "null_space": None, "min_eigenvalue": -0.0},
            {"objective": 5e-324, "gain": np.float64(np.finfo(float).max), "weights": "additive"},
        ],
    )
    def test_certificates_of_every_grade(self, path, changes):
        est = small_model()
        est.certificate_ = dataclasses.replace(est.certificate_, **changes)
        est.save(path)
        found = elliptope.load(path).certificate_
        assert repr(plain(found)) == repr(plain(est.certificate_))
        assert_same_parts(plain(est.certificate_), plain(found))

    def test_data_frames_in_and_out(self, path):
        frame = pd.DataFrame(RANK_4[:, :3], columns=["a", "b", "größe"])
        est = SDPEmbedding(bandwidth=2.0, random_state=0).set_output(transform="pandas").fit(frame)
        est.save(path)
        copy = elliptope.load(path)
        pd.testing.assert_frame_equal(copy.transform(frame), est.transform(frame), check_exact=True)
        assert list(copy.get_feature_names_out()) == list(est.get_feature_names_out())
        with pytest.raises(ValueError, match="feature names should match"):
            copy.transform(frame.rename(columns={"a": "z"}))
        assert isinstance(copy.set_output(transform="default").transform(frame), np.ndarray)

    def test_a_loaded_model_can_be_fitted_again(self, path):
        est = fitted("kernel instance")
        est.save(path)
        copy = elliptope.load(path).fit(RANK_4)
        assert_same_bits(est, copy)

    @pytest.mark.parametrize("name", ["weighted", "diffusion", "rkhs, equal rows", "precomputed", "neighbors", "graph"])
    def test_pickle_and_joblib_before_and_after(self, name, path):
        est = fitted(name)
        est.save(path)
        for model in (est, elliptope.load(path)):
            buffer = io.BytesIO()
            joblib.dump(model, buffer)
            buffer.seek(0)
            for copy in (pickle.loads(pickle.dumps(model)), joblib.load(buffer)):
                assert_same_bits(est, copy)

    @pytest.mark.parametrize("name", ["weighted", "diffusion", "rkhs, equal rows", "precomputed", "neighbors"])
    def test_skops(self, name):
        sio = pytest.importorskip("skops.io")
        est = fitted(name)
        data = sio.dumps(est)
        assert_same_bits(est, sio.loads(data, trusted=sio.get_untrusted_types(data=data)))

    def test_training_points_are_stored_once(self, path):
        fitted("neighbors").save(path)
        with np.load(path) as arrays:
            assert sum(arrays[name].shape == RANK_4.shape for name in arrays if name != "header.json") == 1


class TestFormat:
    def test_equal_models_make_equal_files(self, tmp_path):
        first, second = tmp_path / "a", tmp_path / "b"
        small_model().save(first)
        os.utime(first, (0, 0))
        small_model().save(second)
        assert first.read_bytes() == second.read_bytes()
        small_model(tol=1e-7).save(second, overwrite=True)
        assert first.read_bytes() != second.read_bytes()
        with zipfile.ZipFile(first) as archive:  # nothing of the clock or of the system
            assert {(entry.date_time, entry.create_system) for entry in archive.infolist()} == {((1980, 1, 1, 0, 0, 0), 3)}

    def test_numpy_opens_the_arrays(self, path):
        for name in ("weighted", "rkhs", "diffusion"):
            est = fitted(name)
            est.save(path, overwrite=True)
            with np.load(path, allow_pickle=False) as arrays:
                np.testing.assert_array_equal(arrays["embedding"], est.embedding_)
                np.testing.assert_array_equal(arrays["training.extension.kernel.points"], est.training_.points)

    def test_new_points_are_embedded_by_the_formula_from_the_arrays_alone(self, path):
        sdp, rkhs = fitted("weighted"), fitted("rkhs")
        Y = new_rows(sdp)
        sdp.save(path)
        with np.load(path, allow_pickle=False) as arrays:
            X, w, F = (arrays[f"training.extension.{name}"] for name in ("kernel.points", "w", "F"))
        np.testing.assert_allclose(elliptope.load(path).transform(Y), Naive(X, 2.0, w).extend(Y, F), rtol=1e-12)
        rkhs.save(path, overwrite=True)
        with np.load(path, allow_pickle=False) as arrays:
            k = SklearnMatern(length_scale=rkhs.length_scale_, nu=1.5)(Y, arrays["training.extension.kernel.points"])
            np.testing.assert_allclose(elliptope.load(path).transform(Y), k @ arrays["training.extension.alpha"], rtol=1e-12)

    def test_large_files(self, path, monkeypatch):
        """From 2 GB on, zip archives have longer directories."""
        est = small_model()
        with monkeypatch.context() as patch:
            patch.setattr(zipfile, "ZIP64_LIMIT", 100)
            est.save(path)
        assert b"PK\x06\x06" in path.read_bytes()
        assert_same_bits(est, elliptope.load(path))

    def test_header(self, path):
        est = small_model()
        save(est, path, metadata={"columns": ["ä", "b"], "scale": [1.5, 0.1]})
        header = read_header(path)
        assert header == header_of(path.read_bytes())
        assert header["schema"] == SCHEMA
        assert header["class"] == "SDPEmbedding"
        assert header["versions"]["elliptope"] == elliptope.__version__
        assert header["versions"]["numpy"] == np.__version__
        assert header["parameters"]["bandwidth"] == 1.0
        assert header["fitted"]["certificate"]["objective"] == est.certificate_.objective
        assert header["metadata"] == {"columns": ["ä", "b"], "scale": [1.5, 0.1]}

    def test_metadata_that_json_cannot_hold(self, path):
        for metadata in ([1], {"a": math.nan}, {"a": {1, 2}}, {1: "a"}, {"a": (1, 2)}, "text"):
            with pytest.raises(ValueError, match="`metadata` must be a dictionary that JSON can hold"):
                save(small_model(), path, metadata=metadata)
            assert not path.exists()

    def test_a_header_that_could_not_be_read_is_not_written(self, path):
        with pytest.raises(ModelFileError, match=r"header would take \d+ bytes, more than the 16777216"):
            save(small_model(), path, metadata={"notes": "x" * 2**24})
        assert not list(path.parent.iterdir())

    def test_every_fitted_attribute_is_stored(self):
        for name in CASES:
            est = fitted(name)
            stored = set(models.TABLES[type(est)].attributes) | {"feature_names_in_", "_sklearn_output_config"}
            assert set(vars(est)) - set(est.get_params()) <= stored, name

    def test_every_class_has_a_codec_or_is_known_to_have_none(self):
        """Who adds a kernel or a rule for the diagonal decides here whether models with it can be stored."""
        training = models.TABLES[SDPEmbedding].attributes["training_"].classes[SDPTraining]
        fitted = training["extension"].classes[Extension]["kernel"].classes
        formulas = fitted[kernels.FittedFormula]["formula"].classes
        stored = set(training["diagonal"].classes) | set(fitted) | set(formulas)
        functions = {kernels.CallableKernel, diagonals.CallableDiagonal}
        rules = {c for c in vars(diagonals).values() if dataclasses.is_dataclass(c) and hasattr(c, "on_sample")}
        assert stored | functions == rules | set(concrete(kernels.Kernel)) | set(concrete(kernels.FittedKernel))

    def test_a_sparse_matrix_is_three_arrays_that_others_can_read(self, path):
        est = fitted("graph")
        est.save(path)
        with np.load(path, allow_pickle=False) as arrays:
            parts = [arrays[f"training.extension.kernel.graph.{name}"] for name in ("data", "indices", "indptr")]
        graph = sparse.csr_array(tuple(parts), shape=(40, 40)).toarray()
        D = euclidean_distances(RANK_4)
        np.testing.assert_allclose(graph[graph > 0], D[graph > 0], rtol=1e-12)

    def test_codecs_name_all_fields(self):
        def codecs(kind):
            kind = kind.kind if isinstance(kind, Optional) else kind
            if isinstance(kind, OneOf):
                yield from kind.classes.items()
                for fields in kind.classes.values():
                    for part in fields.values():
                        yield from codecs(part)

        found = [pair for table in models.TABLES.values() for kind in table.attributes.values() for pair in codecs(kind)]
        assert len(found) > 10
        for cls, fields in found:
            # The matrix K of a fitted kernel is left out, and the device that it was fitted on: models do not keep them.
            assert list(fields) == [f.name for f in dataclasses.fields(cls) if f.name not in ("K", "device")]
