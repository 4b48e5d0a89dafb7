r"""
The idea in pictures
====================

Understand the method in five pictures: similarity, density, the program, its solution, new points.
"""

import matplotlib.pyplot as plt
import numpy as np

from elliptope import SDPEmbedding
from elliptope.datasets import clusters_with_outliers
from elliptope.plotting import EmbeddingDisplay, LearnedKernelDisplay

# %%
# The data
# --------
# Three clusters, and ten points that belong to none of them. The labels colour the pictures; the method does not use them.

X, y = clusters_with_outliers(random_state=0)
names = {0: "cluster 1", 1: "cluster 2", 2: "cluster 3", -1: "outliers"}
EmbeddingDisplay.from_embedding(X, y, labels=names, name="Data")

# %%
# Similarity, and density
# -----------------------
# The Gaussian kernel exp(-‖x-y‖²/σ²) says how similar two points are; its row sums m(x) say how dense the data are
# around x. They give a length for every point,
#
# .. math:: \lVert \chi(x) \rVert^2 = d(x) = \frac1{m(x)} - \frac{m(x)}{M},
#
# small where points are dense and large where they are not. The lengths are fixed before anything is solved. They keep the
# outliers far out, whatever their directions.

est = SDPEmbedding(bandwidth=1.2, random_state=0).fit(X)
length = np.linalg.norm(est.embedding_, axis=1)

fig, ax = plt.subplots(layout="constrained")
points = ax.scatter(*X.T, c=length, cmap="viridis", edgecolors="black", linewidths=0.3)
ax.set(title="Length of every embedded point", aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
fig.colorbar(points, label="√d(x)")

# %%
# The program
# -----------
# The unknowns are directions: a unit vector :math:`h_i` for every point. Points that are more similar than their densities
# would suggest attract each other, the others repel each other,
#
# .. math:: \max \sum_{ij} J_{ij}\, h_i \cdot h_j \quad\text{subject to}\quad \lVert h_i \rVert = 1 .
#
# As a problem in the matrix of all inner products, which lies in the *elliptope*, this is convex. The optimum can be found
# from every start, and there is a proof that no other value is better:

print(est.status_)
print(est.certificate_)

# %%
# The learned kernel
# ------------------
# The solution is a matrix of inner products: a kernel, learned from the Gaussian one. Below, rows are ordered by
# cluster. Within clusters the kernel is positive, between them it is not.

LearnedKernelDisplay.from_estimator(est, X, y, labels=names)

# %%
# The embedding
# -------------
# Its eigenvectors are the coordinates. Their number is the rank of the optimum.

# sphinx_gallery_thumbnail_number = 4
EmbeddingDisplay.from_estimator(est, X, y, labels=names)
print("rank", len(est.eigenvalues_), "shares", est.eigenvalues_ / est.eigenvalues_.sum())

# %%
# New points
# ----------
# The coordinates are functions on the whole plane. On the training points they return the embedding. The picture shows the
# direction, as an angle, of every point of the plane.

x1, x2 = (np.linspace(low - 1, high + 1, 150) for low, high in zip(X.min(axis=0), X.max(axis=0), strict=True))
plane = np.column_stack([axis.ravel() for axis in np.meshgrid(x1, x2)])
Z = est.transform(plane)
angle = np.arctan2(Z[:, 1], Z[:, 0]).reshape(len(x2), len(x1))

fig, ax = plt.subplots(layout="constrained")
colours = ax.pcolormesh(x1, x2, angle, cmap="twilight", vmin=-np.pi, vmax=np.pi, rasterized=True)
ax.scatter(*X.T, c="white", edgecolors="black", s=18)
ax.set(title="Direction of the embedding, in the whole plane", aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
fig.colorbar(colours, label="angle")
print("largest difference between transform and embedding_:", abs(est.transform(X) - est.embedding_).max())
plt.show()
