"""What cannot be saved, and what becomes of the files when saving fails."""

import os
import stat

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

import elliptope
from common import RANK_4
from elliptope import DiffusionMap, ModelFileError, RKHSEmbedding, SDPEmbedding, kernels
from model_files import small_model


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.elliptope"


class TestWhatCannotBeSaved:
    def test_unfitted(self, path):
        for est in (SDPEmbedding(), RKHSEmbedding(), DiffusionMap()):
            with pytest.raises(NotFittedError):
                est.save(path)
            assert not path.exists()

    def test_half_fitted(self, path):
        est = small_model()
        del est.training_
        with pytest.raises(NotFittedError):
            est.save(path)

    @pytest.mark.parametrize(
        ("est", "parameter", "remedy"),
        [
            (SDPEmbedding(kernel=rbf_kernel), "kernel", "kernel='precomputed'"),
            (DiffusionMap(kernel=lambda X, Y: rbf_kernel(X, Y)), "kernel", "joblib"),
            (SDPEmbedding(diagonal=lambda X: np.ones(len(X))), "diagonal", "an array of its values"),
            (RKHSEmbedding(diagonal=lambda X: np.ones(len(X))), "diagonal", "an array of its values"),
            (RKHSEmbedding(direction=lambda X: np.ones(len(X))), "direction", "direction='mean'"),
            (SDPEmbedding(random_state=np.random.RandomState(0)), "random_state", "an integer"),
            (SDPEmbedding(kernel=kernels.CallableKernel(rbf_kernel)), "kernel", "elliptope.kernels"),
        ],
    )
    def test_parameters(self, est, parameter, remedy, path):
        est.fit(RANK_4)
        with pytest.raises(ModelFileError, match=f"`{parameter}` is .*{remedy}"):
            est.save(path)
        assert not list(path.parent.iterdir())

    def test_a_function_that_the_parameters_no_longer_show(self, path):
        est = SDPEmbedding(kernel=rbf_kernel).fit(RANK_4).set_params(kernel="gaussian")
        with pytest.raises(ModelFileError, match=r"`training.extension.kernel.formula` is of class CallableKernel"):
            est.save(path)

    def test_values_that_fit_would_not_have_taken(self, path):
        for value in (10**400, object(), np.ones((2, 2)), ["a"], [], {"a": 1}):
            with pytest.raises(ModelFileError, match=r"`(parameters\.)?tol`"):
                small_model().set_params(tol=value).save(path)

    def test_subclasses(self, path):
        class Mine(SDPEmbedding):
            pass

        with pytest.raises(ModelFileError, match=r"Mine cannot be saved.*not for classes derived"):
            Mine(bandwidth=2.0).fit(RANK_4).save(path)

    def test_numbers_that_are_none(self, path):
        est = small_model()
        est.embedding_[0, 0] = np.nan
        with pytest.raises(ModelFileError, match="`embedding` must be finite"):
            est.save(path)

    def test_random_state_can_be_taken_away(self, path):
        est = SDPEmbedding(bandwidth=2.0, random_state=np.random.RandomState(0)).fit(RANK_4)
        est.set_params(random_state=None).save(path)
        assert elliptope.load(path).transform(RANK_4).tobytes() == est.transform(RANK_4).tobytes()


class TestWriting:
    def test_nothing_is_overwritten_unasked(self, path):
        path.write_text("precious")
        with pytest.raises(FileExistsError, match="overwrite=True"):
            small_model().save(path)
        assert path.read_text() == "precious"
        small_model().save(path, overwrite=True)
        elliptope.load(path)
        assert list(path.parent.iterdir()) == [path]

    @pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
    def test_nothing_half_written_is_left(self, error, path, monkeypatch):
        def fail(*arguments):
            raise error

        path.write_text("old")
        monkeypatch.setattr(os, "fsync", fail)  # which comes last, when all has been written
        with pytest.raises(type(error)):
            small_model().save(path, overwrite=True)
        assert path.read_text() == "old"
        assert list(path.parent.iterdir()) == [path]

    def test_a_file_that_comes_up_meanwhile_is_kept(self, path, monkeypatch):
        fsync = os.fsync
        monkeypatch.setattr(os, "fsync", lambda file: (fsync(file), path.write_text("theirs")))
        with pytest.raises(FileExistsError):
            small_model().save(path)
        assert path.read_text() == "theirs"
        assert list(path.parent.iterdir()) == [path]

    def test_folders(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="no such folder"):
            small_model().save(tmp_path / "absent" / "model")
        with pytest.raises(IsADirectoryError, match="folder"):
            small_model().save(tmp_path, overwrite=True)
        with pytest.raises(IsADirectoryError):
            elliptope.load(tmp_path)
        with pytest.raises(FileNotFoundError):
            elliptope.load(tmp_path / "absent")

    @pytest.mark.skipif(os.name != "posix", reason="devices, links and permissions of POSIX")
    def test_devices_links_and_permissions(self, tmp_path):
        pipe, target, link = tmp_path / "pipe", tmp_path / "target", tmp_path / "link"
        os.mkfifo(pipe)
        with pytest.raises(FileExistsError, match="regular file"):
            small_model().save(pipe, overwrite=True)
        assert stat.S_ISFIFO(pipe.stat().st_mode)
        target.write_text("old")
        link.symlink_to(target)
        small_model().save(str(link), overwrite=True)
        assert link.is_symlink()
        elliptope.load(target)
        plain_file = tmp_path / "plain"
        plain_file.write_text("")
        assert target.stat().st_mode == plain_file.stat().st_mode

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="may write everywhere")
    def test_a_folder_that_cannot_be_written_to(self, tmp_path):
        tmp_path.chmod(0o500)
        with pytest.raises(PermissionError, match="model"):
            small_model().save(tmp_path / "model")
        tmp_path.chmod(0o700)
