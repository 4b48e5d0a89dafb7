"""Compiled steps against those in NumPy, and what they refuse."""

import shutil
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from elliptope.operators import Operator
from elliptope.sdp import solve, steps

compiled_only = pytest.mark.skipif(steps.compiled is None, reason="the steps were not compiled")
SHAPES = [(1, 1), (2, 3), (7, 1), (40, 5), (1000, 8)]


def factors(shape):
    rng = np.random.default_rng(shape)
    return [np.asfortranarray(rng.standard_normal(shape)) for _ in range(2)]


@pytest.mark.skipif(
    not (shutil.which("cc") and Path(sysconfig.get_paths()["include"], "Python.h").exists()), reason="no C compiler"
)
def test_compiled_where_there_is_a_compiler():
    assert steps.compiled is not None


@pytest.mark.parametrize("shape", SHAPES)
def test_measures_are_what_they_say(shape):
    H, P = factors(shape)
    rows = steps.measure(H, P)
    slack = (H * P).sum(axis=1)
    residual = slack[:, None] * H - P
    inverse = 1 / np.sqrt((P**2).sum(axis=1))
    np.testing.assert_allclose(rows.slack, slack, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(rows.residual, residual, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(rows.inverse, inverse, rtol=1e-12)
    np.testing.assert_allclose(rows[3:], [slack.sum(), abs(slack).sum(), inverse @ (residual**2).sum(axis=1)], rtol=1e-11)


@compiled_only
def test_the_same_with_and_without_compiled_steps(monkeypatch):
    def compute(H, P):
        moved = [steps.retract(H, P, step, np.random.default_rng(0)) for step in (1.0, 0.3)]
        return *steps.measure(H, P), *moved, steps.project(H, P)

    found = [compute(*factors(shape)) for shape in SHAPES]
    monkeypatch.setattr(steps, "compiled", None)
    for shape, results in zip(SHAPES, found, strict=True):
        for one, other in zip(results, compute(*factors(shape)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


def test_a_row_that_vanishes_is_drawn_at_random():
    H, D = factors((6, 3))
    D[2] = -H[2]
    V = steps.retract(H, D, 1.0, np.random.default_rng(0))
    np.testing.assert_allclose((V**2).sum(axis=1), 1)


def test_a_row_that_is_not_held_by_any_other():
    H, P = factors((6, 3))
    P[2] = 0
    rows = steps.measure(H, P)
    assert rows.inverse[2] > 1e300
    assert np.isfinite(rows.square)


def test_arrays_in_any_order_are_taken():
    for order in "CF":
        H, P = (np.array(V, order=order) for V in factors((5, 3)))
        np.testing.assert_allclose(steps.project(H, P), H - (H * P).sum(axis=1, keepdims=True) * P)


N, R, SIZE = 4, 2, 3
MATRIX, VECTOR = np.ones((N, R), order="F"), np.ones(N)
MEMORY = np.ones((SIZE, N * R)), np.ones((SIZE, N * R)), np.eye(SIZE), np.ones(SIZE)
# Arguments of every function, and those of them that it writes to.
CALLS = {
    "measure": ((MATRIX, MATRIX, VECTOR, MATRIX, VECTOR), {2, 3, 4}),
    "move": ((MATRIX, MATRIX, MATRIX, 0.5), {2}),
    "direction": ((*MEMORY, MATRIX, VECTOR, MATRIX, MATRIX, SIZE, 1), {7}),
    "remember": ((*MEMORY, MATRIX, MATRIX, MATRIX, MATRIX, 1, SIZE, 0.5, 0.0), {0, 1, 2, 3}),
}


def arguments(name):
    return [x.copy(order="A") if isinstance(x, np.ndarray) else x for x in CALLS[name][0]]


def read_only(x):
    x = x.copy(order="A")
    x.flags.writeable = False
    return x


def misfits(name):
    """Arguments one of which is wrong."""
    for place, right in enumerate(arguments(name)):
        wrong = [None, "text"]
        if isinstance(right, np.ndarray):
            wrong += [right.astype(dtype) for dtype in (np.float32, ">f8", int)]
            wrong += [right[:-1].copy(order="A"), right[..., None], np.repeat(right, 2, axis=0)[::2]]
            wrong += [np.asfortranarray(right[:, :-1])] if right.ndim == 2 else []
            wrong += [read_only(right)] if place in CALLS[name][1] else []
        elif isinstance(right, int):
            wrong += [-1, SIZE + 1, 2**70, 0.5]
        for value in wrong:
            yield place, value


@compiled_only
@pytest.mark.parametrize("name", CALLS)
def test_misfits_are_refused_and_nothing_is_held(name):
    function = getattr(steps.compiled, name)
    function(*arguments(name))
    for count in range(len(arguments(name))):
        with pytest.raises(TypeError, match="arguments"):
            function(*arguments(name)[:count])
    for place, wrong in misfits(name):
        given = arguments(name)
        given[place] = wrong
        with pytest.raises((TypeError, ValueError, BufferError, OverflowError)):
            function(*given)
        for array in given:
            if isinstance(array, np.ndarray) and array.flags.owndata and array.flags.writeable:
                array.resize(array.size + 1, refcheck=False)  # which fails while somebody holds its buffer


@compiled_only
def test_pairs_beyond_those_in_use_are_refused():
    for used, last in ((2, 2), (SIZE + 1, 1)):
        with pytest.raises(ValueError, match="do not fit"):
            steps.compiled.direction(*arguments("direction")[:-2], used, last)


def test_large_factors_and_other_precisions_do_without():
    small, large = np.ones((10, 2), order="F"), np.ones((30_000, 2), order="F")
    assert steps.can_compile(small, small) == (steps.compiled is not None)
    assert not steps.can_compile(small, small.astype(np.float32, order="F"))
    assert not steps.can_compile(small, np.ascontiguousarray(small))
    assert not steps.can_compile(large, large)


class SinglePrecision(Operator):
    """An operator whose products come in single precision."""

    def __init__(self, C):
        self.n, self.C = len(C), C

    def core_matmat(self, V):
        return (self.C @ V).astype(np.float32)

    def offset(self):
        return np.zeros(self.n)


def test_products_in_single_precision_are_taken():
    C = np.random.default_rng(0).standard_normal((30, 30))
    C += C.T
    np.fill_diagonal(C, 0)
    found, expected = solve(SinglePrecision(C), tol=1e-4, rng=0), solve(C, rng=0)
    assert found.certificate.objective == pytest.approx(expected.certificate.objective, rel=1e-4)


@compiled_only
def test_a_solve_without_compiled_steps_ends_at_the_same_optimum(monkeypatch):
    J = np.random.default_rng(0).standard_normal((60, 60))
    J += J.T
    with_them = solve(J, rng=0)
    monkeypatch.setattr(steps, "compiled", None)
    without = solve(J, rng=0)
    assert with_them.status == without.status == "optimal"
    assert with_them.certificate.objective == pytest.approx(without.certificate.objective, rel=1e-6)
