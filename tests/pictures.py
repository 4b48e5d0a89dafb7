"""What a scatter plot shows, for the tests of the displays."""

import matplotlib
import numpy as np

# Okabe and Ito's first three, by the names of their paper.
BLUE, ORANGE, GREEN = "#0072b2", "#e69f00", "#009e73"


def drawn(collections, rows):
    """Positions by row, put together from collections."""
    out = np.full((sum(map(len, rows)), 2), np.nan)
    for collection, members in zip(collections, rows, strict=True):
        out[members] = collection.get_offsets()
    return out


def facecolours(display):
    out = np.full((len(display.embedding), 4), np.nan)
    for collection, members in zip(display.scatters_, display.rows_, strict=True):
        out[members] = collection.get_facecolors()
    return out


def hexes(rgba):
    return [matplotlib.colors.to_hex(colour) for colour in rgba]


def legend(display):
    return [text.get_text() for text in display.legend_.get_texts()]
