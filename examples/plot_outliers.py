"""
Outliers
========

Find outliers, and cluster data that contain some. A few isolated points can take over the leading coordinates of a spectral
embedding. Here they cannot: the length of an embedded point is fixed by its density, and a point that resembles no other has
little influence on the directions of the rest.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import scale

from elliptope import DiffusionMap, SDPEmbedding
from elliptope.plotting import EmbeddingDisplay

# %%
# Wine, with 3 % of rows added that lie far from all others.

X, y = load_wine(return_X_y=True)
X = scale(X)
rng = np.random.default_rng(0)
n_outliers = round(0.03 * len(X))
outliers = rng.uniform(-8, 8, size=(n_outliers, X.shape[1]))
X_all = np.vstack([X, outliers])
y_all = np.append(y, np.full(n_outliers, -1))

# %%
# Finding them
# ------------
# ``score_samples`` is the logarithm of the density m(x): low for outliers. There is no threshold; look at the lowest values.

est = SDPEmbedding(normalize="unit", random_state=0).fit(X_all)
score = est.score_samples(X_all)
lowest = np.argsort(score)[:n_outliers]
print("the lowest scores belong to rows", np.sort(lowest))
print("the rows that were added are    ", np.arange(len(X), len(X_all)))

# %%
# Clustering in their presence
# ----------------------------
# k-means on two embeddings with the same bandwidth. ``normalize="unit"`` keeps the directions only: with lengths, the
# outliers would be far out, and attract centres. The agreement with the cultivars is measured on the rows of Wine alone.

diffusion = DiffusionMap(n_components=2, bandwidth=est.bandwidth_).fit(X_all)
nmi = {}
for name, model in {"SDP embedding, unit rows": est, "Diffusion map": diffusion}.items():
    found = KMeans(3, n_init=10, random_state=0).fit_predict(model.embedding_)
    nmi[name] = normalized_mutual_info_score(y, found[: len(y)])
    print(f"{name}: NMI {nmi[name]:.2f}")

# %%
# Both embeddings, with lengths. By itself the display would draw the diffusion map on a logarithmic radius.

names = {0: "cultivar 1", 1: "cultivar 2", 2: "cultivar 3", -1: "added"}
fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
with_lengths = SDPEmbedding(random_state=0).fit(X_all)
for ax, (name, model) in zip(axes, {"SDP embedding": with_lengths, "Diffusion map": diffusion}.items(), strict=True):
    EmbeddingDisplay.from_estimator(model, X_all, y_all, labels=names, name=name, radius_scale="linear", ax=ax)
plt.show()
