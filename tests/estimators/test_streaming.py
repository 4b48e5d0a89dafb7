"""New rows by the block: arrays, memory maps and iterators, against `transform` of one array in memory."""

import tracemalloc
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from common import CLUSTERS, WINE, fit, row_error
from elliptope import DiffusionMap, RKHSEmbedding, SDPEmbedding
from elliptope._utils import blocks
from elliptope.estimators import streaming
from elliptope.estimators.streaming import score_to, transform_to
from elliptope.kernels import Gaussian

ESTIMATORS = {
    "SDPEmbedding": SDPEmbedding(n_components=2, bandwidth=4.0, random_state=0),
    "unit": SDPEmbedding(bandwidth=4.0, normalize="unit", random_state=0),
    "array diagonal": SDPEmbedding(bandwidth=4.0, diagonal=np.linspace(1, 2, 60), random_state=0),
    "DiffusionMap": DiffusionMap(bandwidth=4.0),
    "RKHSEmbedding": RKHSEmbedding(random_state=0),
}
NEW = np.random.default_rng(1).standard_normal((257, 13))
every = pytest.mark.parametrize("name", ESTIMATORS)


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: est.fit(WINE[::3]) for name, est in ESTIMATORS.items()}


@pytest.fixture
def small_blocks(monkeypatch):
    """As if 2000 entries, 20 rows of 100 training points, were all that may be held."""

    def set_to(entries, least=1):
        monkeypatch.setattr(blocks, "BLOCK_ENTRIES", entries)
        monkeypatch.setattr(streaming, "_LEAST_ROWS", least)

    return set_to


def on_disk(folder, X, dtype):
    np.save(folder / "X.npy", X.astype(dtype))
    return np.load(folder / "X.npy", mmap_mode="r")


def chunks(X, sizes):
    """Blocks of the given sizes, and the rest in one."""
    yield from np.split(X, np.cumsum(sizes))


@cache
def reference(est, values):
    """Row by row in float64: no blocks at all."""
    X = np.frombuffer(values).reshape(-1, 13)
    return np.vstack([est.transform(x[None]) for x in X]), np.concatenate([est.score_samples(x[None]) for x in X])


def assert_agrees(est, X, Z, score):
    expected, expected_score = reference(est, np.ascontiguousarray(X, dtype=np.float64).tobytes())
    assert row_error(Z, expected) < 1e-11
    np.testing.assert_allclose(score, expected_score, rtol=1e-12, atol=1e-13)


class TestBlocks:
    @every
    @pytest.mark.parametrize("dtype", ["float32", "float64", "int16", ">f8"])
    @pytest.mark.parametrize("block_rows", [1, 7, 256, 257, 1000, None])
    def test_memory_map(self, fitted, name, dtype, block_rows, tmp_path):
        est, X = fitted[name], on_disk(tmp_path, 2 * NEW, dtype)
        Z, score = list(est.transform_blocks(X, block_rows)), list(est.score_blocks(X, block_rows))
        step = block_rows or len(X)
        assert [len(block) for block in Z] == [len(block) for block in score] == [
            min(step, len(X) - start) for start in range(0, len(X), step)
        ]  # fmt: skip
        assert_agrees(est, X, np.vstack(Z), np.concatenate(score))

    @every
    def test_generator(self, fitted, name):
        est, sizes = fitted[name], [1, 100, 0, 3]
        Z = list(est.transform_blocks(chunks(NEW, sizes)))
        score = list(est.score_blocks(chunks(NEW, sizes)))
        assert [len(block) for block in Z] == [len(block) for block in score] == [1, 100, 0, 3, 153]
        assert all(block.shape[1] == est.n_components_ for block in Z)
        assert_agrees(est, NEW, np.vstack(Z), np.concatenate(score))

    @every
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize(("entries", "least"), [(200, 1), (2000, 1), (2000, 50), (10**6, 64)])
    def test_default_blocks_are_those_of_transform_to_the_last_bit(self, fitted, name, dtype, entries, least, small_blocks):
        est, X = fitted[name], NEW.astype(dtype)
        small_blocks(entries, least)
        blocks = list(est.transform_blocks(X))
        assert (len(blocks) > 1) == (entries < 10**6)
        np.testing.assert_array_equal(np.vstack(blocks).astype(dtype), est.transform(X))
        np.testing.assert_array_equal(np.concatenate(list(est.score_blocks(X))).astype(dtype), est.score_samples(X))

    def test_default_blocks_hold_no_more_than_they_may(self, fitted, small_blocks):
        est = fitted["SDPEmbedding"]
        for entries in (1, 100, 2000, 10**5):
            small_blocks(entries, least=50)
            rows = [len(block) for block in est.transform_blocks(NEW)]
            assert max(rows) * NEW.shape[1] <= max(entries, NEW.shape[1])

    def test_one_block_at_a_time(self, fitted):
        """No block is asked for before the one before it has been given out."""
        taken = []

        def source():
            for i in range(3):
                taken.append(i)
                yield NEW[i : i + 1]

        blocks = fitted["SDPEmbedding"].transform_blocks(source())
        assert taken == []
        for i in range(3):
            next(blocks)
            assert taken == list(range(i + 1))

    def test_empty_iterator(self, fitted):
        assert list(fitted["SDPEmbedding"].transform_blocks(iter([]))) == []
        assert list(fitted["SDPEmbedding"].score_blocks([])) == []

    def test_kernel_matrix(self):
        K = Gaussian(4.0)(WINE[::3])
        cross = Gaussian(4.0)(NEW, WINE[::3])
        est = fit(K, kernel="precomputed")
        Z = np.vstack(list(est.transform_blocks(chunks(cross, [5, 50]))))
        assert row_error(Z, est.transform(cross)) < 1e-12

    def test_frames(self, fitted):
        frame = pd.DataFrame(WINE, columns=[f"c{j}" for j in range(13)])
        est = fit(frame[::3], bandwidth=4.0)
        expected = est.transform(frame)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Z = np.vstack(list(est.transform_blocks(frame, 50)))
            assert row_error(Z, expected) < 1e-12
            Z = np.vstack(list(est.transform_blocks(frame[i : i + 50] for i in range(0, len(frame), 50))))
            assert row_error(Z, expected) < 1e-12
        with pytest.raises(ValueError, match="feature names should match"):
            est.transform_blocks(frame.rename(columns={"c3": "other"}))
        with pytest.warns(UserWarning, match="does not have valid feature names") as record:
            list(est.transform_blocks(WINE, 50))
        assert len(record) == 1

    def test_output_is_an_array_whatever_set_output_says(self, fitted):
        est = fit(WINE[::3], bandwidth=4.0).set_output(transform="pandas")
        assert isinstance(est.transform(NEW), pd.DataFrame)
        (block,) = est.transform_blocks(NEW)
        assert type(block) is np.ndarray


class TestWholeArrays:
    """`transform` goes the same way: what is large is converted block by block."""

    @every
    @pytest.mark.parametrize("make", [pd.DataFrame, np.ndarray.tolist, np.asfortranarray, lambda X: X.astype(object)])
    def test_kinds(self, fitted, name, make, small_blocks):
        small_blocks(500)
        est = fitted[name]
        assert_agrees(est, NEW, est.transform(make(NEW)), est.score_samples(make(NEW)))

    @pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
    def test_memory_map_is_never_copied(self, fitted, dtype, tmp_path, small_blocks):
        small_blocks(2**16)
        est, X = fitted["SDPEmbedding"], on_disk(tmp_path, np.resize(NEW, (60_000, 13)), dtype)
        for run in (est.transform, est.score_samples):
            tracemalloc.start()
            run(X)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 8 * X.size, "the output, all components of it, and some blocks of 0.5 MB take less"

    def test_learned_kernel(self, fitted, small_blocks):
        est, X = fitted["SDPEmbedding"], NEW.astype(np.float32)
        expected = est.learned_kernel(X.astype(np.float64), WINE)
        small_blocks(500)
        np.testing.assert_allclose(est.learned_kernel(X, WINE), expected, rtol=1e-6, atol=1e-12)

    def test_as_an_array(self, fitted, small_blocks):
        """For extensions that want all rows at once."""
        small_blocks(500)
        rows = fitted["SDPEmbedding"]._check_new(NEW.astype("f4"))
        assert not isinstance(rows, np.ndarray)
        assert np.asarray(rows).dtype == np.float64
        np.testing.assert_array_equal(np.asarray(rows), NEW.astype("f4"))


class TestMemory:
    def test_stream_is_bounded_whatever_its_length(self, fitted):
        est = fitted["SDPEmbedding"]
        block = np.resize(NEW, (5000, 13)).astype(np.float32)

        def peak(count):
            tracemalloc.start()
            rows = sum(len(Z) for Z in est.transform_blocks(block for _ in range(count)))
            found = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert rows == 5000 * count
            return found

        assert peak(40) < 1.1 * peak(2)

    def test_file_to_file(self, fitted, tmp_path):
        est = fitted["SDPEmbedding"]
        X = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype="float32", shape=(300_000, 13))
        X[:] = np.resize(NEW, X.shape)
        tracemalloc.start()
        transform_to(est, X, tmp_path / "Z.npy", block_rows=2000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4e6, "input and output take 31 MB and 5 MB in double precision"
        Z = np.load(tmp_path / "Z.npy", mmap_mode="r")
        assert Z.shape == (300_000, 2)
        assert row_error(Z[-3:], est.transform(X[-3:].astype(np.float64))) < 1e-12


class TestMessagesCountRowsOfTheWhole:
    @every
    @pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
    def test_not_finite(self, fitted, name, value, word, small_blocks):
        est, bad = fitted[name], NEW.astype(np.float32)
        bad[[137, 200], 4] = value
        message = f"Input X contains {word} at row 137, column 4. {type(est).__name__} takes finite numbers only."
        for X, options in [(bad, {"block_rows": 50}), (chunks(bad, [50, 0, 50]), {}), (bad, {})]:
            blocks = est.transform_blocks(X, **options)
            if options or X is not bad:
                assert len(next(blocks)) == 50  # what comes before is given out
            with pytest.raises(ValueError, match=message):
                list(blocks)
        small_blocks(500)
        for method in (est.transform, est.score_samples):
            with pytest.raises(ValueError, match=message):
                method(bad)

    def test_all_of_an_array_is_checked_before_work_begins(self, fitted, small_blocks, monkeypatch):
        small_blocks(500)
        bad = NEW.copy()
        bad[-1, 0] = np.nan
        monkeypatch.setattr(Gaussian, "log_block", lambda *_: pytest.fail("work has begun"))
        with pytest.raises(ValueError, match="NaN at row 256"):
            fitted["SDPEmbedding"].transform(bad)

    def test_missing_values_of_frames(self, fitted):
        frame = pd.DataFrame(NEW).astype("Float64")
        frame.iloc[150, 2] = pd.NA
        with pytest.raises(ValueError, match="NaN at row 150, column 2"):
            list(fitted["SDPEmbedding"].transform_blocks(frame, 40))

    def test_not_numbers(self, fitted):
        bad = NEW.astype(object)
        bad[130, 0] = "many"
        with pytest.raises(ValueError, match=r"could not convert string to float: 'many'.*starts at row 120 of `X`"):
            list(fitted["SDPEmbedding"].transform_blocks(bad, 40))

    def test_ragged_widths(self, fitted):
        blocks = fitted["SDPEmbedding"].transform_blocks([NEW[:30], NEW[:20, :5]])
        assert len(next(blocks)) == 30
        with pytest.raises(ValueError, match=r"X has 5 features, but SDPEmbedding is expecting 13.*starts at row 30 of `X`"):
            next(blocks)

    def test_rows_far_away(self):
        est = fit(CLUSTERS, bandwidth=1.2)
        Y = np.resize(CLUSTERS, (60, 2))
        Y[[31, 47]] += 1e4
        blocks = est.transform_blocks(chunks(Y, [10, 30]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            next(blocks)
        with pytest.warns(UserWarning, match=r"overflows: row 31 "):
            next(blocks)
        with pytest.warns(UserWarning, match=r"overflows: row 47 "):
            next(blocks)

    @pytest.mark.parametrize("Estimator", [SDPEmbedding, DiffusionMap])
    def test_rows_without_extension(self, Estimator):
        est = Estimator(kernel="precomputed").fit(Gaussian(4.0)(WINE[::3]))
        cross = Gaussian(4.0)(NEW, WINE[::3])
        cross[77] = 0.0
        for method in (est.transform_blocks, est.score_blocks):
            with pytest.raises(ValueError, match=r"kernel vanishes for every training point.*row 77 "):
                list(method(cross, 30))


class TestBadArguments:
    """Found when the method is called, not when the first block is asked for."""

    @pytest.mark.parametrize(
        ("X", "error", "message"),
        [
            (NEW[:, 0], ValueError, "Expected 2D array, got 1D array instead"),
            (NEW[None], ValueError, "Found array with dim 3"),
            (NEW[:0], ValueError, r"Found array with 0 sample\(s\)"),
            (NEW[:, :0], ValueError, r"Found array with 0 feature\(s\)"),
            (NEW[:, :4], ValueError, "X has 4 features, but SDPEmbedding is expecting 13 features"),
            (NEW + 1j, ValueError, "Complex data not supported"),
            (NEW.astype(str)[:, :0], ValueError, r"0 feature\(s\)"),
            (np.full((3, 13), "a"), ValueError, "could not convert string to float"),
            (sparse.csr_array(NEW), TypeError, "Sparse data was passed for X"),
            (sparse.coo_array(NEW), TypeError, "Sparse data was passed for X"),
            (3, TypeError, "`X` must be an array or an iterable of blocks of rows, got int"),
        ],
    )
    def test_data(self, fitted, X, error, message):
        for method in (fitted["SDPEmbedding"].transform_blocks, fitted["SDPEmbedding"].score_blocks):
            with pytest.raises(error, match=message):
                method(X)

    def test_rows_instead_of_blocks(self, fitted):
        with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
            next(fitted["SDPEmbedding"].transform_blocks(NEW.tolist()))

    @every
    def test_not_fitted(self, name):
        est = type(ESTIMATORS[name])()
        for method in (est.transform_blocks, est.score_blocks):
            with pytest.raises(NotFittedError):
                method(NEW)


class TestWriting:
    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    @pytest.mark.parametrize("source", ["array", "iterator"])
    def test_into_an_array(self, fitted, dtype, source):
        est = fitted["SDPEmbedding"]
        X = NEW if source == "array" else chunks(NEW, [100])
        Z, score = np.full((257, 2), np.nan, dtype), np.full(257, np.nan, dtype)
        assert transform_to(est, X, Z, block_rows=50) == 257
        assert score_to(est, X if source == "array" else chunks(NEW, [3]), score) == 257
        np.testing.assert_allclose(Z, est.transform(NEW), rtol=1e-5)
        np.testing.assert_allclose(score, est.score_samples(NEW), rtol=1e-5)

    def test_iterators_may_end_before_the_array_does(self, fitted):
        Z = np.full((300, 2), np.nan)
        assert transform_to(fitted["SDPEmbedding"], chunks(NEW, [9]), Z) == 257
        assert np.isfinite(Z[:257]).all()
        assert np.isnan(Z[257:]).all()

    @pytest.mark.parametrize("source", ["array", "iterator", "empty"])
    def test_into_a_file(self, fitted, source, tmp_path):
        est = fitted["SDPEmbedding"]
        X = {"array": NEW, "iterator": chunks(NEW, [100, 0]), "empty": iter([])}[source]
        path = tmp_path / "Z.npy"
        rows = transform_to(est, X, path)
        Z = np.load(path, allow_pickle=False)
        assert rows == len(Z) == (0 if source == "empty" else 257)
        assert Z.shape[1] == 2
        if rows:
            assert row_error(Z, est.transform(NEW)) < 1e-12
        assert score_to(est, NEW, str(tmp_path / "score.npy")) == 257
        np.testing.assert_array_equal(np.load(tmp_path / "score.npy"), est.score_samples(NEW))

    def test_nothing_half_written(self, fitted, tmp_path):
        bad = NEW.copy()
        bad[200] = np.nan
        with pytest.raises(ValueError, match="NaN at row 200"):
            transform_to(fitted["SDPEmbedding"], bad, tmp_path / "Z.npy", block_rows=50)
        assert list(tmp_path.iterdir()) == []

    def test_files_are_replaced_on_request_only(self, fitted, tmp_path):
        path = tmp_path / "Z.npy"
        path.write_text("somebody else's")
        with pytest.raises(FileExistsError, match="overwrite=True"):
            transform_to(fitted["SDPEmbedding"], NEW, path)
        assert path.read_text() == "somebody else's"
        transform_to(fitted["SDPEmbedding"], NEW, path, overwrite=True)
        assert np.load(path).shape == (257, 2)

    def test_scores_are_a_vector(self, fitted):
        with pytest.raises(ValueError, match=r"array of shape \(n\), got shape \(257, 2\)"):
            score_to(fitted["SDPEmbedding"], NEW, np.empty((257, 2)))
