"""Callbacks of scikit-learn: what they see of a fit, and how they stop it."""

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from common import WINE
from elliptope import MultiscaleEmbedding, SDPEmbedding

# A bar, and Ctrl-C at a task of this name.
BAR = """
import sys
import elliptope
from sklearn.callback import ProgressBar
from sklearn.datasets import load_iris

name, at = sys.argv[1:]

class Interrupt:
    def setup(self, estimator, context): ...
    def teardown(self, estimator, context): ...
    def on_fit_task_begin(self, estimator, context): ...
    def on_fit_task_end(self, estimator, context):
        if context.task_name == at:
            raise KeyboardInterrupt

est = getattr(elliptope, name)(random_state=0).set_callbacks(ProgressBar(), Interrupt())
try:
    print(est.fit(load_iris().data[::2]).status_)
except KeyboardInterrupt:
    print("KeyboardInterrupt")
"""


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
            if context.task_name == "iteration":
                self.seen.append(metadata["progress"])
            return len(self.seen) >= self.stop_after

    def test_every_iteration_is_seen(self):
        recorder = self.Recorder()
        est = SDPEmbedding(bandwidth=3.0, random_state=0).set_callbacks(recorder).fit(WINE)
        assert [p.iteration for p in recorder.seen] == list(range(1, est.n_iter_ + 1))
        assert recorder.events == ["setup", "teardown"]
        assert est.status_ == "optimal"

    def test_all_scales_are_one_fit(self):
        recorder = self.Recorder()
        est = MultiscaleEmbedding(random_state=0).set_callbacks(recorder).fit(WINE)
        assert [p.iteration for p in recorder.seen] == [k + 1 for scale in est.scales_ for k in range(scale.n_iter)]
        assert recorder.events == ["setup", "teardown"]

    @pytest.mark.parametrize("name", ["MultiscaleEmbedding", "SDPEmbedding", "RKHSEmbedding"])
    @pytest.mark.parametrize(
        ("at", "end"), [("", "optimal"), ("iteration", "interrupted"), ("iterations", "KeyboardInterrupt")]
    )
    def test_a_bar_is_full_and_its_process_ends(self, name, at, end):
        """A thread draws the bar until it is told of the end. Solvers catch Ctrl-C; the rest of a fit does not."""
        pytest.importorskip("rich")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "100"}
        done = subprocess.run(
            [sys.executable, "-c", BAR, name, at], env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        *_, bar, _, last = done.stdout.splitlines()
        assert last == end
        assert f"{name} - fit" in bar
        assert "100%" in bar

    def test_steps_follow_the_digits_gained(self):
        """Bars divide the number of subtasks done by ``max_subtasks``."""

        class Steps(self.Recorder):
            def on_fit_task_end(self, estimator, context, *, metadata=None):
                self.seen.append(metadata["progress"].defect if metadata else context.task_name)
                self.context = context

        steps = Steps()
        SDPEmbedding(bandwidth=3.0, random_state=0, tol=1e-6).set_callbacks(steps).fit(WINE)
        assert steps.seen[-2:] == ["iterations", "fit"]
        assert steps.seen.count("step") + 1 == steps.context.max_subtasks
        middle = next(k for k, seen in enumerate(steps.seen) if not isinstance(seen, str) and seen < 1e-3)
        assert 30 <= steps.seen[:middle].count("step") < 50  # half of the digits, and no more before

    def test_a_callback_can_stop_the_fit(self):
        recorder = self.Recorder(stop_after=4)
        est = SDPEmbedding(bandwidth=3.0, random_state=0).set_callbacks(recorder)
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            est.fit(WINE)
        assert (est.status_, est.n_iter_) == ("interrupted", 4)
        assert np.isfinite(est.transform(WINE)).all()
