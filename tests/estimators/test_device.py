"""Estimators on a device: the same answers as on the CPU, and clear errors. Without a device, in Triton's interpreter."""

import os
from contextlib import suppress

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gpu installs it")
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported
pytest.importorskip("triton", reason="triton is not installed: make test-gpu installs it")

from elliptope import DiffusionMap, MultiscaleEmbedding, RKHSEmbedding, SDPEmbedding, bandwidth_path, load  # noqa: E402

ROWS = np.random.default_rng(0).standard_normal((60, 3))
ROWS[:30] += 2
NEW = np.random.default_rng(1).standard_normal((30, 3)) * 3


def learned(est, X=ROWS):
    return est.learned_kernel(X)


class TestTheSameAnswer:
    @pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "overlap", "neighbors"])
    def test_sdp_embedding(self, kernel, tmp_path):
        """B*, scores and new rows, from a model that is stored and read where there is no device."""
        options = {"kernel": kernel, "bandwidth": 3.0, "n_neighbors": 8, "tol": 1e-8, "random_state": 0}
        weights = np.random.default_rng(2).uniform(0.5, 2, len(ROWS))
        weights[3] = 0
        there = SDPEmbedding(device="cuda", **options).fit(ROWS, sample_weight=weights)
        here = SDPEmbedding(**options).fit(ROWS, sample_weight=weights)
        assert there.certificate_.relative_gap <= 1e-8
        there.save(tmp_path / "model")
        stored = load(tmp_path / "model").set_params(device="cpu")
        size = np.abs(learned(here)).max()
        for est in (there, stored):
            np.testing.assert_allclose(learned(est), learned(here), rtol=0, atol=1e-6 * size)
            np.testing.assert_allclose(est.score_samples(NEW), here.score_samples(NEW), rtol=1e-12)
        Z = stored.transform(NEW)
        np.testing.assert_allclose(there.transform(NEW), Z, rtol=0, atol=1e-9 * np.abs(Z).max())

    def test_spread_and_diffusion_time(self):
        options = {"kernel": "overlap", "spread": 0.3, "diffusion_time": 4, "n_neighbors": 8, "tol": 1e-7, "random_state": 0}
        there, here = SDPEmbedding(device="cuda", **options).fit(ROWS), SDPEmbedding(**options).fit(ROWS)
        assert there.spread_ == here.spread_
        np.testing.assert_allclose(learned(there), learned(here), rtol=0, atol=1e-3 * np.abs(learned(here)).max())

    def test_multiscale_embedding(self):
        there = MultiscaleEmbedding(n_neighbors=8, device="cuda", random_state=0).fit(ROWS)
        here = MultiscaleEmbedding(n_neighbors=8, random_state=0).fit(ROWS)
        assert all(certificate.relative_gap <= 1e-5 for certificate in there.certificates_)
        np.testing.assert_allclose(learned(there), learned(here), rtol=0, atol=1e-2)
        np.testing.assert_allclose(there.transform(ROWS), there.embedding_, rtol=0, atol=1e-2)

    @pytest.mark.parametrize("kernel", ["gaussian", "overlap"])
    def test_diffusion_map(self, kernel):
        options = {"n_components": 3, "kernel": kernel, "bandwidth": 3.0}
        there, here = DiffusionMap(device="cuda", **options).fit(ROWS), DiffusionMap(**options).fit(ROWS)
        np.testing.assert_allclose(there.eigenvalues_, here.eigenvalues_, rtol=1e-9)
        np.testing.assert_allclose(there.transform(NEW), here.transform(NEW), rtol=0, atol=1e-8)

    def test_a_path_of_bandwidths(self):
        paths = [bandwidth_path(ROWS, [6.0, 3.0], device=device, tol=1e-8, random_state=0) for device in ("cuda", None)]
        for there, here in zip(*(path.records for path in paths), strict=True):
            np.testing.assert_allclose(there.factor @ there.factor.T, here.factor @ here.factor.T, rtol=0, atol=1e-6)

    def test_a_dense_operator(self):
        """A kernel without device functions, and one that was computed by the user."""
        K = np.exp(-((ROWS[:, None] - ROWS) ** 2).sum(axis=-1) / 9)
        here = SDPEmbedding(bandwidth=3.0, tol=1e-8, random_state=0).fit(ROWS)
        there = SDPEmbedding(kernel="precomputed", device="cuda", tol=1e-8, random_state=0).fit(K)
        assert there.certificate_.grade == "proved"
        np.testing.assert_allclose(learned(there, K), learned(here), rtol=0, atol=1e-7)


class TestTensors:
    def test_in_and_out(self):
        device = "cuda" if torch.cuda.is_available() else "cpu"
        for dtype in (torch.float32, torch.float64):
            X = torch.tensor(ROWS, dtype=dtype, device=device)
            est = SDPEmbedding(bandwidth=3.0, random_state=0)
            Z = est.fit_transform(X)
            for out in (Z, est.transform(X), est.score_samples(X), est.learned_kernel(X)):
                assert isinstance(out, torch.Tensor)
                assert (out.dtype, out.device) == (dtype, X.device)
            assert isinstance(est.embedding_, np.ndarray)
            np.testing.assert_allclose(Z.cpu(), est.embedding_, rtol=1e-6, atol=1e-7)


class TestChoice:
    def test_few_rows_stay_on_the_cpu(self):
        est = SDPEmbedding(bandwidth=3.0, device="auto", random_state=0).fit(ROWS)
        assert est.certificate_.grade == "proved"
        np.testing.assert_array_equal(est.embedding_, SDPEmbedding(bandwidth=3.0, random_state=0).fit(ROWS).embedding_)

    @pytest.mark.parametrize("device", ["gpu", "cuda:", 0, "mps"])
    def test_unknown(self, device):
        with pytest.raises(ValueError, match="`device` must be None, 'cpu', 'cuda'"):
            SDPEmbedding(device=device).fit(ROWS)

    def test_refused(self):
        with pytest.raises(ValueError, match="`device` must be None, 'cpu' or 'auto' for RKHSEmbedding"):
            RKHSEmbedding(device="cuda").fit(ROWS)
        with pytest.raises(ValueError, match="`operator` must be one of 'auto', 'dense' on"):
            SDPEmbedding(device="cuda", kernel=np.dot, operator="tiled").fit(ROWS)


class TestMemory:
    def test_refused_before_anything_is_allocated(self):
        from elliptope.memory.device import check_device_memory, device_memory, device_need
        from elliptope.memory.planner import InsufficientMemoryError

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        free = device_memory(device).bytes
        n = next(n for n in 10 ** np.arange(3, 12) if device_need(int(n), 10, "dense") > free)
        with pytest.raises(InsufficientMemoryError, match=r"a sample of the rows.*device='cpu'"):
            check_device_memory(int(n), 10, "dense", device)

    def test_running_out_leaves_the_estimator_as_it_was(self, monkeypatch):
        """In the middle of a solve."""
        from elliptope.memory.planner import InsufficientMemoryError
        from elliptope.operators.cuda.products import Products

        est = SDPEmbedding(bandwidth=3.0, device="cuda", random_state=0).fit(ROWS)
        before, real, calls = dict(vars(est)), Products.hollow_matmat, []

        def product(self, V, squared=False):
            calls.append(1)
            if len(calls) > 6:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB.")
            return real(self, V, squared)

        monkeypatch.setattr(Products, "hollow_matmat", product)
        with pytest.raises(InsufficientMemoryError, match=r"memory of .* ran out .*device='cpu'"):
            est.fit(ROWS + 1)
        with suppress(KeyError):
            before.pop("_sklearn_output_config")
        assert all(vars(est)[name] is value for name, value in before.items())
