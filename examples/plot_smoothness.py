r"""
Embedding by smooth functions
=============================

See what ``regularization`` and ``smoothness`` do. :class:`elliptope.RKHSEmbedding` looks for coordinates in a Sobolev space:
functions on all of space, with a cost λ on roughness. The example is on an interval, where functions can be drawn.
"""

import matplotlib.pyplot as plt
import numpy as np

from elliptope import RKHSEmbedding

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-1, 1, 40))[:, None]
x = np.linspace(-1.3, 1.3, 400)[:, None]

# %%
# The cost of roughness
# ---------------------
# The program asks for :math:`\lVert\chi(x_i)\rVert = 1` on the sample. With a large λ all points are embedded in one place,
# which is smooth. As λ falls, more and faster oscillations appear. Between the points, and beyond them, the length is not
# constrained.

fig, axes = plt.subplots(2, 3, figsize=(12, 5.5), sharex=True, sharey="row", layout="constrained")
models = {}
for (upper, lower), strength in zip(axes.T, [1e-1, 1e-3, 1e-5], strict=True):
    est = models[strength] = RKHSEmbedding(regularization=strength, smoothness=2, length_scale=0.5, random_state=0).fit(X)
    Z = est.transform(x)
    upper.plot(x, Z[:, :3])
    upper.plot(X, est.embedding_[:, :3], "k.", markersize=4)
    upper.set_title(f"λ = {strength:g}: rank {len(est.eigenvalues_)}, {est.status_}, {est.certificate_.grade}")
    lower.plot(x, np.linalg.norm(Z, axis=1))
    lower.plot(X, np.ones(len(X)), "k.", markersize=4)
    lower.set_xlabel("x")
axes[0, 0].set_ylabel("coordinates χ(x)")
axes[1, 0].set_ylabel("length ‖χ(x)‖")

# %%
# The order of the space
# ----------------------
# ``smoothness`` is the order s of the Sobolev space, above p/2. Functions of a low order may have kinks at the data;
# those of a high order may not.

fig, axes = plt.subplots(1, 3, figsize=(12, 3.2), sharey=True, layout="constrained")
for ax, s in zip(axes, [1, 2, 3], strict=True):
    est = RKHSEmbedding(regularization=1e-3, smoothness=s, length_scale=0.5, random_state=0).fit(X)
    ax.plot(x, est.transform(x)[:, :3])
    ax.plot(X, est.embedding_[:, :3], "k.", markersize=4)
    ax.set(title=f"s = {s}: Tr B = {est.trace_:.1f}", xlabel="x")
plt.show()
