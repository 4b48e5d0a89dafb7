"""A fit that raises leaves the estimator exactly as it was."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from common import RANK_4
from elliptope import DiffusionMap, RKHSEmbedding, SDPEmbedding, load

FRAME = pd.DataFrame(RANK_4, columns=[f"column {j}" for j in range(RANK_4.shape[1])])
WIDER = np.hstack([RANK_4, RANK_4[:, :1]])
NEW = RANK_4[:7] + 0.1
BAD_DATA = {
    "weights of another length": ((WIDER,), {"sample_weight": np.ones(3)}),
    "a negative weight": ((WIDER,), {"sample_weight": -np.ones(40)}),
    "no weight": ((WIDER,), {"sample_weight": np.zeros(40)}),
    "not a number": ((WIDER * np.nan,), {}),
    "one row": ((WIDER[:1],), {}),
}
# Parameters that are looked at early and late, with good data of other columns.
BAD_PARAMETERS = {
    "sdp": [
        {"bandwidth": -1.0},
        {"diagonal": np.ones(3)},
        {"diagonal": lambda X: -np.ones(len(X))},
        {"kernel": "round"},
        {"kernel": lambda X, Y: -np.ones((len(X), len(Y)))},
        {"normalize": "cube"},
        {"n_jobs": 0},
    ],
    "rkhs": [{"smoothness": 0.1}, {"direction": "up"}, {"regularization": -1.0}, {"diagonal": "kernel"}, {"tol": 0.0}],
    "diffusion": [{"n_components": 99}, {"kernel": "neighbors", "n_neighbors": 1}, {"bandwidth": "wide"}],
}
ESTIMATORS = {
    "sdp": SDPEmbedding(bandwidth=2.0, random_state=0),
    "neighbors": SDPEmbedding(kernel="neighbors", n_neighbors=8, random_state=0),
    "rkhs": RKHSEmbedding(random_state=0),
    "diffusion": DiffusionMap(bandwidth=2.0),
}


class Failure(Exception):
    pass


class RaisingCallback:
    """A callback of scikit-learn's that raises at the third iteration."""

    def __init__(self):
        self.seen = 0

    def setup(self, *_, **__): ...

    def teardown(self, *_, **__): ...

    def on_fit_task_begin(self, *_, **__): ...

    def on_fit_task_end(self, *_, **__):
        self.seen += 1
        if self.seen == 3:
            raise Failure


def fresh(name):
    return ESTIMATORS[name].__class__(**ESTIMATORS[name].get_params())


def assert_unchanged(est, refit, error):
    """``refit`` raises; no attribute becomes another object, and new rows are embedded as they were."""
    before, expected = dict(vars(est)), est.transform(NEW_FRAME)
    with pytest.raises(error):
        refit()
    assert list(vars(est)) == list(before)
    assert all(vars(est)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(est.transform(NEW_FRAME), expected)


NEW_FRAME = pd.DataFrame(NEW, columns=FRAME.columns)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_bad_data(name):
    est = fresh(name).fit(FRAME)
    for arguments, options in BAD_DATA.values():
        assert_unchanged(est, lambda a=arguments, o=options: est.fit(*a, **o), ValueError)
    for arguments, options in BAD_DATA.values():
        never = fresh(name)
        with pytest.raises(ValueError):  # noqa: PT011 (what they say is tested elsewhere)
            never.fit(*arguments, **options)
        assert vars(never).keys() == never.get_params().keys()
        with pytest.raises(NotFittedError):
            never.transform(NEW)


@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_bad_parameters(name):
    est = fresh(name).fit(FRAME)
    good = est.get_params()
    for bad in BAD_PARAMETERS[name]:
        before = {key: value for key, value in vars(est).items() if key not in good}
        est.set_params(**bad)
        with pytest.raises(ValueError):  # noqa: PT011
            est.fit(WIDER)
        est.set_params(**good)
        now = {key: value for key, value in vars(est).items() if key not in good}
        assert now.keys() == before.keys()
        assert all(now[key] is before[key] for key in before), bad


@pytest.mark.parametrize("bad", [np.ones((3, 2)), np.full((40, 2), np.nan)])
def test_a_bad_start(bad):
    est = fresh("sdp").fit(FRAME)
    assert_unchanged(est, lambda: est.fit(WIDER, start=bad), ValueError)


@pytest.mark.parametrize("name", ["sdp", "neighbors", "rkhs"])
def test_a_callback_that_raises(name):
    pytest.importorskip("sklearn.callback")
    est = fresh(name).fit(FRAME).set_callbacks(RaisingCallback())
    assert_unchanged(est, lambda: est.fit(WIDER), Failure)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_ctrl_c_before_there_is_an_iterate(name, monkeypatch, tmp_path):
    """In the data, which is where a fit begins; and what is saved afterwards is the model that there was."""

    class Interrupting:
        shape = WIDER.shape

        def __array__(self, *_, **__):
            raise KeyboardInterrupt

    est = fresh(name).fit(FRAME)
    assert_unchanged(est, lambda: est.fit(Interrupting()), KeyboardInterrupt)
    path = tmp_path / "model"
    est.save(path)
    assert_unchanged(est, lambda: est.fit(WIDER, sample_weight=-np.ones(40)), ValueError)
    est.save(path, overwrite=True)
    np.testing.assert_array_equal(load(path).transform(NEW_FRAME), est.transform(NEW_FRAME))
    never = fresh(name)
    with pytest.raises(KeyboardInterrupt):
        never.fit(Interrupting())
    for call in (never.transform, never.score_samples, lambda _: never.save(tmp_path / "other")):
        with pytest.raises(NotFittedError):
            call(NEW)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["sdp", "diffusion"])
def test_ctrl_c_in_the_kernel(name):
    calls, limit = [], np.inf

    def kernel(A, B):
        calls.append(None)
        if len(calls) > limit:
            raise KeyboardInterrupt
        return np.exp(-((A[:, None] - B) ** 2).sum(axis=-1) / 16)

    est = fresh(name).set_params(kernel=kernel).fit(FRAME)
    needed = len(calls)
    for number in range(needed):
        limit, before = number, dict(vars(est))
        calls.clear()
        with pytest.raises(KeyboardInterrupt):
            est.fit(WIDER)
        assert vars(est) == before


def test_warnings_that_are_errors():
    est = fresh("sdp").fit(FRAME)
    est.set_params(max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert_unchanged(est, lambda: est.fit(WIDER), ConvergenceWarning)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_good_fit_replaces_everything(name):
    est = fresh(name).fit(FRAME).fit(WIDER)
    assert est.n_features_in_ == WIDER.shape[1]
    assert not hasattr(est, "feature_names_in_")
    np.testing.assert_array_equal(est.training_.points, WIDER)
    np.testing.assert_array_equal(est.training_.rows, np.arange(40))
    np.testing.assert_array_equal(est.training_.weights, np.ones(40))
    np.testing.assert_array_equal(est.embedding_, fresh(name).fit(WIDER).embedding_)
