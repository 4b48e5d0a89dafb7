"""Files that are not models, not all of one, or not as they were written: refused, with a reason, and without harm."""

import io
import pickle
import tracemalloc
import zipfile

import joblib
import numpy as np
import pytest
from scipy import sparse

import elliptope
from elliptope import ModelFileError
from elliptope.persistence import container, read_header
from model_files import (
    SEAL,
    build,
    edited,
    entries,
    header_of,
    load,
    model,
    neighbor_models,
    precomputed_model,
    refused,
    seal,
    small_model,
    with_array,
    with_header,
)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """One file for all examples of a property."""
    return tmp_path_factory.mktemp("models") / "model.elliptope"


def test_the_tests_own_archives_are_good(scratch):
    est = small_model()
    rebuilt = with_header(model(), header_of(model()))
    rebuilt = with_array(rebuilt, "embedding", est.embedding_)
    np.testing.assert_array_equal(load(scratch, rebuilt).embedding_, est.embedding_)


class TestOtherFiles:
    def test_pickles(self, scratch):
        est = small_model()
        buffer = io.BytesIO()
        joblib.dump(est, buffer)
        for data in (pickle.dumps(est), pickle.dumps(est, protocol=2), buffer.getvalue()):
            assert "it is a pickle" in refused(scratch, data)
        buffer = io.BytesIO()
        joblib.dump(est, buffer, compress=3)
        assert "joblib" in refused(scratch, buffer.getvalue())
        assert "no model" in refused(scratch, pickle.dumps(est, protocol=0))

    def test_arrays_archives_and_text(self, scratch):
        array, archive = io.BytesIO(), io.BytesIO()
        np.save(array, np.ones(3))
        np.savez(archive, a=np.ones(3))
        assert "a single array" in refused(scratch, array.getvalue())
        assert "a zip archive" in refused(scratch, archive.getvalue())
        assert "empty" in refused(scratch, b"")
        assert "no model" in refused(scratch, b"a,b\n1,2\n")
        assert "truncated" in refused(scratch, build([("header.json", b"{}")], comment=b""))

    def test_a_sealed_archive_of_something_else(self, scratch):
        assert "not say that it is an elliptope model" in refused(scratch, build([("header.json", b"{}")]))
        assert "not a JSON object" in refused(scratch, build([("header.json", b"[]")]))
        assert "begins as" not in refused(scratch, b"PK\x03\x04" + bytes(26) + b"header.json" + SEAL + bytes(64))


class TestDamage:
    def test_every_flipped_byte(self, scratch):
        data = bytearray(model())
        for i in range(len(data)):
            data[i] ^= 1 << i % 8
            with pytest.raises(ModelFileError):
                load(scratch, bytes(data))
            data[i] ^= 1 << i % 8
        load(scratch, bytes(data))

    def test_every_truncation(self, scratch):
        for length in range(len(model())):
            with pytest.raises(ModelFileError):
                load(scratch, model()[:length])
        assert "truncated" in refused(scratch, model()[:-1])
        assert "truncated" in refused(scratch, model()[:20])

    def test_appended_and_doubled(self, scratch):
        assert "appended" in refused(scratch, model() + b"\n")
        assert "altered" in refused(scratch, model() + model())

    def test_what_is_said_of_an_altered_file(self, scratch):
        data = model().replace(b'"bandwidth": 1.0', b'"bandwidth": 1.1')
        assert data != model()
        assert "altered or damaged since it was written: its SHA-256" in refused(scratch, data)
        with pytest.raises(ModelFileError, match="altered"):
            read_header(scratch)


class TestHeader:
    def test_a_later_schema(self, scratch):
        header = {"format": "elliptope model", "schema": 3, "versions": {"elliptope": "9.8.7"}, "unheard": "of"}
        reason = refused(scratch, with_header(model(), header))
        assert "schema 3, written by elliptope '9.8.7'" in reason
        assert "reads schemas up to 1. Upgrade elliptope" in reason
        del header["versions"]
        assert "schema 3" in refused(scratch, with_header(model(), header))

    def test_parameters_that_are_missing_unknown_or_no_object(self, scratch):
        without = edited(model(), "parameters", "tol", delete=True)
        assert "`parameters` lacks ['tol'] and has [] too many" in refused(scratch, without)
        more = edited(model(), "parameters", "new", value=1)
        assert "`parameters` lacks [] and has ['new'] too many" in refused(scratch, more)
        for value in ([], None, "tol"):
            assert "`parameters` must be an object" in refused(scratch, edited(model(), "parameters", value=value))

    def test_a_certificate_without_one_of_its_numbers(self, scratch):
        data = edited(model(), "fitted", "certificate", "error_above", delete=True)
        assert "`certificate` lacks ['error_above'] and has [] too many" in refused(scratch, data)

    def test_no_schema(self, scratch):
        for schema in (0, -1, True, "1", 1.0, None, [1]):
            assert "not say that it is" in refused(scratch, edited(model(), "schema", value=schema))

    def test_unknown_classes(self, scratch):
        for name in ("Pipeline", "sdpembedding", "os.system", "", None, 1, ["SDPEmbedding"], {}):
            assert "class must be one of SDPEmbedding" in refused(scratch, edited(model(), "class", value=name))

    def test_another_class(self, scratch):
        assert "`parameters` lacks" in refused(scratch, edited(model(), "class", value="DiffusionMap"))

    def test_unknown_kernels(self, scratch):
        for name in ("Gaussian2", "CallableKernel", "Certificate", None, ["Gaussian"]):
            place = ("fitted", "training", "extension", "kernel", "formula", "class")
            reason = refused(scratch, edited(model(), *place, value=name))
            assert "`training.extension.kernel.formula` must be of class Gaussian or Laplacian" in reason

    def test_keys_that_are_missing_or_unknown(self, scratch):
        inner = (["fitted", "certificate", "grade"], ["fitted", "training", "rows"])
        for place in (["versions"], ["parameters", "tol"], *inner):
            assert f"lacks ['{place[-1]}']" in refused(scratch, edited(model(), *place, delete=True))
        for place in (["extra"], ["parameters", "extra"], ["fitted", "extra"], ["fitted", "certificate", "extra"]):
            assert "has ['extra'] too many" in refused(scratch, edited(model(), *place, value=1))

    @pytest.mark.parametrize(
        "text",
        [
            b"",
            b"{",
            b"\xff\xfe",
            b"[" * 100_000,
            b'{"a": 1, "a": 2}',
            b'{"a": NaN}',
            b'{"a": -Infinity}',
            b'{"a": ' + b"1" * 5000 + b"}",
            b"null",
        ],
        ids=["empty", "cut", "not UTF-8", "deep", "twice", "NaN", "infinite", "digits", "null"],
    )
    def test_text_that_is_no_header(self, text, scratch):
        assert "JSON" in refused(scratch, with_header(model(), text))

    @pytest.mark.parametrize(
        ("place", "value", "reason"),
        [
            (("fitted", "certificate", "objective"), "big", "must be a number"),
            (("fitted", "certificate", "objective"), True, "must be a number"),
            (("fitted", "certificate", "objective"), 10**300, "must be at most"),
            (("fitted", "certificate", "grade"), "sworn", "must be one of 'proved'"),
            (("fitted", "certificate", "null_space"), 3, "must be of class NullSpace"),
            (("fitted", "certificate", "null_space", "unique"), 1, "must be true or false"),
            (("fitted", "n_components"), 0, "must be an integer of at least 1"),
            (("fitted", "n_components"), 10**30, "must be an integer"),
            (("fitted", "n_components"), 2.0, "must be an integer"),
            (("fitted", "status"), "splendid", "must be one of 'optimal'"),
            (("fitted", "training", "extension", "M"), "nan", "must be positive"),
            (("fitted", "training", "extension", "kernel", "formula", "bandwidth"), -1, "`bandwidth` must be positive"),
            (("fitted", "training", "extension"), None, "must be of class Extension"),
            (("parameters", "kernel"), {"class": "Gaussian"}, "lacks"),
            (("parameters", "kernel"), {"class": "Matern", "bandwidth": 1, "nu": 99}, "at most 50"),
            (("parameters", "kernel"), ["gaussian"], "must be a number"),
            (
                ("parameters", "kernel"),
                {"class": "Overlap", "metric": "my_module.f", "metric_params": None, "exponent": 2.0},
                "must be one of 'braycurtis'",
            ),
            (
                ("parameters", "kernel"),
                {"class": "Overlap", "metric": None, "metric_params": {"x": 1}, "exponent": 2.0},
                "must be an object with p, w, V, VI",
            ),
            (("parameters", "kernel"), {"class": "NeighborKernel"}, "must be of class Gaussian or"),
            (("feature_names_in",), ["a"], "must have shape (2), got (1,)"),
            (("feature_names_in",), [1, 2], "must be a list of strings"),
            (("set_output",), "excel", "must be one of 'default'"),
            (("versions",), None, "must be an object"),
            (("metadata",), [], "must be an object"),
        ],
    )
    def test_values(self, place, value, reason, scratch):
        assert reason in refused(scratch, edited(model(), *place, value=value))


class TestArrays:
    def test_missing_and_extra_ones(self, scratch):
        parts = entries(model())
        X = parts.pop("training.extension.kernel.points.npy")
        assert "`training.extension.kernel.points` is missing" in refused(scratch, build(parts.items()))
        parts.update({"training.extension.kernel.points.npy": X, "more.npy": X})
        assert "belong to nothing: ['more.npy']" in refused(scratch, build(parts.items()))

    def test_names_that_lead_elsewhere(self, scratch):
        for name in ("../../evil.npy", "/etc/evil.npy", "evil\\..\\x", "a/", "header.json/"):
            parts = [*entries(model()).items(), (name, b"boo")]
            assert "belong to nothing" in refused(scratch, build(parts))
            assert list(scratch.parent.iterdir()) == [scratch]
            reason = refused(scratch, edited(model(), "fitted", "embedding", "array", value=name))
            assert "must refer to the array of that name" in reason

    def test_two_of_the_same_name(self, scratch):
        parts = list(entries(model()).items())
        with pytest.warns(UserWarning, match="Duplicate name"):
            data = build([*parts, parts[-1]])
        assert "two entries of the same name" in refused(scratch, data)

    def test_object_arrays(self, scratch):
        """Neither where the header admits what they are, nor where it does not."""
        array = np.full(small_model().embedding_.shape, None)
        assert "object arrays, which hold pickles" in refused(scratch, with_array(model(), "embedding", array))
        parts = entries(model())
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=True)
        size = len(parts["embedding.npy"])
        parts["embedding.npy"] = buffer.getvalue()[:size].ljust(size)
        assert "'|O'" in refused(scratch, build(parts.items()))

    @pytest.mark.parametrize(
        ("name", "change", "reason"),
        [
            ("eigenvalues", lambda a: a.astype(np.float32), "must have dtype '<f8', got '<f4'"),
            ("embedding", lambda a: a.astype(">f8"), "must have dtype '<f8', got '>f8'"),
            ("embedding", lambda a: a + 0j, "must have dtype '<f8'"),
            ("training.rows", lambda a: a.astype(float), "must have dtype '<i8'"),
            ("embedding", lambda a: a[:, :1], "must have shape (N, 2), got (10, 1)"),
            ("embedding", lambda a: a[0], "must have shape (N, 2), got (2,)"),
            ("training.extension.F", lambda a: a[1:], "must have shape (9, 2), got (8, 2)"),
            ("training.extension.kernel.points", lambda a: a[:, :1], "must have shape (9, 2), got (9, 1)"),
            ("training.extension.kernel.points", lambda a: a / 0.0, "`training.extension.kernel.points` must be finite"),
            ("training.extension.w", lambda a: 0 * a, "`training.extension.w` must be positive and finite"),
            ("training.rows", lambda a: a - 5, "must hold distinct indices from 0 on"),
            ("training.rows", lambda a: np.where(a == a[0], a[1], a), "must hold distinct indices"),
            ("training.rows", lambda a: a + 1, "must hold indices below 10, got 10"),
        ],
    )
    def test_dtypes_shapes_and_entries(self, name, change, reason, scratch):
        with np.load(io.BytesIO(model())) as arrays, np.errstate(all="ignore"):
            assert reason in refused(scratch, with_array(model(), name, change(arrays[name])))

    def test_columns_of_a_precomputed_kernel(self, scratch):
        with np.load(io.BytesIO(precomputed_model())) as arrays:
            columns = arrays["training.extension.kernel.columns"] + 1
        reason = refused(scratch, with_array(precomputed_model(), "training.extension.kernel.columns", columns))
        assert "must hold indices below 6, got 6" in reason

    def test_declared_shapes_that_do_not_fit(self, scratch):
        """With sizes that no other array contradicts: no other array has as many rows as the embedding."""
        for shape in ([10**9, 2], [10**18, 2], [10, 10**18], [11, 2], [0, 2]):
            data = edited(model(), "fitted", "embedding", "shape", value=shape)
            data = edited(data, "fitted", "n_components", value=shape[1])
            assert "does not fit the 288 bytes" in refused(scratch, data)
        no_columns = edited(model(), "fitted", "embedding", "shape", value=[10, 0])
        assert "`embedding` must have shape (N, 2), got (10, 0)" in refused(scratch, no_columns)

    def test_declared_shapes_that_are_none(self, scratch):
        for shape in ([-1, 2], [10.0, 2], [True, 2], [10**30, 2], 10, None, ["10", 2], [[10], 2]):
            reason = refused(scratch, edited(model(), "fitted", "embedding", "shape", value=shape))
            assert "must have a list of sizes as its shape" in reason

    def test_the_array_itself_declares_another_shape_or_order(self, scratch):
        parts = entries(model())
        for old, new in ((b"(10, 2)", b"(2, 10)"), (b"False", b"True ")):
            changed = parts["embedding.npy"].replace(old, new)
            assert changed != parts["embedding.npy"]
            data = build({**parts, "embedding.npy": changed}.items())
            assert "`embedding` is not of the declared shape (10, 2)" in refused(scratch, data)

    def test_compression(self, scratch):
        data = build(entries(model()).items(), compression=zipfile.ZIP_DEFLATED)
        assert "compressed or encrypted" in refused(scratch, data)

    @pytest.mark.parametrize("offset", [8, 20], ids=["encrypted", "compressed size"])
    def test_the_directory_declares_compression(self, offset, scratch):
        data = bytearray(model())
        data[data.index(b"PK\x01\x02") + offset] ^= 1
        assert "compressed or encrypted" in refused(scratch, seal(bytes(data)))

    def test_too_many_entries(self, scratch):
        data = build([("header.json", b"{}"), *((f"{i}.npy", b"") for i in range(64))])
        assert "65 entries, more than the 64" in refused(scratch, data)


class TestGraphs:
    """Sparse matrices, whose parts have to fit together."""

    @pytest.fixture(params=[1, 2], ids=["of points", "alone"])
    def graph_model(self, request):
        return neighbor_models()[request.param]

    @pytest.mark.parametrize(
        ("name", "change", "reason"),
        [
            ("data", lambda a: -a, "must hold distances, which are not negative"),
            ("data", lambda a: a * np.nan, "must be finite"),
            ("data", lambda a: a + 1, "must hold the distance 0 of every point to itself"),
            ("data", lambda a: a * np.arange(len(a)), "must be symmetric"),
            ("data", lambda a: a[:-1], "must have shape"),
            ("data", lambda a: a.astype(np.float32), "must have dtype '<f8'"),
            ("indices", lambda a: a + 1, "must hold indices below 12, got 12"),
            ("indices", lambda a: a - 1, "must not be negative, got -1"),
            ("indices", lambda a: a * 0, "must ascend within every row"),
            ("indices", lambda a: a[::-1], "must ascend within every row"),
            ("indices", lambda a: a.astype(np.int32), "must have dtype '<i8'"),
            ("indices", lambda a: a.astype(float), "must have dtype '<i8'"),
            ("indptr", lambda a: a[:-1], "must ascend from 0 to"),
            ("indptr", lambda a: a + 1, "must ascend from 0 to"),
            ("indptr", lambda a: np.r_[0, a[-1], a[2:]], "must ascend from 0 to"),
            ("indptr", lambda a: np.r_[a[:-1], 10**15], "must ascend from 0 to"),
            ("indptr", lambda a: np.r_[a, a[-1]], "must ascend from 0 to"),
            ("indptr", lambda a: np.r_[0, a[1] + 1, a[2:]], "must"),
        ],
    )
    def test_parts(self, graph_model, name, change, reason, scratch):
        place = f"training.extension.kernel.graph.{name}"
        with np.load(io.BytesIO(graph_model)) as arrays, np.errstate(all="ignore"):
            assert reason in refused(scratch, with_array(graph_model, place, np.ascontiguousarray(change(arrays[place]))))

    def test_asymmetry_of_the_pattern(self, graph_model, scratch):
        """A pair that is there in one direction only."""
        with np.load(io.BytesIO(graph_model)) as arrays:
            parts = [arrays[f"training.extension.kernel.graph.{name}"] for name in ("data", "indices", "indptr")]
        graph = sparse.csr_array(tuple(parts), shape=(12, 12)).tolil()
        data = graph_model
        i, j = np.argwhere(graph.toarray() > 0)[0]
        graph[i, j] = 0
        graph = sparse.csr_array(graph)
        keep = sparse.csr_array(sparse.csr_array(graph) + sparse.diags_array(np.ones(12)))
        keep.data[keep.indices == np.repeat(np.arange(12), np.diff(keep.indptr))] = 0
        for name in ("data", "indices", "indptr"):
            array = getattr(keep, name)
            array = array.astype(np.int64) if array.dtype.kind == "i" else array
            data = with_array(data, f"training.extension.kernel.graph.{name}", array)
        assert "must be symmetric" in refused(scratch, data)

    def test_its_declaration(self, graph_model, scratch):
        place = ("fitted", "training", "extension", "kernel", "graph")
        assert "lacks ['data']" in refused(scratch, edited(graph_model, *place, "data", delete=True))
        assert "has ['extra'] too many" in refused(scratch, edited(graph_model, *place, "extra", value=1))
        assert "must be an object" in refused(scratch, edited(graph_model, *place, value=[1, 2, 3]))

    @pytest.mark.parametrize(
        ("name", "value", "reason"),
        [
            ("n_neighbors", 1, "must be an integer of at least 2"),
            ("n_neighbors", 13, "between 2 and the number of distinct points, 12"),
            ("n_neighbors", "many", "must be an integer"),
        ],
    )
    def test_numbers(self, graph_model, name, value, reason, scratch):
        place = ("fitted", "training", "extension", "kernel", name)
        assert reason in refused(scratch, edited(graph_model, *place, value=value))

    def test_scales(self, graph_model, scratch):
        with np.load(io.BytesIO(graph_model)) as arrays:
            scales = arrays["training.extension.kernel.scales"]
        for changed, reason in ((0 * scales, "must be positive"), (scales[1:], "must have shape (12)")):
            assert reason in refused(scratch, with_array(graph_model, "training.extension.kernel.scales", changed))

    def test_points_and_columns(self, scratch):
        points, _, alone = neighbor_models()
        with np.load(io.BytesIO(points)) as arrays:
            X = arrays["training.extension.kernel.points"]
        without = with_array(points, "training.extension.kernel.points", X[:, :0])
        assert "must have shape (11, 2), got (11, 0)" in refused(scratch, without)
        with np.load(io.BytesIO(alone)) as arrays:
            columns = arrays["training.extension.kernel.columns"]
        reason = refused(scratch, with_array(alone, "training.extension.kernel.columns", columns + 1))
        assert "must hold indices below 12, got 12" in reason


class TestMemory:
    """What a hostile file can cost."""

    @staticmethod
    def peak(scratch, data):
        scratch.write_bytes(data)
        tracemalloc.start()
        try:
            with pytest.raises(ModelFileError):
                elliptope.load(scratch)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def test_declared_sizes_are_not_believed(self, scratch):
        huge = edited(model(), "fitted", "embedding", "shape", value=[10**12, 2])
        assert self.peak(scratch, huge) < 3 * 2**20  # a chunk for the checksum, and change
        # The directory at the end declares 4 GB for the first entry.
        directory = bytearray(model())
        start = directory.index(b"PK\x01\x02")
        directory[start + 20 : start + 28] = b"\xf0\xff\xff\xff" * 2
        assert self.peak(scratch, seal(bytes(directory))) < 3 * 2**20

    def test_a_long_header_is_not_read(self, scratch):
        text = b'{"a": "' + b"x" * container.LARGEST_HEADER + b'"}'
        assert self.peak(scratch, with_header(model(), text)) < 3 * 2**20
        assert "more than the 16777216 that are allowed" in refused(scratch, with_header(model(), text))

    def test_a_header_costs_no_more_than_it_says(self, scratch):
        text = b'{"a": [' + b"{}," * 2**18 + b"{}]}"
        assert self.peak(scratch, with_header(model(), text)) < 30 * len(text) + 3 * 2**20
