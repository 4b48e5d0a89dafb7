"""Documents as sparse rows: docstrings of two libraries, in a Pipeline, in files and on the command line."""

import inspect
from functools import cache

import numpy as np
import pytest
import scipy.io
import scipy.stats
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import elliptope
from commandline import SDP, Runner
from elliptope import MultiscaleEmbedding, SDPEmbedding

OVERLAP = SDPEmbedding(4, kernel="overlap", metric="cosine", n_neighbors=10, normalize="unit", random_state=0)
SCALES = MultiscaleEmbedding(metric="cosine", random_state=0)


@cache
def documents():
    """Docstrings of functions, and whether they are those of scipy.stats or of NumPy."""
    texts, labels = [], []
    for module in (np, scipy.stats):
        found = {inspect.getdoc(f) for _, f in inspect.getmembers(module, callable)}
        chosen = sorted(text for text in found if text and len(text) > 300)[:150]
        texts += chosen
        labels += [module.__name__] * len(chosen)
    return texts, np.array(labels)


@cache
def tfidf():
    return TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(documents()[0])


@pytest.fixture
def cli(monkeypatch, capsysbinary):
    return Runner(monkeypatch, capsysbinary)


@pytest.mark.parametrize("est", [OVERLAP, SCALES], ids=lambda est: type(est).__name__)
def test_pipeline(est):
    texts, labels = documents()
    pipeline = make_pipeline(TfidfVectorizer(sublinear_tf=True, min_df=2), est)
    Z = pipeline.fit_transform(texts)
    np.testing.assert_allclose(pipeline.transform(texts), Z, atol=1e-5)
    classifier = make_pipeline(TfidfVectorizer(sublinear_tf=True, min_df=2), est, KNeighborsClassifier(5))
    assert cross_val_score(classifier, texts, labels, cv=3).mean() > 0.8


@pytest.mark.parametrize("est", [OVERLAP, SCALES], ids=lambda est: type(est).__name__)
def test_files_and_dense_rows(est, tmp_path):
    est = clone(est).fit(tfidf())
    assert est.status_ == "optimal"
    est.save(tmp_path / "model")
    copy = elliptope.load(tmp_path / "model")
    np.testing.assert_array_equal(copy.transform(tfidf()[:20]), est.transform(tfidf()[:20]))
    for certificate in np.atleast_1d(elliptope.recertify(copy)):
        assert certificate.relative_gap <= est.tol
    dense = clone(est).fit(tfidf().toarray())
    np.testing.assert_allclose(dense.embedding_ @ dense.embedding_.T, est.embedding_ @ est.embedding_.T, atol=1e-4)


@pytest.mark.parametrize("form", ["npz", "mtx", "coo"])
def test_command_line(form, cli, tmp_path):
    X, labels = sparse.csr_array(tfidf()), documents()[1]
    table, options = tmp_path / "text.npz", []
    if form == "npz":
        sparse.save_npz(table, X)
        with np.load(table) as parts:  # with a column beside it
            np.savez(table, **parts, library=labels)
        options = ["--label", "library"]
    elif form == "coo":
        sparse.save_npz(table, sparse.coo_array(X))
    else:
        table = tmp_path / "text.mtx"
        scipy.io.mmwrite(table, sparse.coo_matrix(X))
    outcome = cli("embed", table, *options, "--save-model", tmp_path / "model", "-f")
    assert outcome.code == 0
    assert f"{X.shape[0]} rows, {X.shape[1]} features" in outcome.err
    Z = MultiscaleEmbedding(random_state=0).fit(X).embedding_
    np.testing.assert_allclose(outcome.numbers, Z, atol=1e-6)
    if options:
        assert [row[0] for row in outcome.table[1]] == labels.tolist()
    again = cli("transform", tmp_path / "model", table, *options)
    np.testing.assert_allclose(again.numbers, Z, atol=1e-5)


def test_command_line_refuses(cli, tmp_path):
    table = tmp_path / "text.npz"
    sparse.save_npz(table, sparse.csr_array(tfidf()))
    bad = tmp_path / "bad.npz"
    np.savez(bad, format=np.array("csr"), shape=[3, 3], data=np.ones(2), indices=[0, 9], indptr=[0, 1, 2, 2])
    (tmp_path / "bad.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 9 1.0\n")
    nan = tmp_path / "nan.npz"
    sparse.save_npz(nan, sparse.csr_array([[1.0, 0.0], [np.nan, 1.0], [2.0, 1.0]]))
    cases = {
        ("embed", table, *SDP): "text.npz: a sparse matrix; only --method multiscale takes one",
        ("embed", table, "-o", tmp_path / "z.mtx"): "mtx is read, and not written",
        ("embed", bad): "not a sparse matrix as scipy.sparse.save_npz writes it, or damaged",
        ("embed", tmp_path / "bad.mtx"): "not Matrix Market data, or damaged",
        ("embed", nan): "nan.npz: row 2, column 1: nan is not a finite number",
    }
    for argv, message in cases.items():
        outcome = cli(*argv)
        assert message in outcome.err, outcome.err
        assert outcome.code in (1, 2)


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_and_chosen_columns(weighted, cli, tmp_path):
    X = sparse.csr_array(tfidf())[:, :2000]
    X = sparse.csr_array(X[np.asarray(X[:, :500].sum(axis=1)).ravel() > 0])
    table = tmp_path / "text.npz"
    sparse.save_npz(table, X)
    w = np.random.default_rng(0).uniform(0.5, 2, X.shape[0])
    with np.load(table) as parts:
        np.savez(table, **parts, w=w)
    options = ["--weight", "w"] if weighted else []
    outcome = cli("embed", table, "--columns", "1-500", *options)
    est = MultiscaleEmbedding(random_state=0)
    expected = est.fit(X[:, :500], sample_weight=w if weighted else None).embedding_
    np.testing.assert_allclose(outcome.numbers, expected, atol=1e-6)


def test_report(cli, tmp_path):
    table = tmp_path / "text.npz"
    sparse.save_npz(table, sparse.csr_array(tfidf()))
    page = tmp_path / "page.html"
    assert cli("report", table, "-o", page).code == 0
    assert f"{tfidf().shape[0]} rows" in page.read_text("utf-8")
