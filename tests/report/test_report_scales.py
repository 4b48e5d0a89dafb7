"""The report page of several scales: a certificate for each, one picture, and coordinates that name their scale."""

import dataclasses
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from common import WINE, WINE_CLASS, fit
from elliptope import MultiscaleEmbedding
from elliptope.plotting.view import Options, picture
from elliptope.report import write_report
from elliptope.report.content import collect
from elliptope.report.render import render
from elliptope.report.words import explain, headline_of_scales, share_text
from html_page import Page, decode


@pytest.fixture(scope="module")
def est():
    return MultiscaleEmbedding(random_state=0).fit(WINE)


@pytest.fixture(scope="module")
def report(est):
    return collect(est, y=WINE_CLASS)


def test_every_scale_has_its_certificate(report, est):
    page = Page(render(report))
    titles = ["Scale 1: groups of rows, diffusion time 32", "Scale 2: detail within groups, diffusion time 1"]
    assert [text for text in page.texts["h3"] if text.startswith("Scale")] == titles
    assert page.texts["p"].count("Proved optimal, at both scales") == 1
    text = "\n".join(page.texts["p"])
    for of_scale, certificate in zip(report.fits, est.certificates_, strict=True):
        assert of_scale.certificate is certificate
        assert explain(of_scale, 178, est.tol)[0] in text
        assert f"differ from those of the optimum by at most {share_text(certificate.distance_bound)}" in text
    assert text.count("This was proved by computations") == 1  # and not once per scale
    assert "bandwidth" not in text.split("Parameters")[0]


def test_scales_that_end_differently():
    def named(status, grade):
        c = dataclasses.replace(fit(WINE, bandwidth=2.0).certificate_, grade=grade)
        return dataclasses.replace(collect(fit(WINE, bandwidth=2.0)).fits[0], status=status, certificate=c)

    proved, probable, draft = named("optimal", "proved"), named("optimal", "probabilistic"), named("max_iter", "proved")
    assert headline_of_scales([proved]) == "Proved optimal"
    assert headline_of_scales([proved] * 3) == "Proved optimal, at all scales"
    mixed = "Proved optimal at scale 1; optimal, very probably at scale 2; not converged at scale 3"
    assert headline_of_scales([proved, probable, draft]) == mixed


def test_the_picture_is_a_layout_and_the_coordinates_are_a_click_away(report, est):
    page = Page(render(report))
    data = page.data()
    expected = picture(est.embedding_, Options(178, est.embedding_))
    assert (data["picture"]["view"], data["picture"]["note"]) == ("layout", expected.note)
    positions = decode(data["picture"]["positions"], "<f4").reshape(2, 178).T
    np.testing.assert_allclose(positions, expected.positions, rtol=1e-5, atol=1e-5)
    assert {"Layout", "Coordinates"} <= set(page.texts["button"])
    coordinates = decode(data["coordinates"], "<f4").reshape(6, 178).T
    np.testing.assert_allclose(coordinates, est.embedding_[:, :6], atol=1e-6)
    assert data["axes"][:3] == ["Component 1", "Component 2", "Component 3"]


def test_equal_rows_are_shown_and_rows_of_weight_zero_left_out():
    X = np.vstack([WINE, WINE[:7]])
    w = np.ones(185)
    w[:3] = 0
    w[178:181] = 0
    report = collect(MultiscaleEmbedding(random_state=0).fit(X, sample_weight=w))
    np.testing.assert_array_equal(report.rows, [*range(3, 178), *range(181, 185)])
    np.testing.assert_array_equal(report.picture.positions[175:], report.picture.positions[:4])  # rows 3 to 6
    assert (report.n_equal, report.n_left_out) == (4, 6)
    page = render(report)
    assert "4 rows at the place of an earlier one" in page
    assert "6 rows of weight zero left out" in page
    assert "a matrix of 175 rows" in page


def test_text_in_a_pipeline(tmp_path):
    """Sparse rows, with the words as columns to colour by."""
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words[:5] if i % 2 else words[3:], 30)) for i in range(80)]
    pipeline = make_pipeline(TfidfVectorizer(), MultiscaleEmbedding(metric="cosine", random_state=0)).fit(texts)
    assert sparse.issparse(pipeline[-1].training_.points)
    page = Page(write_report(pipeline, tmp_path / "page.html", y=np.arange(80) % 2).read_text("utf-8"))
    assert any(re.search("Prepared by TfidfVectorizer", text) for text in page.texts["p"])
    assert len(page.data()["fields"]) == 1 + len(words)


def test_outliers_beside_groups_of_neighbours():
    """Rows far from all others have the highest scores, though a kernel of neighbours knows no distances."""
    rng = np.random.default_rng(0)
    groups = np.vstack([rng.standard_normal((100, 5)) + centre for centre in (0, 12)])
    far = rng.uniform(-40, 40, (60, 5))  # neighbours of each other
    est = MultiscaleEmbedding(random_state=0).fit(np.vstack([groups, far]))
    report = collect(est)
    truth = np.arange(260) >= 200
    assert roc_auc_score(truth, report.scores) > 0.99
    assert roc_auc_score(truth, -est.training_.log_density) < 0.98  # the density alone does not find them
    listed = re.findall(r'data-row="(\d+)"', render(report))
    assert len(listed) == 12
    assert min(map(int, listed)) >= 200
    assert "By their distance to their neighbours" in render(report)
