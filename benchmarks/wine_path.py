"""The spectrum of the Wine embedding along 56 bandwidths, from 0.5 to 6, every one with its certificate.

    python benchmarks/wine_path.py --output benchmarks/results

At the end, what the warm starts of the path save: products with J, with them and without.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from elliptope import SDPEmbedding, bandwidth_path

# Columns of the table, and how they are written.
FIELDS = {
    "bandwidth": ".10g",
    "status": "",
    "grade": "",
    "relative_gap": ".2e",
    "rank": "",
    "lambda_1": ".6f",
    "lambda_2": ".6f",
    "lambda_3": ".6f",
    "n_products": "",
    "seconds": ".4f",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    X = load_wine().data
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    warnings.simplefilter("ignore", ConvergenceWarning)  # the status is in the table
    bandwidths = np.linspace(0.5, 6.0, 56)
    path = bandwidth_path(X, bandwidths, random_state=0, verbose=True)
    rows = path.to_rows()
    with (folder / "wine_path.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        writer.writerows([format(row.get(name, 0.0), style) for name, style in FIELDS.items()] for row in rows)
    certified = sum(row["grade"] == "proved" and row["relative_gap"] <= 1e-6 for row in rows)
    print(f"{len(rows)} bandwidths, {certified} proved to 1e-6, {sum(row['seconds'] for row in rows):.2f} s in all")
    cold = [SDPEmbedding(bandwidth=sigma, random_state=0).fit(X).n_products_ for sigma in bandwidths]
    warm = [record.n_products for record in path.records]
    print(f"products: {sum(warm)}, without warm starts {sum(cold)}; median {np.median(warm):g} and {np.median(cold):g}")


if __name__ == "__main__":
    main()
