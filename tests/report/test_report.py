"""What is on the report page, and that nothing in the data can turn into HTML. test_report_page.py opens it."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from common import PATH, RANK_4, WINE, WINE_CLASS, Naive, fit, weights
from elliptope import RKHSEmbedding, SDPEmbedding
from elliptope.plotting.targets import Values
from elliptope.report import write_report
from elliptope.report.content import collect
from elliptope.report.render import page_data, render
from elliptope.report.words import explain
from html_page import Page, decode

HOSTILE = '</script ><img src=x onerror="window.hurt=1"><!--&lt;'
NAMES = {0: "Barolo", 1: "Grignolino", 2: "Barbera"}


@pytest.fixture(scope="module")
def wine():
    return fit(WINE, bandwidth=2.0)


@pytest.fixture(scope="module")
def report(wine):
    return collect(wine, y=WINE_CLASS, labels=NAMES, bandwidths=PATH)


def test_frames_are_the_embeddings_at_their_bandwidths(report, wine):
    assert [r.bandwidth for r in report.fits] == sorted(PATH)
    assert report.fits[report.chosen].bandwidth == 2.0
    np.testing.assert_allclose(report.frames[report.chosen], wine.embedding_, atol=1e-12)
    for r, frame in zip(report.fits, report.frames, strict=True):
        alone = fit(WINE, bandwidth=r.bandwidth).embedding_
        np.testing.assert_allclose(frame @ frame.T, alone @ alone.T, atol=1e-5)


def test_rows_move_no_more_than_they_must(report):
    """No reflection or exchange of axes brings a frame closer to its neighbour."""
    flips = [np.diag([a, b]) @ P for a in (1, -1) for b in (1, -1) for P in (np.eye(2), np.eye(2)[::-1])]
    for one, two in zip(report.frames, report.frames[1:], strict=False):
        moved = np.linalg.norm(one - two)
        assert all(moved <= np.linalg.norm(one @ Q - two) + 1e-9 for Q in flips)


def test_axes_beyond_the_rank_of_the_fit_are_kept_in_order():
    est = fit(RANK_4, bandwidth=1.0)
    report = collect(est, bandwidths=[1.5, 2.0])
    assert est.embedding_.shape[1] == 2
    assert report.frames.shape == (3, 40, 4)
    assert np.abs(report.frames[0, :, 2:]).max() < 1e-9
    carried = (report.frames[:, :, 2:] ** 2).sum(axis=(0, 1))
    assert carried[0] >= carried[1] > 0


def test_at_most_six_axes():
    est = fit(WINE, bandwidth=2.0, n_components=8)
    np.testing.assert_allclose(collect(est, bandwidths=None).frames[0], est.embedding_[:, :6], atol=1e-12)


def test_default_bandwidths_surround_the_chosen_one(wine):
    report = collect(wine)
    sigmas = np.array([r.bandwidth for r in report.fits])
    assert len(sigmas) == 11
    assert report.chosen == 5
    np.testing.assert_allclose(sigmas, np.geomspace(1.0, 4.0, 11))


def test_a_second_component_without_content_gives_way_to_the_density(wine):
    ordinary = collect(wine, bandwidths=None)
    assert page_data(ordinary)["up"] == 1
    assert "Up is the outlier score" not in render(ordinary)
    flat = dataclasses.replace(ordinary, spectra=np.array([[0.9995, 0.0005]]))
    assert page_data(flat)["up"] == 2
    assert "Up is the outlier score, because the second component carries next to nothing." in render(flat)
    line = dataclasses.replace(ordinary, spectra=np.ones((1, 1)), frames=ordinary.frames[:, :, :1])
    assert page_data(line)["up"] == 1
    assert "Up is the outlier score, because there is no second component." in render(line)


def test_rows_and_columns_are_counted_from_where_one_likes(wine):
    report = collect(wine, bandwidths=None, first_row=1)
    np.testing.assert_array_equal(report.rows, np.arange(1, 179))
    page = render(report)
    assert "Rows are counted from 1." in page
    assert '<th scope="row">column 13</th>' in page
    assert "Rows are counted from 0." in render(collect(wine, bandwidths=None))


def test_what_was_done_before_is_told(wine, tmp_path):
    steps = make_pipeline(StandardScaler(), "passthrough", SDPEmbedding(bandwidth=3.0, random_state=0)).fit(WINE)
    page = write_report(steps, tmp_path / "page.html", bandwidths=None).read_text("utf-8")
    assert "Prepared by StandardScaler, of which these columns are the result." in page
    report = collect(wine, bandwidths=None, preparation="Columns were divided by ten.")
    assert "178 rows and 13 columns were embedded. Columns were divided by ten." in render(report)


def test_scores_name_the_outliers(report):
    density = np.log(Naive(WINE, 2.0).m)
    np.testing.assert_allclose(report.scores[report.chosen], np.median(density) - density, rtol=1e-12, atol=1e-12)
    page = Page(render(report))
    rows = [int(a["data-row"]) for tag, a in page.attributes if tag == "button" and "data-row" in a]
    order = [i for sigma in sorted(PATH) for i in np.argsort(Naive(WINE, sigma).m)[:12]]  # a table for every bandwidth
    assert rows == order
    assert page.cells()[: 24 * len(PATH) : 2] == [NAMES[WINE_CLASS[i]] for i in rows]


def test_rows_that_see_only_themselves_are_counted():
    X = np.r_[np.random.default_rng(0).standard_normal((40, 2)), 100.0 * np.arange(1, 21)[:, None] * [1, 1]]
    page = render(collect(fit(X, bandwidth=1.0), bandwidths=None))
    assert "These are some of the 20 rows that score" in page
    page = render(collect(fit(X[:50], bandwidth=1.0), bandwidths=None))
    assert "These are some of" not in page


def test_the_page_carries_the_numbers(report):
    data = Page(render(report)).data()
    frames = decode(data["frames"], "<f4").reshape(5, 2, 178).transpose(0, 2, 1)
    np.testing.assert_allclose(frames, report.frames, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(decode(data["rows"], "<i4"), np.arange(178))
    label = data["fields"][data["target"]]
    np.testing.assert_array_equal(decode(label["codes"], "<i4"), WINE_CLASS)
    assert label["names"] == list(NAMES.values())
    np.testing.assert_allclose(decode(data["scores"], "<f4").reshape(5, 178), report.scores, rtol=1e-6)
    assert [f["scale"] for f in data["fits"]] == sorted(PATH)
    for r, f in zip(report.fits, data["fits"], strict=True):
        np.testing.assert_allclose(f["shares"], r.eigenvalues / r.eigenvalues.sum())


def test_every_fit_has_its_words_and_one_is_shown(report):
    page = Page(render(report))
    parts = [a for _, a in page.attributes if "data-fit" in a]
    assert [int(a["data-fit"]) for a in parts] == 4 * list(range(5))
    assert [int(a["data-fit"]) for a in parts if "hidden" not in a] == 4 * [report.chosen]
    text = "\n".join(page.texts["p"])
    for r in report.fits:
        assert explain(r, 178, 1e-6)[0] in text


def test_column_summary_parameters_and_versions():
    frame = pd.DataFrame(WINE[:, :3], columns=["acid", "ash", "tint"])
    page = render(collect(SDPEmbedding(bandwidth=3.0, random_state=0).fit(frame), bandwidths=None))
    for name, column in frame.items():
        assert f'<th scope="row">{name}</th>' in page
        for value in (column.min(), column.median(), column.max()):
            assert f">{value:.4g}<".replace("-", "−") in page
    assert "178 rows and 3 columns were embedded." in page
    assert "<dt>bandwidth</dt><dd>3.0</dd>" in page
    assert f"<dt>numpy</dt><dd>{np.__version__}</dd>" in page


def test_many_columns_are_cut_short_and_that_is_said():
    X = np.random.default_rng(0).standard_normal((20, 300))
    page = render(collect(fit(X, bandwidth=20.0), bandwidths=None))
    assert "The first 200 columns" in page
    assert '<th scope="row">column 199</th>' in page
    assert '<th scope="row">column 200</th>' not in page


# Labels


def test_labels_alone_are_classes(wine):
    report = collect(wine, labels=[NAMES[k] for k in WINE_CLASS], bandwidths=None)
    assert report.target.names == tuple(sorted(NAMES.values()))
    assert report.labels is None


def test_labels_beside_y_are_shown_and_y_colours(wine):
    report = collect(wine, y=WINE[:, 0], labels=np.arange(178), bandwidths=None)
    assert isinstance(report.target, Values)
    np.testing.assert_array_equal(report.target.values, WINE[:, 0])
    assert report.labels == tuple(map(str, range(178)))


def test_many_classes_share_a_colour_and_keep_their_labels(wine):
    labels = np.array([f"c{i % 49}" for i in range(178)], dtype=object)
    labels[::2] = "often"
    labels[5] = None
    report = collect(wine, labels=labels, bandwidths=None)
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
    for target in (collect(wine, y=labels, bandwidths=None).target, collect(wine, labels=labels, bandwidths=None).target):
        assert target.names == tuple(sorted(NAMES.values()))
        assert np.flatnonzero(target.codes < 0).tolist() == [7]


def test_a_missing_value_has_no_label(wine):
    y = WINE[:, 0].copy()
    lowest = int(np.argmin(collect(wine, bandwidths=None).scores))
    y[lowest] = np.nan
    page = render(collect(wine, y=pd.Series(y, name="alcohol"), bandwidths=None))
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
        bandwidths=None,
    )
    page = Page(render(report))
    assert "img" not in page.tags
    assert page.tags.count("script") == 2
    assert page.texts["title"] == [HOSTILE + "${title} $data"]
    assert not set("<>&") & set(page.texts["script"][0])  # what ends a script is a matter for parsers to disagree on
    assert page.data()["names"] == names
    assert page.data()["fields"][0]["names"] == [HOSTILE + c for c in "abc"]
    assert page.cells().count(HOSTILE + "a") == sum(WINE_CLASS[np.argsort(-report.scores[0])[:12]] == 0)


def test_half_a_surrogate_pair_can_be_written(tmp_path, wine):
    write_report(wine, tmp_path / "page.html", row_names=["\ud800"] * 178, bandwidths=None)
    assert b'"names":["\\ud800"' in (tmp_path / "page.html").read_bytes()


# Estimators of all kinds


def test_rows_of_weight_zero_are_left_out_and_numbers_kept():
    w = weights(178, zeros=6)
    d = np.linspace(1, 2, 178)
    est = fit(WINE, w, bandwidth=3.0, diagonal=d)
    report = collect(est, y=WINE_CLASS, row_names=np.arange(178), bandwidths=[4.0])
    kept = np.flatnonzero(w > 0)
    np.testing.assert_array_equal(report.rows, kept)
    assert report.n_left_out == 178 - len(kept) > 0
    assert report.row_names == tuple(map(str, kept))
    np.testing.assert_array_equal(report.target.codes, WINE_CLASS[kept])
    np.testing.assert_allclose(report.frames[0], est.embedding_[kept], atol=1e-12)
    other = fit(WINE, w, bandwidth=4.0, diagonal=d).embedding_[kept]
    np.testing.assert_allclose(report.frames[1] @ report.frames[1].T, other @ other.T, atol=1e-4)
    assert "of weight zero left out" in render(report)


def test_a_kernel_matrix_has_scores_but_no_columns():
    K = Naive(WINE, 3.0).K
    report = collect(fit(K, kernel="precomputed"))
    assert report.columns is None
    assert len(report.fits) == 1
    density = np.log(K.sum(axis=1))
    np.testing.assert_allclose(report.scores[0], np.median(density) - density, atol=1e-12)
    page = render(report)
    assert "a kernel matrix" in page
    assert page_data(report)["parameter"] == ""


def distance_and_density(X, log_density, k=15):
    """The outlier score of a kernel of k neighbours, a row counting itself."""
    scores = np.log(np.sort(cdist(X, X), axis=1)[:, k - 1]) - np.minimum(log_density, np.median(log_density)) / 4
    return scores - np.median(scores)


def test_a_neighbour_kernel_has_columns():
    double = np.vstack([WINE, WINE[:7]])
    est = fit(double, kernel="neighbors")
    report = collect(est, neighbors=None)
    assert len(report.fits) == 1
    assert [column.median for column in report.columns] == pytest.approx(np.median(double, axis=0).tolist())
    np.testing.assert_array_equal(report.rows, np.arange(185))
    assert (report.n_equal, report.n_left_out) == (7, 0)
    scores = distance_and_density(WINE, est.score_samples(WINE))
    np.testing.assert_allclose(report.scores[0], [*scores, *scores[:7]], atol=1e-9)
    np.testing.assert_array_equal(report.frames[0], est.embedding_[:, : report.frames.shape[2]])
    page = render(report)
    assert "7 rows at the place of an earlier one, equal in all embedded columns" in page
    assert "It does not say that the kernel suits the data" in page
    with pytest.raises(ValueError, match="`bandwidths` must be 'auto' or None for an estimator that has no bandwidth"):
        collect(est, bandwidths=[1.0])


def test_a_graph_has_scores_but_no_columns():
    graph = KNeighborsTransformer(n_neighbors=20, mode="distance").fit_transform(WINE)
    est = fit(graph, kernel="neighbors")
    report = collect(est)
    assert report.columns is None
    np.testing.assert_allclose(report.scores[0], distance_and_density(WINE, est.score_samples(graph)), atol=1e-9)
    assert "distances (a graph)" in render(report)


def test_the_exact_kernel_has_a_claim_of_its_own(wine):
    record = collect(wine, bandwidths=None)
    own = record.fits[0]
    certificate = dataclasses.replace(own.certificate, error_above=1.0)
    approximate = dataclasses.replace(record, fits=(dataclasses.replace(own, certificate=certificate),))
    assert "Exact kernel, optimum" in render(approximate)
    assert "Exact kernel" not in render(record)


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
    path = write_report(estimator.fit(WINE), tmp_path / "page.html", bandwidths=None)
    Z = estimator[-1].embedding_ if hasattr(estimator, "steps") else estimator.embedding_
    data = Page(path.read_text(encoding="utf-8")).data()
    frames = decode(data["frames"], "<f4").reshape(Z.shape[1], 178).T
    np.testing.assert_allclose(frames, Z, rtol=1e-6, atol=1e-7)
