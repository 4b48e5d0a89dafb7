"""What users give in place of numbers, and functions that they give: refused by name, and nothing is lost in silence."""

import datetime
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsTransformer

from elliptope import DiffusionMap, RKHSEmbedding, SDPEmbedding, bandwidth_path, load, recertify
from elliptope.kernels import Gaussian

X = np.random.default_rng(0).standard_normal((40, 3))
DATES = np.arange(120).reshape(40, 3).astype("datetime64[D]")
MASKED = np.ma.masked_array(X, np.arange(120).reshape(40, 3) == 7)
FRAME = pd.DataFrame(X, columns=["length", "width", "height"])

ESTIMATORS = {
    "SDPEmbedding": SDPEmbedding(bandwidth=2.0, random_state=0),
    "neighbors": SDPEmbedding(kernel="neighbors", n_neighbors=8, random_state=0),
    "RKHSEmbedding": RKHSEmbedding(random_state=0),
    "DiffusionMap": DiffusionMap(bandwidth=2.0),
}
every = pytest.mark.parametrize("name", ESTIMATORS)


def fresh(name):
    return ESTIMATORS[name].__class__(**ESTIMATORS[name].get_params())


def with_entry(value, row=5, column=1):
    changed = X.astype(object)
    changed[row, column] = value
    return changed


# name: (X, error, message)
NO_NUMBERS = {
    "masked": (MASKED, ValueError, "`X` must be an array without a mask"),
    "masked, nothing under the mask": (np.ma.asarray(X), ValueError, "`X` must be an array without a mask"),
    "dates": (DATES, ValueError, r"`X` must hold numbers, got dates or times, dtype datetime64\[D\]"),
    "NaT": (np.where(DATES[3, 1] == DATES, np.datetime64("NaT"), DATES), ValueError, "`X` must hold numbers, got dates"),
    "durations": (DATES - DATES[0, 0], ValueError, r"got dates or times, dtype timedelta64\[D\]"),
    "a column of dates": (
        FRAME.assign(width=pd.date_range("2020", periods=40)),
        ValueError,
        "datetime64.*, in column 'width'",
    ),
    "times with a zone": (
        FRAME.assign(width=pd.date_range("2020", periods=40, tz="UTC")),
        ValueError,
        "datetime64.*, in column 'width'",
    ),
    "a column of text": (
        FRAME.assign(width=["a"] * 40),
        ValueError,
        "`X` must hold numbers; at row 0, column 'width': .*'a'",
    ),
    "categories": (
        FRAME.assign(width=pd.Categorical(["a"] * 40)),
        ValueError,
        "`X` must hold numbers; at row 0, column 'width': .*'a'",
    ),
    "text": (with_entry("many"), ValueError, "`X` must hold numbers; at row 5, column 1: .*'many'"),
    "text beside missing values": (
        FRAME.assign(length=None, width=pd.array([pd.NA] * 40, dtype="Float64"), height=["many"] * 40),
        ValueError,
        "at row 0, column 'height': .*'many'",
    ),
    "a list of lists": (with_entry("many").tolist(), ValueError, "`X` must hold numbers; at row 5, column 1: .*'many'"),
    "an object": (with_entry({}), TypeError, "`X` must hold numbers; at row 5, column 1: .* argument must be .*'dict'"),
    "a date object": (
        with_entry(datetime.date(2020, 1, 1)),
        TypeError,
        "`X` must hold numbers; at row 5, column 1: .*'datetime.date'",
    ),
    "NaN": (with_entry(np.nan).astype(float), ValueError, r"Input X contains NaN at row 5, column 1\."),
    "infinity": (with_entry(-np.inf).astype(float), ValueError, r"Input X contains infinity at row 5, column 1\."),
    "None": (with_entry(None), ValueError, r"Input X contains NaN at row 5, column 1\."),
    "NA as an object": (with_entry(pd.NA), TypeError, "`X` must hold numbers; at row 5, column 1: .*'NAType'"),
    "NaN in a data frame": (
        pd.DataFrame(with_entry(np.nan).astype(float), columns=[f"c{j}" for j in range(np.shape(with_entry(0))[1])]),
        ValueError,
        "Input X contains NaN at row 5, column ('c1'|1)\\..* 1 of [0-9]+ entries looked at are not: .*SimpleImputer",
    ),
    "NA": (pd.DataFrame(with_entry(pd.NA)).astype("Float64"), ValueError, r"Input X contains NaN at row 5, column 1\."),
}


@every
@pytest.mark.parametrize("case", NO_NUMBERS)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_no_numbers(name, case):
    bad, error, message = NO_NUMBERS[case]
    with pytest.raises(error, match=message):
        fresh(name).fit(bad)
    width = np.shape(bad)[1]
    est = fresh(name).fit(np.hstack([X, X])[:, :width])
    for method in ("transform", "score_samples"):
        with pytest.raises(error, match=message):
            getattr(est, method)(bad)
    if hasattr(bad, "shape"):
        with pytest.raises(error, match=message):
            list(est.transform_blocks(bad, 2))
    with pytest.raises(error, match=message.replace("row 5", "row 25").replace("row 0", "row 20")):
        list(est.transform_blocks([X[:20, [0] * width], bad]))


@pytest.mark.parametrize("case", NO_NUMBERS)
def test_no_numbers_along_a_path(case):
    bad, error, message = NO_NUMBERS[case]
    with pytest.raises(error, match=message):
        bandwidth_path(bad, [1.0])


def test_other_errors_say_what_they_said():
    """Complex numbers, ragged rows and columns of other names are no entries to be named."""
    with pytest.raises(ValueError, match="Complex data not supported"):
        fresh("SDPEmbedding").fit(X + 1j)
    with pytest.raises(ValueError, match="inhomogeneous"):
        fresh("SDPEmbedding").fit([[1.0, 2.0], [3.0]])
    with pytest.raises(TypeError, match="Feature names are only supported") as raised:
        fresh("SDPEmbedding").fit(pd.DataFrame(with_entry("many"), columns=["a", "b", 3]))
    assert "row 5" not in str(raised.value)
    with pytest.raises(ValueError, match="feature names should match"):
        fresh("SDPEmbedding").fit(FRAME).transform(FRAME.rename(columns={"width": "other"}))


def test_a_graph_that_is_not_finite():
    graph = KNeighborsTransformer(n_neighbors=10).fit_transform(X).tocsr()
    est = fresh("neighbors").fit(graph)
    bad = graph.copy()
    bad.data[35] = np.nan
    i, j = bad.nonzero()[0][35], bad.indices[35]
    for call in (fresh("neighbors").fit, est.transform, est.score_samples, lambda X: list(est.transform_blocks(X))):
        with pytest.raises(ValueError, match=f"Input X contains NaN at row {i}, column {j}"):
            call(bad)


WEIGHTS = {
    "text": (["a"] * 40, "an array of real numbers, got dtype <U1"),
    "text among numbers": ([1.0] * 39 + ["a"], "an array of real numbers, got dtype <U"),
    "objects": ([1.0] * 39 + [{}], "an array of real numbers, got type list"),
    "complex": (np.ones(40) + 1j, "an array of real numbers, got dtype complex128"),
    "masked": (np.ma.masked_array(np.ones(40), np.arange(40) == 3), "an array without a mask"),
    "dates": (DATES[:, 0], "an array of real numbers, got dtype datetime64"),
    "one masked": (np.ma.masked, "an array without a mask"),
    "too large": (np.full(40, 1e305), r"have its largest value between 1e-300 and 1e\+300, got 1e\+305; multiply"),
    "too small": (np.full(40, 1e-305), "have its largest value between 1e-300 and .*, got 1e-305; multiply"),
}


@every
@pytest.mark.parametrize("case", WEIGHTS)
def test_weights(name, case):
    bad, message = WEIGHTS[case]
    with pytest.raises(ValueError, match=f"`sample_weight` must (be )?{message}"):
        fresh(name).fit(X, sample_weight=bad)


def test_weights_along_a_path():
    for bad, message in WEIGHTS.values():
        with pytest.raises(ValueError, match=f"`sample_weight` must (be )?{message}"):
            bandwidth_path(X, [1.0], sample_weight=bad)


@every
def test_distances_in_place_of_features(name):
    with pytest.warns(UserWarning, match="like a matrix of distances, .* taken for features.*metric='precomputed'"):
        fresh(name).fit(cdist(X, X))


@every
def test_square_features_are_no_distances(name):
    square = np.random.default_rng(1).standard_normal((30, 30))
    hollow = square - np.diag(square.diagonal())
    for features in (square, hollow, square + square.T, hollow + hollow.T):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            fresh(name).fit(features)


def test_what_the_warning_about_distances_advises():
    graph = KNeighborsTransformer(metric="precomputed", n_neighbors=10).fit_transform(cdist(X, X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_graph = fresh("neighbors").fit(graph)
        from_rows = fresh("neighbors").fit(X)
    np.testing.assert_allclose(from_graph.learned_kernel(graph), from_rows.learned_kernel(X), atol=1e-6)


@every
def test_more_components_than_rows(name):
    for k in (41, 10**12):
        with pytest.raises(ValueError, match=f"`n_components` must be at most .*(40|39).*, got {k}"):
            fresh(name).set_params(n_components=k).fit(X)


@pytest.mark.parametrize("name", ["SDPEmbedding", "RKHSEmbedding"])
def test_more_components_than_the_rank(name):
    rank = len(fresh(name).fit(X).eigenvalues_)
    with pytest.warns(UserWarning, match=f"larger than the rank of the optimum, {rank}, .* last 2 of {rank + 2} columns"):
        est = fresh(name).set_params(n_components=rank + 2).fit(X)
    np.testing.assert_array_equal(est.embedding_[:, rank:], 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fresh(name).set_params(n_components=rank).fit(X)
        bandwidth_path(X, [2.0], n_components=rank + 2, random_state=0)  # columns are needed for the alignment


def test_a_diagonal_that_differs_between_equal_rows():
    """d is a function of x, whatever the estimator; rows without weight, or without coordinates, are not compared."""
    repeated, d = np.vstack([X, X[3]]), np.r_[np.ones(40), 2.0]
    for est in (SDPEmbedding(bandwidth=2.0), SDPEmbedding(kernel="neighbors", n_neighbors=8), RKHSEmbedding()):
        est.set_params(diagonal=d)
        with pytest.raises(
            ValueError, match=r"`diagonal` must be the same for equal rows of X, got 1\.0 at row 3 and 2\.0 at"
        ):
            est.fit(repeated)
        est.fit(repeated, sample_weight=np.r_[np.ones(40), 0.0])
        est.set_params(diagonal=np.r_[d[:3], 2.0, d[4:]]).fit(repeated)
    SDPEmbedding(kernel="precomputed", diagonal=d).fit(Gaussian(2.0)(repeated))


def overwriting(function):
    """The function, which then destroys its arguments."""

    def wrapped(*arrays):
        values = function(*arrays)
        for array in arrays:
            array[...] = np.nan
        return values

    return wrapped


@pytest.mark.parametrize(
    ("Estimator", "parameter", "function"),
    [
        (SDPEmbedding, "kernel", lambda A, B: np.exp(-cdist(A, B, "sqeuclidean") / 4)),
        (SDPEmbedding, "diagonal", lambda A: 1 + A[:, 0] ** 2),
        (DiffusionMap, "kernel", lambda A, B: np.exp(-cdist(A, B, "sqeuclidean") / 4)),
        (RKHSEmbedding, "diagonal", lambda A: 1 + A[:, 0] ** 2),
        (RKHSEmbedding, "direction", lambda A: 1 + A[:, 0] ** 2),
    ],
)
def test_functions_that_overwrite_their_arguments(Estimator, parameter, function):
    common = {} if Estimator is DiffusionMap else {"random_state": 0}
    given = X.copy()
    est = Estimator(**{parameter: overwriting(function)}, **common).fit(given)
    expected = Estimator(**{parameter: function}, **common).fit(X)
    np.testing.assert_array_equal(given, X)
    np.testing.assert_array_equal(est.embedding_, expected.embedding_)
    np.testing.assert_array_equal(est.transform(given + 0.1), expected.transform(X + 0.1))


@pytest.mark.parametrize(
    ("values", "message"),
    [("a", "`kernel` must return an array of real .*<U1"), (1j, "`kernel` must return an array of real .*complex128")],
)
def test_kernels_that_return_no_numbers(values, message):
    for Estimator in (SDPEmbedding, DiffusionMap):
        with pytest.raises(ValueError, match=message):
            Estimator(kernel=lambda A, B: np.full((len(A), len(B)), values)).fit(X)


@every
@pytest.mark.parametrize(("before", "after"), [(None, "unit"), ("unit", None)])
def test_parameters_set_after_fit_are_for_the_next_fit(name, before, after, tmp_path):
    est = fresh(name).set_params(normalize=before).fit(X)
    expected = est.transform(X + 0.1)
    est.set_params(normalize=after)
    est.save(tmp_path / "model")
    for fitted in (est, load(tmp_path / "model")):
        np.testing.assert_array_equal(fitted.transform(X + 0.1), expected)
        np.testing.assert_array_equal(np.vstack(list(fitted.transform_blocks(X + 0.1))), expected)
        np.testing.assert_allclose(fitted.transform(X), fitted.embedding_, atol=1e-6)
        if name != "DiffusionMap":
            assert recertify(fitted).relative_gap < 1e-6
    refitted = fresh(name).set_params(normalize=after).fit(X)
    np.testing.assert_array_equal(est.fit(X).embedding_, refitted.embedding_)


def test_another_kernel_set_after_fit():
    graph = KNeighborsTransformer(n_neighbors=10).fit_transform(X)
    est = fresh("neighbors").fit(graph)
    expected = est.transform(graph)
    np.testing.assert_array_equal(est.set_params(kernel="gaussian").transform(graph), expected)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        fresh("SDPEmbedding").fit(X).set_params(kernel="neighbors").transform(sparse.csr_array(X))
