"""
A path of bandwidths
====================

Compare embeddings over many bandwidths. The bandwidth σ is the scale at which points count as similar.
:func:`elliptope.bandwidth_path` solves for many of them, each started from those before it, and certifies every one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from elliptope import SDPEmbedding, bandwidth_path
from elliptope.plotting import EmbeddingDisplay

X, y = load_wine(return_X_y=True)
X = scale(X)
path = bandwidth_path(X, np.geomspace(1, 6, 19), random_state=0)
print(path)
print("largest relative gap:", max(record.certificate.relative_gap for record in path.records))

# %%
# Spectra along the path: how much of the embedding lies along each coordinate. Where a line leaves zero, a dimension is
# gained. ``bandwidth="auto"`` is marked.

fig, ax = plt.subplots(layout="constrained")
ax.plot(path.bandwidths, path.spectra[:, :6], marker=".")
ax.set(xlabel="bandwidth σ", ylabel="share of the eigenvalue", xscale="log")
auto = SDPEmbedding(random_state=0).fit(X).bandwidth_
ax.axvline(auto, color="grey", linestyle=":")
ax.annotate('"auto"', (auto, 0.9), xytext=(4, 0), textcoords="offset points")

# %%
# Embeddings along the path. Each is rotated onto the one before, so that only real changes show. Lengths shrink as σ grows,
# since all points come to lie in dense regions; every picture has its own scale.

fig, axes = plt.subplots(1, 4, figsize=(14, 4), layout="constrained")
for ax, k in zip(axes, [0, 6, 12, 18], strict=True):
    EmbeddingDisplay.from_embedding(path.aligned[k][:, :2], y, name=f"σ = {path.bandwidths[k]:.2f}", ax=ax, legend=k == 0)
plt.show()
