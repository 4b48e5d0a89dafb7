"""The figures and the table of the paper, computed anew and set beside the published numbers.

``python -m experiments`` runs everything and writes a report; ``python -m experiments.fig3`` runs one item.
"""
