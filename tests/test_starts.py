"""Where products are dear a fit starts from the solution of a cheaper problem."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from common import gram
from elliptope import SDPEmbedding, _starts, embedding
from elliptope._starts import start_entries, truncated_start
from elliptope.datasets import two_moons
from elliptope.kernels import Gaussian, Laplacian
from elliptope.operators import TiledOperator
from elliptope.sdp.problem import Problem

X, _ = two_moons(300, random_state=0)
NARROW, WIDE = Gaussian(0.2), Gaussian(2.0)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Sizes at which all this pays are beyond those of a test."""
    monkeypatch.setattr(_starts, "LARGEST_DENSE", 100)
    monkeypatch.setattr(_starts, "_PAIRS_PER_ENTRY", 8)
    monkeypatch.setattr(embedding, "_COARSE_ROWS", 150)


def start(kernel, rank="auto"):
    J = TiledOperator(kernel, X)
    J.set_row_scale(np.sqrt(J.abar_diagonal()))
    return J, truncated_start(J, kernel, X, np.sqrt(J.abar_diagonal()), rank, 0)


class TestTruncated:
    def test_is_close_to_the_optimum(self):
        J, solution = start(NARROW)
        optimum = SDPEmbedding(kernel=NARROW, random_state=0).fit(X).certificate_.objective
        iterate = Problem(J).evaluate(solution.factor)
        assert optimum - iterate.objective < 1e-2 * iterate.gain
        assert iterate.defect < 0.1

    def test_columns(self):
        assert start(NARROW, rank=9)[1].history[0].rank == 9

    def test_not_where_it_drops_much(self):
        assert start(WIDE)[1] is None

    def test_not_for_kernels_without_a_reach(self):
        assert start(Laplacian(0.2))[1] is None

    def test_not_where_it_would_be_made_dense(self):
        assert start_entries(100) == 0
        assert start_entries(101) == 101**2 // 8
        assert start_entries(10**6) == 50_000_000


class TestFit:
    def fit(self, kernel, **parameters):
        return SDPEmbedding(kernel=kernel, operator="tiled", tol=1e-4, random_state=0, **parameters).fit(X)

    @pytest.mark.parametrize(("kernel", "said"), [(NARROW, "the kernel cut off: optimal"), (WIDE, "150 of 600 points")])
    def test_the_start_is_named_and_does_not_matter(self, kernel, said, capsys):
        found = self.fit(kernel, verbose=1)
        assert f"start from {said}" in capsys.readouterr().out
        assert found.status_ == "optimal"
        exact = SDPEmbedding(kernel=kernel, random_state=0).fit(X)
        np.testing.assert_allclose(gram(found), gram(exact), atol=1e-4 * np.abs(gram(exact)).max())

    @pytest.mark.parametrize("kernel", [NARROW, WIDE])
    def test_an_interrupt_ends_the_fit_and_not_only_the_start(self, kernel, monkeypatch):
        solve, calls = _starts.solve, []

        def interrupted(cost, *args, **kwargs):
            calls.append(cost)
            return solve(cost, *args, **{**kwargs, "callback": lambda progress: progress.iteration == 3})

        monkeypatch.setattr(_starts, "solve", interrupted)
        monkeypatch.setattr(embedding.SDPEmbedding, "_sample_start", lambda *_: (np.ones((600, 1)), True))
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            found = self.fit(kernel)
        assert (found.status_, found.n_iter_) == ("interrupted", 1)
        assert np.isfinite(found.transform(X)).all()
