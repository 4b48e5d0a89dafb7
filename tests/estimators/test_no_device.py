"""Where there is no PyTorch, or no CUDA device."""

import os
import subprocess
import sys

import numpy as np
import pytest

from elliptope import DiffusionMap, MultiscaleEmbedding, RKHSEmbedding, SDPEmbedding, bandwidth_path

X = np.random.default_rng(0).standard_normal((40, 2))


@pytest.fixture
def without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.usefixtures("without_torch")
class TestWithoutTorch:
    def test_a_device_asks_for_the_extra(self):
        tasks = [
            lambda: SDPEmbedding(device="cuda").fit(X),
            lambda: MultiscaleEmbedding(device="cuda:1").fit(X),
            lambda: DiffusionMap(device="cuda").fit(X),
            lambda: bandwidth_path(X, [1.0], device="cuda"),
        ]
        for task in tasks:
            with pytest.raises(ImportError, match=r"elliptope\[gpu\].*device='cpu'"):
                task()

    def test_auto_is_the_cpu(self):
        est = SDPEmbedding(bandwidth=2.0, device="auto", random_state=0).fit(X)
        np.testing.assert_array_equal(est.transform(X), SDPEmbedding(bandwidth=2.0, random_state=0).fit(X).transform(X))

    def test_a_model_of_a_device_is_of_use(self, tmp_path):
        est = SDPEmbedding(bandwidth=2.0, random_state=0).fit(X)
        expected = est.transform(X)
        np.testing.assert_array_equal(est.set_params(device="cuda").transform(X), expected)

    def test_names_are_checked_first(self):
        with pytest.raises(ValueError, match="`device` must be None, 'cpu', 'cuda', 'cuda:' with a number, or 'auto'"):
            SDPEmbedding(device="gpu").fit(X)
        with pytest.raises(ValueError, match="`device` must be None, 'cpu' or 'auto' for RKHSEmbedding"):
            RKHSEmbedding(device="cuda").fit(X)


def test_without_a_device():
    """PyTorch is there, and finds none."""
    pytest.importorskip("torch", reason="torch is not installed: make test-gpu installs it")
    program = "import numpy as np; from elliptope import SDPEmbedding; SDPEmbedding(device='cuda').fit(np.eye(5))"
    environment = os.environ | {"TRITON_INTERPRET": "", "CUDA_VISIBLE_DEVICES": ""}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert "must be a CUDA device that is there, got 'cuda': PyTorch finds none. Use device='cpu'" in ran.stderr
    assert "elliptope[gpu]" in ran.stderr


def test_on_the_command_line(tmp_path):
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="a,b", comments="")
    command = [sys.executable, "-m", "elliptope", "embed", str(tmp_path / "rows.csv"), "--device"]
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "TRITON_INTERPRET": ""}
    for device, expected in (("auto", ""), ("cuda", "elliptope[gpu]"), ("gpu", "--device must be None")):
        ran = subprocess.run([*command, device], env=environment, capture_output=True, text=True, check=False)
        assert "Traceback" not in ran.stderr
        assert expected in ran.stderr
        assert (ran.returncode == 0) == (device == "auto")
