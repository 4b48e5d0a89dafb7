"""A path that is interrupted, in a fit, between fits or while writing, goes on where it stopped; other files are refused."""

import io
import os
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from common import PATH, RANK_4, WINE, assert_same_path, fit_path, weights
from elliptope import SDPEmbedding, bandwidth_path
from model_files import DIGITS, build

SEAL = b"elliptope checkpoint, sha256 " + bytes(DIGITS)


@pytest.fixture
def fits(monkeypatch):
    """The bandwidths at which an estimator is fitted, in the order in which that happens."""
    seen = []
    original = SDPEmbedding.fit

    def spy(self, *args, **kwargs):
        seen.append(self.bandwidth)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(SDPEmbedding, "fit", spy)
    return seen


def interrupt_fit(monkeypatch, number):
    """Ctrl-C in the fifth iteration of the fit of that number."""
    count = [0]

    def watch(estimator, verbose):
        count[0] += 1
        if count[0] != number:
            return nullcontext()

        def press(progress):
            if progress.iteration == 5:
                raise KeyboardInterrupt

        return nullcontext(press)

    monkeypatch.setattr("elliptope.estimators.certified.progress_callback", watch)


class TestInterruption:
    def test_keeps_what_is_done(self, monkeypatch):
        interrupt_fit(monkeypatch, 3)
        with pytest.warns(ConvergenceWarning, match="ended early, bandwidths missing: 3; with a `checkpoint`"):
            result = bandwidth_path(WINE, PATH, random_state=0)
        np.testing.assert_array_equal(result.bandwidths, [6.0, 4.0])
        assert result.missing == (3.0, 1.5, 2.0)
        assert repr(result).endswith("2 optimal, 3 missing)")
        assert result.aligned.shape == (2, 178, 2)

    def test_is_passed_on_when_nothing_is_done(self, monkeypatch, tmp_path):
        interrupt_fit(monkeypatch, 1)
        with pytest.raises(KeyboardInterrupt):
            bandwidth_path(WINE, PATH, random_state=0, checkpoint=tmp_path / "path.npz")
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("number", [2, 3, 5])
    def test_resumes_where_it_stopped(self, monkeypatch, tmp_path, fits, number):
        file = tmp_path / "path.npz"
        whole = fit_path()
        with monkeypatch.context() as patch:
            interrupt_fit(patch, number)
            with pytest.warns(ConvergenceWarning, match="call again with the same `checkpoint` to go on"):
                bandwidth_path(WINE, PATH, random_state=0, checkpoint=file)
        fits.clear()
        resumed = fit_path(checkpoint=file)
        assert fits == sorted(PATH, reverse=True)[number - 1 :]
        assert_same_path(resumed, whole)
        np.testing.assert_array_equal(resumed.aligned, whole.aligned)
        fits.clear()
        assert_same_path(fit_path(checkpoint=file), whole)
        assert fits == []

    def test_between_fits(self, tmp_path):
        def press(record):
            raise KeyboardInterrupt

        result = fit_path(callback=press, checkpoint=tmp_path / "path.npz")
        np.testing.assert_array_equal(result.bandwidths, [6.0])
        assert_same_path(fit_path(checkpoint=tmp_path / "path.npz"), fit_path())

    @pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
    def test_while_writing_leaves_the_last_file(self, monkeypatch, tmp_path, error):
        file = tmp_path / "path.npz"
        first = fit_path(RANK_4, [4.0], checkpoint=file)
        before = file.read_bytes()

        def fail(*_):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail)  # which comes last, when all has been written
            try:
                assert len(fit_path(RANK_4, [4.0, 3.0, 2.0], checkpoint=file).records) == 2
            except OSError:
                assert error is OSError
        assert [p.name for p in tmp_path.iterdir()] == ["path.npz"]
        assert file.read_bytes() == before
        assert_same_path(fit_path(RANK_4, [4.0], checkpoint=file), first)


class TestCheckpoint:
    @pytest.fixture
    def file(self, tmp_path):
        """A checkpoint of RANK_4 at 3 and 2."""
        fit_path(RANK_4, [3.0, 2.0], checkpoint=tmp_path / "path.npz")
        return tmp_path / "path.npz"

    def test_holds_plain_arrays_only(self, file):
        with np.load(file, allow_pickle=False) as archive:
            assert all(archive[name].dtype == np.float64 for name in archive.files if name != "header.json")

    def test_other_bandwidths_may_be_asked_for(self, file, fits):
        longer = fit_path(RANK_4, [2.5, 2.0], checkpoint=file)
        assert fits == [2.5]
        np.testing.assert_array_equal(longer.bandwidths, [2.5, 2.0])
        fit_path(RANK_4, [3.0, 2.5, 2.0], checkpoint=file)
        assert fits == [2.5]

    def test_statuses_are_kept(self, tmp_path):
        file = tmp_path / "path.npz"
        first = fit_path(RANK_4, [1e9, 2.0, 1e-3], checkpoint=file)
        with pytest.warns(ConvergenceWarning, match="'degenerate' at 2 of 3 bandwidths"):
            again = bandwidth_path(RANK_4, [1e9, 2.0, 1e-3], checkpoint=file, random_state=0)
        assert_same_path(first, again)

    @pytest.mark.parametrize(
        ("X", "options", "message"),
        [
            (RANK_4 + 1e-9, {}, r"`X` was array of shape \(40, 12\) with hash \w+, is array of shape \(40, 12\) with hash"),
            (RANK_4[:30], {}, r"`X` was array of shape \(40, 12\) .*, is array of shape \(30, 12\)"),
            (RANK_4, {"sample_weight": weights(40)}, "`sample_weight` was array"),
            (RANK_4, {"diagonal": "constant"}, "`diagonal` was 'kernel', is 'constant'"),
            (RANK_4, {"diagonal": np.ones(40)}, "`diagonal` was 'kernel', is array of shape"),
            (RANK_4, {"diagonal": np.ones_like}, "`diagonal` was 'kernel', is numpy.ones_like"),
            (RANK_4, {"tol": 1e-7, "n_components": 1}, "`n_components` was None, is 1; `tol` was 1e-06, is 1e-07"),
            (RANK_4, {"random_state": np.random.RandomState(0)}, "`random_state` was 0, is RandomState"),
        ],
        ids=lambda case: ",".join(case) if isinstance(case, dict) else "",
    )
    def test_of_other_work_is_refused(self, file, X, options, message):
        before = file.read_bytes()
        with pytest.raises(ValueError, match=f"`checkpoint` .* belongs to other work: .*{message}.*delete this one"):
            fit_path(X, [3.0, 2.0], checkpoint=file, **options)
        assert file.read_bytes() == before

    def test_of_another_version_is_refused(self, file, monkeypatch):
        monkeypatch.setattr("elliptope.estimators.path.walk.__version__", "99.0")
        with pytest.raises(ValueError, match=r"`elliptope.__version__` was .*, is 99\.0"):
            fit_path(RANK_4, [3.0, 2.0], checkpoint=file)

    def test_what_has_no_influence_may_change(self, file, fits):
        fit_path(RANK_4.tolist(), [3.0, 2.0], checkpoint=str(file), n_jobs=2, sample_weight=1.0)
        assert fits == []

    def test_random_states_are_told_apart(self, tmp_path, fits):
        for _ in range(2):
            fit_path(RANK_4, [2.0], checkpoint=tmp_path / "path.npz", random_state=np.random.RandomState(3))
        assert fits == [2.0]
        with pytest.raises(ValueError, match="`random_state` was RandomState"):
            fit_path(RANK_4, [2.0], checkpoint=tmp_path / "path.npz", random_state=np.random.RandomState(4))

    @pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text", "array", "archive", "header"])
    def test_damaged_files_are_refused(self, file, damage):
        content = bytearray(file.read_bytes())
        content[200] ^= 255
        stream = io.BytesIO()
        if damage == "array":
            np.save(stream, np.ones(3))
        elif damage == "archive":
            np.savez(stream, X=np.ones(3))
        elif damage == "header":
            stream.write(build([("header.json", b'{"format": "something else"}')], SEAL))
        replacement = {"cut": content[: len(content) // 2], "flipped": content, "empty": b"", "text": b"bandwidth,status\n"}
        file.write_bytes(replacement.get(damage, stream.getvalue()))
        before = file.read_bytes()
        with pytest.raises(ValueError, match=r"`checkpoint` must be a file that an earlier call wrote.*delete this one"):
            fit_path(RANK_4, [3.0, 2.0], checkpoint=file)
        assert file.read_bytes() == before

    def test_the_folder_must_exist(self, tmp_path, fits):
        with pytest.raises(ValueError, match=r"`checkpoint` must lie in a folder that exists, got '.*nowhere.*path\.npz'"):
            fit_path(RANK_4, [2.0], checkpoint=tmp_path / "nowhere" / "path.npz")
        assert fits == []
