"""Where products are dear a fit starts from the solution of a cheaper problem."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from common import gram
from elliptope import SDPEmbedding
from elliptope.datasets import two_moons
from elliptope.estimators import sdp_embedding as embedding
from elliptope.estimators import starts as _starts
from elliptope.estimators.starts import Limits, start_entries, start_limits, truncated_start
from elliptope.kernels import FittedFormula, Gaussian, Laplacian
from elliptope.memory.available import Memory
from elliptope.operators import TiledOperator, sparse
from elliptope.sdp.loop import Loop
from elliptope.sdp.problem import Meter, Problem

X, _ = two_moons(300, random_state=0)
NARROW, WIDE = Gaussian(0.2), Gaussian(2.0)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Sizes at which all this pays are beyond those of a test."""
    monkeypatch.setattr(_starts, "_FEWEST_ROWS", 100)
    monkeypatch.setattr(sparse, "_LARGEST_DENSE", 100)
    monkeypatch.setattr(_starts, "_PAIRS_PER_ENTRY", 8)
    monkeypatch.setattr(embedding, "_COARSE_ROWS", 150)


def start(kernel, max_iter=5000, max_products=1000):
    J = TiledOperator(kernel, X)
    J.set_row_scale(np.sqrt(J.abar_diagonal()))
    return J, truncated_start(J, FittedFormula(kernel, X), np.sqrt(J.abar_diagonal()), Limits(max_iter, max_products), 0)


class TestTruncated:
    def test_is_close_to_the_optimum(self):
        J, solution = start(NARROW)
        optimum = SDPEmbedding(kernel=NARROW, random_state=0).fit(X).certificate_.objective
        iterate = Meter(Problem(J)).evaluate(solution.factor)
        assert optimum - iterate.objective < 1e-2 * iterate.gain
        assert iterate.defect < 0.1

    def test_not_where_it_drops_much(self):
        assert start(WIDE)[1] is None

    def test_not_for_heavy_tails(self):
        assert start(Laplacian(0.2))[1] is None

    def test_not_without_the_memory(self, monkeypatch):
        monkeypatch.setattr(_starts, "available_memory", lambda: Memory(10**6, "a test"))
        assert start(NARROW)[1] is None

    def test_not_with_more_entries_than_the_sample_promised(self, monkeypatch):
        monkeypatch.setattr(_starts, "_SAMPLING", 0.5)
        assert start(NARROW)[1] is None

    def test_its_limits(self):
        for limits in ({"max_products": 7}, {"max_iter": 2}):
            assert start(NARROW, **limits)[1].status == "max_iter"
        assert start_limits(5000, None) == (2500, 1000)
        assert start_limits(7, 40) == (3, 20)

    def test_nothing_but_entries_changes(self, monkeypatch):
        """Weights, degrees, scales and what is deflated are those of J, so that products differ by what was dropped."""
        costs = []
        monkeypatch.setattr(_starts, "solve", lambda cost, **_: costs.append(cost))
        J = TiledOperator(NARROW, X, np.random.default_rng(0).uniform(0.5, 2.0, len(X)))
        J.set_row_scale(J.w * np.sqrt(J.abar_diagonal()))
        truncated_start(J, FittedFormula(NARROW, X), J.w * np.sqrt(J.abar_diagonal()), Limits(5000, 1000), 0)
        (surrogate,) = costs
        np.testing.assert_allclose(surrogate.offset(), J.offset(), rtol=1e-12)
        difference = J.core_matmat(np.eye(len(X))) - surrogate.core_matmat(np.eye(len(X)))
        assert difference.min() > -1e-12
        assert (difference > 1e-12).mean() > 0.01
        assert difference.sum() <= surrogate.error_bounds[1]

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
        """The third step of the first solve, that of the start, is interrupted."""
        plain, steps = Loop._report, itertools.count(1)

        def report(loop, iterate):
            if next(steps) == 3:
                raise KeyboardInterrupt
            plain(loop, iterate)

        monkeypatch.setattr(Loop, "_report", report)
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            found = self.fit(kernel)
        assert (found.status_, found.n_iter_) == ("interrupted", 3)  # two of the start
        assert np.isfinite(found.transform(X)).all()

    @pytest.mark.parametrize("kernel", [NARROW, WIDE])
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_what_was_asked_for_is_kept(self, kernel, capsys):
        """No start where it would be in the way; and what it takes counts."""
        for asked in ({"solver": "power"}, {"rank": 7}, {"max_iter": 1}):
            self.fit(kernel, **asked, verbose=True)
            assert "start from" not in capsys.readouterr().out
        for max_iter in (2, 5, 6):
            found = self.fit(kernel, max_iter=max_iter)
            assert (found.status_, found.n_iter_) == ("max_iter", max_iter)

    @pytest.mark.parametrize("kernel", [NARROW, WIDE])
    def test_products_of_the_start_count(self, kernel, monkeypatch):
        meters, plain = [], Meter.__init__
        monkeypatch.setattr(Meter, "__init__", lambda meter, *args: (meters.append(meter), plain(meter, *args))[1])
        found = self.fit(kernel)
        assert found.n_products_ == sum(meter.count for meter in meters)
        assert sum(meter.count > 0 for meter in meters) == 2
