"""Products in a file, from which a fit goes on."""

import numpy as np
import pytest

from elliptope.distributed.log import ProductLog


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_come_back_as_they_were(dtype, tmp_path):
    """The same bits in the same precision, in order; what was not written as a whole is computed again."""
    file, work = tmp_path / "products", {"X": "rows"}
    thin = [np.random.default_rng(k).standard_normal((7, 2)).astype(dtype) for k in range(2)]
    log = ProductLog(file, work)
    made = [log.product(V, "K", lambda V: V / 3) for V in thin]
    with file.open("r+b") as part:
        part.truncate(file.stat().st_size - 1)
    log, asked = ProductLog(file, work), []
    for V, G in zip(thin, made, strict=True):
        again = log.product(V, "K", lambda V: asked.append(V) or V / 3)
        assert again.dtype == dtype
        np.testing.assert_array_equal(again, G)
    assert len(asked) == 1
    assert asked[0] is thin[1]
    with pytest.raises(ValueError, match="its products are not those of this fit"):
        ProductLog(file, work).product(thin[1], "K", lambda V: V)
