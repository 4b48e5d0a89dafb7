"""Cells in an AnnData: what is written, what survives files, and what is refused."""

import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA as SklearnPCA
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from elliptope import MultiscaleEmbedding, SDPEmbedding
from elliptope.anndata import embed, layout, model, transform

anndata = pytest.importorskip("anndata")

N, N_NEW = 90, 25
RNG = np.random.default_rng(0)
PCA = RNG.normal(size=(N, 6)) + 6 * np.eye(3, 6)[np.arange(N) % 3]
NEW = RNG.normal(size=(N_NEW, 6)) + 6 * np.eye(3, 6)[np.arange(N_NEW) % 3]


def cells(pca=PCA):
    """Counts, their principal components and names, as scanpy leaves them."""
    counts = sparse.csr_matrix(np.random.default_rng(1).poisson(0.5, size=(len(pca), 40)).astype(np.float32))
    adata = anndata.AnnData(counts)
    adata.obs_names = [f"cell {k}" for k in range(len(pca))]
    adata.obsm["X_pca"] = pca.astype(np.float32)
    return adata


def with_neighbors(adata, key="neighbors", n_neighbors=15):
    """What scanpy.pp.neighbors writes: distances to all neighbours but the cell itself, in single precision."""
    graph = NearestNeighbors(n_neighbors=n_neighbors - 1).fit(adata.obsm["X_pca"]).kneighbors_graph(mode="distance")
    prefix = "" if key == "neighbors" else f"{key}_"
    adata.obsp[f"{prefix}distances"] = sparse.csr_matrix(graph, dtype=np.float32)
    adata.uns[key] = {
        "connectivities_key": f"{prefix}connectivities",
        "distances_key": f"{prefix}distances",
        "params": {"n_neighbors": n_neighbors, "method": "umap"},
    }
    return adata


def log_scales(rows, n_neighbors=15):
    """Of the distance to the nearest cell of that number, a cell counting itself."""
    return np.log(NearestNeighbors(n_neighbors=n_neighbors).fit(PCA.astype(np.float32)).kneighbors(rows)[0][:, -1])


def low_density(log_density, fitted=None):
    """The part of the outlier score that tells rows between groups."""
    return -0.25 * np.minimum(log_density, np.median(log_density if fitted is None else fitted))


def assert_same_results(one, other, key="X_sdp"):
    np.testing.assert_array_equal(one.obsm[key], other.obsm[key])
    score = f"{key.removeprefix('X_')}_outlier_score"
    np.testing.assert_array_equal(one.obs[score], other.obs[score])
    first, second = one.uns[key], other.uns[key]
    assert set(first) == set(second)
    for part in ("params", "certificates", "versions"):
        assert set(first[part]) == set(second[part])
        for name, value in first[part].items():
            np.testing.assert_array_equal(np.asarray(second[part][name], dtype=np.asarray(value).dtype), value)
    assert (first["method"], first["status"]) == (second["method"], second["status"])


def test_results_are_those_of_the_estimator():
    adata = cells()
    assert embed(adata) is None
    est = MultiscaleEmbedding(random_state=0).fit(adata.obsm["X_pca"])
    np.testing.assert_array_equal(adata.obsm["X_sdp"], est.embedding_)
    score = log_scales(adata.obsm["X_pca"]) + low_density(est.score_samples(adata.obsm["X_pca"]))
    np.testing.assert_allclose(adata.obs["sdp_outlier_score"], score - np.median(score), rtol=1e-5, atol=1e-5)
    found = adata.uns["X_sdp"]
    assert (found["method"], found["status"]) == ("MultiscaleEmbedding", est.status_)
    assert (found["params"]["use_rep"], found["params"]["n_neighbors"]) == ("X_pca", 15)
    assert found["params"]["diffusion_times"].tolist() == [32, 1]
    certificates = found["certificates"]
    assert certificates["grade"].tolist() == [c.grade for c in est.certificates_]
    for name in ("objective", "upper_bound", "relative_gap", "distance_bound"):
        assert certificates[name].tolist() == [getattr(c, name) for c in est.certificates_]
    assert set(found["versions"]) >= {"elliptope", "numpy", "anndata"}


def test_parameters_method_and_key():
    adata = cells()
    embed(adata, method="sdp", bandwidth=4.0, n_components=2, key_added="X_paper", store_model=False)
    est = SDPEmbedding(2, bandwidth=4.0, random_state=0).fit(adata.obsm["X_pca"])
    np.testing.assert_array_equal(adata.obsm["X_paper"], est.embedding_)
    assert adata.uns["X_paper"]["certificates"]["objective"].tolist() == [est.certificate_.objective]
    assert "model" not in adata.uns["X_paper"]
    score = -est.score_samples(adata.obsm["X_pca"].astype(np.float64))
    np.testing.assert_allclose(adata.obs["paper_outlier_score"], score - np.median(score), rtol=1e-10)
    assert "X_sdp" not in adata.obsm


def test_copy_leaves_the_original_alone():
    adata = cells()
    found = embed(adata, copy=True)
    assert "X_sdp" not in adata.obsm
    assert adata.uns == {}
    embed(adata)
    assert_same_results(adata, found)
    again = layout(adata, copy=True)
    assert again.obsm["X_sdp_layout"].shape == (N, 2)
    assert "X_sdp_layout" not in adata.obsm


def test_views_become_copies_as_in_scanpy():
    adata = cells()
    some = adata[:60]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anndata.ImplicitModificationWarning)
        embed(some)
    assert some.obsm["X_sdp"].shape[0] == 60
    assert "X_sdp" not in adata.obsm


def test_outliers_have_high_scores():
    far = np.vstack([PCA, RNG.uniform(-15, 15, size=(6, 6))])
    adata = cells(far)
    embed(adata)
    assert roc_auc_score(np.arange(len(far)) >= N, adata.obs["sdp_outlier_score"]) > 0.99
    group = cells(np.vstack([PCA, 40 + 2 * RNG.normal(size=(16, 6))]))  # more than n_neighbors, which share them
    embed(group)
    assert roc_auc_score(np.arange(group.n_obs) >= N, group.obs["sdp_outlier_score"]) > 0.9
    embed(adata, method="sdp", kernel="neighbors", n_neighbors=30, key_added="X_far")  # far from the origin, too
    assert roc_auc_score(np.arange(len(far)) >= N, np.linalg.norm(adata.obsm["X_far"], axis=1)) > 0.99
    new = cells(np.vstack([NEW, far[N:]]))
    transform(new, embed(cells(), copy=True))
    assert roc_auc_score(np.arange(len(new)) >= N_NEW, new.obs["sdp_outlier_score"]) > 0.99


@pytest.mark.parametrize("key", ["neighbors", "close"])
def test_distances_of_scanpy(key):
    adata = with_neighbors(cells(), key, n_neighbors=12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        embed(adata, neighbors_key=key)
    assert adata.uns["X_sdp"]["params"]["n_neighbors"] == 12
    assert adata.uns["X_sdp"]["params"]["neighbors_key"] == key
    exact = MultiscaleEmbedding(n_neighbors=12, random_state=0).fit(adata.obsm["X_pca"])
    # One embedding, up to the rounding of distances in single precision.
    Z, other = adata.obsm["X_sdp"], exact.embedding_
    np.testing.assert_allclose(Z @ Z.T, other @ other.T, atol=1e-3)
    score = log_scales(adata.obsm["X_pca"], n_neighbors=12) + low_density(exact.score_samples(adata.obsm["X_pca"]))
    np.testing.assert_allclose(adata.obs["sdp_outlier_score"], score - np.median(score), atol=1e-3)
    embed(adata, method="sdp", neighbors_key=key, spread=0.1)
    assert adata.uns["X_sdp"]["params"]["kernel"] == "overlap"


def test_neighbors_of_old_files():
    """They name no keys of ``obsp``, and hold the number of neighbours in an array, as scanpy's own example has it."""
    adata = with_neighbors(cells(), n_neighbors=12)
    expected = embed(adata, neighbors_key="neighbors", copy=True)
    adata.uns["neighbors"] = {"params": {"method": "umap", "n_neighbors": np.array([12])}}
    embed(adata, neighbors_key="neighbors")
    np.testing.assert_array_equal(adata.obsm["X_sdp"], expected.obsm["X_sdp"])
    assert adata.uns["X_sdp"]["params"]["n_neighbors"] == 12


@pytest.mark.parametrize("neighbors_key", [None, "neighbors"])
def test_round_trip_through_a_file(tmp_path, neighbors_key):
    adata = with_neighbors(cells())
    embed(adata, neighbors_key=neighbors_key)
    layout(adata)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    read = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert_same_results(adata, read)
    np.testing.assert_array_equal(read.obsm["X_sdp_layout"], adata.obsm["X_sdp_layout"])
    np.testing.assert_array_equal(model(read).embedding_, adata.obsm["X_sdp"])


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_backed(tmp_path, mode):
    """Results are written in memory, and by ``write`` to the file itself or to another one."""
    cells().write_h5ad(tmp_path / "cells.h5ad")
    expected = embed(cells(), copy=True)
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed=mode)
    embed(backed)
    layout(backed)
    assert backed.isbacked
    assert_same_results(expected, backed)
    if mode == "r+":
        backed.write()
        backed.file.close()
        read = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    else:
        backed.write_h5ad(tmp_path / "other.h5ad")
        backed.file.close()
        read = anndata.read_h5ad(tmp_path / "other.h5ad")
    assert_same_results(expected, read)
    cells(NEW).write_h5ad(tmp_path / "new.h5ad")
    new = anndata.read_h5ad(tmp_path / "new.h5ad", backed="r")
    transform(new, read)
    np.testing.assert_array_equal(new.obsm["X_sdp"], transform(cells(NEW), expected, copy=True).obsm["X_sdp"])
    for file in (new, read):
        file.file.close()


def test_what_is_not_possible_on_disk_is_said(tmp_path):
    cells().write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with pytest.raises(ValueError, match=r"`use_rep`='X' needs X in memory.*adata.to_memory\(\).*'X_pca'"):
        embed(backed, use_rep="X")
    with pytest.raises(ValueError, match=r"`copy`=True is not possible.*adata.to_memory\(\)"):
        embed(backed, copy=True)
    assert "X_sdp" not in backed.obsm
    backed.file.close()


def test_new_cells():
    reference = cells()
    embed(reference)
    again = transform(cells(), reference, copy=True)
    np.testing.assert_allclose(again.obsm["X_sdp"], reference.obsm["X_sdp"], atol=1e-4)  # exact on training cells
    new = cells(NEW)
    assert transform(new, reference, key_added="X_new") is None
    np.testing.assert_array_equal(new.obsm["X_new"], model(reference).transform(new.obsm["X_pca"]))
    est = model(reference)
    fitted = est.score_samples(reference.obsm["X_pca"])
    expected = log_scales(NEW) + low_density(est.score_samples(new.obsm["X_pca"]), fitted)
    differences = new.obs["new_outlier_score"] - expected
    np.testing.assert_allclose(differences, differences.iloc[0], atol=1e-5)  # the median of the reference
    assert new.uns["X_new"]["params"] == {"reference": "X_sdp", "use_rep": "X_pca"}


def test_new_cells_without_components_are_projected():
    """The error has the code, which gives what scanpy.pp.pca would have given them."""
    reference, new = cells(), cells(NEW)
    counts = reference.X.toarray().astype(np.float64)
    pca = SklearnPCA(5).fit(counts)
    reference.varm["PCs"], reference.obsm["X_pca"] = pca.components_.T, pca.transform(counts)
    embed(reference)
    del new.obsm["X_pca"]
    with pytest.raises(ValueError, match=r"Do not run scanpy.pp.pca on the new cells") as caught:
        transform(new, reference)
    code = re.search(r"adata\.obsm\['X_pca'\] = .*\)(?=\. See)", str(caught.value)).group()
    arrays = [] if anndata.__version__.startswith("0.10.") else [sparse.csr_array]  # which 0.10 does not take
    for kind in (sparse.csr_matrix, *arrays, lambda X: X.toarray()):
        reference.X, new.X = kind(reference.X), kind(new.X)
        exec(code, {"np": np, "adata": new, "reference": reference})
        np.testing.assert_allclose(new.obsm["X_pca"], pca.transform(sparse.csr_array(new.X).toarray()), atol=1e-5)
    transform(new, reference)


def test_new_cells_that_cannot_be_placed():
    reference = with_neighbors(cells())
    embed(reference, neighbors_key="neighbors")
    with pytest.raises(ValueError, match=r"distances between its cells \(neighbors_key='neighbors'\).*`use_rep`"):
        transform(cells(NEW), reference)
    embed(reference)
    with pytest.raises(ValueError, match=r"6 columns of 'X_pca'.*got 4.*Do not run scanpy.pp.pca"):
        transform(cells(NEW[:, :4]), reference)
    embed(reference, store_model=False)
    with pytest.raises(ValueError, match=r"`key`='X_sdp' has no model: .* store_model=False. Call it with store_model=True"):
        transform(cells(NEW), reference)
    with pytest.raises(ValueError, match=r"`key` must be a key of `uns` with a model.*\(there are: none\), got 'X_umap'"):
        transform(cells(NEW), reference, key="X_umap")


def test_new_cells_have_the_genes_of_the_reference(tmp_path):
    reference = cells()
    embed(reference, use_rep="X", metric="cosine")
    reference.write_h5ad(tmp_path / "reference.h5ad")
    new, read = cells(NEW), anndata.read_h5ad(tmp_path / "reference.h5ad")
    transform(new, read)
    in_order = new.obsm["X_sdp"]
    other = new[:, [1, 0, *range(2, 40)]].copy()
    with pytest.raises(ValueError, match=r"40 genes.*number 0: '1', and '0' in the reference. All are there: pass adata"):
        transform(other, read)
    again = other[:, read.uns["X_sdp"]["features"]].copy()
    transform(again, read)
    np.testing.assert_array_equal(again.obsm["X_sdp"], in_order)
    renamed = cells(NEW)
    renamed.var_names = [*map(str, range(39)), "CD3D"]
    with pytest.raises(ValueError, match=r"number 39: 'CD3D', and '39' in the reference. 1 of the reference are missing"):
        transform(renamed, read)
    with pytest.raises(ValueError, match=r"40 genes.*has 30.*number 30: '\(none\)', and '30'.*10 of the reference"):
        transform(new[:, :30].copy(), read)


def test_new_cells_have_the_columns_of_the_reference():
    pd = pytest.importorskip("pandas")
    reference, new = cells(), cells(NEW)
    reference.obsm["frame"] = pd.DataFrame(PCA.copy(), index=reference.obs_names, columns=list("abcdef"))
    new.obsm["frame"] = pd.DataFrame(NEW, index=new.obs_names, columns=list("abcdef"))
    reference.obsm["frame"].iloc[:10] = PCA[10:20]  # equal cells
    embed(reference, use_rep="frame")
    np.testing.assert_allclose(reference.obsm["X_sdp"][:10], reference.obsm["X_sdp"][10:20], atol=1e-6)
    assert reference.obs["sdp_outlier_score"].notna().all()
    transform(new, reference)
    new.obsm["frame"] = new.obsm["frame"][list("abcdfe")]
    with pytest.raises(ValueError, match=r"6 columns of obsm\['frame'\].*number 4: 'f', and 'e'.*in another order"):
        transform(new, reference)


def test_sparse_counts():
    adata = cells()
    embed(adata, use_rep="X", metric="cosine")
    est = MultiscaleEmbedding(metric="cosine", random_state=0).fit(sparse.csr_array(adata.X))
    np.testing.assert_array_equal(adata.obsm["X_sdp"], est.embedding_)
    embed(adata, method="sdp", use_rep="X", kernel="neighbors", metric="cosine", key_added="X_paper")
    est = SDPEmbedding(kernel="neighbors", metric="cosine", random_state=0).fit(adata.X.toarray())
    np.testing.assert_allclose(adata.obsm["X_paper"] @ adata.obsm["X_paper"].T, est.embedding_ @ est.embedding_.T, atol=1e-3)
    with pytest.raises((TypeError, ValueError), match=r"(?i)sparse"):
        embed(adata, method="sdp", use_rep="X")


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"use_rep": "X_scvi"}, ValueError, r"`use_rep` must be 'X' or a key of `adata.obsm` \(there are: 'X_pca'\), got"),
        ({"neighbors_key": "knn"}, ValueError, r"`neighbors_key` must be .* \(there are: 'neighbors'\), got 'knn'"),
        ({"neighbors_key": "leiden"}, ValueError, r"`neighbors_key` must be .* \(there are: 'neighbors'\), got 'leiden'"),
        ({"neighbors_key": "neighbors", "use_rep": "X_pca"}, ValueError, "`use_rep` must be left out with `neighbors_key`="),
        ({"neighbors_key": "neighbors", "metric": "cosine"}, ValueError, "`metric` must be left out .* got 'cosine'"),
        ({"method": "umap"}, ValueError, "`method` must be"),
        ({"key_added": "a/b"}, ValueError, "`key_added` must be a name without '/'.*got 'a/b'"),
        ({"key_added": ""}, ValueError, "`key_added`"),
        (
            {"key_added": "X_pca"},
            ValueError,
            r"`key_added` must be a name that is free: adata.obsm\['X_pca'\] would be lost",
        ),
        ({"key_added": "neighbors"}, ValueError, r"free: adata.uns\['neighbors'\] would be lost.*Got 'neighbors'"),
        ({"layer": "counts"}, TypeError, "`layer` is no parameter .* can be embedded from `obsm`"),
        ({"n_neighbours": 5}, TypeError, "`n_neighbours` is no parameter of MultiscaleEmbedding, which has .*n_neighbors"),
        ({"n_neighbors": 1.5}, (TypeError, ValueError), "`n_neighbors`"),
        ({"metric": lambda x, y: 1.0}, ValueError, "`store_model` must be False where `metric` is a function"),
    ],
)
def test_wrong_names(arguments, error, text):
    adata = with_neighbors(cells())
    adata.uns["leiden"] = {"params": {"resolution": 1}}
    with pytest.raises(error, match=text):
        embed(adata, **arguments)
    assert list(adata.obsm) == ["X_pca"]


def test_nothing_is_lost():
    adata = cells()
    embed(adata)
    embed(adata)  # what is ours is replaced
    before = dict(adata.uns["X_sdp"])
    with pytest.raises(ValueError, match=r"free: adata.obs\['sdp_outlier_score'\] would be lost"):
        embed(adata, key_added="sdp")
    with pytest.raises(ValueError, match=r"`key_added` must be another name.*certificates would be lost.*'X_sdp'"):
        transform(adata, adata)
    with pytest.raises(ValueError, match=r"`key_added` must not be `key`"):
        layout(adata, key_added="X_sdp")
    assert set(adata.uns["X_sdp"]) == set(before)
    new = cells(NEW)
    transform(new, adata)
    transform(new, adata)
    np.testing.assert_array_equal(new.obsm["X_sdp"], model(adata).transform(new.obsm["X_pca"]))


def test_a_model_has_the_cells_that_it_was_fitted_to(tmp_path):
    adata = cells()
    embed(adata)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    adata = anndata.read_h5ad(tmp_path / "cells.h5ad")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(adata)
        transform(cells(NEW), adata[::-1].copy())  # places cells among all of the model, whatever the order
    for other in (adata[::-1].copy(), adata[:50].copy()):
        with pytest.warns(UserWarning, match=rf"The cells of `adata` \({other.n_obs}\) are not those of the model \({N}\)"):
            model(other)


def test_neighbors_of_a_subset():
    adata = with_neighbors(cells())
    with pytest.warns(
        UserWarning, match=r"found 15 neighbours .*obsp\['distances'\] has \d+ of most.*run scanpy.pp.neighbors again"
    ):
        embed(adata[: N * 3 // 4].copy(), neighbors_key="neighbors")


def test_missing_parts():
    adata = cells()
    del adata.obsm["X_pca"]
    with pytest.raises(ValueError, match=r"\(there are: none\), got 'X_pca'. Run scanpy.pp.pca\(adata\) first"):
        embed(adata)
    with pytest.raises(ValueError, match=r"`use_rep`='X' needs `adata.X`, which is None"):
        embed(anndata.AnnData(obs=cells().obs), use_rep="X")
    adata = with_neighbors(cells())
    del adata.obsp["distances"]
    with pytest.raises(ValueError, match=r"`neighbors_key`='neighbors' needs adata.obsp\['distances'\]"):
        embed(adata, neighbors_key="neighbors")
    with pytest.raises(ValueError, match=r"`key` must be a key of `adata.obsm` \(there are: 'X_pca'\), got 'X_sdp'"):
        layout(cells())
    with pytest.raises(TypeError, match="`adata` must be an AnnData, got ndarray"):
        embed(PCA)


def test_import_needs_neither_anndata_nor_scanpy():
    code = (
        "import sys; sys.modules['anndata'] = None; import elliptope.anndata\n"
        "assert not {'scanpy', 'h5py', 'matplotlib'} & set(sys.modules)\n"
        "try: elliptope.anndata.embed(None)\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "of the extra `anndata`: pip install 'elliptope[anndata]'" in done.stdout


def test_components_by_loadings_of_their_own_are_refused():
    """They have as many columns as those of the reference, and mean something else."""
    X = np.random.default_rng(2).normal(size=(60, 20))
    loadings = [np.linalg.qr(np.random.default_rng(seed).normal(size=(20, 5)))[0] for seed in (3, 4)]
    reference, new = anndata.AnnData(X.copy()), anndata.AnnData(X[:15] + 0.1)
    for adata, own in zip((reference, new), loadings, strict=True):
        adata.varm["PCs"], adata.obsm["X_pca"] = own, (adata.X - adata.X.mean(axis=0)) @ own
    embed(reference)
    with pytest.raises(
        ValueError, match="must have the principal components of `reference`, got components by loadings of its"
    ):
        transform(new, reference)
    assert "X_sdp" not in new.obsm
    new.obsm["X_pca"] = (new.X - X.mean(axis=0)) @ loadings[0]  # its own loadings are still in varm
    transform(new, reference)
    assert new.obsm["X_sdp"].shape == (15, reference.obsm["X_sdp"].shape[1])


def test_the_layout_of_an_embedding_goes_with_it():
    adata = cells()
    adata.obsm["X_sdp_layout"] = np.zeros((N, 2))  # of somebody else
    embed(adata)
    assert not adata.obsm["X_sdp_layout"].any()
    layout(adata)
    P = adata.obsm["X_sdp_layout"]  # shows the groups
    _, near = NearestNeighbors(n_neighbors=6).fit(P).kneighbors(P)
    assert (near % 3 == np.arange(N)[:, None] % 3).mean() > 0.95
    embed(adata, n_neighbors=20)
    assert "X_sdp_layout" not in adata.obsm
