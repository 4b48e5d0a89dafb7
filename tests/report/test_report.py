"""What is on the report page, and that nothing in the data can turn into HTML. test_report_page.py opens it."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from common import WINE, WINE_CLASS, Naive, fit, weights
from elliptope import RKHSEmbedding, SDPEmbedding
from elliptope.plotting.targets import Values
from elliptope.report import write_report
from elliptope.report.content import collect
from elliptope.report.numbers import percent
from elliptope.report.render import page_data, render
from elliptope.report.words import explain, outward, share_text
from html_page import Page, decode

HOSTILE = '</script ><img src=x onerror="window.hurt=1"><!--&lt;'
NAMES = {0: "Barolo", 1: "Grignolino", 2: "Barbera"}


@pytest.fixture(scope="module")
def wine():
    return fit(WINE, bandwidth=2.0)


@pytest.fixture(scope="module")
def report(wine):
    return collect(wine, y=WINE_CLASS, labels=NAMES)


def test_at_most_six_axes():
    est = fit(WINE, bandwidth=2.0, n_components=8)
    report = collect(est)
    np.testing.assert_array_equal(report.coordinates, est.embedding_[:, :6])
    assert report.n_dimensions == 8


def test_a_second_component_without_content_gives_way_to_the_score(wine):
    ordinary = collect(wine)
    assert page_data(ordinary)["up"] == 1
    assert "Up is the outlier score" not in render(ordinary)
    flat = dataclasses.replace(ordinary, shares=np.array([0.9995, 0.0005]))
    assert page_data(flat)["up"] == 2
    assert "Up is the outlier score, because the second component carries next to nothing." in render(flat)
    line = dataclasses.replace(ordinary, shares=np.ones(1), coordinates=ordinary.coordinates[:, :1])
    assert page_data(line)["up"] == 1
    assert "Up is the outlier score, because there is no second component." in render(line)


def test_rows_and_columns_are_counted_from_where_one_likes(wine):
    report = collect(wine, first_row=1)
    np.testing.assert_array_equal(report.rows, np.arange(1, 179))
    page = render(report)
    assert "Rows are counted from 1." in page
    assert '<th scope="row">column 13</th>' in page
    assert "Rows are counted from 0." in render(collect(wine))


def test_what_was_done_before_is_told(wine, tmp_path):
    steps = make_pipeline(StandardScaler(), "passthrough", SDPEmbedding(bandwidth=3.0, random_state=0)).fit(WINE)
    page = write_report(steps, tmp_path / "page.html").read_text("utf-8")
    assert "Prepared by StandardScaler, of which these columns are the result." in page
    report = collect(wine, preparation="Columns were divided by ten.")
    assert "Columns were divided by ten." in render(report)


def test_scores_name_the_outliers(report):
    density = np.log(Naive(WINE, 2.0).m)
    np.testing.assert_allclose(report.scores, np.median(density) - density, rtol=1e-12, atol=1e-12)
    page = Page(render(report))
    rows = [int(a["data-row"]) for tag, a in page.attributes if tag == "button" and "data-row" in a]
    assert rows == np.argsort(density)[:12].tolist()
    assert page.cells()[:24:2] == [NAMES[WINE_CLASS[i]] for i in rows]


def test_rows_that_see_only_themselves_are_counted():
    X = np.r_[np.random.default_rng(0).standard_normal((40, 2)), 100.0 * np.arange(1, 21)[:, None] * [1, 1]]
    page = render(collect(fit(X, bandwidth=1.0)))
    assert "These are some of the 20 rows that score" in page
    page = render(collect(fit(X[:50], bandwidth=1.0)))
    assert "These are some of" not in page


def test_the_page_carries_the_numbers(report, wine):
    data = Page(render(report)).data()
    np.testing.assert_allclose(decode(data["coordinates"], "<f4").reshape(2, 178).T, wine.embedding_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(decode(data["rows"], "<i4"), np.arange(178))
    label = data["fields"][data["target"]]
    np.testing.assert_array_equal(decode(label["codes"], "<i4"), WINE_CLASS)
    assert label["names"] == list(NAMES.values())
    np.testing.assert_allclose(decode(data["scores"], "<f4"), report.scores, rtol=1e-6)


def test_every_fact_is_on_the_page_once(report, wine):
    page = Page(render(report))
    assert page.texts["p"].count("Proved optimal") == 1
    assert set(explain(report.fits[0], 178, 1e-6)) <= set(page.texts["p"])
    facts = dict(zip(page.texts["dt"], page.texts["dd"], strict=True))
    assert facts["Rank"] == "2"
    assert facts["Eigenvalues (share)"] == ", ".join(map(percent, wine.eigenvalues_ / wine.eigenvalues_.sum()))
    low, high = outward(wine.certificate_.objective, wine.certificate_.upper_bound)
    text = render(report)
    assert [text.count(fact) for fact in (low, high, share_text(wine.certificate_.relative_gap))] == [1, 1, 1]
    assert text.count("178 rows and 13 columns, embedded in 2 dimensions by SDPEmbedding, σ = 2.") == 1


def test_column_summary_parameters_and_versions():
    frame = pd.DataFrame(WINE[:, :3], columns=["acid", "ash", "tint"])
    page = render(collect(SDPEmbedding(bandwidth=3.0, random_state=0).fit(frame)))
    for name, column in frame.items():
        assert f'<th scope="row">{name}</th>' in page
        for value in (column.min(), column.median(), column.max()):
            assert f">{value:.4g}<".replace("-", "−") in page
    assert "178 rows and 3 columns, embedded" in page
    assert "<dt>bandwidth</dt><dd>3.0</dd>" in page
    assert f"<dt>numpy</dt><dd>{np.__version__}</dd>" in page


def test_many_columns_are_cut_short_and_that_is_said():
    X = np.random.default_rng(0).standard_normal((20, 300))
    page = render(collect(fit(X, bandwidth=20.0)))
    assert "The first 200 columns" in page
    assert '<th scope="row">column 199</th>' in page
    assert '<th scope="row">column 200</th>' not in page


# Labels


def test_labels_alone_are_classes(wine):
    report = collect(wine, labels=[NAMES[k] for k in WINE_CLASS])
    assert report.target.names == tuple(sorted(NAMES.values()))
    assert report.labels is None


def test_labels_beside_y_are_shown_and_y_colours(wine):
    report = collect(wine, y=WINE[:, 0], labels=np.arange(178))
    assert isinstance(report.target, Values)
    np.testing.assert_array_equal(report.target.values, WINE[:, 0])
    assert report.labels == tuple(map(str, range(178)))


def test_many_classes_share_a_colour_and_keep_their_labels(wine):
    labels = np.array([f"c{i % 49}" for i in range(178)], dtype=object)
    labels[::2] = "often"
    labels[5] = None
    report = collect(wine, labels=labels)
    assert len(report.target.names) == 20
    assert report.target.names[-1] == f"{report.target.rest} other classes"
    assert report.target.rest == 50 - 19
    assert report.target.codes[5] == -1
    assert report.labels[5] == ""
    for i in range(178):
        name = report.target.names[report.target.codes[i]] if report.target.codes[i] >= 0 else ""
        assert name in (report.labels[i], report.target.names[-1])
    assert "often" in report.target.names


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_empty_labels_are_no_class(wine, blank):
    labels = [blank if i == 7 else NAMES[k] for i, k in enumerate(WINE_CLASS)]
    for target in (collect(wine, y=labels).target, collect(wine, labels=labels).target):
        assert target.names == tuple(sorted(NAMES.values()))
        assert np.flatnonzero(target.codes < 0).tolist() == [7]


def test_a_missing_value_has_no_label(wine):
    y = WINE[:, 0].copy()
    lowest = int(np.argmin(collect(wine).scores))
    y[lowest] = np.nan
    page = render(collect(wine, y=pd.Series(y, name="alcohol")))
    assert "nan" not in Page(page).cells()
    assert Page(page).data()["fields"][0]["name"] == "alcohol"


def test_hostile_text_stays_text(wine):
    names = [HOSTILE + str(i) for i in range(178)]
    report = collect(
        wine,
        labels=[HOSTILE + "abc"[k] for k in WINE_CLASS],
        row_names=names,
        feature_names=[HOSTILE] * 13,
        title=HOSTILE + "${title} $data",
    )
    page = Page(render(report))
    assert "img" not in page.tags
    assert page.tags.count("script") == 2
    assert page.texts["title"] == [HOSTILE + "${title} $data"]
    assert not set("<>&") & set(page.texts["script"][0])  # what ends a script is a matter for parsers to disagree on
    assert page.data()["names"] == names
    assert page.data()["fields"][0]["names"] == [HOSTILE + c for c in "abc"]
    assert page.cells().count(HOSTILE + "a") == sum(WINE_CLASS[np.argsort(-report.scores)[:12]] == 0)


def test_half_a_surrogate_pair_can_be_written(tmp_path, wine):
    write_report(wine, tmp_path / "page.html", row_names=["\ud800"] * 178)
    assert b'"names":["\\ud800"' in (tmp_path / "page.html").read_bytes()


# Estimators of all kinds


def test_rows_of_weight_zero_are_left_out_and_numbers_kept():
    w = weights(178, zeros=6)
    d = np.linspace(1, 2, 178)
    est = fit(WINE, w, bandwidth=3.0, diagonal=d)
    report = collect(est, y=WINE_CLASS, row_names=np.arange(178))
    kept = np.flatnonzero(w > 0)
    np.testing.assert_array_equal(report.rows, kept)
    assert report.n_left_out == 178 - len(kept) > 0
    assert report.row_names == tuple(map(str, kept))
    np.testing.assert_array_equal(report.target.codes, WINE_CLASS[kept])
    np.testing.assert_array_equal(report.coordinates, est.embedding_[kept])
    assert "of weight zero left out" in render(report)


def test_a_kernel_matrix_has_scores_but_no_columns():
    K = Naive(WINE, 3.0).K
    report = collect(fit(K, kernel="precomputed"))
    assert report.columns is None
    density = np.log(K.sum(axis=1))
    np.testing.assert_allclose(report.scores, np.median(density) - density, atol=1e-12)
    assert "a kernel matrix" in render(report)
    assert report.symbol is None


def distance_and_density(X, log_density, k=15):
    """The outlier score of a kernel of k neighbours, a row counting itself."""
    scores = np.log(np.sort(cdist(X, X), axis=1)[:, k - 1]) - np.minimum(log_density, np.median(log_density)) / 4
    return scores - np.median(scores)


def test_a_neighbour_kernel_has_columns():
    double = np.vstack([WINE, WINE[:7]])
    est = fit(double, kernel="neighbors")
    report = collect(est)
    assert [column.median for column in report.columns] == pytest.approx(np.median(double, axis=0).tolist())
    np.testing.assert_array_equal(report.rows, np.arange(185))
    assert (report.n_equal, report.n_left_out) == (7, 0)
    scores = distance_and_density(WINE, est.score_samples(WINE))
    np.testing.assert_allclose(report.scores, [*scores, *scores[:7]], atol=1e-9)
    np.testing.assert_array_equal(report.coordinates, est.embedding_[:, : len(report.axes)])
    page = render(report)
    assert "7 rows at the place of an earlier one, equal in all embedded columns" in page
    assert "It does not say that the kernel suits the data" in page


def test_a_graph_has_scores_but_no_columns():
    graph = KNeighborsTransformer(n_neighbors=20, mode="distance").fit_transform(WINE)
    est = fit(graph, kernel="neighbors")
    report = collect(est)
    assert report.columns is None
    np.testing.assert_allclose(report.scores, distance_and_density(WINE, est.score_samples(graph)), atol=1e-9)
    assert "distances (a graph)" in render(report)


def test_the_exact_kernel_has_a_claim_of_its_own(wine):
    record = collect(wine)
    own = record.fits[0]
    certificate = dataclasses.replace(own.certificate, error_above=1.0)
    approximate = dataclasses.replace(record, fits=(dataclasses.replace(own, certificate=certificate),))
    assert "Measured by the exact kernel" in render(approximate)
    assert "exact kernel" not in render(record)


@pytest.mark.parametrize(
    "estimator",
    [
        SDPEmbedding(bandwidth=3.0, random_state=0, normalize="unit"),
        SDPEmbedding(n_components=3, bandwidth=3.0, random_state=0),
        RKHSEmbedding(random_state=0),
        make_pipeline(StandardScaler(), SDPEmbedding(bandwidth=3.0, random_state=0)),
    ],
    ids=["unit", "three", "rkhs", "pipeline"],
)
def test_other_estimators(tmp_path, estimator):
    path = write_report(estimator.fit(WINE), tmp_path / "page.html")
    Z = estimator[-1].embedding_ if hasattr(estimator, "steps") else estimator.embedding_
    data = Page(path.read_text(encoding="utf-8")).data()
    coordinates = decode(data["coordinates"], "<f4").reshape(Z.shape[1], 178).T
    np.testing.assert_allclose(coordinates, Z, rtol=1e-6, atol=1e-7)
