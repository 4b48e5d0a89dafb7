"""The estimator contract of scikit-learn, with no expected failures."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from elliptope import DiffusionMap, MultiscaleEmbedding, RKHSEmbedding, SDPEmbedding


@parametrize_with_checks(
    [
        SDPEmbedding(),
        SDPEmbedding(kernel="neighbors", n_neighbors=3),
        SDPEmbedding(kernel="overlap", n_neighbors=3, metric="manhattan"),
        MultiscaleEmbedding(n_neighbors=3, tol=1e-8),
        RKHSEmbedding(),
        DiffusionMap(),
        DiffusionMap(kernel="overlap", n_neighbors=3),
    ]
)
def test_sklearn_contract(estimator, check):
    check(estimator)
