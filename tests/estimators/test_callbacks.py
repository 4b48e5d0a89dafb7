"""Callbacks of scikit-learn: what they see of a fit, and how they stop it."""

from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from common import WINE
from elliptope import SDPEmbedding


@pytest.mark.skipif(find_spec("sklearn.callback") is None, reason="callbacks came with scikit-learn 1.9")
class TestCallbacks:
    class Recorder:
        def __init__(self, stop_after=10**9):
            self.seen, self.events, self.stop_after = [], [], stop_after

        def setup(self, estimator, context):
            self.events.append("setup")

        def teardown(self, estimator, context):
            self.events.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, metadata=None):
            self.seen.append(metadata["progress"])
            return len(self.seen) >= self.stop_after

    def test_every_iteration_is_seen(self):
        recorder = self.Recorder()
        est = SDPEmbedding(bandwidth=3.0, random_state=0).set_callbacks(recorder).fit(WINE)
        assert [p.iteration for p in recorder.seen] == list(range(1, est.n_iter_ + 1))
        assert recorder.events == ["setup", "teardown"]
        assert est.status_ == "optimal"

    def test_a_callback_can_stop_the_fit(self):
        recorder = self.Recorder(stop_after=4)
        est = SDPEmbedding(bandwidth=3.0, random_state=0).set_callbacks(recorder)
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            est.fit(WINE)
        assert (est.status_, est.n_iter_) == ("interrupted", 4)
        assert np.isfinite(est.transform(WINE)).all()
