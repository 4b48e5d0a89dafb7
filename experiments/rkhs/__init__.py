"""The study of the kernelised problem, one module per question; ``experiments/rkhs_study.py`` runs them all."""
