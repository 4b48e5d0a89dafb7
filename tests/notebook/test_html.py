"""What notebooks show of estimators, certificates, paths and reports."""

import html
import re
from html.parser import HTMLParser

import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from common import WINE
from elliptope import DiffusionMap, MultiscaleEmbedding, RKHSEmbedding, SDPEmbedding, bandwidth_path


class Cells(HTMLParser):
    """The rows of all tables."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.open = [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        self.open = tag in ("td", "th")

    def handle_data(self, data):
        if self.open:
            self.rows[-1].append(data)


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


def test_a_certificate_is_a_table():
    certificate = SDPEmbedding(bandwidth=3.0, random_state=0).fit(WINE).certificate_
    rows = dict(Cells(certificate._repr_html_()).rows)
    assert rows["Certificate"] == "proved"
    low, high = map(float, re.fullmatch("from (.*) to (.*)", rows["optimum"]).groups())
    assert (low, high) == pytest.approx((certificate.objective, certificate.upper_bound), rel=1e-9)
    assert float(rows["relative gap"].removeprefix("at most ")) >= certificate.relative_gap
    assert rows["only optimum"] == "yes"
    assert "distance of B to the optimum" not in rows


def test_the_table_says_what_a_quadratic_term_and_an_approximate_kernel_add():
    spread = SDPEmbedding(bandwidth=3.0, spread=0.3, random_state=0).fit(WINE).certificate_
    rows = dict(Cells(spread._repr_html_()).rows)
    assert float(rows["distance of B to the optimum"].split()[2]) >= spread.distance_bound
    few = SDPEmbedding(bandwidth=3.0, operator="nystroem", n_landmarks=50, random_state=0).fit(WINE).certificate_
    low, high = few.exact_interval
    rows = dict(Cells(few._repr_html_()).rows)
    assert rows["optimum of the exact problem"] == f"from {low:.10g} to {high:.10g}"


def test_a_path_is_a_table_with_a_row_per_value():
    path = bandwidth_path(WINE, [3.0, 4.0], random_state=0)
    head, *rows = Cells(path._repr_html_()).rows
    assert head[0] == "bandwidth σ"
    assert [row[:2] for row in rows] == [["3", "optimal"], ["4", "optimal"]]
    assert [int(row[4]) for row in rows] == [len(record.eigenvalues) for record in path.records]


def test_a_report_is_the_page_itself(tmp_path):
    pytest.importorskip("plotly")
    from elliptope.report import write_report

    est = SDPEmbedding(bandwidth=3.0, random_state=0).fit(WINE)
    path = write_report(est, tmp_path / "page.html")
    assert path == tmp_path / "page.html"
    frame = re.fullmatch('<iframe srcdoc="([^"]*)" title="page.html" style="[^"]*"></iframe>', path._repr_html_())
    assert html.unescape(frame[1]) == path.read_text("utf-8")
