"""What notebooks show of estimators and reports."""

import html
import re

import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from common import WINE
from elliptope import DiffusionMap, MultiscaleEmbedding, RKHSEmbedding, SDPEmbedding


@pytest.mark.parametrize("est", [SDPEmbedding(bandwidth=3.0, random_state=0), RKHSEmbedding(length_scale=3.0)])
def test_an_estimator_shows_its_certificate_below_its_diagram(est):
    assert "gap" not in est._repr_html_()[-200:]
    est.fit(WINE)
    line = re.search(r"<div>([^<]*)</div>$", est._repr_html_())[1]
    assert line.startswith(f"{est.status_}, {est.certificate_.grade} gap ≤ ")
    assert float(line.split("≤")[1]) >= est.certificate_.relative_gap
    bundle = est._repr_mimebundle_()
    assert bundle["text/html"].endswith(f"<div>{line}</div>")
    assert "sk-container" in bundle["text/html"]  # scikit-learn's own diagram
    assert bundle["text/plain"] == repr(est)


def test_several_scales_have_a_gap_each():
    est = MultiscaleEmbedding(random_state=0).fit(WINE)
    line = re.search(r"<div>([^<]*)</div>$", est._repr_html_())[1]
    gaps = [float(gap) for gap in line.split("≤")[1].split(",")]
    assert [c.relative_gap <= gap for c, gap in zip(est.certificates_, gaps, strict=True)] == [True, True]


def test_pipelines_and_other_estimators_are_shown_as_before():
    pipe = make_pipeline(StandardScaler(), SDPEmbedding(bandwidth=3.0, random_state=0)).fit(WINE)
    assert "SDPEmbedding" in pipe._repr_html_()
    assert "gap ≤" not in DiffusionMap(2).fit(WINE)._repr_html_()


def test_text_where_scikit_learn_is_told_so():
    est = SDPEmbedding(bandwidth=3.0, random_state=0).fit(WINE)
    with sklearn.config_context(display="text"):
        assert not hasattr(est, "_repr_html_")
        assert est._repr_mimebundle_() == {"text/plain": repr(est)}


def test_a_report_is_the_page_itself(tmp_path):
    from elliptope.report import write_report

    est = SDPEmbedding(bandwidth=3.0, random_state=0).fit(WINE)
    path = write_report(est, tmp_path / "page.html")
    assert path == tmp_path / "page.html"
    frame = re.fullmatch('<iframe srcdoc="([^"]*)" title="page.html" style="[^"]*"></iframe>', path._repr_html_())
    assert html.unescape(frame[1]) == path.read_text("utf-8")
