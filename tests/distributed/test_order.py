"""The order of sums is that of the tree, whichever parts of it are computed as one; without a cluster."""

import numpy as np
import pytest

from elliptope.distributed.exact import TileMaker, multiply, needed, tiles_of
from elliptope.distributed.order import cut_rows, cut_work, fold
from elliptope.kernels import Gaussian, Laplacian
from elliptope.operators.tiled.tiles import flatten


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(1.0)], ids=repr)
def test_parts_change_nothing(kernel):
    """Eight blocks, the last of which is short; entries and squares, in both precisions."""
    X, V = np.random.default_rng(0).standard_normal((2100, 4)), np.random.default_rng(1).standard_normal((2100, 3))
    centre = X.mean(axis=0) if isinstance(kernel, Gaussian) else None
    blocks = cut_rows(len(X), 256)
    assert len(blocks) == 8
    whole = (range(8), range(8))
    for dtype in (np.float64, np.float32):
        for squared in (False, True):
            maker = TileMaker(kernel, centre, dtype)
            rows, thin = [maker.prepare(X[block]) for block in blocks], [V[block] for block in blocks]

            def product(shares, maker=maker, squared=squared, rows=rows, thin=thin):
                parts = cut_work(8, shares)

                def value(part):
                    own = needed(part)
                    if part not in parts:
                        return None
                    taken = np.concatenate([rows[k] for k in own])
                    return multiply(taken, part, tiles_of(blocks, own), maker, squared, [thin[k] for k in own])

                return flatten(fold(whole, value, lambda function, *values: function(*values)))[: len(X)]

            found = product(1)
            K = kernel(X)
            np.fill_diagonal(K, 0)
            exact = (K**2 if squared else K) @ V
            np.testing.assert_allclose(found, exact, atol=(1e-12 if dtype is np.float64 else 1e-4) * abs(exact).max())
            for shares in (2, 3, 8, 64):
                np.testing.assert_array_equal(product(shares), found)
