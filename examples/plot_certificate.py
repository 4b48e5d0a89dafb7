r"""
Certificates, and optima that are not unique
============================================

Read a certificate, and see what happens when the optimum is not unique. Every fit comes with a bound that no solution of the
program can exceed. ``relative_gap`` says how close the fit is to it, ``grade`` how the bound was shown, and ``status_``
whether the embedding is determined, too.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from elliptope import SDPEmbedding
from elliptope.sdp import solve

X = scale(load_wine().data)
est = SDPEmbedding(bandwidth=1.5, random_state=0).fit(X)
print(est.status_, est.certificate_)

# %%
# The optimum does not depend on the start. Inner products are compared, since coordinates could be mirrored.

other = SDPEmbedding(bandwidth=1.5, random_state=1).fit(X)
difference = abs(est.learned_kernel(X) - other.learned_kernel(X)).max()
print("largest difference between two starts:", difference)

# %%
# How the gap closes, for another cost: the Laplacian of a random graph, whose program bounds its largest cut.

rng = np.random.default_rng(0)
A = np.triu(rng.random((200, 200)) < 0.1, 1).astype(float)
A += A.T
solution = solve((np.diag(A.sum(axis=1)) - A) / 4, rng=0)
print(solution.certificate)
plt.figure()
plt.semilogy([entry.n_products for entry in solution.history], [entry.defect for entry in solution.history])
plt.xlabel("products with J")
plt.ylabel("defect of LH = 0")

# %%
# A fit that stops early has a bound, too: it says how much better the optimum is at most.

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a ConvergenceWarning, which says what to change
    hasty = SDPEmbedding(bandwidth=0.7, max_iter=20, random_state=0).fit(X)
print(hasty.status_, hasty.certificate_)

# %%
# When the optimum is not unique
# ------------------------------
# On the four corners of a square, opposite corners get opposite directions, but the angle between the two pairs is
# arbitrary. The objective is optimal, and proved; the embedding is one of many that score equally. The status is
# "degenerate".

square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    ambiguous = SDPEmbedding(bandwidth=1.0, random_state=0).fit(square)
print(ambiguous.status_, ambiguous.certificate_)
print(caught[0].message if caught else "no warning")
plt.show()
