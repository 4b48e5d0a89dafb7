"""Pictures of fitted estimators, as scikit-learn's displays. Needs matplotlib: ``pip install elliptope[plot]``."""

from .convergence import ConvergenceDisplay
from .embedding import EmbeddingDisplay
from .kernel import LearnedKernelDisplay
from .spectrum import SpectrumDisplay

__all__ = ["ConvergenceDisplay", "EmbeddingDisplay", "LearnedKernelDisplay", "SpectrumDisplay"]
