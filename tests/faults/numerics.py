"""Numbers at the ends of their range, and data without structure: the result is right, or a warning says what to do."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from elliptope import DiffusionMap, RKHSEmbedding, SDPEmbedding
from faults.case import Case, Error, Right, Warned

case = partial(Case, "numerics")
X = np.random.default_rng(0).standard_normal((40, 3))
EQUAL = np.full((40, 3), 2.5)
OUTLIER = np.vstack([X, np.full((1, 3), 100.0)])
FIRST = np.eye(40)[0]  # the first row alone


def fitted(data: Any, sample_weight: Any = None, **parameters: Any) -> SDPEmbedding:
    return SDPEmbedding(**{"random_state": 0, "bandwidth": 1.5, **parameters}).fit(data, sample_weight=sample_weight)


def shape(Z: np.ndarray) -> np.ndarray:
    """Z Zᵀ, which no rotation changes, on a scale of its own."""
    B = Z / np.abs(Z).max() @ Z.T / np.abs(Z).max()
    return B / np.trace(B)


def same(Z: np.ndarray, reference: np.ndarray, atol: float = 1e-6) -> None:
    np.testing.assert_allclose(shape(Z), shape(reference), atol=atol)


def as_usual(est: Any, **parameters: Any) -> None:
    """The embedding of the data as they are, and `transform` gives it again."""
    assert est.status_ == "optimal"
    same(est.embedding_, fitted(X, **parameters).embedding_)
    same(est.transform(est.training_.points), est.embedding_)


def finite(est: Any, rows: np.ndarray = X) -> None:
    assert np.isfinite(est.certificate_.relative_gap if hasattr(est, "certificate_") else 0.0)
    outputs = [est.embedding_, est.eigenvalues_, est.transform(rows), est.score_samples(rows)]
    assert all(np.isfinite(out).all() for out in outputs)


def vanishes(est: Any) -> None:
    finite(est)
    assert not est.embedding_.any()
    assert not est.transform(X).any()


def ignoring(run: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return run()


def with_floating_point_errors(run: Any) -> Any:
    with np.errstate(all="raise"):
        return run()


USUAL = Right("the embedding of the data as they are", as_usual)
SCALES = [
    *(
        case(
            f"data of size {scale:g}, σ {'by rule' if auto else 'given'}",
            lambda scale=scale, auto=auto: fitted(X * scale, bandwidth="auto" if auto else 1.5 * scale),
            Right("the embedding of data of size 1", partial(as_usual, bandwidth="auto" if auto else 1.5)),
        )
        for scale in (1e-160, 1e-100, 1e100, 1e150)
        for auto in (True, False)
    ),
    case(
        "data of size 1e-160 and a σ that is too large for them",
        lambda: fitted(X * 1e-160, bandwidth=1e-150),
        Warned("decrease `bandwidth`"),
    ),
    case(
        "data of size 1e200",
        lambda est: est.fit(1e200 * X),
        Error("`X` must have distances between rows below 1e154, .*got values from .*; rescale the data"),
        values=(SDPEmbedding(), DiffusionMap(bandwidth=1e200), RKHSEmbedding()),
    ),
    case(
        "data of size 5e-324",
        lambda: SDPEmbedding().fit(5e-324 * np.round(10 * X)),
        Error("`bandwidth` rule 'knn' gave .*e-32. on this data; rescale the data or pass a number"),
    ),
    case("data shifted by 1e4", lambda: fitted(X + 1e4), USUAL),
    case("data shifted by 1e8", lambda: fitted(X + 1e8), USUAL),
    case("a constant column of 1e15", lambda: fitted(np.c_[X, np.full(40, 1e15)]), USUAL),
    case("a constant column", lambda: fitted(np.c_[X, np.ones(40)]), USUAL),
    case(
        "an outlier at a distance of 1e150",
        lambda: fitted(np.vstack([X, np.full((1, 3), 1e150)])),
        Right(
            "finite numbers, and an outlier at the end", lambda est: np.linalg.norm(est.embedding_, axis=1).argmax() == 40
        ),
    ),
    case(
        "5 rows of 5000 columns",
        lambda: SDPEmbedding(random_state=0).fit(np.random.default_rng(0).standard_normal((5, 5000))),
        Right("unit simplex: 4 components", lambda est: est.n_components_ <= 4),
    ),
]
WITHOUT_SOME = np.where(np.isin(np.arange(40), [2, 5, 7]), 0.0, 1.0)


def negative(rows: np.ndarray) -> np.ndarray:
    """1, but -1 at row 20 of X."""
    return np.where(rows[:, 0] == X[20, 0], -1.0, 1.0)


WEIGHTS = [
    *(
        case(
            f"weights that are all {scale:g}",
            lambda scale=scale: fitted(X, np.full(40, scale)),
            Right("the embedding without weights, on its scale", as_usual),
        )
        for scale in (1e-300, 1e-160, 1e160, 1e300)
    ),
    *(
        case(
            f"{Estimator.__name__}, weights that are all {scale:g}",
            lambda Estimator=Estimator, scale=scale: Estimator().fit(X, sample_weight=np.full(40, scale)),
            Right(
                "the embedding without weights, on its scale",
                lambda est: same(est.embedding_, type(est)().fit(X).embedding_, atol=1e-5),
            ),
        )
        for Estimator in (RKHSEmbedding, DiffusionMap)
        for scale in (1e-200, 1e-160, 1e160)
    ),
    case(
        "weights of 2",
        lambda: fitted(np.vstack([X, X])),
        Right(
            "the embedding of every row given twice",
            lambda est: np.testing.assert_allclose(
                abs(est.embedding_[:40]), abs(fitted(X, np.full(40, 2.0)).embedding_), atol=1e-5
            ),
        ),
    ),
    case(
        "a weight of zero",
        lambda: fitted(X, 1.0 - FIRST),
        Right(
            "the embedding without the row, to which it does not belong",
            lambda est: same(est.embedding_[1:], fitted(X[1:]).embedding_),
        ),
    ),
    case(
        "DiffusionMap, a weight of 1e-100",
        lambda: DiffusionMap(bandwidth=1.5).fit(X, sample_weight=1 - FIRST + 1e-100 * FIRST),
        Right(
            "the embedding with a weight of zero there",
            lambda est: np.testing.assert_allclose(
                est.embedding_, DiffusionMap(bandwidth=1.5).fit(X, sample_weight=1 - FIRST).embedding_, atol=1e-8
            ),
        ),
    ),
    case(
        "`diagonal` that differs between equal rows",
        lambda E: E(diagonal=np.linspace(1, 2, 41)).fit(np.vstack([X, X[:1]])),
        Error("`diagonal` must be the same for equal rows of X, got 1.0 at row 0 and 2.0 at row 40"),
        values=(SDPEmbedding, RKHSEmbedding),
    ),
    case(
        "rows of weight zero, of which row 7 is far away",
        lambda: fitted(np.where(np.arange(40)[:, None] == 7, 1e3, X), WITHOUT_SOME),
        Warned(
            r"so far from the training points .*: row 7 \(counted from 0\)", lambda est: np.isfinite(est.embedding_).all()
        ),
    ),
    case(
        "rows of weight zero, and row 7 so far away that distances overflow",
        lambda E: E(bandwidth=1.5).fit(np.where(np.arange(40)[:, None] == 7, 1e160, X), sample_weight=WITHOUT_SOME),
        Error(r"`X` has rows at which the kernel vanishes .*: row 7 \(counted from 0\)"),
        values=(SDPEmbedding, DiffusionMap),
    ),
    case(
        "rows of weight zero, and a function that is negative at row 20",
        lambda est: est.fit(X, sample_weight=WITHOUT_SOME),
        Error(r"`(diagonal|direction)` must be positive and finite, got -1\.0 at row 20\."),
        values=(SDPEmbedding(diagonal=negative), RKHSEmbedding(diagonal=negative), RKHSEmbedding(direction=negative)),
    ),
    case(
        "transform, `diagonal`: a function that is negative at row 40 000",
        lambda: SDPEmbedding(diagonal=negative).fit(X[:20]).transform(np.vstack([*[X[:10]] * 4000, X[20:]])),
        Error(r"`diagonal` must be positive and finite, got -1\.0 at row 40000\."),
    ),
]
CONSTANT = Warned("status 'degenerate'.*decrease `bandwidth`, or check that the rows differ", vanishes)
BANDWIDTHS = [
    case("points that are all identical, σ given", lambda: fitted(EQUAL), CONSTANT),
    case("σ = 1e9 and more", lambda value: fitted(X, bandwidth=value), CONSTANT, values=(1e9, 1e18, 1e300)),
    case(
        "σ = 1e18, other kernels",
        lambda value: fitted(X, bandwidth=1e18, kernel=value),
        CONSTANT,
        values=("laplacian", "matern"),
    ),
    case(
        "σ = 1e9, other operators",
        lambda value: fitted(X, bandwidth=1e9, operator=value),
        Warned("decrease `bandwidth`, or check that the rows differ", finite),
        values=("tiled",),
    ),
    case(
        "σ = 1e9, with weights",
        lambda E: E(bandwidth=1e9).fit(X, sample_weight=np.linspace(0.1, 3, 40)),
        Warned("decrease `bandwidth`", finite),
        values=(SDPEmbedding, DiffusionMap),
    ),
    case(
        "σ so small that no point sees another",
        lambda value: fitted(X, bandwidth=value),
        Warned("status 'degenerate'.*increase `bandwidth`|'degenerate'.*a larger `bandwidth`", finite),
        values=(0.1, 1e-3, 1e-9, 1e-200, 5e-324),
    ),
    case(
        "σ so small that no point sees another, operator='tiled'",
        lambda: fitted(X[:12], bandwidth=0.1, operator="tiled"),
        Warned("status '(degenerate|unconfirmed)'", finite),
    ),
    case(
        "five groups that do not see each other",
        lambda value: fitted(np.vstack([X[:12] + 1e3 * k for k in range(5)]), operator=value),
        Warned("'degenerate'|separate groups", lambda est: np.isfinite(est.embedding_).all()),
        values=("dense", "tiled"),
    ),
    case(
        "DiffusionMap, σ = 1e9, 1e300",
        lambda value: DiffusionMap(bandwidth=value).fit(X),
        Warned("The kernel is close to constant; decrease `bandwidth`", finite),
        values=(1e9, 1e300),
    ),
    case(
        "DiffusionMap, equal points",
        lambda: DiffusionMap(bandwidth=1.0).fit(EQUAL),
        Warned("The kernel is close to constant; decrease `bandwidth`", finite),
    ),
    case(
        "DiffusionMap, σ = 1e-9",
        lambda: DiffusionMap(bandwidth=1e-9).fit(X),
        Warned("increase `bandwidth`|larger `bandwidth`", finite),
    ),
    case(
        "σ between a good and a constant kernel",
        lambda: [ignoring(lambda s=s: fitted(X, bandwidth=s)) for s in (1e5, 1e6, 3e6, 1e7, 1e8)],
        Right("finite numbers", lambda fits: [finite(est) for est in fits] and None),
    ),
    case(
        "RKHSEmbedding, a length scale at which no point sees another",
        lambda: ignoring(lambda: RKHSEmbedding(length_scale=3.0, random_state=0).fit(np.eye(20))),
        Right(
            "rows of unit length, d = 1", lambda est: np.testing.assert_allclose(np.linalg.norm(est.embedding_, axis=1), 1)
        ),
    ),
    case(
        "RKHSEmbedding, length_scale=1e-3",
        lambda: ignoring(lambda: RKHSEmbedding(length_scale=1e-3, random_state=0).fit(X)),
        Right(
            "rows of unit length, d = 1", lambda est: np.testing.assert_allclose(np.linalg.norm(est.embedding_, axis=1), 1)
        ),
    ),
    case(
        "RKHSEmbedding, data far apart: 5, 40, 178 and 300 rows",
        lambda: [ignoring(lambda n=n: RKHSEmbedding(length_scale=3.0).fit(100 * np.eye(n))) for n in (5, 40, 178, 300)],
        Right("finite numbers", lambda fits: [finite(est, est.training_.points) for est in fits] and None),
    ),
    case(
        "RKHSEmbedding, length_scale=1e12, 1e300",
        lambda value: RKHSEmbedding(length_scale=value).fit(X),
        Error("The kernel matrix of 40 points is numerically singular .* Decrease `length_scale` or `smoothness`"),
        values=(1e12, 1e300),
    ),
    case(
        "RKHSEmbedding, regularization=1e-300",
        lambda: RKHSEmbedding(regularization=1e-300, random_state=0).fit(X),
        Warned("'max_iter'.*With a larger `regularization`", lambda est: np.isfinite(est.embedding_).all()),
    ),
    case(
        "tol=1e-300",
        lambda: fitted(X, tol=1e-300),
        Warned(r"status 'max_iter': no further progress .* tol=1.00e-300\); increase tol", lambda est: finite(est)),
    ),
    case(
        "tol=1e-4, twelve seeds",
        lambda: [fitted(X, tol=1e-4, bandwidth=0.7, random_state=seed) for seed in range(12)],
        Right("one status", lambda fits: {est.status_ for est in fits} == {"optimal"}),
    ),
    case(
        "max_iter=1",
        lambda: fitted(X, max_iter=1),
        Warned("status 'max_iter'", lambda est: est.status_ == "max_iter"),
    ),
]
FAR = [
    case(
        "transform of rows far from all training points",
        lambda scale: fitted(X).transform(scale * X),
        Warned(
            "`X` has rows so far from the training points that their radius .*; their radius is capped",
            lambda Z: np.isfinite(Z).all(),
        ),
        values=(1e3, 1e8, 1e150),
    ),
    case(
        "transform of rows so far that distances overflow",
        lambda scale: fitted(X).transform(scale * X),
        Error("`X` has rows at which the kernel vanishes for every training point, .*rows 0, 1, 2"),
        values=(1e160, 1e300),
    ),
    case(
        "score_samples of rows far away",
        lambda: fitted(X).score_samples([[1e100, 0.0, 0.0]]),
        Right("-(1e100/σ)², by hand", lambda score: np.testing.assert_allclose(score, -1e200 / 1.5**2)),
    ),
    case(
        "RKHSEmbedding, score_samples of rows so far that distances overflow",
        lambda: RKHSEmbedding(random_state=0).fit(X).score_samples(1e160 * X),
        Error("`X` has rows at which the kernel vanishes"),
    ),
    case(
        "normalize='unit', rows far away",
        lambda: fitted(X, normalize="unit").transform(1e8 * X),
        Right("unit rows", lambda Z: np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1)),
    ),
]
ERRSTATE = [
    case(
        "fit under np.seterr(all='raise')",
        lambda: with_floating_point_errors(lambda: fitted(OUTLIER)),
        Right("the same as without", lambda est: same(est.embedding_, fitted(OUTLIER).embedding_)),
    ),
    case(
        "DiffusionMap under np.seterr(all='raise')",
        lambda: with_floating_point_errors(lambda: DiffusionMap(bandwidth=1.5).fit(OUTLIER)),
        Right("the same as without", lambda est: same(est.embedding_, DiffusionMap(bandwidth=1.5).fit(OUTLIER).embedding_)),
    ),
    case(
        "transform under np.seterr(all='raise')",
        lambda: with_floating_point_errors(lambda: fitted(X).transform(2 * X)),
        Right("the same as without", lambda Z: (fitted(X).transform(2 * X) == Z).all()),
    ),
]
WHOLE = np.abs(np.round(3 * X))
DTYPES = [
    case(
        f"X of dtype {np.dtype(code)}",
        lambda data=data: fitted(data),
        Right(
            "the embedding of the same numbers in float64",
            lambda est, data=data: same(est.embedding_, fitted(data.astype(float)).embedding_),
        ),
    )
    for code in ("f2", "f4", "g", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">f8", ">i4", "O", "?")
    for data in [WHOLE.astype(code) if code != "?" else np.hstack([c < X for c in (-0.5, 0.0, 0.5)])]
]
CASES = [*SCALES, *WEIGHTS, *BANDWIDTHS, *FAR, *ERRSTATE, *DTYPES]
