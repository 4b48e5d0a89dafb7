"""
New points, a support vector machine and a Gaussian process
===========================================================

Use the embedding as the first step of other models. ``transform`` embeds rows that were not there when the model was fitted,
and ``learned_kernel`` gives their learned similarity.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from elliptope import SDPEmbedding
from elliptope.plotting import EmbeddingDisplay

X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)

# %%
# New points over training points
# -------------------------------
# The test rows, hollow, fall where the training rows of their class are. On training rows, ``transform`` returns the
# embedding itself, to the accuracy of the optimum.

scaler = StandardScaler().fit(X_train)
A_train, A_test = scaler.transform(X_train), scaler.transform(X_test)
est = SDPEmbedding(random_state=0).fit(A_train)
EmbeddingDisplay.from_estimator(est, A_train, y_train, new=A_test, new_y=y_test)
print("transform against embedding_, largest difference:", abs(est.transform(A_train) - est.embedding_).max())

# %%
# The learned kernel in a support vector machine
# ----------------------------------------------
# ``learned_kernel(X, Y)`` is b(x, y) = χ(x)·χ(y), a Mercer kernel, which scikit-learn accepts. Its values are
# small where data are dense, since the lengths are √d(x): hence the large ``C``.

machine = SVC(C=100, kernel=est.learned_kernel).fit(A_train, y_train)
svm_accuracy = machine.score(A_test, y_test)
print(f"accuracy on new rows: {svm_accuracy:.3f}")

# %%
# In a pipeline, all steps are fitted together, and the bandwidth is chosen by cross-validation. ``normalize="unit"``
# keeps directions only, so that rows far from all others have no more influence than the rest.

pipeline = make_pipeline(StandardScaler(), SDPEmbedding(normalize="unit", random_state=0), SVC(kernel="linear"))
search = GridSearchCV(pipeline, {"sdpembedding__bandwidth": [1.5, 2.0, 3.0, 4.0]}, cv=3).fit(X_train, y_train)
search_accuracy = search.score(X_test, y_test)
print(search.best_params_, f"accuracy on new rows: {search_accuracy:.3f}")

# %%
# The learned kernel in a Gaussian process
# ----------------------------------------
# A Gaussian process whose covariance is b, up to a factor, is one with the linear kernel on the embedded rows:
# ``DotProduct`` without offset is b. It gives probabilities. The picture shows those of the likeliest class.

covariance = ConstantKernel(100, constant_value_bounds=(1, 1e6)) * DotProduct(sigma_0=0, sigma_0_bounds="fixed")
process = GaussianProcessClassifier(covariance, random_state=0).fit(est.embedding_, y_train)
Z_test = est.transform(A_test)
probability = process.predict_proba(Z_test).max(axis=1)
process_accuracy = process.score(Z_test, y_test)
print(f"accuracy on new rows: {process_accuracy:.3f}")
print("largest difference between the kernels:", np.abs(est.learned_kernel(A_test) - DotProduct(0)(Z_test)).max())

EmbeddingDisplay.from_embedding(Z_test, probability, categorical=False, name="Probability of the likeliest class, new rows")
plt.show()
