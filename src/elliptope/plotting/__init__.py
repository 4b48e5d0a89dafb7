"""Pictures of fitted estimators, as scikit-learn's displays. Needs matplotlib: ``pip install elliptope[plot]``."""

from .embedding import EmbeddingDisplay
from .kernel import LearnedKernelDisplay

__all__ = ["EmbeddingDisplay", "LearnedKernelDisplay"]
